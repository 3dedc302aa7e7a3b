/*
 * fuzz/transcript.c - what a content of an audit log says that servers answered, as a replay reads
 * it.
 */
#include "egress/transcript.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
        struct transcript t;
        struct arena arena;

        arena_init(&arena, TRANSCRIPT_ARENA_MAX);
        if (transcript_read(&arena, (const char *)data, len, &t) == 0)
                for (size_t i = 0; i < t.count; i++)
                        for (const struct transcript_item *k = t.connections[i]->first; k;
                             k = k->next)
                                if (k->kind == TRANSCRIPT_GOT &&
                                    (k->bytes < (const char *)data ||
                                     k->bytes + k->len > (const char *)data + len))
                                        __builtin_trap();
        arena_fini(&arena);
        return 0;
}
