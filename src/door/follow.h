/*
 * door/follow.h - the channel of one exec, followed without waiting. Independent of HTTP.
 *
 * Callbacks come from the loop. Exactly one of failed, ended and lost comes, and is the last; the follower then closes itself. Each
 * may call follow_close(), also within a callback; the struct has to live until that callback has returned (loop/later.h).
 */
#ifndef CARREL_DOOR_FOLLOW_H
#define CARREL_DOOR_FOLLOW_H

#include <stddef.h>
#include <stdint.h>

#include "loop/loop.h"
#include "wire/channel.h"
#include "wire/message.h"

struct follow;

struct follow_ops {            /* NULL: not of interest */
        void (*started)(struct follow *f, const struct channel_started *s);
        void (*failed)(struct follow *f, const struct wire_exec_failed *failed);
        /* stream 1 or 2. After follow_pause() at most FOLLOW_BURST further bytes are told. */
        void (*output)(struct follow *f, int stream, const void *bytes, size_t len, uint64_t offset);
        void (*ended)(struct follow *f, const struct channel_end *end);
        void (*lost)(struct follow *f);                /* the box or its channel broke off; how it ended is not known here */
        void (*quiet)(struct follow *f);               /* everything that had come was told */
        size_t (*room)(struct follow *f);              /* how many bytes to read at once; NULL: as many as come */
        void (*writable)(struct follow *f);            /* what was sent has gone, after follow_pending() was not 0 */
};

enum { FOLLOW_BURST = 512 * 1024 };

struct follow {
        struct loop_watch watch;       /* first */
        int fd;
        struct loop *loop;
        const struct follow_ops *ops;
        void *state;                   /* the caller's */
        struct channel_reader reader;
        unsigned char *out;            /* frames that wait */
        size_t out_at, out_len, out_room;
        int is_paused, is_open;
};

/* Takes the descriptor, which becomes non-blocking. 0 or -1 (no memory; the descriptor is closed). */
int follow_open(struct follow *f, struct loop *l, int take_fd, const struct follow_ops *ops, void *state);

/* Closes without DETACH: a foreground exec is killed. Accepts one that is closed or was never opened. */
void follow_close(struct follow *f);

/* Says DETACH, then closes: the exec goes on. */
void follow_leave(struct follow *f);

/* No further reading until resume: the box waits or drops, as the exec was started. */
void follow_pause(struct follow *f);
void follow_resume(struct follow *f);

/* Queues one frame to the box (CHANNEL_STDIN, _STDIN_END, _SIGNAL, _RESIZE). 0, or -1 without memory or channel. */
int follow_send(struct follow *f, uint32_t kind, const void *bytes, size_t len);

/* Bytes that wait to be sent: above FOLLOW_BURST no more should be given. */
size_t follow_pending(const struct follow *f);

#endif
