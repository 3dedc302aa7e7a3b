/*
 * box/output.h - one stream that a command prints: its pipe or terminal, and its log.
 */
#ifndef CARREL_BOX_OUTPUT_H
#define CARREL_BOX_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

#include "box/log.h"
#include "box/witness.h"
#include "loop/loop.h"
#include "text/sanitize.h"
#include "wire/channel.h"

/* bytes read from a pipe at a time; also the largest frame */
enum { OUTPUT_CHUNK = 128 * 1024 };
/* The least that a log of sanitised output keeps, so that a reader that must lose nothing finds
 * room for what was held. */
enum { OUTPUT_SANITIZED_KEEP = LOG_HEAP_MAX };
_Static_assert(OUTPUT_SANITIZED_KEEP / SANITIZE_GROWS > SANITIZE_WINDOW + STRIP_HELD_MAX,
               "held output fits into the log");
#define OUTPUT_NO_LIMIT UINT64_MAX

struct output;
struct output_user {
        /* at most `most`: bytes that may be read before a reader that must lose nothing loses one
         */
        size_t (*room)(const struct output *o, size_t most);
        /* there is more for readers. After the command's end: perhaps the last; it may free the
         * output */
        void (*grown)(struct output *o);
        void (*closed)(struct output *o);
};

struct output {
        struct loop *loop;
        const struct output_user *user;
        /* not watched while a reader that must lose nothing is a whole log behind */
        struct loop_watch watch;
        struct loop_timer pause; /* of reading what no reader gets */
        int stream;              /* its user's number for it */
        int fd;                  /* owned; -1 after its end */
        struct log log;
        struct witness *witness; /* borrowed: sees each byte that the command wrote, also those that
                                  * are dropped; NULL: none */
        /* What is printed passes through it before the log, so that every reader gets the same,
         * with the same offsets. NULL: nothing is removed. Owned */
        struct sanitize *sanitize;
        uint64_t *budget; /* bytes that are still kept, shared; OUTPUT_NO_LIMIT: no limit */
        uint64_t beyond;  /* bytes past the output limit, dropped */
        /* after the end: bytes of the command still in the pipe, for readers that must lose
         * nothing */
        uint64_t left;
        unsigned is_full_twice; /* reads that filled their buffer: the pipe may be larger */
        unsigned is_terminal;
        unsigned is_over; /* its command has ended: set by its user */
};

/* A closed stream. `budget` is borrowed; ended with output_close(), output_forget()
 * and log_fini(). */
void output_init(struct output *o, struct loop *loop, int stream, uint64_t *budget,
                 const struct output_user *user);

/* Before the first byte: what is removed (a mask, text/sanitize.h). 0 or -ENOMEM */
int output_sanitize(struct output *o, unsigned kinds);

/* 0 or -errno */
int output_open(struct output *o, int take_fd, unsigned is_terminal);

/* Starts or stops reading, as its readers need. */
void output_watch(struct output *o);

/* May be called twice. */
void output_close(struct output *o);

/* Adds what was removed from it, if output_sanitize() was called. */
void output_count_removed(const struct output *o, struct channel_sanitized *ret);

/* Frees what output_sanitize() made. May be called twice. */
void output_forget(struct output *o);

/* The command has ended: reads what is in the pipe now, and no more. is_alone: no process that it
 * left holds the pipe. */
void output_finish(struct output *o, unsigned is_alone);

/* How many bytes were printed; if it is sanitised, how many of them became output. */
uint64_t output_bytes(const struct output *o);

#endif
