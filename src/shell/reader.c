/*
 * shell/reader.c - the list of actions, and the beginning of a reading.
 *
 * Room: shell (deciding). Touches: mem.
 * Theory: a reading that is full, or out of memory, ends with a doubt; its last place is kept for
 * that.
 */
#include "shell/reader.h"

#include <string.h>

static struct shell_action *
add(struct reader *r)
{
        struct shell_reading *reading = r->reading;
        struct shell_action *last = &reading->actions[SHELL_ACTIONS_MAX - 1];

        if (reading->count < SHELL_ACTIONS_MAX - 1) {
                reading->actions[reading->count] =
                        (struct shell_action){ .pipeline = r->pipeline, .place = r->place };
                return &reading->actions[reading->count++];
        }
        reading->count = SHELL_ACTIONS_MAX;
        *last = (struct shell_action){ .written = "", .doubt = SHELL_LIMIT };
        return NULL;
}

/* Without memory for the text, the doubt stays. */
static const char *
copy(struct reader *r, const char *text, size_t len)
{
        const char *result = arena_copy(r->memory, text, len);

        return result ? result : "";
}

void
reader_doubt(struct reader *r, enum shell_doubt doubt, const char *written, size_t len)
{
        struct shell_action *a = add(r);

        if (!a)
                return;
        a->doubt = doubt;
        a->written = copy(r, written, len);
}

void
reader_program(struct reader *r, const char *program, const struct words *w, bool is_carrier)
{
        struct shell_action *a = add(r);

        if (!a)
                return;
        a->program = copy(r, program, strlen(program));
        a->written = copy(r, w->items[0], strlen(w->items[0]));
        a->words = w->items;
        a->word_count = w->count;
        a->has_more = w->has_more;
        a->is_carrier = is_carrier;
}

void
reader_one(struct reader *r, const char *program, const char *written, bool is_carrier)
{
        const char **words = arena_array(r->memory, const char *, 1);

        if (!words)
                return; /* the memory is full: a doubt at the end */
        words[0] = copy(r, written, strlen(written));
        reader_program(r, program, &(struct words){ words, 1, true }, is_carrier);
}

void
reader_named(struct reader *r, const char *program, const char *written)
{
        size_t count = r->reading->count;

        reader_one(r, program, written, false);
        if (r->reading->count > count && r->reading->actions[count].program)
                r->reading->actions[count].is_named = true;
}

void
reader_file(struct reader *r, const char *word)
{
        struct shell_reading *reading = r->reading;

        if (reading->file_count == SHELL_FILES_MAX)
                reader_doubt(r, SHELL_LIMIT, "", 0);
        else
                reading->files[reading->file_count++] = word ? arena_text(r->memory, word) : NULL;
}

bool
reader_is_alnum(char c)
{
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

struct words
words_after(const struct words *w, size_t from)
{
        return (struct words){ w->items + from, w->count - from, w->has_more };
}

static void
begin(struct reader *r, struct arena *memory, const struct shell_facts *facts,
      struct shell_reading *ret)
{
        static struct shell_action full[1]; /* without memory: one doubt, in nobody's memory */

        *r = (struct reader){ .memory = memory, .facts = facts, .reading = ret };
        *ret = (struct shell_reading){
                .actions = arena_array(memory, struct shell_action, SHELL_ACTIONS_MAX),
                .files = arena_array(memory, const char *, SHELL_FILES_MAX)
        };
        if (ret->actions && ret->files)
                return;
        full[0] = (struct shell_action){ .written = "", .doubt = SHELL_LIMIT };
        *ret = (struct shell_reading){ .actions = full, .count = 1 };
}

/* What was too much for the memory is not known. */
static void
finish(struct reader *r)
{
        if (arena_is_full(r->memory))
                reader_doubt(r, SHELL_LIMIT, "", 0);
}

void
shell_read_text(struct arena *memory, const char *text, size_t len, const struct shell_facts *facts,
                struct shell_reading *ret)
{
        struct reader r;

        begin(&r, memory, facts, ret);
        if (ret->count > 0)
                return;
        reader_text(&r, text, len);
        finish(&r);
}

void
shell_read_words(struct arena *memory, const char *const *words, size_t count,
                 const struct shell_facts *facts, struct shell_reading *ret)
{
        const char **copies;
        struct reader r;

        begin(&r, memory, facts, ret);
        if (ret->count > 0)
                return;
        copies = arena_array(memory, const char *, count + 1);
        for (size_t i = 0; copies && i < count; i++)
                copies[i] = arena_text(memory, words[i]);
        if (arena_is_full(memory) || count == 0)
                reader_doubt(&r, count == 0 ? SHELL_SYNTAX : SHELL_LIMIT, "", 0);
        else
                reader_words(&r, &(struct words){ copies, count, false });
        finish(&r);
}
