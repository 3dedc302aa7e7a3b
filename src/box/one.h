/*
 * box/one.h - a box of one command (BOX_BEGIN_ONE): the supervisor of `carrel run`.
 */
#ifndef CARREL_BOX_ONE_H
#define CARREL_BOX_ONE_H

#include <stdint.h>

struct box;
struct engine_ended;
struct exec;
struct wire_box_listed;
struct wire_message;

/* the engine has started: limits that need its counters are watched */
void one_spawned(struct box *b);
/* takes the streams out of the message that orders the command */
void one_take_streams(struct box *b, struct wire_message *m);
/* 0, or -EINVAL: the order did not carry what the command needs */
int one_give_streams(struct exec *x);
/* reports it, with the master side of its terminal, or -1 */
void one_started(struct box *b, const struct wire_box_listed *listed, int take_terminal);
/* the first end counts; it is reported once everything is gone */
void one_ended(struct exec *x, const struct engine_ended *ended);
/* ends the box. `word`: enum outcome_word, if nothing ended the command before */
void one_kill(struct exec *x, uint32_t word);
/* fills x->end once everything is gone */
void one_measure(struct exec *x);

#endif
