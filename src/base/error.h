/*
 * base/error.h - how a function says why it could not.
 *
 * A function that can fail returns int (0 or -1) and takes `struct error *e` last. The error sits
 * on the caller's stack and is written only on failure; nothing is allocated. `return fail(e, ...)`
 * is the whole idiom. The code is stable and for programs, the sentence is for people, the path is
 * the place in the caller's own input ("network/egress/2"), line and column where that input is a
 * file.
 */
#ifndef CARREL_BASE_ERROR_H
#define CARREL_BASE_ERROR_H

#include <stddef.h>

enum error_code {
        ERROR_NONE = 0,
#define ERROR_CODE(name, wire, http, exit_status, hint) ERROR_##name,
#include "base/error_codes.def"
#undef ERROR_CODE
        ERROR_MAX
};

struct error {
        enum error_code code;
        int sys;           /* errno behind it, 0 if none */
        unsigned line;     /* 1-based; 0 where there is no file */
        unsigned column;   /* 1-based, in bytes; 0 where there is no file */
        char path[256];    /* slash-separated place in the input; "" if none */
        char reason[48];   /* machine word that narrows the code ("unknown_field"); "" if none */
        char message[512]; /* one sentence, no final newline */
        char hint[512];    /* what to do next; "" means the code's own hint */
};

/* Writes code and sentence; clears every other member. Always returns -1. */
int fail(struct error *e, enum error_code code, const char *fmt, ...)
        __attribute__((format(printf, 3, 4)));

/* As fail(), and keeps errno: the sentence ends in ": <strerror>". `sys` is an errno value
 * (positive). */
int fail_sys(struct error *e, enum error_code code, int sys, const char *fmt, ...)
        __attribute__((format(printf, 4, 5)));

/* As fail(), with the place in the input and the reason word; either may be NULL. */
int fail_at(struct error *e, enum error_code code, const char *path, const char *reason,
            const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* Puts "<fmt>: " before the sentence of an error already written. Always returns -1. */
int error_wrap(struct error *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Replaces the code's own hint by a better one. */
void error_hint(struct error *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Facts about a code, from error_codes.def. Never NULL; ERROR_NONE gives "none". */
const char *error_wire_name(enum error_code code);
const char *error_code_hint(enum error_code code);
int error_http_status(enum error_code code);
int error_exit_status(enum error_code code);

/* The code with this wire name, or ERROR_NONE. */
enum error_code error_code_find(const char *wire_name);

/* The hint to show: the error's own, else its code's. */
const char *error_hint_text(const struct error *e);

#endif
