/*
 * boxstate/found.c - the first and the last finds of a sandbox.
 *
 * Room: boxstate (words). Touches: mem.
 */
#include "boxstate/found.h"

#include <stdlib.h>
#include <string.h>

static struct wire_box_found *
copy_of(const struct wire_box_found *one)
{
        struct wire_box_found *copy = malloc(sizeof *copy);

        if (!copy)
                return NULL;
        *copy = *one;
        copy->kept.name[sizeof copy->kept.name - 1] = '\0';
        copy->kept.kept[sizeof copy->kept.kept - 1] = '\0';
        copy->kept.key[sizeof copy->kept.key - 1] = '\0';
        return copy;
}

static void
make_room(struct found *f)
{
        struct wire_box_found **at = &f->items[NUMBER_FOUND_FIRST];

        free(*at);
        memmove(at, at + 1, (NUMBER_FOUND_LAST - 1) * sizeof(struct wire_box_found *));
        f->count--;
}

bool
found_put(struct found *f, const struct wire_box_found *one)
{
        struct wire_box_found *copy;

        found_show(f, one->shown);
        if (one->number <= f->total)
                return false;
        copy = copy_of(one);
        if (copy && f->count == FOUND_MAX)
                make_room(f);
        if (copy)
                f->items[f->count++] = copy;
        f->total = one->number;
        return true;
}

void
found_show(struct found *f, uint64_t number)
{
        if (number > f->shown)
                f->shown = number;
}

uint64_t
found_unshown(const struct found *f)
{
        return f->total > f->shown ? f->total - f->shown : 0;
}

void
found_fini(struct found *f)
{
        for (size_t i = 0; i < f->count; i++)
                free(f->items[i]);
        *f = (struct found){ .count = 0 };
}
