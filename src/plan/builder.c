/*
 * plan/builder.c - a plan under construction: the three operations that every part of the room
 * uses.
 *
 * Room: plan (deciding, pure). Touches: nothing.
 */
#include "plan/builder.h"

#include <stdarg.h>
#include <stdio.h>

struct step *
builder_add(struct builder *b, enum step_op op, const char *path, const char *why)
{
        struct step *s;

        if (b->count == b->room || !path) {
                b->is_full = true;
                s = &b->scratch;
        } else {
                s = &b->steps[b->count++];
        }
        *s = (struct step){
                .op = op, .source = STEP_NO_SOURCE, .path = path ? path : "", .text = "", .why = why
        };
        return s;
}

bool
builder_has(const struct builder *b, enum plan_switch part)
{
        return (b->request->switched_off & part) == 0;
}

const char *
builder_text(struct builder *b, const char *fmt, ...)
{
        char text[4096];
        va_list ap;
        const char *copy;
        int len;

        va_start(ap, fmt);
        len = vsnprintf(text, sizeof text, fmt, ap);
        va_end(ap);
        copy = len >= 0 && (size_t)len < sizeof text ? arena_text(b->arena, text) : NULL;
        if (!copy)
                b->is_full = true;
        return copy ? copy : "";
}

uint32_t
builder_uid(const struct builder *b)
{
        return b->request->rootfs && spec_is_root(b->spec) ? 0 : PLAN_UID;
}
