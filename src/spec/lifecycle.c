/*
 * spec/lifecycle.c - when a sandbox pauses and when it is destroyed.
 *
 * Room: spec (deciding, pure). Touches: mem.
 * Knows the spellings and the names of AIP-37. Knows nothing of which provider can pause, nor of
 * what fires an event.
 * Theory: three spellings of pause and two of destroy (each in snake and camel case) become one
 * value. If two are given they must agree, since no rule says which one applies.
 */
#include "spec/lifecycle.h"

#include <string.h>

#include "spec/section.h"

enum { IDLE_DIGITS_MAX = 9 };

static const char *const standard_events[] = {
        "workspace-open",   "workspace-close", "conversation-start",
        "conversation-end", "turn-start",      "turn-end",
        "turn-error",       "tool-call",       "tool-result",
        "tool-error",       "write",           "delete",
        "manual",
};

static const struct {
        const char *alias, *name;
} event_aliases[] = {
        { "each-write", "write" },
        { "per-turn", "turn-end" },
        { "per-conversation", "conversation-end" },
};

/* "<prefix>N": N from 1, no leading zero, nine digits at most; its value in ms, or 0. */
static uint64_t
idle_of(const char *text, const char *prefix)
{
        size_t prefix_len = strlen(prefix), len;
        uint64_t seconds = 0;

        if (strncmp(text, prefix, prefix_len) != 0)
                return 0;
        text += prefix_len;
        len = strspn(text, "0123456789");
        if (len == 0 || len > IDLE_DIGITS_MAX || text[len] != '\0' || text[0] == '0')
                return 0;
        for (size_t i = 0; i < len; i++)
                seconds = seconds * 10 + (uint64_t)(text[i] - '0');
        return seconds * 1000;
}

static bool
is_namespaced(const char *text)
{
        static const char word[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
        size_t space = strspn(text, word), event;

        if (space == 0 || text[space] != ':')
                return false;
        event = strspn(text + space + 1, word);
        return event > 0 && text[space + 1 + event] == '\0';
}

void
lifecycle_event_read(const char *text, struct lifecycle_event *ret)
{
        uint64_t idle = idle_of(text, "idle-"), talk_idle = idle_of(text, "conversation-idle-");

        *ret = (struct lifecycle_event){ LIFECYCLE_UNKNOWN, text, SPEC_UNSET };
        for (size_t i = 0; i < sizeof event_aliases / sizeof event_aliases[0]; i++)
                if (strcmp(text, event_aliases[i].alias) == 0)
                        ret->name = event_aliases[i].name;
        for (size_t i = 0; i < sizeof standard_events / sizeof standard_events[0]; i++)
                if (strcmp(ret->name, standard_events[i]) == 0)
                        ret->kind = LIFECYCLE_STANDARD;
        if (idle || talk_idle) {
                ret->kind = LIFECYCLE_IDLE;
                ret->idle_ms = idle ? idle : talk_idle;
        } else if (is_namespaced(text))
                ret->kind = LIFECYCLE_NAMESPACED;
}

struct words { /* lifecycle as written */
        const char *pause, *pause_on, *destroy;
        uint64_t pause_ms;
        const struct node *close;
};

static void
close_read(struct judge *j, const struct node *value, const struct trail *at, void *base)
{
        (void)j, (void)at;
        ((struct words *)base)->close = value;
}

static const struct field lifecycle_rows[] = {
        { .name = "pause_after_idle",
          .camel = "pauseAfterIdle",
          .kind = FIELD_TEXT,
          .min = 1,
          .offset = offsetof(struct words, pause),
          .help = "Event at which the sandbox pauses; idle-N is N seconds without work." },
        { .name = "destroy_on",
          .camel = "destroyOn",
          .kind = FIELD_TEXT,
          .min = 1,
          .offset = offsetof(struct words, destroy),
          .help = "Event at which the sandbox goes; the default depends on the provider." },
        { .name = "pause_after_idle_ms",
          .camel = "pauseAfterIdleMs",
          .kind = FIELD_UINT,
          .flags = FIELD_OLD,
          .min = 1,
          .max = FIELD_INTEGER_MAX,
          .fallback = SPEC_UNSET,
          .offset = offsetof(struct words, pause_ms),
          .instead = "pause_after_idle: idle-N",
          .help = "The same in milliseconds." },
        { .name = "pause_on",
          .camel = "pauseOn",
          .kind = FIELD_TEXT,
          .flags = FIELD_OLD | FIELD_UNLISTED,
          .min = 1,
          .offset = offsetof(struct words, pause_on),
          .instead = "pause_after_idle",
          .help = "The same, as AIP-37 spells it." },
        { .name = "destroy_on_workspace_close",
          .camel = "destroyOnWorkspaceClose",
          .kind = FIELD_BOOL,
          .flags = FIELD_OLD,
          .offset = FIELD_NOWHERE,
          .read = close_read,
          .instead = "destroy_on: workspace-close",
          .help = "true is destroy_on: workspace-close; false is never." },
};
const struct field_set lifecycle_set = { FIELD_SET(lifecycle_rows), .code = ERROR_SCHEMA_INVALID };

static void
event_warn(struct judge *j, const struct node *map, const struct trail *at, const char *name,
           const struct lifecycle_event *event)
{
        struct trail here = { at, name, 0 };

        if (event->kind == LIFECYCLE_NAMESPACED)
                judge_warn(j, map, &here, "event_namespaced",
                           "`%s` fires only on hosts that know it", judge_quote(j, event->name));
        else if (event->kind == LIFECYCLE_UNKNOWN)
                judge_warn(j, map, &here, "event_unknown",
                           "no event is called `%s`, so it never fires; idle-N takes whole seconds",
                           judge_quote(j, event->name));
}

static void
conflict(struct judge *j, const struct node *map, const struct trail *at, const char *name)
{
        struct trail here = { at, name, 0 };

        judge_error(j, map, &here, ERROR_ALIAS_CONFLICT, "alias", NULL,
                    "two spellings of `%s` say different things, and neither comes first", name);
}

static bool
is_same_event(const struct lifecycle_event *a, const struct lifecycle_event *b)
{
        if (a->kind == LIFECYCLE_IDLE && b->kind == LIFECYCLE_IDLE && a->idle_ms != b->idle_ms)
                return false;
        return strcmp(a->name, b->name) == 0;
}

/*
 * A number of ms as an event. If it is not whole seconds, the name is that of the next second;
 * idle_ms stays exact.
 */
static void
event_of_ms(struct judge *j, uint64_t ms, struct lifecycle_event *ret)
{
        unsigned long long seconds = ms / 1000 + (ms % 1000 != 0);
        const char *name = arena_format(j->arena, "idle-%llu", seconds);

        *ret = (struct lifecycle_event){ LIFECYCLE_IDLE, name ? name : "idle-1", ms };
}

static void
pause_read(struct judge *j, const struct node *map, const struct trail *at,
           const struct words *words, struct spec_lifecycle *ret)
{
        struct lifecycle_event events[3];
        size_t count = 0;

        if (words->pause) {
                lifecycle_event_read(words->pause, &events[count]);
                event_warn(j, map, at, "pause_after_idle", &events[count++]);
        }
        if (words->pause_on) {
                lifecycle_event_read(words->pause_on, &events[count]);
                event_warn(j, map, at, "pause_on", &events[count++]);
        }
        if (words->pause_ms != SPEC_UNSET)
                event_of_ms(j, words->pause_ms, &events[count++]);
        for (size_t i = 1; i < count; i++)
                if (!is_same_event(&events[0], &events[i])) {
                        conflict(j, map, at, "pause_after_idle");
                        return;
                }
        if (count == 0)
                return;
        ret->pause_event = events[0].name;
        ret->pause_idle_ms = events[0].idle_ms;
}

static void
destroy_read(struct judge *j, const struct node *map, const struct trail *at,
             const struct words *words, struct spec_lifecycle *ret)
{
        const char *of_close = words->close && words->close->boolean ? "workspace-close" : NULL;
        struct lifecycle_event event;

        if (!words->destroy) {
                if (words->close)
                        ret->destroy_on = of_close;
                return;
        }
        lifecycle_event_read(words->destroy, &event);
        event_warn(j, map, at, "destroy_on", &event);
        ret->destroy_on = event.name;
        if (words->close && (!of_close || strcmp(of_close, event.name) != 0))
                conflict(j, map, at, "destroy_on");
}

void
lifecycle_read(struct judge *j, const struct node *map, const struct trail *at, void *base)
{
        struct spec *spec = base;
        struct words words = { .pause_ms = SPEC_UNSET };

        if (!fields_read(j, &lifecycle_set, map, at, &words))
                return;
        pause_read(j, map, at, &words, &spec->lifecycle);
        destroy_read(j, map, at, &words, &spec->lifecycle);
}
