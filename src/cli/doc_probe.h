/*
 * cli/doc_probe.h - runs one command in a new sandbox of a manifest, as `carrel run` does, for
 * measurements and proofs.
 */
#ifndef CARREL_CLI_DOC_PROBE_H
#define CARREL_CLI_DOC_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "text/tree.h"

struct doc_probe {
        const char *file, *workspace, *host_file; /* as given on the command line; or NULL */
        const char *server;  /* run it in the sandbox of this tool server; or NULL */
        const char *replay;  /* replay this entry instead of running the command; or NULL */
        bool keeps_output;   /* with `state`: also what it reads and prints */
        uint64_t timeout_ms; /* of this command; 0: the manifest's */
        const char *state;   /* the state directory of a recorded run; NULL: it is not recorded */
};

struct doc_probed {
        const struct node *json; /* what `carrel run --json` printed; in the arena */
        uint64_t took_us;        /* from the start of carrel to its exit */
        int status;              /* its exit status; -1: it was killed */
};

/*
 * Runs `command` (NULL-terminated) and waits for its end. The environment has DOC_PROBE_SECRET,
 * which no sandbox may show. Errors: ERROR_BACKEND_FAILED (it cannot be started, or did not print
 * what was expected), ERROR_NO_MEMORY.
 */
int doc_probe_run(struct arena *arena, const struct doc_probe *probe, const char *const *command,
                  struct doc_probed *ret, struct error *e);

#define DOC_PROBE_SECRET "CARREL_DOC_SECRET"

#endif
