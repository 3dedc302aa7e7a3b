/*
 * egress/transcript.h - what servers answered the connections of one command, as text: a record of
 * its network for `carrel audit replay`.
 *
 * Pure. gate/tape.h writes it, in the order in which the gate passed the bytes on:
 *
 *   carrel egress 1
 *   open N HOST PORT              connection N, from 1 on
 *   sent N BYTES DIGEST           a turn of the command: how many bytes, and their SHA-256 as
 * letters got N BYTES                   a turn of the server; so many bytes and a line end follow
 *   over N client|server          this side sends no more
 *   close N
 *   failed N HOST PORT REASON     it was not connected (a wire name of egress/denials.def)
 *   stop REASON HOST PORT         what follows is not recorded, so this cannot be replayed
 *   replays N M                   of a replay: its connection N is the recorded connection M
 *   differs N M TURN BYTE WHAT HOST PORT   of a replay; M 0: no recorded connection is left
 *   end
 *
 * A digest has the letters a to p for the hexadecimal digits, because a row of digits could be a
 * number that the rules of text/redact.def remove.
 */
#ifndef CARREL_EGRESS_TRANSCRIPT_H
#define CARREL_EGRESS_TRANSCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "egress/admit.h"

enum {
        TRANSCRIPT_MAX = 8 << 20, /* bytes of all; an audit log keeps no longer content */
        TRANSCRIPT_CONNECTIONS_MAX = 4096,
        TRANSCRIPT_DIGEST = 64,         /* letters */
        TRANSCRIPT_ARENA_MAX = 64 << 20 /* for transcript_read() */
};

#define TRANSCRIPT_FIRST_LINE "carrel egress 1\n"

enum transcript_kind {
        TRANSCRIPT_SENT,
        TRANSCRIPT_GOT,
        TRANSCRIPT_CLIENT_OVER,
        TRANSCRIPT_SERVER_OVER
};

struct transcript_item {
        enum transcript_kind kind;
        uint64_t len;
        const char *bytes; /* GOT: the answer; SENT: the letters of the digest */
        struct transcript_item *next;
};

struct transcript_connection {
        struct egress_host host;
        uint16_t port;
        enum denial failed; /* DENIAL_NONE: it was connected */
        struct transcript_item *first, *last;
};

/* Where a replay differs. */
struct transcript_difference {
        size_t recorded, turn; /* the recorded connection, 0: none is left; from 1 on */
        uint64_t byte;         /* of what the command sent: where the turn begins */
        const char *what;      /* "bytes", "ended", "more", "unexpected" */
        struct egress_host host;
        uint16_t port;
        struct transcript_difference *next;
};

struct transcript {
        struct transcript_connection **connections; /* number N is at N - 1 */
        size_t count;
        const char *stop; /* the first reason, or NULL */
        struct egress_host stop_host;
        uint16_t stop_port;
        size_t *replayed; /* numbers of recorded connections */
        size_t replayed_count;
        struct transcript_difference *differences;
        bool is_complete; /* its last line is there */
};

/*
 * Reads one; it borrows `bytes`. 0; -EPROTO: it is none, or altered; -ENOMEM: also if the arena is
 * full.
 */
int transcript_read(struct arena *arena, const char *bytes, size_t len, struct transcript *ret);

/* Writes the letters of a SHA-256 (32 bytes), without a NUL. */
void transcript_digest(const unsigned char *sum, char ret[TRANSCRIPT_DIGEST]);

#endif
