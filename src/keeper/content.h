/*
 * keeper/content.h - what the execs of a box read and wrote, for the audit log: digests, and the
 * files that the recorder keeps (WIRE_BOX_STREAMS, wire/box.h).
 *
 *   box --files--> keeper --with the end of the exec--> recorder --on the disk--> keeper --> box
 *
 * The bytes of the files are never read here. The box frees them when they are on the disk; a
 * keeper that ends before that has lost nothing, because the box sends them to the next one.
 */
#ifndef CARREL_KEEPER_CONTENT_H
#define CARREL_KEEPER_CONTENT_H

#include "keeper/exec.h"
#include "keeper/sandbox.h"
#include "recorder/message.h"
#include "text/json.h"

/*
 * `audit: [content]` of the host file: marks the command, so that its box keeps what it reads and
 * writes. Errors: ERROR_AUDIT_UNAVAILABLE ("content_box"), if its box is of a version that cannot.
 */
int content_choose(const struct sandbox *s, struct exec_request *r, struct error *e);

/*
 * Before something that disturbs what runs, if content is kept: CALL_WAITS until every end is heard
 * that the caller may have seen. Otherwise a command that has ended would count as running.
 */
enum call_state content_need_ends(struct call *c, const struct sandbox *s);

/* For a command that may be replayed: CALL_WAITS until the digest of its workspace is known. */
enum call_state content_need(struct call *c, struct sandbox *s, const struct exec_request *r);

/*
 * The member `base` of the start of a command, or of a call that changes files, whose content is
 * kept: what it begins with, for `carrel audit replay`. `order`: box->begins.asked of it. {"none":
 * true}: a new sandbox without a directory of the host; the digest of its workspace, if that is its
 * only one; {"after": NUMBER}: what the one whose start is that entry left; otherwise {"error":
 * REASON}, and the command cannot be replayed.
 */
void content_write_base(const struct sandbox *s, uint32_t order, struct json_writer *w);

/*
 * Something happened in the box that is not recorded, so no later command can be replayed, and none
 * that runs now: "overlap" (another command or call), "files" (a call that changes files, in a box
 * of a version that does not report it), "port" (a connection to a port inside), "signal", "used"
 * (the daemon was restarted). The first counts.
 */
void content_disturb(struct box *b, const char *why);

/* This command or call is sent to its box; `seq`: the number of its start in the log. */
void content_sent(struct box *b, uint32_t order, uint64_t seq, bool is_call);
void content_call_ended(struct box *b, uint32_t exec); /* after its end was recorded */

/* Does a command run in it, or a call that changes files? */
bool content_is_busy(const struct box *b);

/* Remembers a message of a box. Takes its descriptors. `m` NULL: from its journal. */
void content_hear(struct box *b, const struct wire_box_streams *said, struct wire_message *m);

/* The members `stdin` (if it was seen), `stdout` and `stderr` of the end of an exec, and, if what
 * is kept of it does not say all that came into it: `disturbed`, the reason of content_disturb().
 */
void content_write(const struct box *b, uint32_t exec, const struct outcome *end,
                   struct json_writer *w);

/* Of a call that changes files: `files` and `complete` (put_list.h), `stdin`, `disturbed`. */
void content_write_call(const struct box *b, uint32_t exec, struct json_writer *w);

/* What was removed from the output of an exec; kinds 0: nothing was to be, or it is not known. */
struct channel_sanitized content_sanitized(const struct box *b, uint32_t exec);

/* Fills what the entry of its end says about its files, and gives them. Returns their number. */
size_t content_give(struct box *b, const struct wire_box_listed *l, struct recorder_entry *head,
                    int ret_fds[BOX_STREAMS]);

/* The recorder has them on the disk. */
void content_kept(struct keeper *k, const struct recorder_exec *of);

void content_free(struct box *b);

#endif
