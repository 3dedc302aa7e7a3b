/*
 * box/witness.h - what the audit log keeps of one stream of a command: the SHA-256 of all its
 * bytes, and, if asked for, its first bytes in a file in memory.
 */
#ifndef CARREL_BOX_WITNESS_H
#define CARREL_BOX_WITNESS_H

#include <stddef.h>
#include <stdint.h>

enum {
        WITNESS_SUM_LEN = 32,
        WITNESS_STATE_LEN = 112,
        /* bytes of one stream that are kept: one more than a content has (audit/content.h), so that
         * the recorder sees that it is longer */
        WITNESS_KEEP_MAX = (8 << 20) + 1,
        /* bytes of all files of this process; beyond this no more are kept */
        WITNESS_MEMORY_MAX = 64 << 20,
};

struct witness {
        _Alignas(8) unsigned char state[WITNESS_STATE_LEN]; /* of the hash */
        uint64_t bytes;                                     /* that the digest covers */
        uint64_t kept;                                      /* bytes in the file: the first */
        int fd;                                             /* owned; -1: no file */
        unsigned is_on : 1, keeps : 1, is_cut : 1, has_ended : 1;
};

/* Ignores bytes until witness_begin(). */
void witness_init(struct witness *c);

/* `keeps`: also keeps the first bytes. */
void witness_begin(struct witness *c, unsigned keeps);

/* The next bytes of the stream. After a failed write no more are kept, so no part is missing in the
 * middle. */
void witness_add(struct witness *c, const void *bytes, size_t len);

/* The stream has ended: further bytes are ignored. Seals the file: its bytes cannot change. */
void witness_end(struct witness *c);

void witness_sum(const struct witness *c, unsigned char ret[WITNESS_SUM_LEN]);

/* Frees the file; the digest stays. May be called twice. */
void witness_fini(struct witness *c);

#endif
