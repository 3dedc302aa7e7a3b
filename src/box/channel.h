/*
 * box/channel.h - one caller of one exec: frames to it, frames from it.
 */
#ifndef CARREL_BOX_CHANNEL_H
#define CARREL_BOX_CHANNEL_H

#include <stddef.h>
#include <stdint.h>

#include "loop/loop.h"
#include "wire/channel.h"
#include "wire/message.h"

struct exec;

struct channel {
        struct channel *next; /* the exec's next channel */
        struct exec *exec;
        struct loop_watch watch; /* fd: owned */
        int fd;
        uint64_t at[2]; /* the next byte of each stream */
        uint64_t missed;
        uint64_t said;       /* of a channel that sends the whole input: bytes so far */
        unsigned char *rest; /* bytes that the socket did not take */
        size_t rest_at, rest_len;
        struct channel_frame head; /* of the incoming frame */
        size_t head_got, body_got, body_left;
        unsigned char body[16];     /* of a small frame */
        uint64_t by;                /* number of the keeper that brought it */
        struct loop_timer patience; /* while is_kept */
        unsigned is_handed : 1;     /* its caller has the other end */
        unsigned is_repeat : 1;     /* of a call that was made again */
        /* the other end closed before a caller had it: kept for a repeat of the call; fd may be
         * -1 */
        unsigned is_kept : 1;
        unsigned is_owner : 1, says_whole : 1, is_lossless : 1, is_detached : 1, said_started : 1,
                said_end : 1, is_hung : 1, is_deaf : 1, is_broken : 1;
};

/*
 * CHANNEL_OF_OTHERS: observes only. SAME_CALL: the same call again, with all its input. REPEAT:
 * again, with the input given before. OWNER: the exec's own call.
 */
enum channel_of { CHANNEL_OF_OTHERS, CHANNEL_OF_SAME_CALL, CHANNEL_OF_REPEAT, CHANNEL_OF_OWNER };

void channel_open(struct exec *x, int take_fd, enum channel_of of, unsigned is_lossless,
                  uint64_t out_offset, uint64_t err_offset);
void channel_refuse(int take_fd, const struct wire_exec_failed *failed);
/* sends what can be sent to every caller; may end channels, and then free the exec */
void channel_push_all(struct exec *x);
/* standard input has room again */
void channel_feed_all(struct exec *x);
void channel_free(struct channel *c);

#endif
