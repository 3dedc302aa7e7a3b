/*
 * maker/told.c - what a series of searches has reported.
 *
 * Room: maker (program). Touches: mem.
 */
#include "maker/told.h"

#include <string.h>

static uint64_t
mix(uint64_t mark, const void *bytes, size_t len)
{
        const unsigned char *at = bytes;

        for (size_t i = 0; i < len; i++)
                mark = (mark ^ at[i]) * UINT64_C(1099511628211); /* FNV-1a */
        return mark;
}

static uint64_t
mix_number(uint64_t mark, uint64_t number)
{
        return mix(mark, &number, sizeof number);
}

uint64_t
told_mix(uint64_t evidence, const struct stat *st)
{
        uint64_t mark = evidence != 0 ? evidence : UINT64_C(14695981039346656037);

        mark = mix_number(mark, (uint64_t)st->st_dev);
        mark = mix_number(mark, (uint64_t)st->st_ino);
        mark = mix_number(mark, (uint64_t)st->st_ctim.tv_sec);
        return mix_number(mark, (uint64_t)st->st_ctim.tv_nsec);
}

bool
told_before(struct told *t, const struct wire_kept *news, uint64_t evidence)
{
        uint64_t mark = mix_number(UINT64_C(14695981039346656037), evidence);

        mark = mix_number(mark, news->what);
        mark = mix(mark, news->name, strlen(news->name) + 1);
        mark = mix(mark, news->kept, strlen(news->kept) + 1);
        mark = mix(mark, news->key, strlen(news->key) + 1);
        for (unsigned i = 0; i < t->count; i++)
                if (t->marks[i] == mark)
                        return true;
        if (t->count < TOLD_MAX)
                t->marks[t->count++] = mark;
        return false;
}
