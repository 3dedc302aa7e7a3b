/*
 * box/channel.h - one caller of one exec: frames to it, frames from it.
 */
#ifndef CARREL_BOX_CHANNEL_H
#define CARREL_BOX_CHANNEL_H

#include <stdint.h>

#include "wire/message.h"

struct channel;
struct exec;

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
