/*
 * client/answer.c - the structs that the library returns; each owns its memory.
 *
 * Room: client (joining). Touches: mem.
 * Theory: records come from another process, and their lengths were checked on arrival. Only types
 * are checked here. A field of the wrong type is ignored; if it is required, the answer is a
 * protocol error.
 */
#include "client/answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/record.h"

/* -- memory ------------------------------------------------------------------------------------ */

struct head {
        struct arena arena;
        struct record record; /* in the arena */
};

enum { HEAD = 64 };
_Static_assert(sizeof(struct head) <= HEAD && HEAD % _Alignof(max_align_t) == 0,
               "there is room for the hidden head");

static struct head *
head_of(const void *answer)
{
        return (struct head *)(uintptr_t)((const unsigned char *)answer - HEAD);
}

void *
answer_new(size_t len)
{
        unsigned char *all = calloc(1, HEAD + len);

        if (!all)
                return NULL;
        arena_init(&((struct head *)(void *)all)->arena, ANSWER_MAX);
        return all + HEAD;
}

struct arena *
answer_arena(void *answer)
{
        return &head_of(answer)->arena;
}

int
answer_keep(void *answer, const struct record *r, struct error *e)
{
        struct head *head = head_of(answer);
        unsigned char *bytes = arena_alloc(&head->arena, r->len + 1);

        if (!bytes)
                return answer_check(&head->arena, e);
        if (r->len > 0)
                memcpy(bytes, r->bytes, r->len);
        head->record = (struct record){ bytes, r->len };
        return 0;
}

struct record
client_record(const void *answer)
{
        return head_of(answer)->record;
}

void
carrel_free(void *given)
{
        if (!given)
                return;
        arena_fini(answer_arena(given));
        free(head_of(given));
}

int
answer_fail(struct carrel_error *out, const struct error *e)
{
        if (!out)
                return -1;
        memset(out, 0, sizeof *out);
        (void)snprintf(out->code, sizeof out->code, "%s", error_wire_name(e->code));
        (void)snprintf(out->reason, sizeof out->reason, "%s", e->reason);
        (void)snprintf(out->path, sizeof out->path, "%s", e->path);
        (void)snprintf(out->message, sizeof out->message, "%s", e->message);
        (void)snprintf(out->hint, sizeof out->hint, "%s", error_hint_text(e));
        out->line = e->line;
        out->column = e->column;
        out->sys = e->sys;
        out->exit_status = error_exit_status(e->code);
        return -1;
}

int
answer_check(const struct arena *a, struct error *e)
{
        return arena_is_full(a) ? fail(e, ERROR_NO_MEMORY, "no memory for the answer") : 0;
}

/* -- fields ------------------------------------------------------------------------------------ */

const char *
answer_text(struct arena *a, const struct record *r, uint16_t tag)
{
        const char *text = record_get_text(r, tag, NULL);

        return text ? arena_text(a, text) : NULL;
}

static void *
place(void *ret, size_t offset)
{
        return (unsigned char *)ret + offset;
}

static void
put_number(void *at, size_t size, uint64_t value)
{
        uint32_t medium = value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
        uint16_t small = value < UINT16_MAX ? (uint16_t)value : UINT16_MAX;
        const void *from = size == sizeof value    ? (const void *)&value
                           : size == sizeof medium ? (const void *)&medium
                                                   : (const void *)&small;

        memcpy(at, from, size);
}

static int
put_entry(struct arena *a, const struct answer_member *m, const struct record_entry *entry,
          void *at, struct error *e)
{
        struct record inner = { entry->value, entry->len };

        if (m->kind == ANSWER_RECORDS)
                return answer_fill(a, m->item, &inner, at, e);
        if (m->kind == ANSWER_TEXTS)
                memcpy(at, &entry->value, sizeof entry->value);
        else
                put_number(at, m->size, *(const uint64_t *)entry->value);
        return 0;
}

/* Entries of another type are ignored. */
static int
put_list(struct arena *a, const struct answer_member *m, const struct record *r, void *ret,
         struct error *e)
{
        enum record_type type = api_record_type(api_field(m->tag));
        size_t count = 0, i = 0, at = 0;
        struct record_entry entry;
        unsigned char *items;

        while (record_next(r, &at, &entry) > 0)
                count += entry.tag == m->tag && entry.type == type;
        items = arena_alloc(a, (count + 1) * m->size);
        if (!items)
                return answer_check(a, e);
        for (at = 0; record_next(r, &at, &entry) > 0;)
                if (entry.tag == m->tag && entry.type == type &&
                    put_entry(a, m, &entry, items + i++ * m->size, e) < 0)
                        return -1;
        memcpy(place(ret, m->offset), &(void *){ items }, sizeof(void *));
        memcpy(place(ret, m->count_offset), &count, sizeof count);
        return 0;
}

static int
put_member(struct arena *a, const struct answer_member *m, const struct record *r, void *ret,
           struct error *e)
{
        const char *text;
        int flag;

        switch (m->kind) {
        case ANSWER_TEXT:
                text = record_get_text(r, m->tag, NULL);
                memcpy(place(ret, m->offset), &text, sizeof text);
                return 0;
        case ANSWER_FLAG:
                flag = record_get_bool(r, m->tag, 0);
                memcpy(place(ret, m->offset), &flag, sizeof flag);
                return 0;
        case ANSWER_NUMBER:
                put_number(place(ret, m->offset), m->size, record_get_uint(r, m->tag, m->absent));
                return 0;
        default:
                return put_list(a, m, r, ret, e);
        }
}

int
answer_fill(struct arena *a, const struct answer_shape *s, const struct record *r, void *ret,
            struct error *e)
{
        struct record_entry entry;

        for (size_t i = 0; i < s->type->count; i++) {
                const struct api_param *p = &s->type->members[i];
                const struct api_field *f = api_field(p->tag);

                if ((p->flags & PARAM_REQUIRED) != 0 &&
                    (!record_find(r, p->tag, &entry) || entry.type != api_record_type(f)))
                        return fail(e, ERROR_PROTOCOL, "the daemon's answer lacks %s", f->name);
        }
        for (size_t i = 0; i < s->count; i++)
                if (put_member(a, &s->members[i], r, ret, e) < 0)
                        return -1;
        if (s->fill_rest)
                s->fill_rest(r, ret);
        return 0;
}

void
answer_end(const struct outcome *o, struct carrel_end *ret)
{
        *ret = (struct carrel_end){ .outcome = outcome_name(o->word),
                                    .exit_code = o->word == OUTCOME_EXITED ? o->exit_code : -1,
                                    .signal = o->word == OUTCOME_SIGNALED ? o->signal : 0,
                                    .exit_status = outcome_status(o),
                                    .duration_ms = o->duration_ms,
                                    .cpu_ms = o->cpu_ms,
                                    .memory_peak_kb = o->memory_peak_kb,
                                    .stdout_bytes = o->stdout_bytes,
                                    .stderr_bytes = o->stderr_bytes,
                                    .dropped_bytes = o->dropped_bytes,
                                    .denied_count = o->denied,
                                    .limits_reached = o->reached,
                                    .sanitizes = o->sanitizes,
                                    .removed_controls = o->sanitized[SANITIZE_BIT_control],
                                    .removed_hidden = o->sanitized[SANITIZE_BIT_hidden],
                                    .removed_secrets = o->sanitized[SANITIZE_BIT_secrets] };
}
