/*
 * policy/host_read.h - reading one field of a host file.
 *
 * For the readers of this room alone: host_file.c has the table of all fields, host_network.c the
 * fields about networks. A reader gets the field's node, writes to the rules, and returns 0, or -1
 * with the error filled in: ERROR_SCHEMA_INVALID with path and place, ERROR_EGRESS_INVALID,
 * ERROR_PROVIDER_CONFLICT, ERROR_NO_MEMORY.
 */
#ifndef CARREL_POLICY_HOST_READ_H
#define CARREL_POLICY_HOST_READ_H

#include "policy/host_rules.h"

enum { HOST_NAMES_MAX = 4096 }; /* entries of one list */

struct host_reading {
        struct arena *arena;
        struct host_rules *rules;
        struct error *e;
};

/* Fills in the error of a node that is not as it must be; `path` and `message` are copied. -1. */
int host_reading_wrong(struct host_reading *r, const struct node *n, const char *path,
                       const char *reason, const char *message);

/* Fills in ERROR_NO_MEMORY. -1. */
int host_reading_no_memory(struct error *e);

/* Reads a list of at most HOST_NAMES_MAX words; the words are borrowed from the tree. */
int host_read_names(struct host_reading *r, const struct node *n, const char *path,
                    struct spec_names *ret);

int host_read_egress_allowed(struct host_reading *r, const struct node *n);
int host_read_private_names(struct host_reading *r, const struct node *n);
int host_read_host_ports(struct host_reading *r, const struct node *n);
int host_read_resolvers(struct host_reading *r, const struct node *n);
int host_read_private_networks(struct host_reading *r, const struct node *n);
int host_read_denied_networks(struct host_reading *r, const struct node *n);
int host_read_egress_caps(struct host_reading *r, const struct node *n);

#endif
