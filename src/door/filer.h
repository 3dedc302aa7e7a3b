/*
 * door/filer.h - one file operation: asked of the keeper, then followed on its channel (wire/file.h).
 */
#ifndef CARREL_DOOR_FILER_H
#define CARREL_DOOR_FILER_H

#include "door/exchange.h"
#include "door/follow.h"
#include "door/routes.h"
#include "wire/record.h"

struct filer;

/* What the kinds of operation do with it. NULL: nothing. */
struct filer_ops {
        void (*opened)(struct filer *f);                               /* the channel is there: standard input may be written */
        int (*output)(struct filer *f, const void *bytes, size_t len, struct error *e);       /* -1: it is no answer */
        void (*done)(struct filer *f);                                 /* it went well: answer */
        int (*refused)(struct filer *f, int status);                   /* 1: that ending is an answer, and was given */
        void (*writable)(struct filer *f);
        void (*fini)(struct filer *f);
};

struct filer {
        struct keeper_call call;       /* first */
        struct follow follow;
        struct exchange *x;
        const struct filer_ops *ops;
        int is_base64, is_over;
        char failed_path[512];         /* what it said on stderr */
        size_t failed_len;
};

/* Gives a filer of `len` bytes (its own struct first) that holds the exchange; NULL: that was answered. */
struct filer *filer_new(struct exchange *x, size_t len, const struct filer_ops *ops, const struct exchange_hooks *hooks);

/* Ends it without an answer: cancels, closes, frees. For hooks->gone too. */
void filer_end(struct filer *f);
void filer_gone(struct exchange *x);
void filer_drained(struct exchange *x);

/* Answers an error, and ends it. */
void filer_fail(struct filer *f, const struct error *e);

#endif
