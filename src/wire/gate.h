/*
 * wire/gate.h - messages between the gate, its keeper and boxes.
 *
 *     keeper  --control--> gate      which walls there are, and what may pass each
 *     box     <---link---> gate      one pair a wall: names and listeners that must outlive the
 * gate, and what was refused
 *
 * Both are SOCK_SEQPACKET. The box owns the wall's sockets, its names and its listeners; a new gate
 * receives all of them, so that an address that was answered earlier still belongs to the same
 * name. `carrel run` and `carrel gate` are the keepers of their boxes and gates.
 *
 *     box --WALL (sockets, from pid 1)--> kept --WIRE_BOX_WALL asked by a keeper--> WIRE_BOX_WALLED
 * {sockets, gate's end of a new link} keeper --WIRE_GATE_ADD {policy; link, sockets}--> gate
 * --WIRE_GATE_ADDED--> keeper box --link: WIRE_WALL_NAMED..., WIRE_WALL_COUNTED, WIRE_WALL_BEGIN-->
 * gate serves
 *
 * A wall is served once ADD and BEGIN have come, and until its link or the control socket closes. A
 * message that is malformed ends what it came over.
 */
#ifndef CARREL_WIRE_GATE_H
#define CARREL_WIRE_GATE_H

#include <stdint.h>

#include "wall/wall.h"
#include "wire/box.h"

enum {
        GATE_HOST_ROOM = 256 /* a host name with its NUL */,
        GATE_POLICY_MAX = 128 * 1024,
        GATE_ENTRIES_MAX = 1024
};

/*
 * WIRE_GATE_CONFIG, first: then `resolvers` texts "address:port" or "[address]:port" (none: those
 * of resolv.conf), then `networks` texts in CIDR form, denied with "!" before it: what of the
 * addresses that are never dialled (loopback, private, link-local, ...) may be dialled all the
 * same; each text with its NUL.
 */
struct wire_gate_config {
        uint32_t resolvers, networks, texts_len, pad;
};

/* Caps of one wall; 0: the gate's own. */
struct wire_gate_caps {
        uint32_t connections;         /* at once; above: accepted and reset */
        uint32_t names;               /* that have an address at once */
        uint64_t bytes_out, bytes_in; /* over the life of the wall; beyond: reset */
        uint64_t bytes_per_second;    /* each way */
        uint32_t needs_quota, pad;    /* sends no byte that WIRE_GATE_QUOTA does not permit */
};

/*
 * WIRE_GATE_ADD and WIRE_GATE_SET (a change of the list, whole or not at all; relays that it no
 * longer allows are reset): then `allow` entries as network.egress writes them, then
 * `private_names` entries (names that may have private addresses by the operator's word); each text
 * with its NUL. ADD brings descriptors: the link, then the wall's sockets, WALL_FIXED and more,
 * with a struct wall_listener for each beyond WALL_FIXED after the texts (8-byte aligned). Answered
 * by WIRE_GATE_ADDED: struct wire_gate_added; with EINVAL what was before stays.
 */
struct wire_gate_policy {
        uint32_t wall;       /* the keeper's number for it */
        uint32_t generation; /* grows with each change */
        uint32_t allow, private_names, texts_len, listeners;
        struct wire_gate_caps caps;
        char id[BOX_ID_LEN]; /* of the sandbox */
};
struct wire_gate_added {
        uint32_t wall, generation;
        int32_t sys;
        uint32_t pad;
};

/*
 * The bodies, written into `ret` (8-byte aligned, `room` bytes). They give the length; 0: it does
 * not fit, or there are too many. Of `head` the counts and the length are filled in. Texts are
 * borrowed.
 */
size_t wire_gate_config(void *ret, size_t room, const char *const *resolvers, size_t resolver_count,
                        const char *const *networks, size_t network_count);
size_t wire_gate_policy(void *ret, size_t room, const struct wire_gate_policy *head,
                        const char *const *allow, size_t allow_count,
                        const char *const *private_names, size_t private_count,
                        const struct wall_listener *listeners, size_t listener_count);

/*
 * WIRE_GATE_TRANSCRIPT, before the ADD of the wall: what servers answer is recorded
 * (egress/transcript.h). Descriptors: a file in memory to write to; and, to a gate that was started
 * to replay (--stand-in), one with the recording. `is_again`: another gate has written to the file.
 * Not answered.
 */
struct wire_gate_transcript {
        uint32_t wall, is_again;
};

/* WIRE_GATE_DROP: struct wire_number, the wall. Its connections are reset; the sockets stay the
 * box's. */
/* WIRE_GATE_DROPPED, unasked: struct wire_number, a wall whose link ended, or was broken. It may be
 * added again. */
/* WIRE_GATE_USAGE: struct wire_number, answered by: */
struct wire_gate_used {
        uint32_t wall, connections, names, pad;
        uint64_t accepted, denied, bytes_out, bytes_in;
};

/*
 * WIRE_GATE_QUOTA_ASK, gate to keeper: `left` bytes of the part `number` are given back (0: there
 * is none); `wants`: another part. That is answered by WIRE_GATE_QUOTA: bytes that the wall may
 * send until `until_ms` (boot clock); 0: none until then, because the limit is reached or, with
 * `sys`, because the keeper cannot count.
 */
struct wire_gate_quota_ask {
        uint32_t wall, number;
        uint64_t left;
        uint32_t wants, pad;
};
struct wire_gate_quota {
        uint32_t wall, number;
        uint64_t bytes, until_ms;
        int32_t sys;
        uint32_t pad;
};

/*
 * WIRE_BOX_WALL (no body, box protocol 3), answered by WIRE_BOX_WALLED: this, then `listeners`
 * struct wall_listener. Descriptors: the gate's end of a new link, then the sockets. sys ENOENT:
 * the box has no wall, and none comes; EAGAIN: ask again. Of a routed wall (protocol 4) `stock` is
 * one more than the ports that it can still listen to, else 0.
 */
struct wire_box_walled {
        int32_t sys;
        uint16_t listeners, stock;
};

/* WIRE_BOX_DENIED, unasked, and for each that is remembered when a keeper connects: a number told
 * again counts more. */

/* WIRE_GATE_STARTED, launcher to keeper: no body; descriptor: the control socket of a gate that was
 * started just now. */

/* -- the link ---------------------------------------------------------------------------------- */

/* WIRE_WALL_NAMED, gate to box when a name is given an address; box to gate, before BEGIN, for each
 * that it keeps. `retired` names are not answered any more. */
struct wire_wall_named {
        uint32_t index, is_retired;
        char host[GATE_HOST_ROOM];
};

/*
 * WIRE_WALL_LISTEN, gate to box, wanted {index, port}; answered by WIRE_WALL_LISTENED with two
 * listeners (IPv4, IPv6), or with `sys` and none. Of a routed wall with one, at every address and
 * for all names: its box asks pid 1 for index 0. ENFILE: the stock is used up.
 */
struct wire_wall_listen {
        uint32_t request;
        uint32_t index;
        uint16_t port, pad;
};
struct wire_wall_listened {
        uint32_t request;
        int32_t sys;
};

/*
 * WIRE_WALL_COUNTED, box to gate, before BEGIN: the bytes that passed while there were other gates.
 * A box of before does not say it, and is not told. Gate to box: what passed in all, and while more
 * passes a number ahead of that.
 */
struct wire_wall_counted {
        uint64_t bytes_out, bytes_in;
};

/* WIRE_WALL_DENIED, gate to box: what was refused. */
struct wire_wall_denied {
        uint64_t at_ms;  /* boot clock */
        uint64_t cgroup; /* of the process that asked (cgroup v2 id), 0: not known */
        uint32_t reason; /* enum denial, egress/admit.h */
        uint32_t count;
        uint16_t port, family /* 4, 6, or 0: there was a name only */;
        uint32_t untold; /* number of refusals before this one that could not be sent, and are only
                            counted */
        uint8_t address[16];        /* that was connected to */
        char host[GATE_HOST_ROOM];  /* asked for, "" where none was */
        char other[GATE_HOST_ROOM]; /* what contradicts it: SNI, Host; "" */
};

/*
 * WIRE_WALL_ALLOWED, box to gate before BEGIN, without a body: report connections. A box of before
 * does not say it, and is not told. Gate to box: connections to one destination, which began or
 * (is_end) ended; without a host: of which only the number is known. Bytes and duration are sums,
 * of those that ended.
 */
struct wire_wall_allowed {
        uint64_t at_ms;  /* boot clock */
        uint64_t cgroup; /* of the process that asked (cgroup v2 id), 0: not known, or of several */
        uint64_t bytes_out, bytes_in, duration_ms;
        uint32_t count, is_end;
        uint16_t port, family; /* 4, 6, or 0: no address is known */
        uint32_t pad;
        uint8_t address[16]; /* outside, that the gate connected to; IPv4 in the last 4 bytes */
        char host[GATE_HOST_ROOM];
};

/* WIRE_BOX_ALLOWED, unasked, protocol 8. Not repeated to a later keeper. */
struct wire_box_allowed {
        uint32_t exec;   /* whose it was, 0: not known */
        uint32_t missed; /* connections before this one that could not be sent */
        struct wire_wall_allowed a;
};

struct wire_box_denied {
        uint64_t number; /* in this box, from 1 on */
        uint32_t exec;   /* whose it was, 0: not known */
        uint32_t pad;
        struct wire_wall_denied d;
};

/*
 * WIRE_BOX_REFUSED, unasked, behind WIRE_BOX_DENIED, and of each exec that is known when a keeper
 * connects: so many different things that were refused to it are listed (kept), with `more`
 * refusals of others; and where at < kept, what is listed there and how often it was refused.
 * `total` is of the whole sandbox.
 */
struct wire_box_refused {
        uint64_t total, more, count;
        uint32_t exec, kept, at, pad;
        struct wire_wall_denied d;
};

/*
 * Between pid 1 and its box: WIRE_WALL (body: struct wall_listener for each socket beyond
 * WALL_FIXED, and of a routed wall one more with port 0 and the size of its stock for an index; the
 * sockets), once, before WIRE_BOX_READY; WIRE_WALL_LISTEN and WIRE_WALL_LISTENED as above, passed
 * through.
 */

#endif
