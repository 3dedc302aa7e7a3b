/*
 * box/witness.c - the digest of a stream, and its first bytes.
 *
 * Room: box (program). Touches: files in memory.
 * Theory: the bytes are hashed right after they were read, while they are in the processor's cache.
 * The file is created for the first byte, so a command that prints nothing costs none.
 */
/* the calls of one algorithm, without the tables of the others */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "box/witness.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/sha.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

_Static_assert(sizeof(SHA256_CTX) == WITNESS_STATE_LEN, "room for the state of the hash");
_Static_assert(SHA256_DIGEST_LENGTH == WITNESS_SUM_LEN, "the length of a digest");

static uint64_t in_memory; /* bytes of the files */

/* Finds out which instructions the processor has. In a static program of musl nothing else does:
 * the library is linked behind the end of the section .init. */
#ifndef __GLIBC__
void OPENSSL_cpuid_setup(void);
#else
static void
OPENSSL_cpuid_setup(void)
{
}
#endif

void
witness_init(struct witness *c)
{
        *c = (struct witness){ .fd = -1 };
}

void
witness_begin(struct witness *c, unsigned keeps)
{
        OPENSSL_cpuid_setup();
        (void)SHA256_Init((SHA256_CTX *)(void *)c->state);
        c->is_on = 1;
        c->keeps = keeps != 0;
}

static int
write_all_of(int fd, const unsigned char *bytes, size_t len)
{
        while (len > 0) {
                ssize_t written = write(fd, bytes, len);

                if (written < 0 && errno == EINTR)
                        continue;
                if (written <= 0)
                        return -1;
                bytes += written;
                len -= (size_t)written;
        }
        return 0;
}

static void
keep(struct witness *c, const unsigned char *bytes, size_t len)
{
        uint64_t room = WITNESS_KEEP_MAX - c->kept, rest = WITNESS_MEMORY_MAX - in_memory;
        uint64_t most = room < rest ? room : rest;

        if (c->fd < 0)
                c->fd = memfd_create("content", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        if (len > most) {
                len = (size_t)most;
                c->is_cut = 1;
        }
        if (c->fd < 0 || write_all_of(c->fd, bytes, len) < 0) {
                c->is_cut = 1;
                return;
        }
        c->kept += len;
        in_memory += len;
}

void
witness_add(struct witness *c, const void *bytes, size_t len)
{
        if (!c->is_on || c->has_ended || len == 0)
                return;
        (void)SHA256_Update((SHA256_CTX *)(void *)c->state, bytes, len);
        c->bytes += len;
        if (c->keeps && !c->is_cut)
                keep(c, bytes, len);
}

void
witness_end(struct witness *c)
{
        if (c->fd >= 0 &&
            (ftruncate(c->fd, (off_t)c->kept) < 0 ||
             fcntl(c->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0))
                witness_fini(c); /* the recorder takes no other */
        c->has_ended = 1;
}

void
witness_sum(const struct witness *c, unsigned char ret[WITNESS_SUM_LEN])
{
        SHA256_CTX copy;

        memcpy(&copy, c->state, sizeof copy);
        (void)SHA256_Final(ret, &copy);
}

void
witness_fini(struct witness *c)
{
        if (c->fd < 0)
                return;
        (void)close(c->fd);
        c->fd = -1;
        in_memory -= c->kept;
        c->kept = 0;
}
