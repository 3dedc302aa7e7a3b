/*
 * recorder/recorder.h - the process that writes the audit log of `carrel run --audit`.
 *
 * The process that parses manifests may write no file as root, and the keys of the log are not in
 * its memory: it sends events, and the recorder writes them. If `carrel` ends without saying how
 * the command ended, the recorder writes that its end was not seen.
 */
#ifndef CARREL_RECORDER_RECORDER_H
#define CARREL_RECORDER_RECORDER_H

#include <stdint.h>

#include "audit/entry.h"
#include "base/error.h"
#include "recorder/message.h"

/*
 * Opens the log in `directory` (absolute; created if it is missing) and starts the process. Call it
 * before the ladder. Errors: those of audit_log_open(), ERROR_BACKEND_FAILED.
 */
int recorder_start(const char *directory, struct error *e);

/*
 * Waits until the event is on the disk. `ret_ref` receives "audit://CHAIN/NUMBER". Errors: those of
 * audit_log_append(); ERROR_AUDIT_UNAVAILABLE if the recorder has ended.
 */
int recorder_append(const struct audit_event *event, char ret_ref[RECORDER_REF_MAX],
                    struct error *e);

/*
 * What the host file says: the retention in ms, applied at the end of a process that began a file
 * of the log (audit/retain.h), and the groups of rules that remove nothing (redact_leave()). Until
 * then every rule applies. Nothing without a process.
 */
void recorder_keep(uint64_t keep_ms, uint32_t redact_off);

/*
 * Keeps what the command reads and writes (audit/content.h). Gives three files in memory, which the
 * caller owns: it writes the bytes of standard input, output and error to them, at most
 * RECORDER_KEEP_MAX of each. With `has_egress` a fourth one, of what servers answer, is written by
 * the gate (egress/transcript.h); without, the number in its place stays as it is. If `carrel` is
 * killed, what is in them is kept as well. Before exec.started. Errors: those of
 * audit_content_begin(), ERROR_BACKEND_FAILED.
 */
int recorder_content_begin(bool has_egress, int ret_fds[AUDIT_CONTENT_STREAMS], struct error *e);

/*
 * The files are complete: keeps them, durably. `lengths`: bytes of each stream; a file that has
 * less is kept as truncated, for example if a write to it failed. Appends a JSON object to `w`, as
 * the value of a member: the contents as audit_content_write(), or {"error": ...} for one that
 * could not be kept. Errors: ERROR_AUDIT_UNAVAILABLE if the recorder has ended.
 */
int recorder_content_end(const uint64_t lengths[AUDIT_CONTENT_STREAMS], struct json_writer *w,
                         struct error *e);

/* Ends the process. Nothing if there is none. */
void recorder_end(void);

#endif
