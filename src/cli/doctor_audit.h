/*
 * cli/doctor_audit.h - what `carrel doctor` says of the caller's audit log.
 */
#ifndef CARREL_CLI_DOCTOR_AUDIT_H
#define CARREL_CLI_DOCTOR_AUDIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "audit/checkpoint.h"
#include "base/arena.h"
#include "base/error.h"
#include "text/json.h"

struct doctor_audit {
        const char *at; /* the log's directory; NULL: no state directory is known */
        bool is_open;   /* the log is there and can be opened; else `why` it cannot */
        struct error why;
        bool knows_retention; /* else `retention` says why not */
        struct error retention;
        uint64_t keep_ms; /* audit_retention of the host file; 0: forever */
        bool has_checkpoint;
        struct audit_checkpoint checkpoint; /* the last one, of the log itself */
        unsigned key_count, key_mode;       /* permissions that any of its secret files has */
};

/* Looks at the log, and writes nothing. Texts live in `arena`. */
void doctor_audit_look(struct arena *arena, struct doctor_audit *ret);

/* Some lines for people. */
void doctor_audit_print(const struct doctor_audit *a);

/* The member `audit`. */
void doctor_audit_write(struct json_writer *w, const struct doctor_audit *a);

#endif
