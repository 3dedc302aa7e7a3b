/*
 * gate/resolver.h - the addresses of a name, from the resolvers of the host.
 *
 * A name of /etc/hosts has the addresses that are written there, as for every program of the host. For any other c-ares asks; A and AAAA, and no search list: it means
 * what public DNS says of it (or the operator's own resolvers). Answers are kept for as long as they say, at least a second and at most a minute, and one question serves everybody who waits for it. What an address is
 * worth is not judged here: whoever dials does so each time. Over TCP is asked only what did not fit into a datagram, apart from all else: a resolver that takes no TCP
 * disturbs none of the other questions.
 */
#ifndef CARREL_GATE_RESOLVER_H
#define CARREL_GATE_RESOLVER_H

#include <stddef.h>

#include "base/error.h"
#include "egress/address.h"
#include "gate/share.h"
#include "loop/loop.h"

struct resolver;

enum { RESOLVER_ADDRESSES_MAX = 16 };

/* Somebody who waits; embedded in what asks. */
struct resolver_wait {
        void (*done)(struct resolver_wait *w, const struct egress_address *addresses, size_t count);   /* count 0: it has none, or nobody answers */
        struct resolver_wait *next, **back;    /* the resolver's own; back NULL: waits for nothing */
};

/* Reads /etc/resolv.conf and /etc/hosts; to be made before files are closed. `ret` is ended with resolver_free(). Errors: ERROR_INTERNAL, ERROR_NO_MEMORY. */
int resolver_new(struct loop *loop, struct resolver **ret, struct error *e);
void resolver_free(struct resolver *r);

/* Asks these instead: "address:port" and "[address]:port", comma between them. Errors: ERROR_INVALID_ARGUMENT. */
int resolver_use(struct resolver *r, const char *servers, struct error *e);

/*
 * Who asks: its share of the questions that may be open at once, all and over TCP, and how many more it may ask now. It leaves before this goes, and what it asked is
 * nobody's then.
 */
struct resolver_user { struct share open, tcp; unsigned left; uint64_t at_ms; };
void resolver_join(struct resolver *r, struct resolver_user *u);
void resolver_leave(struct resolver *r, struct resolver_user *u);

/*
 * Asks for a canonical host name; done() comes once, perhaps before this returns. With more questions open than its share allows, or asked than its rate: count 0, at
 * once. An answer that is just too old is given again rather than asked for, where the rate is nearly used up.
 */
void resolver_ask(struct resolver *r, struct resolver_wait *w, const char *host, struct resolver_user *u);

/* done() will not come. Accepts one that does not wait. */
void resolver_cancel(struct resolver_wait *w);

#endif
