/*
 * cli/audit_egress.h - the network of a recorded command, for `carrel audit replay`: what servers
 * answered, why it cannot be replayed, and where a replay differs.
 */
#ifndef CARREL_CLI_AUDIT_EGRESS_H
#define CARREL_CLI_AUDIT_EGRESS_H

#include <stdbool.h>

#include "audit/log.h"
#include "base/buffer.h"
#include "base/error.h"
#include "cli/audit_recording.h"
#include "egress/transcript.h"
#include "text/json.h"

struct audit_egress {
        const char *reason; /* why it cannot be replayed (docs/AUDIT.md), or NULL */
        bool has_answers;   /* a transcript that is replayed */
        struct transcript t;
        struct arena arena;
        struct buffer bytes;
};

/*
 * Reads the transcript of the last of them, if it has one. Call audit_egress_fini(), also after a
 * failure. Errors: those of audit_content_read(), ERROR_NO_MEMORY.
 */
int audit_egress_read(const struct audit_log *log, const struct recordings *all,
                      struct audit_egress *ret, struct error *e);
void audit_egress_fini(struct audit_egress *g);

/* A file in memory with it, -1: there is none. Errors: ERROR_BACKEND_FAILED; *ret is -1. */
int audit_egress_open(const struct audit_egress *g, int *ret, struct error *e);

/* The replay beside it; audit_egress_fini() on `now`. */
struct audit_egress_again {
        struct audit_egress now;
        bool is_equal;
};

/*
 * Compares with the replay, in the caller's own log. Nothing to compare without has_answers: equal.
 * Errors: those of audit_content_read(), ERROR_NO_MEMORY.
 */
int audit_egress_compare(struct audit_egress *g, const struct audit_log *mine,
                         const struct recording *now, struct audit_egress_again *ret,
                         struct error *e);

/* Lines for a person, or the members `egress` and `replay_egress` of an open map. */
void audit_egress_print(const struct audit_egress *g, const struct audit_egress_again *a);
void audit_egress_write(struct json_writer *w, const struct audit_egress *g,
                        const struct audit_egress_again *a);

#endif
