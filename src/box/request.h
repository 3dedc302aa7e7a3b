/*
 * box/request.h - what a keeper may ask of a box: the table of its messages.
 */
#ifndef CARREL_BOX_REQUEST_H
#define CARREL_BOX_REQUEST_H

struct box;
struct keeper;
struct wire_connected;

/* The first messages to a keeper: the box, its execs, what was refused. */
void request_greet(struct keeper *k);
/* WIRE_BOX_UPPER, if there is one. */
void request_say_upper(struct keeper *k);
/* 1: served one message; 0: no message; -1: the keeper is gone, or broke the protocol. */
int request_take(struct keeper *k);
/* The keeper is gone: nothing is answered to it any more. */
void request_drop(struct keeper *k);
/* the engine's answer to a request for a port */
void request_connected(struct box *b, const struct wire_connected *answer, int take_socket);

#endif
