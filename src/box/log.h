/*
 * box/log.h - the newest bytes of one stream, each with its offset from the stream's first byte.
 *
 * A ring that begins small and grows to `keep` bytes: on the heap first, past LOG_HEAP_MAX in a nameless file of the state
 * directory that is mapped, so that the kernel may take its pages back. Where such a file cannot be had (a full disk), it stays at the size
 * it has. What no longer fits is dropped, oldest first; who reads from an offset sees that by where his bytes begin.
 */
#ifndef CARREL_BOX_LOG_H
#define CARREL_BOX_LOG_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

enum {
        LOG_FIRST = 4096, LOG_HEAP_MAX = 64 * 1024,
        LOG_FILES_MAX = 256 << 20,     /* bytes of all files of this process together: a stream beyond that keeps LOG_HEAP_MAX */
};

struct log {
        unsigned char *bytes;
        size_t room;                   /* bytes in the ring now */
        size_t keep;                   /* most it may become, at least LOG_FIRST */
        uint64_t first, end;           /* offsets of the oldest byte kept and past the newest */
        int directory;                 /* for the file, borrowed; -1: heap only */
        unsigned is_mapped;
};

/* `keep` in bytes. Takes no memory before the first byte. log_fini() may be called again, and keeps the offsets. */
void log_init(struct log *l, uint64_t keep, int directory);
void log_fini(struct log *l);

/*
 * Room for the next bytes, at most `want`: one or two pieces, whose count is given; 0 without any memory. What is overwritten is
 * dropped at once, so `want` is best what is known to come. log_commit() says how many of them were written.
 */
int log_space(struct log *l, size_t want, struct iovec pieces[2]);
void log_commit(struct log *l, size_t len);

/* How many bytes may come before the byte at `offset` would be dropped. */
size_t log_free_behind(const struct log *l, uint64_t offset);

/* Bytes kept from `offset` on (or from the oldest one), at most `most`: count of pieces, 0 when there are none. `ret_offset`: of the first. */
int log_peek(const struct log *l, uint64_t offset, size_t most, struct iovec pieces[2], uint64_t *ret_offset);

/* Gives back what a finished stream does not need. */
void log_shrink(struct log *l);

#endif
