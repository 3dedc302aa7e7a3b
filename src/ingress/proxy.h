/*
 * ingress/proxy.h - one connection of the port proxy. Only ingress.c and ingress_answer.c use
 * it.
 */
#ifndef CARREL_INGRESS_PROXY_H
#define CARREL_INGRESS_PROXY_H

#include "http/door.h"
#include "ingress/head.h"
#include "ingress/side.h"
#include "proto/http_head.h"
#include "proto/http_reader.h"

enum { PROXY_TUNNEL_MS = 3600 * 1000 };

enum proxy_state {
        PROXY_HEAD,
        PROXY_CONNECT,
        PROXY_EXCHANGE,
        PROXY_TUNNEL,
        PROXY_FLUSH,
        PROXY_LINGER,
        PROXY_DEAD
};

struct proxy {
        struct link_call call; /* must be first */
        struct crowd_member member;
        struct side client, server;
        struct loop_timer deadline;
        struct door *door;
        struct listener *listener;
        enum proxy_state state;
        int closes, is_pumping, is_asked_in_chunks, answers_in_chunks, has_answer, has_wrong_token;
        char *request_bytes, *answer_bytes;
        struct http_head request, answer;
        struct http_body request_body, answer_body;
        struct reader request_reader, answer_reader;
        struct ingress_target target;
};

void proxy_die(struct proxy *p);
void proxy_deadline(struct proxy *p, uint64_t ms);

/*
 * Answers a request that cannot be forwarded, then ends the connection. proxy_no_memory() does so
 * with ERROR_NO_MEMORY and always returns 0.
 */
void proxy_refuse(struct proxy *p, const struct error *e);
int proxy_no_memory(struct proxy *p);

/* Sends more of the answer to the client (ingress_answer.c). Returns 1 if bytes were moved. */
int proxy_pass_answer(struct proxy *p);

#endif
