/*
 * keeper/op_code.c - code in a language: becomes the command of its interpreter.
 *
 * Room: keeper (joining). Touches: mem.
 * Theory: the call is rewritten into exec.start, with the code as an argument, before anything
 * else looks at it. So whatever judges, asks about or records a command does so for code, and a
 * key means the same in both calls. A call that waits begins again as exec.start.
 */
#include <stdlib.h>
#include <string.h>

#include "keeper/exec.h"
#include "keeper/op.h"
#include "keeper/sandbox.h"
#include "prepare/language.h"

static int
choose_words(const struct sandbox *s, const struct record *r, char *room,
             const char *words[LANGUAGE_WORDS_MAX], size_t *ret_count, struct error *e)
{
        const struct spec *spec = s->prepared->spec;
        struct language_place place = { .found = &s->keeper->host.runtimes,
                                        .chosen = s->prepared->runtime,
                                        .has_tools = spec->carrel.tools.count > 0,
                                        .is_image = spec->image != NULL };

        return language_words(record_get_text(r, FIELD_LANGUAGE, ""),
                              record_get_text(r, FIELD_SOURCE, ""), &place, room, words, ret_count,
                              e);
}

/* Writes the same call with the words instead of language and code. */
static void
write_call(struct record_writer *w, const struct record *r, const char *const *words, size_t count)
{
        struct record_entry entry;
        size_t at = 0;

        for (size_t i = 0; i < count; i++)
                record_text(w, FIELD_ARGV, words[i]);
        while (record_next(r, &at, &entry) > 0)
                if (entry.tag != FIELD_LANGUAGE && entry.tag != FIELD_SOURCE)
                        record_bytes(w, entry.tag, entry.type, entry.value, entry.len);
}

/* The record stays behind the call, where there is room for the words (CODE_SPARE). */
static int
rewrite(struct call *c, const char *const *words, size_t count, struct error *e)
{
        size_t before = c->record.len, room = before + CODE_SPARE;
        unsigned char *bytes = malloc(room);
        struct record_writer w;
        int result = -1;

        if (!bytes)
                return fail(e, ERROR_NO_MEMORY, "no memory for a command");
        record_init(&w, bytes, room);
        write_call(&w, &c->record, words, count);
        if (w.is_broken) {
                (void)fail(e, ERROR_INTERNAL, "the words of an interpreter are too long");
        } else {
                memcpy(c + 1, bytes, w.len);
                if (w.len < before)
                        explicit_bzero((unsigned char *)(c + 1) + w.len, before - w.len);
                c->record.len = w.len;
                result = 0;
        }
        explicit_bzero(bytes, room); /* the environment of a command may hold secrets */
        free(bytes);
        return result;
}

enum call_state
op_code(struct call *c, struct error *e)
{
        static char room[LANGUAGE_CODE_ROOM];
        const char *words[LANGUAGE_WORDS_MAX];
        struct sandbox *s = registry_of_call(c, e);
        size_t count;

        if (!s)
                return CALL_FAILED;
        c->op = operation(OP_EXEC);
        /* read_only is refused before any other check (A36-169) */
        if (!s->row.is_read_only &&
            (sandbox_judge(s, e) < 0 || choose_words(s, &c->record, room, words, &count, e) < 0 ||
             rewrite(c, words, count, e) < 0))
                return CALL_FAILED;
        return op_exec(c, e);
}
