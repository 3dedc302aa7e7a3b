/*
 * box/log.h - the newest bytes of one stream, each with its offset from the stream's first byte.
 *
 * A ring buffer that starts small and grows to `keep` bytes. Up to LOG_HEAP_MAX it is on the heap.
 * Beyond that it is a mapped, unnamed file in the state directory, so that the kernel can reclaim
 * its pages. If such a file cannot be created (a full disk), the ring keeps its size. Bytes that no
 * longer fit are dropped, oldest first. A reader detects this because its bytes begin past the
 * offset that it asked for.
 */
#ifndef CARREL_BOX_LOG_H
#define CARREL_BOX_LOG_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

enum {
        LOG_FIRST = 4096,
        LOG_HEAP_MAX = 64 * 1024,
        /* bytes of all files of this process together; beyond this a stream keeps LOG_HEAP_MAX */
        LOG_FILES_MAX = 256 << 20,
};

struct log {
        unsigned char *bytes;
        size_t room;         /* bytes in the ring now */
        size_t keep;         /* maximum size, at least LOG_FIRST */
        uint64_t first, end; /* offsets of the oldest byte kept, and past the newest */
        int directory;       /* for the file, borrowed; -1: heap only */
        unsigned is_mapped;
};

/*
 * `keep` in bytes. Allocates nothing before the first byte. log_fini() may be called twice, and
 * keeps the offsets.
 */
void log_init(struct log *l, uint64_t keep, int directory);
void log_fini(struct log *l);

/*
 * Room for the next bytes, at most `want`, in one or two pieces. Returns their count; 0: no memory.
 * It drops the bytes that it will overwrite, so `want` should be the expected length. log_commit()
 * says how many bytes were written.
 */
int log_space(struct log *l, size_t want, struct iovec pieces[2]);
void log_commit(struct log *l, size_t len);

/* How many bytes may follow before the byte at `offset` is dropped. */
size_t log_free_behind(const struct log *l, uint64_t offset);

/*
 * Bytes kept from `offset` on (or from the oldest byte), at most `most`. Returns the count of
 * pieces; 0: no bytes. `ret_offset`: of the first byte.
 */
int log_peek(const struct log *l, uint64_t offset, size_t most, struct iovec pieces[2],
             uint64_t *ret_offset);

/* Frees what a finished stream does not need. */
void log_shrink(struct log *l);

#endif
