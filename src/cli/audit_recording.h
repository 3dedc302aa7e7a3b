/*
 * cli/audit_recording.h - the entries of recorded commands, for `carrel audit replay`.
 */
#ifndef CARREL_CLI_AUDIT_RECORDING_H
#define CARREL_CLI_AUDIT_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/log.h"
#include "base/arena.h"
#include "base/error.h"
#include "text/tree.h"

enum { RECORDINGS_MAX = 256 }; /* commands of one sandbox */

/* The two entries of one command, or of one call that changes files. */
struct recording {
        struct arena arena;
        const struct node *started, *ended; /* input of the one, output of the other */
        const char *operation;              /* of a call; NULL: a command */
        uint64_t seq, start, connections; /* start: its number, if the end has it: of the daemon */
        bool has_start;
        char subject[64], chain[AUDIT_ID_TEXT];
        bool is_broken;
};

/* `seq`: the number of its start or its end. Call recording_fini() after it. */
void recording_init(struct recording *r, uint64_t seq);
void recording_fini(struct recording *r);

/*
 * Reads both entries; r->seq is the number of the end then. Errors: ERROR_INVALID_ARGUMENT if it is
 * no command that has ended, ERROR_NO_MEMORY, those of audit_log_read().
 */
int recording_read(struct audit_log *log, struct recording *r, struct error *e);

/* The entry r->seq alone, as `ended`: it may be of a command that was refused. */
int recording_read_refusal(struct audit_log *log, struct recording *r, struct error *e);

/* A scalar member as text, NULL: there is none; is it true?; what was kept of a stream, or NULL. */
const char *recording_text(const struct node *map, const char *key);
bool recording_says(const struct node *map, const char *key);
const struct node *recording_stream(const struct recording *r, const char *name);

/* What ran in a sandbox, oldest first; the last one is a command. */
struct recordings {
        struct recording *of;
        size_t count;
};

#endif
