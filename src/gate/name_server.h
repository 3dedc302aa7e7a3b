/*
 * gate/name_server.h - the name server inside a wall: permitted names get an address that stands for them, nothing else gets anything.
 *
 * No question leaves the host for an answer, so there is no tunnel in names. Where a name's entry has ports without a listener, the answer waits a moment
 * until the box has made them.
 */
#ifndef CARREL_GATE_NAME_SERVER_H
#define CARREL_GATE_NAME_SERVER_H

#include "gate/wall.h"

enum { QUESTIONS_MAX = 64 /* that wait, per wall */, STREAMS_MAX = 32, QUESTION_MS = 2000, STREAM_MS = 10000, LISTEN_PORTS_MAX = 16 /* for one name */ };

/* Datagrams wait on the listener; connections do. */
void name_server_datagrams(struct listener *l);
void name_server_accept(struct listener *l);

/* The box answered request `number`: gives what it was for. False: nobody waits for it. Then, with the listeners in place, go_on. */
bool name_server_listened(struct wall *w, uint32_t number, uint32_t *ret_index, uint16_t *ret_port, int32_t sys);
void name_server_go_on(struct wall *w);

/* The wall ends. */
void name_server_end(struct wall *w);

#endif
