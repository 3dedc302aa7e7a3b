/*
 * host/try.h - finds out by trying what this machine can enforce.
 *
 * Every row of the table is attempted in a child with a deadline. The report says what worked, what
 * failed, and the command that fixes it. It also says whether the tier of a provider is
 * enforceable, which limits are enforced, and which only warn.
 */
#ifndef CARREL_HOST_TRY_H
#define CARREL_HOST_TRY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "host/attempt.h"
#include "plan/host_facts.h"
#include "spec/provider.h"

struct host_try {
        const char *name; /* stable, for programs: "user_namespace" */
        const char *what_for;
        enum attempt_result (*attempt)(struct attempt *a);
        const char *mend; /* what to do if it fails */
        /* inside a container, the container runtime must permit it first */
        bool mends_in_container;
};

enum { HOST_TRIES_MAX = 40 };

struct host_try_result {
        const struct host_try *row;
        enum provider_need need;
        enum attempt_result result;
        char detail[256];
        char mend[1024]; /* "" if nothing needs a fix */
        bool is_known;   /* from an earlier report */
};

struct host_report {
        const struct provider *provider; /* what it is tried for */
        struct host_try_result results[HOST_TRIES_MAX];
        size_t count;
        bool has_tier;
        bool is_tried;              /* a whole sandbox of it was started (cli/trial.h) */
        char why[512];              /* one sentence: the verdict and its reason */
        const char *container;      /* "docker", "podman", "kubernetes", "container", or NULL */
        const char *container_help; /* the options its runtime needs, or NULL */
};

/* Attempts what the provider's row lists. Fails only if no child can be created; a failing
 * mechanism is a result. What is in `earlier` (a report, or NULL) is not attempted again.
 * ERROR_INTERNAL: the row lists a mechanism that no row here has. */
int host_try_all(const struct host_facts *facts, const struct provider *provider,
                 const struct host_report *earlier, struct host_report *ret, struct error *e);

/*
 * Attempts one row; ret->need is for the caller to set. A child that does not answer within
 * deadline_ms (1 to 60000) is killed and counts as failed.
 */
int host_try_one(const struct host_facts *facts, const struct host_try *row, int deadline_ms,
                 struct host_try_result *ret, struct error *e);

/*
 * Adds the result of another room's attempt to *report and judges again. `row` and its texts must
 * outlive the report; `detail` is borrowed. A failing row uses the fix in `row`. Once the report
 * has HOST_TRIES_MAX rows, a further row is dropped.
 */
void host_report_add(struct host_report *report, const struct host_try *row,
                     enum provider_need need, enum attempt_result result, const char *detail);

/* Judges the results in *report: fills has_tier and why. */
void host_report_judge(struct host_report *report);

/* the provider's tier ("T1"), "limit", "extra" */
const char *host_need_name(const struct provider *p, enum provider_need need);

#endif
