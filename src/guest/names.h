/*
 * guest/names.h - the name server of a sandbox without a network. It knows no name, answers at
 * once, and reports each name that was asked for.
 *
 * If network.egress lists nothing, there is no gate. Programs still ask for names, and a name
 * server that does not answer costs them a minute. Pid 1 answers instead, over one UDP socket on
 * 127.0.0.1:53 that the maker opened. It also reports connections to addresses: the kernel refuses
 * them (ENETUNREACH) and counts them.
 */
#ifndef CARREL_GUEST_NAMES_H
#define CARREL_GUEST_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/gate.h"

enum {
        /* different refusals reported per second; further ones are answered, but not reported */
        NAMES_KINDS = 64,
        /* reports of the same refusal per second; further ones are counted, and reported as a
         * number */
        NAMES_EACH = 8,
        NAMES_SECOND_MS = 1000,
        NAMES_AT_ONCE = 16,       /* questions before other work gets a turn */
        NAMES_QUESTION_MAX = 1024 /* bytes; a longer one is truncated, and therefore
                                   * malformed */
};

struct names_row {
        struct wire_wall_denied d; /* d.count: not reported yet */
        unsigned reports;
};

struct names {
        int control; /* to the box; non-blocking */
        /* non-blocking; -1: this sandbox has a gate instead, and this module does nothing */
        int socket;
        int diag;            /* NETLINK_SOCK_DIAG of this namespace, -1: none */
        uint64_t until_ms;   /* boot clock: the end of the current second */
        uint64_t unroutable; /* connections that the kernel refused, as far as they were
                              * reported */
        /* a report waits for room in the control socket: no more questions are read */
        bool is_due;
        size_t count;
        struct names_row rows[NAMES_KINDS];
};

/* `n` is zeroed. The descriptors are borrowed. */
void names_init(struct names *n, int control, int socket, int diag);

/* Reads questions, answers them, counts what was refused. True: there may be more. */
bool names_serve(struct names *n);

/*
 * Call it when a command has ended: counts what was refused to it. `asks_kernel`: also counts
 * connections to addresses. That question to the kernel takes about 0.1 ms, so it is skipped for a
 * command that succeeded within a few milliseconds. Its refusals are found at the next call.
 */
void names_collect(struct names *n, bool asks_kernel);

/*
 * Sends reports: `all` of them, or as many as a second allows. 0 (is_due: one waits), or -1: the
 * other end is closed.
 */
int names_tell(struct names *n, bool all);

/* Milliseconds until names_tell() has something to send; -1: nothing waits. */
int names_wait_ms(const struct names *n);

/*
 * Writes the answer to one question into `ret`, at most DNS_ANSWER_MAX bytes (proto/dns.h). Returns
 * its length; 0: no answer. `ret_host` becomes the name in lower case, without service labels
 * ("_https._tcp."). *ret_is_refusal: report it, because the question asks for an address.
 */
size_t names_answer(const uint8_t *question, size_t len, uint8_t *ret, size_t room,
                    char ret_host[GATE_HOST_ROOM], bool *ret_is_refusal);

/*
 * The number of connections refused without a route, from the texts of /proc/net/snmp and
 * /proc/net/snmp6.
 */
uint64_t names_unroutable(const char *snmp, const char *snmp6);

#endif
