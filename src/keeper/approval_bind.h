/*
 * keeper/approval_bind.h - what an approval binds: one hash over all of it, and lines that show it.
 */
#ifndef CARREL_KEEPER_APPROVAL_BIND_H
#define CARREL_KEEPER_APPROVAL_BIND_H

#include "keeper/sandbox.h"

enum {
        APPROVAL_DIGEST_LEN = 32,
        APPROVAL_FILES_MAX = 64,
        APPROVAL_FILE_BYTES = 4 << 20 /* of all files of one request */
};

/*
 * The request of a call, with static memory: valid until the next call of approval_bind(). Texts
 * are for people: control and invisible characters are escaped.
 */
struct approval_bound {
        unsigned char digest[APPROVAL_DIGEST_LEN], policy[APPROVAL_DIGEST_LEN];
        const char *lines; /* each ends with a NUL */
        size_t lines_len;
};

/*
 * Computes it. Opens each regular file of a mounted directory that the command names, below that
 * directory. `why`: a sentence to show, or NULL. Errors: ERROR_QUOTA_EXCEEDED (more files, or
 * larger ones, than can be bound, or more text than is shown), ERROR_NO_MEMORY.
 */
int approval_bind(const struct call *c, const struct sandbox *s, const char *why,
                  struct approval_bound *ret, struct error *e);

#endif
