/*
 * keeper/ended.c - remembers why the last sandboxes ended.
 *
 * Room: keeper (joining). Touches: nothing.
 * Theory: a search sees only the owner's own rows, so another owner's sandbox looks like an unknown
 * one. A restart of the daemon forgets all rows; the answer is then that for an unknown name.
 */
#include "keeper/ended.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct {
        const char *cause, *sentence, *hint;
} words[] = {
        { "deadline", "its time was up",
          "Create it again with a later end: `carrel create --timeout T`; `carrel extend NAME T` "
          "adds time to one that lives." },
        { "deleted", "the moment of its scheduled deletion had come",
          "Create it again. `carrel create --delete-after T` chooses another moment." },
        { "stopped", "it was stopped", NULL },
        { "event", "an event ended it, as its manifest says", NULL },
        { "replaced", "it had failed, and another of its name was created", NULL },
        { "failed", "it could not be started", NULL },
        { "oom", "it ran out of memory (limits.memory_mb)", NULL },
        { "lost", "its processes were lost", NULL },
};

void
ended_add(struct ended *all, const char *id, const char *name, const char *owner, const char *cause,
          uint64_t now_ms)
{
        struct ended_row *row = &all->rows[all->next++ % ENDED_MAX];

        (void)snprintf(row->id, sizeof row->id, "%s", id);
        (void)snprintf(row->name, sizeof row->name, "%s", name ? name : "");
        (void)snprintf(row->owner, sizeof row->owner, "%s", owner);
        row->cause = cause;
        row->at_ms = now_ms;
}

static const struct ended_row *
find(const struct ended *all, const char *owner, const char *asked)
{
        size_t count = all->next < ENDED_MAX ? all->next : ENDED_MAX;

        for (size_t i = 1; i <= count; i++) {
                const struct ended_row *row = &all->rows[(all->next - i) % ENDED_MAX];

                if (strcmp(row->owner, owner) == 0 && *asked != '\0' &&
                    (strcmp(row->id, asked) == 0 || strcmp(row->name, asked) == 0))
                        return row;
        }
        return NULL;
}

int
ended_fail(const struct ended *all, const char *owner, const char *asked, uint64_t now_ms,
           struct error *e)
{
        const struct ended_row *row = find(all, owner, asked);
        uint64_t ago_s = row && now_ms > row->at_ms ? (now_ms - row->at_ms) / 1000 : 0;
        const char *sentence = row ? row->cause : NULL, *hint = NULL;

        if (!row)
                return fail_at(e, ERROR_NOT_FOUND, "id", NULL, "there is no sandbox %.64s", asked);
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
                if (strcmp(words[i].cause, row->cause) == 0) {
                        sentence = words[i].sentence;
                        hint = words[i].hint;
                }
        if (ago_s < 7200)
                (void)fail_at(e, ERROR_NOT_FOUND, "id", row->cause,
                              "the sandbox %.64s ended %" PRIu64 " s ago: %s", asked, ago_s,
                              sentence);
        else
                (void)fail_at(e, ERROR_NOT_FOUND, "id", row->cause,
                              "the sandbox %.64s ended %" PRIu64 " h ago: %s", asked, ago_s / 3600,
                              sentence);
        if (hint)
                error_hint(e, "%s", hint);
        return -1;
}
