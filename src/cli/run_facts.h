/*
 * cli/run_facts.h - what a command did, as entries of the audit log of `carrel run --audit`.
 *
 * Events of event/event.def with EVENT_AUDITED. An entry (its action: event_action()) has several
 * events of one kind, because each entry waits for the disk.
 */
#ifndef CARREL_CLI_RUN_FACTS_H
#define CARREL_CLI_RUN_FACTS_H

#include "base/error.h"
#include "run/run.h"
#include "text/json.h"

/*
 * Has the reports of the command recorded: `options` gets `fact`. `record` appends an entry with
 * this action and frees its output, a JSON object.
 */
void run_facts_begin(struct run_options *options,
                     int (*record)(const char *action, struct json_writer *output,
                                   struct error *e));

/* Records what is not yet recorded. Errors: the first of `record`. */
int run_facts_end(struct error *e);

#endif
