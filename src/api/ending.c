/*
 * api/ending.c - how a command ended, in bytes.
 *
 * Room: api (deciding, pure). Touches: nothing.
 * Theory: one table of members, and for each member one value. JSON and records differ only in how
 * a value is written.
 */
#include "api/ending.h"

#include <stddef.h>
#include <string.h>

#include "api/operation.h"

/* In the order of exec_results (api/operation.c). */
static const struct member {
        uint16_t tag;
        size_t offset; /* of a counter in struct outcome; 0: value_of() computes it */
        bool is_of_output;
} members[] = {
        { FIELD_OUTCOME, 0, false },
        { FIELD_EXIT_CODE, 0, false },
        { FIELD_SIGNAL, 0, false },
        { FIELD_DURATION, offsetof(struct outcome, duration_ms), false },
        { FIELD_CPU, offsetof(struct outcome, cpu_ms), false },
        { FIELD_MEMORY_PEAK, offsetof(struct outcome, memory_peak_kb), false },
        { FIELD_LIMITS_REACHED, 0, false },
        { FIELD_STDOUT_BYTES, offsetof(struct outcome, stdout_bytes), true },
        { FIELD_STDERR_BYTES, offsetof(struct outcome, stderr_bytes), true },
        { FIELD_DROPPED, offsetof(struct outcome, dropped_bytes), true },
        { FIELD_SANITIZED, 0, false },
};
enum { MEMBERS = sizeof members / sizeof *members };

static const uint16_t kinds[SANITIZE_BITS] = { [SANITIZE_BIT_control] = FIELD_CONTROLS,
                                               [SANITIZE_BIT_hidden] = FIELD_HIDDENS,
                                               [SANITIZE_BIT_secrets] = FIELD_SECRETS_REMOVED };
_Static_assert((int)CHANNEL_SANITIZE_KINDS == (int)SANITIZE_BITS, "a count for each kind");

struct outcome
ending_of_listed(const struct channel_end_listed *end, const struct channel_sanitized *sanitized)
{
        struct channel_end whole = { .sanitized = *sanitized };

        memcpy(&whole, end, sizeof *end);
        return ending_of(&whole);
}

struct outcome
ending_of(const struct channel_end *end)
{
        struct outcome o = { .word = end->word < OUTCOME_MAX ? (enum outcome_word)end->word
                                                             : OUTCOME_LOST,
                             .exit_code = end->exit_code,
                             .signal = end->signal,
                             .duration_ms = end->duration_ms,
                             .cpu_ms = end->cpu_ms,
                             .memory_peak_kb = end->memory_peak_kb,
                             .stdout_bytes = end->stdout_bytes,
                             .stderr_bytes = end->stderr_bytes,
                             .dropped_bytes = end->dropped_bytes,
                             .denied = end->denied,
                             .reached = end->reached,
                             .sanitizes = end->sanitized.kinds & SANITIZE_ALL };

        memcpy(o.sanitized, end->sanitized.counts, sizeof o.sanitized);
        return o;
}

/* -- values ------------------------------------------------------------------------------------ */

static const uint64_t *
counter(const struct member *m, const struct outcome *o)
{
        return m->offset == 0 ? NULL
                              : (const uint64_t *)(const void *)((const char *)o + m->offset);
}

/* Is the member absent by its rule? */
static bool
is_absent(uint16_t tag, const struct outcome *o)
{
        return (tag == FIELD_SIGNAL && (o->word != OUTCOME_SIGNALED || o->signal <= 0)) ||
               (tag == FIELD_LIMITS_REACHED && o->reached == 0) ||
               (tag == FIELD_SANITIZED && o->sanitizes == 0);
}

static void
write_sanitized(struct json_writer *w, const struct outcome *o)
{
        json_open_map(w);
        for (size_t i = 0; i < SANITIZE_BITS; i++)
                if ((o->sanitizes & 1u << i) != 0) {
                        json_key(w, api_field(kinds[i])->name);
                        json_uint(w, o->sanitized[i]);
                }
        json_close_map(w);
}

static void
record_sanitized(struct record_writer *w, const struct outcome *o)
{
        size_t mark = record_open(w, FIELD_SANITIZED);

        for (size_t i = 0; i < SANITIZE_BITS; i++)
                if ((o->sanitizes & 1u << i) != 0)
                        record_uint(w, kinds[i], o->sanitized[i]);
        record_close(w, mark);
}

static void
write_member(struct json_writer *w, const struct member *m, const struct outcome *o)
{
        const struct outcome_limit_words *l;

        if (is_absent(m->tag, o))
                return;
        json_key(w, api_field(m->tag)->name);
        if (counter(m, o)) {
                json_uint(w, *counter(m, o));
        } else if (m->tag == FIELD_OUTCOME) {
                json_text(w, outcome_name(o->word));
        } else if (m->tag == FIELD_LIMITS_REACHED) {
                json_open_list(w);
                for (size_t i = 0; (l = outcome_limit_at(i)) != NULL; i++)
                        if ((o->reached & l->limit) != 0)
                                json_text(w, l->name);
                json_close_list(w);
        } else if (m->tag == FIELD_SANITIZED) {
                write_sanitized(w, o);
        } else {
                json_int(w, m->tag == FIELD_SIGNAL ? o->signal : outcome_status(o));
        }
}

static void
record_member(struct record_writer *w, const struct member *m, const struct outcome *o)
{
        const struct outcome_limit_words *l;

        if (is_absent(m->tag, o))
                return;
        if (counter(m, o))
                record_uint(w, m->tag, *counter(m, o));
        else if (m->tag == FIELD_OUTCOME)
                record_text(w, m->tag, outcome_name(o->word));
        else if (m->tag == FIELD_SANITIZED)
                record_sanitized(w, o);
        else if (m->tag != FIELD_LIMITS_REACHED)
                record_int(w, m->tag, m->tag == FIELD_SIGNAL ? o->signal : outcome_status(o));
        for (size_t i = 0; m->tag == FIELD_LIMITS_REACHED && (l = outcome_limit_at(i)) != NULL; i++)
                if ((o->reached & l->limit) != 0)
                        record_text(w, m->tag, l->name);
}

/* -- writing ----------------------------------------------------------------------------------- */

void
ending_write(struct json_writer *w, const struct outcome *o)
{
        for (size_t i = 0; i < MEMBERS; i++)
                write_member(w, &members[i], o);
}

void
ending_record(struct record_writer *w, const struct outcome *o)
{
        for (size_t i = 0; i < MEMBERS; i++)
                record_member(w, &members[i], o);
}

void
ending_write_bytes(struct json_writer *w, const struct outcome *o)
{
        for (size_t i = 0; i < MEMBERS; i++)
                if (members[i].is_of_output)
                        write_member(w, &members[i], o);
}

void
ending_record_bytes(struct record_writer *w, const struct outcome *o)
{
        for (size_t i = 0; i < MEMBERS; i++)
                if (members[i].is_of_output)
                        record_member(w, &members[i], o);
}

void
ending_write_limit(struct json_writer *w, const struct time_limit *limit)
{
        if (limit->by == TIME_LIMIT_NONE || limit->ms == TIME_LIMIT_NEVER)
                return;
        json_key(w, api_field(FIELD_TIMEOUT)->name);
        json_uint(w, limit->ms);
        json_member_text(w, api_field(FIELD_TIMEOUT_BY)->name, time_limit_name(limit->by));
}

bool
ending_write_member(struct json_writer *w, uint16_t tag, const struct outcome *o)
{
        for (size_t i = 0; i < MEMBERS; i++)
                if (members[i].tag == tag) {
                        write_member(w, &members[i], o);
                        return true;
                }
        return false;
}

/* -- reading ----------------------------------------------------------------------------------- */

static unsigned
read_limits(const struct record *r)
{
        const struct outcome_limit_words *l;
        struct record_entry entry = { .tag = 0 };
        unsigned reached = 0;
        size_t at = 0;

        while (record_next(r, &at, &entry) > 0)
                for (size_t i = 0;
                     entry.tag == FIELD_LIMITS_REACHED && (l = outcome_limit_at(i)) != NULL; i++)
                        if (entry.type == RECORD_TEXT && strcmp(entry.value, l->name) == 0)
                                reached |= l->limit;
        return reached;
}

static void
read_sanitized(const struct record *r, struct outcome *ret)
{
        struct record_entry entry, count;
        struct record inner;

        if (!record_find(r, FIELD_SANITIZED, &entry) || entry.type != RECORD_NESTED)
                return;
        inner = (struct record){ entry.value, entry.len };
        for (size_t i = 0; i < SANITIZE_BITS; i++)
                if (record_find(&inner, kinds[i], &count)) {
                        ret->sanitizes |= 1u << i;
                        ret->sanitized[i] = record_get_uint(&inner, kinds[i], 0);
                }
}

bool
ending_read(const struct record *r, struct outcome *ret)
{
        enum outcome_word word = outcome_find(record_get_text(r, FIELD_OUTCOME, NULL));

        *ret = (struct outcome){ .word = word < OUTCOME_MAX ? word : OUTCOME_LOST,
                                 .exit_code = -1,
                                 .reached = read_limits(r) };
        read_sanitized(r, ret);
        if (word == OUTCOME_EXITED)
                ret->exit_code = (int)record_get_int(r, FIELD_EXIT_CODE, -1);
        if (word == OUTCOME_SIGNALED)
                ret->signal = (int)record_get_int(r, FIELD_SIGNAL, 0);
        for (size_t i = 0; i < MEMBERS; i++)
                if (members[i].offset != 0)
                        *(uint64_t *)(void *)((char *)ret + members[i].offset) =
                                record_get_uint(r, members[i].tag, 0);
        return word < OUTCOME_MAX;
}
