/*
 * base/arena.h - memory for trees that live and die together.
 *
 * A tree (manifest, spec, plan) is built in one arena, never changed after it is built, and goes in
 * one call. An arena has a hard limit, so no input can make it grow without end; past the limit
 * every call answers NULL and arena_is_full() stays true, so a builder may check once at its end.
 */
#ifndef CARREL_BASE_ARENA_H
#define CARREL_BASE_ARENA_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct arena_chunk;

struct arena {
        struct arena_chunk *chunks;
        size_t used;  /* bytes handed out, all chunks */
        size_t limit; /* bytes that may be handed out */
        bool is_full;
        bool is_starved; /* full because there was no memory, not because of its limit */
};

/* An empty arena that hands out at most `limit` bytes. Nothing is allocated before the first use.
 */
void arena_init(struct arena *a, size_t limit);

/* The same, but its first `len` bytes (at least 64, less a small head) lie in `memory`: borrowed,
 * zeroed, aligned to 16. */
void arena_init_in(struct arena *a, size_t limit, void *memory, size_t len);

/* Gives everything back. Accepts NULL and an arena that was only zeroed. */
void arena_fini(struct arena *a);

/* Zeroed memory, aligned for any type, owned by the arena; NULL past the limit or without memory.
 */
void *arena_alloc(struct arena *a, size_t len) __attribute__((malloc));

/* Copies of bytes (a NUL is added) and formatted text, owned by the arena; NULL as above. */
char *arena_copy(struct arena *a, const char *bytes, size_t len);
char *arena_text(struct arena *a, const char *text);
char *arena_format(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Did any call answer NULL? */
bool arena_is_full(const struct arena *a);

#define arena_new(a, type) ((type *)arena_alloc((a), sizeof(type)))
#define arena_array(a, type, count) ((type *)arena_alloc((a), sizeof(type) * (size_t)(count)))

#endif
