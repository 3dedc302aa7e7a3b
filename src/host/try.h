/*
 * host/try.h - what this machine can enforce, found out by trying.
 *
 * Every row of the table is attempted in a child with a deadline; the report says what worked, what did not and
 * the command that mends it, and draws the line: is tier T1 (namespaces on directories of the host) enforceable,
 * and which limits will be enforced, which will only warn.
 */
#ifndef CARREL_HOST_TRY_H
#define CARREL_HOST_TRY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "host/attempt.h"
#include "plan/host_facts.h"

/* What depends on a mechanism. */
enum host_need {
        HOST_NEED_T1,          /* without it no sandbox is made: fail closed */
        HOST_NEED_LIMIT,       /* without it a limit warns by name */
        HOST_NEED_EXTRA        /* without it one feature refuses, or another way is taken */
};

struct host_try {
        const char *name;                    /* stable, for programs: "user_namespace" */
        const char *what_for;
        enum host_need need;
        enum attempt_result (*attempt)(struct attempt *a);
        const char *mend;                    /* what to do where it fails */
        bool mends_in_container;             /* inside a container, its runtime must permit it first */
};

enum { HOST_TRIES_MAX = 40 };

struct host_try_result {
        const struct host_try *row;
        enum attempt_result result;
        char detail[256];
        char mend[1024];                     /* "" where nothing is to be mended */
};

struct host_report {
        struct host_try_result results[HOST_TRIES_MAX];
        size_t count;
        bool is_t1;
        char why[512];                       /* one sentence: what follows, and from what */
        const char *container;               /* "docker", "podman", "kubernetes", "container", or NULL */
        const char *container_help;          /* the options its runtime needs, or NULL */
};

/* Attempts every row. Fails only where no child can be made at all; a failing mechanism is a result. */
int host_try_all(const struct host_facts *facts, struct host_report *ret, struct error *e);

/*
 * Attempts one row. A child that does not answer within deadline_ms (1 to 60000) is killed and counts as failed.
 */
int host_try_one(const struct host_facts *facts, const struct host_try *row, int deadline_ms,
                 struct host_try_result *ret, struct error *e);

/*
 * Adds what another room has tried to *report, and judges again. `row` and its texts outlive the report; `detail` is borrowed.
 * A failing row takes its own `mend`. Past HOST_TRIES_MAX rows it is dropped.
 */
void host_report_add(struct host_report *report, const struct host_try *row, enum attempt_result result, const char *detail);

/* What follows from the results already in *report: fills is_t1 and why. */
void host_report_judge(struct host_report *report);

const char *host_need_name(enum host_need need);   /* "T1", "limit", "extra" */

#endif
