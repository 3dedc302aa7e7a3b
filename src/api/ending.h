/*
 * api/ending.h - how a command ended, in bytes: the same members with the same names on every
 * front.
 *
 * `run --json`, `exec --json`, `ps --json`, REST, MCP and the event exec-ended have these members:
 *
 *   outcome         always: a word of outcome/outcome.h
 *   exit_code       always: 0 to 255, the exit status of `carrel run` and `carrel exec`
 *   signal          only with the outcome "signaled"
 *   duration_ms, cpu_ms, memory_peak_kb
 *   limits_reached  only if there are any
 *   stdout_bytes, stderr_bytes, dropped_bytes
 *   sanitized       only if something is to be removed from output: a number for each kind
 *
 * Names and types are those of api/fields.def.
 */
#ifndef CARREL_API_ENDING_H
#define CARREL_API_ENDING_H

#include <stdbool.h>
#include <stdint.h>

#include "outcome/outcome.h"
#include "text/json.h"
#include "wire/channel.h"
#include "wire/record.h"

/* What the box reported. A word that this version does not know is OUTCOME_LOST. */
struct outcome ending_of(const struct channel_end *end);
struct outcome ending_of_listed(const struct channel_end_listed *end,
                                const struct channel_sanitized *sanitized);

/* Writes the members into an open map, in the order above. */
void ending_write(struct json_writer *w, const struct outcome *o);
void ending_record(struct record_writer *w, const struct outcome *o);

/* Writes only the counters of output bytes, as of a command that still runs. */
void ending_write_bytes(struct json_writer *w, const struct outcome *o);
void ending_record_bytes(struct record_writer *w, const struct outcome *o);

/* Writes the members timeout_ms and timeout_by, or nothing if there is no limit. */
void ending_write_limit(struct json_writer *w, const struct time_limit *limit);

/* Writes the one member `tag`. Returns false if it is no member of an ending. */
bool ending_write_member(struct json_writer *w, uint16_t tag, const struct outcome *o);

/*
 * Reads a record's members. Returns false if it has no outcome, or an unknown one: then `ret` has
 * OUTCOME_LOST and the counters of output bytes.
 */
bool ending_read(const struct record *r, struct outcome *ret);

#endif
