/*
 * gate/tape.h - writes what servers answered to the transcript of a wall (egress/transcript.h).
 *
 *     flow --what passed--> taped (a turn of its server, in memory) --lines--> tape (a file)
 *
 * The file is in memory, and was made and is read by others. Of what the command sends, only
 * digests are written. Of a connection with TLS or SSH nothing is: their keys are other ones each
 * time.
 * Writing never delays or ends a connection: what does not fit, or cannot be written, is left out,
 * and a line says so, or the last line is missing.
 */
#ifndef CARREL_GATE_TAPE_H
#define CARREL_GATE_TAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "egress/transcript.h"

/* Of a wall. */
struct tape {
        int fd;         /* owned, -1: nothing is recorded */
        bool is_replay; /* only lines about the replay are written */
        bool is_stopped;
        size_t used; /* bytes of the file, and those that wait for it */
        size_t count;
};

/* Of a connection. */
struct taped;

/*
 * Takes a file. `is_again`: another gate has written to it before, so connections are missing.
 */
void tape_begin(struct tape *t, int take_fd, bool is_replay, bool is_again);

/* The last line, then the file is closed. The connections must have been closed before. */
void tape_end(struct tape *t);

/* This cannot be replayed; nothing is written any more. host "": not known. */
void tape_stop(struct tape *t, const char *reason, const char *host, uint16_t port);

/* A connection that was not made. */
void tape_failed(struct tape *t, const char *host, uint16_t port, enum denial reason);

/* A connection was made. NULL: nothing is recorded of it. */
struct taped *tape_open(struct tape *t, const char *host, uint16_t port);

/* So many bytes were passed on, and an end was. NULL is accepted. */
void tape_passed(struct taped *c, bool is_out, const void *bytes, size_t len);
void tape_over(struct taped *c, bool is_out);

/* Frees it. Accepts NULL. */
void tape_close(struct taped *c);

/* A line of a replay. */
void tape_say(struct tape *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
