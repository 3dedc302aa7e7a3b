/*
 * recorder/message.h - what a recorder and its client say to each other: an event, and the number
 * of its entry.
 *
 * WIRE_AUDIT: seven texts of an event, each with its NUL; "" for no input and no output.
 * WIRE_AUDIT_KEEP: uint64_t, the retention in ms; not answered.
 * WIRE_AUDITED: struct recorder_answer, then three texts: reason, message, hint.
 * WIRE_AUDIT_CONTENT: no body; three files in memory, of standard input, output and error, to which
 * the client writes at most RECORDER_KEEP_MAX bytes; and a fourth one for what servers answer, if
 * that is recorded. Answered with WIRE_AUDITED.
 * WIRE_AUDIT_CONTENT_DONE: uint64_t[AUDIT_CONTENT_STREAMS], the lengths of the streams in bytes; a
 * file that is shorter is only the beginning. Answered with WIRE_AUDIT_CONTENT_DONE and a JSON
 * object.
 */
#ifndef CARREL_RECORDER_MESSAGE_H
#define CARREL_RECORDER_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/content.h"
#include "audit/entry.h"
#include "base/error.h"

enum { RECORDER_REF_MAX = 80, RECORDER_JSON_MAX = 96 * 1024 /* bytes of input, and of output */ };
enum { RECORDER_KEEP_MAX = AUDIT_CONTENT_MAX + 1 /* one more: the content is cut off */ };

struct recorder_answer {
        uint32_t code, reserved; /* enum error_code */
        uint64_t seq;
        char chain[AUDIT_ID_TEXT];
};

/* Writes an event into `body`. Returns its length, or 0 if it does not fit. */
size_t recorder_event_write(const struct audit_event *event, unsigned char *body, size_t room);

/* Reads one; its texts are in `body`. false: no such message. */
bool recorder_event_read(const unsigned char *body, size_t len, struct audit_event *ret);

/* Writes an answer into `body`, which has room for both structs. Returns its length. */
size_t recorder_answer_write(const struct recorder_answer *head, const struct error *e,
                             unsigned char *body);

/*
 * Reads one. `ret_ref` receives "audit://CHAIN/NUMBER". Errors: the one that the answer holds;
 * ERROR_AUDIT_UNAVAILABLE (no such message).
 */
int recorder_answer_read(const unsigned char *body, size_t len, char ret_ref[RECORDER_REF_MAX],
                         struct error *e);

/* -- the daemon's recorder and the keeper -------------------------------------------------------
 */

/*
 * An entry, from the keeper to the disk (recorder/owner.h):
 *
 *   RECORDER_START   answered when it is on the disk, or with the error: then it is in no log. The
 *                    recorder lists it as open until its end is on the disk.
 *   RECORDER_END     the end of an open start; ignored if the start is not open, so that a keeper
 *                    may repeat it. It waits until the disk takes it. If no log can take it
 *                    (its JSON is wrong, or it is too long), it is counted in "events.missed"
 *                    and the outcome is recorded as lost.
 *   RECORDER_NOTE    answered like a start, and has no end: what may only be done once it is on
 *                    the disk.
 *   RECORDER_EVENT   anything else. Waits as well; if too many wait, the number of the others is
 *                    recorded as "events.missed".
 *
 * If the recorder ends, the keeper ends, and the launcher starts both again. The next recorder
 * reads from the logs which starts are open and names them to the keeper (WIRE_AUDIT_OPEN). The
 * keeper sends the ends that it knows from boxes and their journals, and then
 * WIRE_AUDIT_SETTLE for each sandbox: what is open and does not run there is recorded as lost.
 */
enum recorder_what { RECORDER_START = 1, RECORDER_END, RECORDER_EVENT, RECORDER_NOTE };

enum { RECORDER_OWNER_LEN = 72, RECORDER_SANDBOX_LEN = 24 }; /* with the NUL */

/* A call that changes files has a number as an exec has, from RECORDER_CALLS on. */
static const uint32_t RECORDER_CALLS = 1u << 31;
#define RECORDER_CALLED "call.started"

static inline bool
recorder_is_call(uint32_t exec)
{
        return exec >= RECORDER_CALLS;
}

static inline const char *
recorder_ended_action(uint32_t exec)
{
        return recorder_is_call(exec) ? "call.ended" : "exec.ended";
}

/* Whose log, and which exec. */
struct recorder_exec {
        char owner[RECORDER_OWNER_LEN], sandbox[RECORDER_SANDBOX_LEN];
        uint32_t exec, pad;
};

/* WIRE_AUDIT_ENTRY: this, then the event as in WIRE_AUDIT. The input of an end is written by the
 * recorder: exec, and the number of its start. So is the member `content` of its output. */
struct recorder_entry {
        struct recorder_exec of;
        uint64_t number; /* returned in the answer */
        uint32_t what;   /* enum recorder_what */
        /* of a start: its content is to be kept, so there must be room; of an end: bit i: stream i
         * (input, output, error) is kept */
        uint32_t keeps;
        uint32_t files /* bit i: a descriptor: a sealed file with the first bytes of stream i */,
                pad;
        uint64_t lengths[AUDIT_CONTENT_STREAMS]; /* of the streams, in bytes */
};

/* WIRE_AUDIT_DONE: this, then the texts of WIRE_AUDITED. Only for starts and notes. */
struct recorder_done {
        uint64_t number;
        struct recorder_answer answer;
};

/* WIRE_AUDIT_KEPT: struct recorder_exec. The files of its end are on the disk, or of no use. */

/* WIRE_AUDIT_SETTLE: struct recorder_exec, of which `exec` is a count, then so many numbers
 * (uint32_t) of execs that are not lost.
 * WIRE_AUDIT_OPEN: */
struct recorder_open {
        struct recorder_exec of;
        uint64_t seq; /* of its start */
        char chain[AUDIT_ID_TEXT];
};

#endif
