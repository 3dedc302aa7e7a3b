/*
 * base/arena.c - memory for trees that live and die together.
 *
 * Room: base (words). Touches: mem.
 * Theory: a list of chunks, the newest first; each allocation is cut from the newest or opens
 * another. A first chunk may be lent (a program's own zeroed memory: nothing to ask the kernel for,
 * and no page touched unused). Chunks start small, because a sandbox file is a few hundred bytes
 * and an untouched page costs nothing.
 */
#include "base/arena.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_LEN = 16384, ALIGN = 16 };

struct arena_chunk {
        struct arena_chunk *next;
        size_t used;
        size_t len;
        bool is_borrowed;
        _Alignas(16) unsigned char bytes[];
};

void
arena_init(struct arena *a, size_t limit)
{
        *a = (struct arena){ .limit = limit };
}

void
arena_init_in(struct arena *a, size_t limit, void *memory, size_t len)
{
        struct arena_chunk *chunk = memory;

        arena_init(a, limit);
        chunk->len = len - sizeof *chunk;
        chunk->is_borrowed = true;
        a->chunks = chunk;
}

void
arena_fini(struct arena *a)
{
        struct arena_chunk *chunk, *next;

        if (!a)
                return;
        for (chunk = a->chunks; chunk; chunk = next) {
                next = chunk->next;
                if (!chunk->is_borrowed)
                        free(chunk);
        }
        *a = (struct arena){ 0 };
}

static struct arena_chunk *
chunk_new(size_t len)
{
        size_t room = len > CHUNK_LEN ? len : CHUNK_LEN;
        struct arena_chunk *chunk = calloc(1, sizeof *chunk + room);

        if (chunk)
                chunk->len = room;
        return chunk;
}

static void *
full(struct arena *a)
{
        a->is_full = true;
        return NULL;
}

void *
arena_alloc(struct arena *a, size_t len)
{
        struct arena_chunk *chunk = a->chunks;
        size_t need;
        void *result;

        if (len > SIZE_MAX / 2 || a->is_full)
                return full(a);
        need = (len + ALIGN - 1) / ALIGN * ALIGN;
        if (need > a->limit - a->used)
                return full(a);
        if (!chunk || chunk->len - chunk->used < need) {
                chunk = chunk_new(need);
                if (!chunk) {
                        a->is_starved = true;
                        return full(a);
                }
                chunk->next = a->chunks;
                a->chunks = chunk;
        }
        result = chunk->bytes + chunk->used;
        chunk->used += need;
        a->used += need;
        return result;
}

char *
arena_copy(struct arena *a, const char *bytes, size_t len)
{
        char *copy = arena_alloc(a, len + 1);

        if (copy && len > 0)
                memcpy(copy, bytes, len);
        return copy;
}

char *
arena_text(struct arena *a, const char *text)
{
        return arena_copy(a, text, strlen(text));
}

char *
arena_format(struct arena *a, const char *fmt, ...)
{
        va_list ap, again;
        int len;
        char *text;

        va_start(ap, fmt);
        va_copy(again, ap);
        len = vsnprintf(NULL, 0, fmt, ap);
        va_end(ap);
        text = len < 0 ? NULL : arena_alloc(a, (size_t)len + 1);
        if (text)
                (void)vsnprintf(text, (size_t)len + 1, fmt, again);
        va_end(again);
        return text;
}

bool
arena_is_full(const struct arena *a)
{
        return a->is_full;
}
