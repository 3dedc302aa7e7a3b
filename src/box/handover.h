/*
 * box/handover.h - which caller owns a foreground exec, while a keeper hands it over.
 */
#ifndef CARREL_BOX_HANDOVER_H
#define CARREL_BOX_HANDOVER_H

#include <stdint.h>

struct channel;
struct exec;
struct loop_timer;

/* true: a caller exists, or is expected, whose disconnect ends the exec */
int handover_has_owner(const struct exec *x);
/* its other end is closed. 1: the channel stays for a repeat of the call, until give_up() */
int handover_keep(struct channel *c, void (*give_up)(struct loop_timer *t));
/* For such a call: takes over what was kept for it. Returns a kept channel that has no use any
 * more: free it, and call this again. NULL: there is no other */
struct channel *handover_adopt(struct channel *c);
/*
 * A new channel. If it must lose nothing and its call may be repeated, it holds: until its caller
 * has the other end, the log drops nothing that was sent to it.
 */
void handover_hold(struct channel *c);
/* the log has grown: a channel holds a full one for a moment only */
void handover_grown(struct channel *c);
/* the caller has received the other end of the last channel that this keeper brought */
void handover_done(struct exec *x, uint64_t keeper);
/* true: unread input contains the request to detach */
int handover_says_detach(const struct channel *c);

#endif
