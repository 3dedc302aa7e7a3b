/*
 * link/follow.h - reads and writes the channel of one exec without blocking, for link/call.c.
 *
 * The loop calls the callbacks. follow_close() may be called at any time, also within a callback.
 * The struct must live until that callback has returned (loop/deferred.h). After follow_pause(), at
 * most FOLLOW_BURST more bytes are passed.
 */
#ifndef CARREL_LINK_FOLLOW_H
#define CARREL_LINK_FOLLOW_H

#include <stddef.h>
#include <stdint.h>

#include "base/byte_queue.h"
#include "loop/loop.h"
#include "wire/channel.h"

struct follow;

struct follow_ops {
        /* any frame of the box; after FAILED and END nothing follows: close */
        void (*piece)(struct follow *f, const struct channel_piece *p);
        /* the box or its channel closed; the follower is closed. How the exec ended is not known.
         */
        void (*lost)(struct follow *f);
        /* how many bytes to read at once */
        size_t (*room)(struct follow *f);
        /* the queued frames were sent, after follow_pending() was not 0 */
        void (*writable)(struct follow *f);
        void (*quiet)(struct follow *f); /* all received bytes were passed on; NULL: not used */
};

enum { FOLLOW_BURST = 512 * 1024 };

struct follow {
        struct loop_watch watch; /* must be first */
        int fd;
        struct loop *loop;
        const struct follow_ops *ops;
        void *state; /* owned by the caller */
        struct channel_reader reader;
        struct bytes out; /* frames that wait to be sent */
        int is_paused, is_open;
};

/*
 * Takes the descriptor, which becomes non-blocking. Returns 0, or -1 if out of memory (the
 * descriptor is closed).
 */
int follow_open(struct follow *f, struct loop *l, int take_fd, const struct follow_ops *ops,
                void *state);

/*
 * Closes without DETACH, which kills a foreground exec. Accepts a closed or never opened follower.
 */
void follow_close(struct follow *f);

/* Sends DETACH, then closes: the exec keeps running. */
void follow_leave(struct follow *f);

/*
 * Stops reading until resume. The box then waits or drops output, depending on the start flags of
 * the exec.
 */
void follow_pause(struct follow *f);
void follow_resume(struct follow *f);

/*
 * Queues one frame to the box (CHANNEL_STDIN, _STDIN_END, _SIGNAL, _RESIZE). A box that has closed
 * the channel gets nothing, and that is no failure: it may have closed because the exec ended, so
 * the frames that are left to read decide (`ended`, `failed`, or `lost`). Without memory the
 * channel is cut off, and `lost` follows. Does nothing if the follower is closed.
 */
void follow_send(struct follow *f, uint32_t kind, const void *bytes, size_t len);

/* Bytes that wait to be sent. Above FOLLOW_BURST, no more should be added. */
size_t follow_pending(const struct follow *f);

#endif
