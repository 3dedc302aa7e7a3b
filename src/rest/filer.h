/*
 * rest/filer.h - one file operation: calls the keeper, then follows its channel (wire/file.h).
 */
#ifndef CARREL_REST_FILER_H
#define CARREL_REST_FILER_H

#include "http/exchange.h"
#include "http/route.h"
#include "wire/record.h"

struct filer;

/* Callbacks of one kind of operation. NULL: not used. */
struct filer_ops {
        /* the channel is open: standard input may be written */
        void (*opened)(struct filer *f);
        /* -1: the output is not valid */
        int (*output)(struct filer *f, const void *bytes, size_t len, struct error *e);
        /* the operation succeeded: send the answer */
        void (*done)(struct filer *f);
        /* 1: this exit status is an answer, which was sent */
        int (*refused)(struct filer *f, int status);
        void (*writable)(struct filer *f);
        /* the keeper refused the call. 1: it was, or will be, made again, or was answered */
        int (*denied)(struct filer *f, const struct error *e);
        void (*fini)(struct filer *f);
};

struct filer {
        struct link_call call; /* must be first */
        struct exchange *x;
        const struct filer_ops *ops;
        int is_base64, is_over;
        char failed_path[512]; /* what the operation wrote to stderr */
        size_t failed_len;
};

/*
 * Gives a filer of `len` bytes (its own struct first) that holds the exchange. NULL if out of
 * memory, which was answered.
 */
struct filer *filer_new(struct exchange *x, size_t len, const struct filer_ops *ops,
                        const struct exchange_hooks *hooks);

/* Ends the filer without an answer: cancels, closes, frees. Also for hooks->gone. */
void filer_end(struct filer *f);
void filer_gone(struct exchange *x);
void filer_drained(struct exchange *x);

/* Answers with an error, and ends the filer. */
void filer_fail(struct filer *f, const struct error *e);

#endif
