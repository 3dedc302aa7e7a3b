/*
 * guest/names.h - the name server of a sandbox without a network: it knows no name, answers at once, and reports what was asked for.
 *
 * Where network.egress lists nothing there is no gate. Programs still ask for names, and a name server that does not answer costs them a minute. Pid 1 answers instead, over
 * one UDP socket on 127.0.0.1:53 that the maker opened. It also reports connections to addresses: the kernel refuses them (ENETUNREACH) and counts them.
 */
#ifndef CARREL_GUEST_NAMES_H
#define CARREL_GUEST_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/gate.h"

enum {
        NAMES_KINDS = 64,              /* different refusals that are reported in a second; further ones are answered, and not reported */
        NAMES_EACH = 8,                /* reports of one of them in a second; further ones are counted, and reported as a number */
        NAMES_SECOND_MS = 1000,
        NAMES_AT_ONCE = 16,            /* questions between two looks at everything else */
        NAMES_QUESTION_MAX = 1024      /* bytes; a longer one is cut, so it is malformed */
};

struct names_row {
        struct wire_wall_denied d;     /* d.count: what is not reported yet */
        unsigned reports;
};

struct names {
        int control;                   /* to the box; does not block */
        int socket;                    /* does not block; -1: this sandbox has a gate instead, and nothing here does anything */
        int diag;                      /* NETLINK_SOCK_DIAG of this namespace, -1: none */
        uint64_t until_ms;             /* boot clock: the end of this second */
        uint64_t unroutable;           /* connections that the kernel refused and that were reported */
        bool is_due;                   /* a report waits for room in the control socket: nothing more is read */
        size_t count;
        struct names_row rows[NAMES_KINDS];
};

/* `n` is zeroed. The descriptors are borrowed. */
void names_init(struct names *n, int control, int socket, int diag);

/* Reads questions, answers them, counts what was refused. True: there may be more. */
bool names_serve(struct names *n);

/*
 * A command has ended: what it was refused before that is counted now. `asks_kernel`: connections to addresses as well. To ask takes a tenth of a millisecond, so it is not
 * done for one that succeeded within a few; what it was refused is found at the next.
 */
void names_collect(struct names *n, bool asks_kernel);

/* Reports what is to be reported, `all` of it or what a second allows. 0 (is_due says whether something waits), or -1 when nobody listens any more. */
int names_tell(struct names *n, bool all);

/* Milliseconds until names_tell() has something to do, -1: nothing waits. */
int names_wait_ms(const struct names *n);

/*
 * The answer to one question, at most DNS_ANSWER_MAX bytes (proto/dns.h) into `ret`. Gives its length; 0: none. `ret_host` becomes the name without labels of services
 * ("_https._tcp."), in lower case; *ret_is_refusal says whether it is one to report: a question for an address.
 */
size_t names_answer(const uint8_t *question, size_t len, uint8_t *ret, size_t room, char ret_host[GATE_HOST_ROOM], bool *ret_is_refusal);

/* The number of connections refused for want of a route, from the texts of /proc/net/snmp and /proc/net/snmp6. */
uint64_t names_unroutable(const char *snmp, const char *snmp6);

#endif
