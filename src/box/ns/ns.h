/*
 * box/ns/ns.h - the engine of namespaces: its maker, pid 1, and a control group for every command.
 */
#ifndef CARREL_BOX_NS_NS_H
#define CARREL_BOX_NS_NS_H

#include <stdint.h>

struct engine;

enum {
        /* after this idle time no spare is kept ready for the next command (box/ns/prefork.c) */
        NS_SPARE_IDLE_MS = 60000,
};

/* What the engine starts with. It takes both descriptors. */
struct ns_start {
        int maker;              /* seqpacket, to the maker, like a keeper's */
        int guest;              /* seqpacket, to pid 1 */
        uint64_t spare_idle_ms; /* NS_SPARE_IDLE_MS; tests set another value; 0: no spare */
        unsigned is_one;        /* pid 1 ends with its one command, which is the whole box */
        unsigned has_no_groups; /* tests only */
};

/* The engine of this process; there is one. */
struct engine *ns_open(const struct ns_start *start);

#endif
