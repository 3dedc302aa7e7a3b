/*
 * gate/resolver.h - finds the addresses of a name, with the resolvers of the host.
 *
 * A name in /etc/hosts has the addresses listed there, as for every program of the host. c-ares
 * asks for any other name: A and AAAA, without a search list. So a name means what public DNS, or
 * the operator's resolvers, say. Answers are kept for their TTL, at least 1 s and at most 60 s. One
 * question serves all that wait for the same name. This module does not judge addresses: each dial
 * does so itself. TCP is used only for answers that do not fit into a datagram, on a separate
 * channel. A resolver without TCP therefore does not disturb other questions.
 */
#ifndef CARREL_GATE_RESOLVER_H
#define CARREL_GATE_RESOLVER_H

#include <stddef.h>

#include "base/error.h"
#include "egress/address.h"
#include "gate/fair_share.h"
#include "loop/loop.h"

struct resolver;

enum { RESOLVER_ADDRESSES_MAX = 16 };

/* One waiting request; embedded in the struct that asks. */
struct resolver_wait {
        /* count 0: the name has no address, or no resolver answers */
        void (*done)(struct resolver_wait *w, const struct egress_address *addresses, size_t count);
        struct resolver_wait *next, **back; /* the resolver's own; back NULL: not waiting */
};

/*
 * Reads /etc/resolv.conf and /etc/hosts, so call it before file access is removed. Free `ret` with
 * resolver_free(). Errors: ERROR_INTERNAL, ERROR_NO_MEMORY.
 */
int resolver_new(struct loop *loop, struct resolver **ret, struct error *e);
void resolver_free(struct resolver *r);

/*
 * Uses these servers instead: "address:port" and "[address]:port", comma-separated. Errors:
 * ERROR_INVALID_ARGUMENT.
 */
int resolver_use(struct resolver *r, const char *servers, struct error *e);

/*
 * A user of the resolver: its share of the questions that may be open at once (all, and over TCP),
 * and how many more it may ask now. It must leave before the resolver is freed. Its open questions
 * then belong to no user.
 */
struct resolver_user {
        struct fair_share open, tcp;
        unsigned left;
        uint64_t at_ms;
};
void resolver_join(struct resolver *r, struct resolver_user *u);
void resolver_leave(struct resolver *r, struct resolver_user *u);

/*
 * Asks for a canonical host name. done() is called once, possibly before this returns. If the
 * user's share or rate is used up, count is 0 at once. When the rate is nearly used up, a recently
 * expired answer is reused.
 */
void resolver_ask(struct resolver *r, struct resolver_wait *w, const char *host,
                  struct resolver_user *u);

/* Cancels: done() is not called. Accepts a request that does not wait. */
void resolver_cancel(struct resolver_wait *w);

#endif
