/*
 * keeper/ended.h - the sandboxes that ended last, so that an error can say why one is gone.
 */
#ifndef CARREL_KEEPER_ENDED_H
#define CARREL_KEEPER_ENDED_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { ENDED_MAX = 64, ENDED_NAME_LEN = 72 };

struct ended_row {
        /* `name`: "" if it had none */
        char id[ENDED_NAME_LEN], name[ENDED_NAME_LEN], owner[ENDED_NAME_LEN];
        const char *cause; /* same words as in the event "stopped"; static text */
        uint64_t at_ms;    /* boot clock in ms */
};

/* The last ENDED_MAX of all owners, in memory only. All zeros is empty. */
struct ended {
        struct ended_row rows[ENDED_MAX];
        size_t next;
};

/*
 * Remembers a sandbox that ended and drops the oldest if full. Copies the texts. `name` may be
 * NULL; `cause` must be static.
 */
void ended_add(struct ended *all, const char *id, const char *name, const char *owner,
               const char *cause, uint64_t now_ms);

/*
 * Sets the error for an unknown id or name `asked`: ERROR_NOT_FOUND at "id". If a sandbox of this
 * owner ended under it, the newest one's cause is the reason, and the message says when and why.
 * Always returns -1.
 */
int ended_fail(const struct ended *all, const char *owner, const char *asked, uint64_t now_ms,
               struct error *e);

#endif
