/*
 * cli/doc_streams.h - which streams a recorded run leaves in the audit log, found by trying.
 */
#ifndef CARREL_CLI_DOC_STREAMS_H
#define CARREL_CLI_DOC_STREAMS_H

#include <stdbool.h>

#include "cli/doc_probe.h"
#include "spec/spec.h"

struct doc_streams {
        bool has[5]; /* stdout, stderr, network, file_writes, exec: doc_stream_names */
};

extern const char *const doc_stream_names[5];

/*
 * Runs a recorded command that writes to both streams, starts a program, makes a file, asks for a
 * name that is not allowed and connects to one that is; then looks into the log for what it did. A
 * stream counts if its content is found there, and `network` if the refusal and, if a host can be
 * reached, the connection are. probe->state must be set. Errors: those of doc_probe_run().
 */
int doc_streams_try(struct arena *arena, const struct doc_probe *probe, const struct spec *spec,
                    struct doc_streams *ret, struct error *e);

#endif
