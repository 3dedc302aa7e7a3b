/*
 * keeper/audit.h - what the keeper records of its sandboxes, in the log of their owner: the client
 * of the recorder (recorder/server.h).
 *
 *   call --audit_need()--> asked --on the disk--> durable --audit_sent()--> its exec runs
 *                            |                      \--anything else--> exec.ended with the error
 *                            +--refused, or no answer in AUDIT_PATIENCE_MS--> audit_unavailable,
 *                               and if it is on the disk later, exec.ended with that error
 *
 * A1: no box is ordered to start a command whose start is not on the disk.
 * A2: each start that is on the disk gets exactly one end: of its exec, of its call, or `lost`.
 * Only starts wait for an answer. Ends and events are kept by the recorder until the disk takes
 * them, so that stopping, killing and reading never depend on it.
 */
#ifndef CARREL_KEEPER_AUDIT_H
#define CARREL_KEEPER_AUDIT_H

#include "keeper/exec.h"
#include "keeper/keeper.h"
#include "keeper/sandbox.h"
#include "recorder/message.h"
#include "text/json.h"

enum { AUDIT_PATIENCE_MS = 10 * 1000, AUDIT_WAITING_MAX = 4096 };

/* Takes the keeper's end of the socket pair with the recorder; -1: none, and nothing is recorded.
 */
int audit_open(struct keeper *k, int take_fd, struct error *e);

/*
 * Before an exec, or a call that changes files, is sent: records its start. Gives its number.
 * CALL_WAITS: the call begins again when it is on the disk, or when another call with the same key
 * has gone on. CALL_DONE: it is there. CALL_FAILED: ERROR_AUDIT_UNAVAILABLE, or the error of the
 * log.
 */
enum call_state audit_need(struct call *c, struct sandbox *s, const struct exec_request *r,
                           uint32_t *ret_exec, struct error *e);

/*
 * Before something else than an exec is done: records it, with this input (a JSON object,
 * borrowed). CALL_WAITS: the call begins again when it is on the disk. CALL_DONE: it is there.
 * CALL_FAILED: as audit_need().
 */
enum call_state audit_note(struct call *c, const struct sandbox *s, const char *action,
                           const struct json_writer *input, struct error *e);

/* The box has the order of this call. */
void audit_sent(struct call *c, struct sandbox *s);

/* The call is over: records what its start needs, or that an exec was refused. NULL: no error. */
void audit_call_failed(struct call *c, const struct error *why);
void audit_forget(struct call *c);

/* The order could not be sent, and the call begins again: with another start. */
void audit_again(struct call *c, const struct error *why);

/* An exec ended, or could not be started. */
void audit_exec_ended(const struct sandbox *s, const struct wire_box_listed *l);

/* A call that changes files ended, or could not be started. */
void audit_call_ended(const struct sandbox *s, const struct wire_box_listed *l);

/*
 * All that its box will ever say of the execs before now was said: records the ends that it
 * listed, and that the others were lost.
 */
void audit_settle(const struct sandbox *s);

/* Who keeps the ends of some execs back, and calls audit_exec_ended() later. */
struct audit_holder {
        bool (*holds)(const struct sandbox *s, uint32_t exec);
        /* the log has the start and no end of this exec, which the box knows */
        void (*open)(struct sandbox *s, const struct wire_box_listed *l);
};

/* There is one; `by` is borrowed for good. */
void audit_hold(const struct audit_holder *by);

/* An event whose row says EVENT_AUDITED. */
void audit_event(struct sandbox *s, const struct event *event);

/* Is there a recorder? Does so much wait for it that entries which can wait should? */
bool audit_is_there(void);
bool audit_is_full(void);

/* An entry about a sandbox that may be gone by now, with this output (a JSON object, borrowed). */
void audit_named(const char *owner, const char *sandbox, const char *action,
                 const struct json_writer *output);

/* As audit_event(), with the whole `output` (a JSON object, borrowed). */
void audit_entry(struct sandbox *s, enum event_kind kind, const struct json_writer *output);

/* The sandbox is freed: what has no end in the log by now was lost. */
void audit_gone(struct sandbox *s);

#endif
