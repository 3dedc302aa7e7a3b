/*
 * keeper/ended.h - the sandboxes that ended last, so that whoever asks for one hears why it is gone.
 */
#ifndef CARREL_KEEPER_ENDED_H
#define CARREL_KEEPER_ENDED_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { ENDED_MAX = 64, ENDED_NAME_LEN = 72 };

struct ended_row {
        char id[ENDED_NAME_LEN], name[ENDED_NAME_LEN], owner[ENDED_NAME_LEN];  /* name: "" if it had none */
        const char *cause;             /* a word as in the event "stopped"; static text */
        uint64_t at_ms;                /* boot clock */
};

/* The last ENDED_MAX of all owners, in memory alone; zeroed it is empty. */
struct ended { struct ended_row rows[ENDED_MAX];  size_t next; };

/* Remembers one; the oldest goes where there are too many. Copies the texts; `name` may be NULL, `cause` is static. */
void ended_add(struct ended *all, const char *id, const char *name, const char *owner, const char *cause, uint64_t now_ms);

/*
 * There is no sandbox of this owner with the id or name `asked`: ERROR_NOT_FOUND at "id". Where one of this owner ended, the newest, its cause is the
 * reason, and the sentence says when and why. Always returns -1.
 */
int ended_fail(const struct ended *all, const char *owner, const char *asked, uint64_t now_ms, struct error *e);

#endif
