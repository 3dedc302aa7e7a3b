/*
 * keeper/approval_lines.h - what a person reads of an approval: lines without control and invisible
 * characters.
 */
#ifndef CARREL_KEEPER_APPROVAL_LINES_H
#define CARREL_KEEPER_APPROVAL_LINES_H

#include <stddef.h>

enum { APPROVAL_LINES_ROOM = 24 * 1024 };

struct approval_lines {
        char text[APPROVAL_LINES_ROOM]; /* each ends with a NUL */
        size_t len;
        size_t unshown; /* lines for which there was no room */
        size_t cut;     /* values that were too long, except input */
};

/*
 * Writes `text` escaped, at most `most` bytes with the NUL. Returns how many bytes of it were read.
 */
size_t approval_lines_escape(char *out, size_t most, const char *text, size_t len);

/* Appends a line. */
void approval_lines_put(struct approval_lines *l, const char *line);

/* Appends "NAME: VALUE", escaped. Of a value that is too long: begin, end, length and digest. */
void approval_lines_show(struct approval_lines *l, const char *name, const void *bytes, size_t len);

/*
 * Letters of other scripts can look like those of ASCII, and blanks like nothing: appends their
 * numbers. A line that is full has the first of them.
 */
void approval_lines_show_points(struct approval_lines *l, const char *text, size_t len);

#endif
