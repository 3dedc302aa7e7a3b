/*
 * text/source.h - the bytes being read: are they a text at all, and which line and column is this one.
 *
 * Only this room uses it. Lines end in LF or CR LF, as in every editor; whatever else some reader might
 * take for the end of a line is refused in YAML, so that what a person sees and what we read agree.
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
        const char *bytes;         /* borrowed */
        size_t len;
        unsigned first_line;
        size_t at, chars;          /* where place() stopped last: in bytes and in characters */
        size_t line_start;         /* first byte of that line */
        unsigned line;
};

void source_init(struct source *s, const char *bytes, size_t len, unsigned first_line);

/* The place of a byte; past the end it is the end. Quick when asked in ascending order. */
struct place source_place(struct source *s, size_t offset);

/* The offset of a character, counted from 0; s->len past the end. Quick when asked in ascending order. */
size_t source_offset(struct source *s, size_t character);

/* A byte order mark, NUL or bytes that are not UTF-8: refused, reason `reason`. */
int source_check_utf8(struct source *s, const char *reason, struct error *e);

/* Control characters, lone carriage returns and the line ends of YAML 1.1 that 1.2 gave up: refused. */
int source_check_controls(struct source *s, const char *reason, struct error *e);

/* A syntax error with its place. Always returns -1. */
int syntax_error(struct error *e, struct place at, const char *reason, const char *fmt, ...)
        __attribute__((format(printf, 4, 5)));

#endif
