/*
 * recorder/handed.h - the files with what a command of the daemon read and wrote, which came with
 * the entry of its end.
 */
#ifndef CARREL_RECORDER_HANDED_H
#define CARREL_RECORDER_HANDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/entry.h"
#include "audit/log.h"
#include "recorder/message.h"

enum { HANDED_LOOK_MS = 1000, HANDED_LOOK_BYTES = 64 << 20 };

/* Of one entry that waits. */
struct handed {
        int fds[AUDIT_CONTENT_STREAMS]; /* owned, or -1 */
        char *output;                   /* of its event, once the files are kept; owned */
        const char *plain;              /* its output without them, borrowed */
};

/* Of one log: when the total of its content was last looked at, and what was kept since. */
struct handed_room {
        uint64_t looked_ms, since;
        bool was_looked;
};

/* Takes the descriptors of the message. One that is not a sealed file in memory is closed: reading
 * it could wait, and its bytes could change. */
void handed_take(struct handed *h, const struct recorder_entry *head, int *fds, size_t count);
void handed_fini(struct handed *h);

/*
 * Before the start of a command whose content is to be kept. Looks at the directory once a second,
 * and after 64 MiB. Errors: those of audit_content_begin().
 */
int handed_look(struct handed_room *room, struct audit_log *log, uint64_t now_ms, struct error *e);

/* The log did not take the entry: the files are kept again with the next attempt. */
void handed_again(struct handed *h, struct audit_event *event);

/* Keeps the files, and sets the output of the event: with the member `content`. */
void handed_keep(struct handed *h, struct handed_room *room, struct audit_log *log,
                 const struct recorder_entry *head, struct audit_event *event);

#endif
