/*
 * wire/flow.h - many streams of bytes over one (wire/stream.h): what relay and guest have in
 * common.
 *
 * Each stream joins a local descriptor to its twin on the other side. Its bytes are on the way only
 * as far as the other side has room for them, so a reader that is slow holds up its own stream and
 * no other. Messages pass between the bytes, in order. Nothing blocks; the owner polls.
 *
 * Order at the end of a command: what it wrote before it ended goes before the report of its end.
 * The guest calls flows_settle() when the end is known and reports it once flows_is_settled(). The
 * relay passes the report on once flows_is_written().
 */
#ifndef CARREL_WIRE_FLOW_H
#define CARREL_WIRE_FLOW_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/message.h"
#include "wire/stream.h"

enum {
        FLOWS_MAX = 3200, /* streams at once: three for each of 1024 commands */
        FLOWS_POLL_MAX = 2 * FLOWS_MAX + 1,
        FLOWS_OUT_DATA = 128 * 1024,      /* bytes that wait, before no more data is added */
        FLOWS_OUT_MAX = 32 * 1024 * 1024, /* with messages; more ends the connection */
        FLOWS_IN = STREAM_HEAD + WIRE_BODY_MAX,
        FLOWS_PAD = 16 - STREAM_HEAD
};

struct flow {
        struct flow *next;
        enum stream_channel channel;
        uint32_t number;
        int from, to;     /* read and sent; written with what arrives. -1: that direction is over */
        uint32_t credit;  /* bytes that may be sent */
        uint32_t granted; /* bytes that the other side may send */
        uint32_t owed;    /* written, and not granted again yet */
        uint32_t unsent;  /* flows_settle(): bytes that were there then and are not sent yet */
        uint8_t *held;    /* STREAM_WINDOW bytes, or NULL while nothing waits for `to` */
        uint32_t start, len;
        unsigned is_ending : 1; /* EOF arrived: `to` is closed once nothing waits for it */
        unsigned says_eof : 1, says_stop : 1;
        int from_slot, to_slot; /* in the last flows_poll(); -1: none */
};

struct flows {
        enum stream_side side; /* this one's */
        int stream;            /* borrowed, non-blocking */
        /*
         * A message of the other side, its length checked. 0; 1: later: asked again at each
         * flows_serve(), and nothing more is read meanwhile; -errno: the connection ends.
         */
        int (*hear)(void *owner, uint16_t kind, void *body, size_t len);
        void *owner;
        struct flow *first;
        struct flow *turn; /* the stream that may send first */
        size_t count, fds; /* streams; their descriptors */
        bool is_greeted, is_over;
        bool is_held;    /* a message waits for its owner */
        bool has_secret; /* an order for a command is among what waits: wiped once it is sent */
        uint8_t *out;
        size_t out_start, out_len, out_room;
        size_t in_len;
        /* after FLOWS_PAD bytes; so the body of the first frame is aligned */
        _Alignas(16) uint8_t in[FLOWS_PAD + FLOWS_IN];
};

/* `f` is zeroed, and may be large: it is static. Queues the greeting. 0 or -ENOMEM. */
int flows_init(struct flows *f, enum stream_side side, int stream,
               int (*hear)(void *owner, uint16_t kind, void *body, size_t len), void *owner);
void flows_fini(struct flows *f);

/*
 * A stream begins. Takes the descriptors, also on failure; -1 for the direction that it has not;
 * the same one twice for both ways. 0, -EMFILE (FLOWS_MAX) or -ENOMEM.
 */
int flows_add(struct flows *f, enum stream_channel channel, uint32_t number, int take_from,
              int take_to);

/* Queues a message. 0, -ENOBUFS or -ENOMEM: the connection is lost. */
int flows_say(struct flows *f, uint16_t kind, const void *body, size_t len);

/* True: there is room for more work; while it is false, the owner reads no further orders. */
bool flows_has_room(const struct flows *f);

/* At most FLOWS_POLL_MAX entries; the same array goes to flows_serve(). */
size_t flows_poll(struct flows *f, struct pollfd *fds);

/* 0, or -errno: the connection is over (-EPIPE: closed by the other side). */
int flows_serve(struct flows *f, const struct pollfd *fds, size_t count);

/* Closes the streams of a command that did not start. */
void flows_drop(struct flows *f, uint32_t number);

/*
 * The stream has ended: writes what has arrived to its readers. True: more waits for one of them;
 * poll with flows_poll(), and call again.
 */
bool flows_finish(struct flows *f);

/* Everything queued is with the kernel. */
bool flows_is_flushed(const struct flows *f);

/* Of all output streams of a command. */
void flows_settle(struct flows *f, uint32_t number);
bool flows_is_settled(const struct flows *f, uint32_t number);
bool flows_is_written(const struct flows *f, uint32_t number);

#endif
