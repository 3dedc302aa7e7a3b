/*
 * gate/name_server.h - the DNS server inside a wall. A permitted name gets a synthetic address; any
 * other name is refused.
 *
 * No question of a sandbox is forwarded, so DNS cannot serve as a tunnel. If a name's entry lists
 * ports without a listener, the answer waits a moment until the box has opened them.
 */
#ifndef CARREL_GATE_NAME_SERVER_H
#define CARREL_GATE_NAME_SERVER_H

#include "gate/listener.h"

enum {
        QUESTIONS_MAX = 64 /* that wait, per wall */,
        STREAMS_MAX = 32,
        QUESTION_MS = 2000,
        STREAM_MS = 10000,
        LISTEN_PORTS_MAX = 16 /* for one name */
};

/* Datagrams wait on the listener; connections wait on it. */
void name_server_datagrams(struct listener *l);
void name_server_accept(struct listener *l);

/*
 * The box answered request `number`: returns the index and port it was for. False: no answer waits
 * for it. When the listeners are open, call name_server_go_on().
 */
bool name_server_listened(struct wall *w, uint32_t number, uint32_t *ret_index, uint16_t *ret_port,
                          int32_t sys);
void name_server_go_on(struct wall *w);

/* Frees all questions and streams of a wall that ends. */
void name_server_end(struct wall *w);

#endif
