/*
 * plan/pack.c - packs a plan into one block of bytes.
 *
 * Room: plan (deciding, pure). Touches: nothing. Compiled into the maker as well: no library except
 * memory functions.
 *
 *     head | steps | strings        every string ends in NUL; offset 0 is the empty string
 */
#include "plan/pack.h"

#include <string.h>

enum { MAGIC = 0x4c505243 /* "CRPL" */, VERSION = 2, FLAGS_ALL = (1u << 16) - 1 };

static size_t
strings_len(const struct step *steps, size_t count)
{
        size_t len = 1;

        for (size_t i = 0; i < count; i++)
                len += strlen(steps[i].path) + 1 + steps[i].text_len + 1;
        return len;
}

size_t
plan_pack_len(const struct step *steps, size_t count)
{
        size_t len;

        if (count > PLAN_STEPS_MAX)
                return 0;
        len = sizeof(struct packed_head) + count * sizeof(struct packed_step) +
              strings_len(steps, count);
        return len <= PLAN_PACK_MAX ? len : 0;
}

static uint32_t
string_put(char *strings, uint32_t *used, const char *bytes, size_t len)
{
        uint32_t at = *used;

        if (len == 0)
                return 0;
        memcpy(strings + at, bytes, len);
        strings[at + len] = '\0';
        *used = at + (uint32_t)len + 1;
        return at;
}

void
plan_pack(const struct step *steps, size_t count, size_t source_count, void *bytes)
{
        struct packed_head *head = bytes;
        struct packed_step *out = (struct packed_step *)(void *)(head + 1);
        char *strings = (char *)(out + count);
        uint32_t used = 1;

        *head = (struct packed_head){ MAGIC,
                                      VERSION,
                                      (uint32_t)count,
                                      (uint32_t)source_count,
                                      (uint32_t)strings_len(steps, count),
                                      0 };
        memset(strings, 0, head->strings_len);
        for (size_t i = 0; i < count; i++) {
                const struct step *s = &steps[i];

                out[i] = (struct packed_step){ (uint16_t)s->op, 0, s->source, s->number,
                                               s->number2,      0, 0,         (uint32_t)s->text_len,
                                               s->flags };
                out[i].path = string_put(strings, &used, s->path, strlen(s->path));
                out[i].text = string_put(strings, &used, s->text, s->text_len);
        }
}

static int
string_is_sound(const struct plan_view *view, uint32_t at, uint32_t len)
{
        return at < view->strings_len && len < view->strings_len - at &&
               view->strings[at + len] == '\0';
}

static int
path_is_sound(const struct plan_view *view, uint32_t at)
{
        return at < view->strings_len &&
               memchr(view->strings + at, '\0', view->strings_len - at) != NULL;
}

static int
step_is_sound(const struct plan_view *view, const struct packed_step *s, enum step_phase *phase)
{
        if (s->op >= STEP_MAX || (s->flags & ~(unsigned)FLAGS_ALL) != 0 || s->zero != 0)
                return 0;
        if (s->source < STEP_NO_SOURCE || s->source >= (int32_t)view->source_count)
                return 0;
        if (step_phase_of((enum step_op)s->op) < *phase)
                return 0;
        *phase = step_phase_of((enum step_op)s->op);
        return path_is_sound(view, s->path) && string_is_sound(view, s->text, s->text_len);
}

int
plan_unpack(const void *bytes, size_t len, struct plan_view *ret)
{
        const struct packed_head *head = bytes;
        enum step_phase phase = STEP_PHASE_HOST;
        struct plan_view view;

        if (len < sizeof *head || len > PLAN_PACK_MAX || head->magic != MAGIC ||
            head->version != VERSION)
                return -1;
        if (head->step_count > PLAN_STEPS_MAX || head->source_count > PLAN_SOURCES_MAX ||
            head->strings_len == 0 || head->zero != 0)
                return -1;
        if (len != sizeof *head + head->step_count * sizeof(struct packed_step) + head->strings_len)
                return -1;
        view = (struct plan_view){ .steps = (const struct packed_step *)(const void *)(head + 1),
                                   .step_count = head->step_count,
                                   .source_count = head->source_count,
                                   .strings_len = head->strings_len };
        view.strings = (const char *)(view.steps + view.step_count);
        if (view.strings[0] != '\0' || view.strings[view.strings_len - 1] != '\0')
                return -1;
        for (uint32_t i = 0; i < view.step_count; i++)
                if (!step_is_sound(&view, &view.steps[i], &phase))
                        return -1;
        *ret = view;
        return 0;
}

struct step
plan_view_step(const struct plan_view *view, uint32_t index)
{
        const struct packed_step *s = &view->steps[index];

        return (struct step){ .op = (enum step_op)s->op,
                              .flags = s->flags,
                              .source = s->source,
                              .number = s->number,
                              .number2 = s->number2,
                              .path = view->strings + s->path,
                              .text = view->strings + s->text,
                              .text_len = s->text_len,
                              .why = "" };
}
