/*
 * text/source.h - the input bytes: checks that they are text, and finds line and column of a byte.
 *
 * Internal to this room. Lines end in LF or CR LF, as in every editor. Other line ends are refused
 * in YAML, so that people and this reader see the same lines.
 */
#ifndef CARREL_TEXT_SOURCE_H
#define CARREL_TEXT_SOURCE_H

#include <stddef.h>

#include "base/error.h"

/* 1-based, in bytes. */
struct place {
        unsigned line, column;
};

struct source {
        const char *bytes; /* borrowed */
        size_t len;
        unsigned first_line;
        size_t at, chars;  /* where place() last stopped: in bytes and in characters */
        size_t line_start; /* first byte of that line */
        unsigned line;
};

void source_init(struct source *s, const char *bytes, size_t len, unsigned first_line);

/*
 * The place of a byte; an offset past the end gives the place of the end. Fast for ascending
 * offsets.
 */
struct place source_place(struct source *s, size_t offset);

/* The offset of a character, counted from 0; s->len past the end. Fast for ascending characters. */
size_t source_offset(struct source *s, size_t character);

/* Refuses a byte order mark, NUL or bytes that are not UTF-8, with `reason`. */
int source_check_utf8(struct source *s, const char *reason, struct error *e);

/*
 * Refuses control characters, lone carriage returns and the YAML 1.1 line ends that YAML 1.2
 * dropped.
 */
int source_check_controls(struct source *s, const char *reason, struct error *e);

/* A syntax error with its place. Always returns -1. */
int syntax_error(struct error *e, struct place at, const char *reason, const char *fmt, ...)
        __attribute__((format(printf, 4, 5)));

#endif
