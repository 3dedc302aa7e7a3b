/*
 * event/line.c - what happened, as a line for people.
 *
 * Room: event (deciding, pure). Touches: nothing.
 * Theory: the table has a line for each kind, with members in braces. A piece in brackets is
 * dropped if a member in it is absent or empty.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "event/event.h"

enum { NUMBER_ROOM = 24 };

struct line {
        char *at;
        size_t len;
        bool lacks; /* a member was absent */
};

static const struct {
        const char *name;
        size_t text, number; /* offsets in struct event; 0: of the other type */
} members[] = {
#define OFFSETS_TEXT(member) offsetof(struct event, member), 0
#define OFFSETS_UINT(member) 0, offsetof(struct event, member)
#define OFFSETS_ENDING(member) 0, 0
#define MEMBER(TAG, member, TYPE) { #member, OFFSETS_##TYPE(member) },
#include "event/event.def"
};

static void
add(struct line *l, const char *text, size_t len)
{
        size_t room = EVENT_LINE_ROOM - 1 - l->len;

        len = len < room ? len : room;
        memcpy(l->at + l->len, text, len);
        l->len += len;
        l->at[l->len] = '\0';
}

static bool
is_word(const char *word, const char *name, size_t len)
{
        return strlen(word) == len && memcmp(word, name, len) == 0;
}

/* The value of a member as text; NULL: absent, or no such member. */
static const char *
value(const struct event *e, const char *name, size_t len, char number[NUMBER_ROOM])
{
        uint64_t n = 0;

        if (e->end && is_word("outcome", name, len))
                return outcome_name(e->end->word);
        if (e->end && is_word("exit_code", name, len)) {
                (void)snprintf(number, NUMBER_ROOM, "%d", outcome_status(e->end));
                return number;
        }
        for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
                const char *at = (const char *)e;

                if (!is_word(members[i].name, name, len))
                        continue;
                if (members[i].text != 0)
                        return *(const char *const *)(const void *)(at + members[i].text);
                if (members[i].number != 0)
                        n = *(const uint64_t *)(const void *)(at + members[i].number);
        }
        (void)snprintf(number, NUMBER_ROOM, "%" PRIu64, n);
        return n != 0 ? number : NULL;
}

/* "first|else" without its braces: the first that is not absent. */
static void
add_value(struct line *l, const struct event *e, const char *names, size_t len)
{
        for (size_t at = 0; at < len;) {
                size_t one = strcspn(names + at, "|}");
                char number[NUMBER_ROOM];
                const char *text = value(e, names + at, one, number);

                if (text && text[0] != '\0') {
                        add(l, text, strlen(text));
                        return;
                }
                at += one + 1;
        }
        l->lacks = true;
}

void
event_line(const struct event *e, char *ret)
{
        struct line l = { ret, 0, false };
        size_t piece = 0;

        ret[0] = '\0';
        for (const char *at = event_row(e->kind)->line; *at != '\0'; at++) {
                size_t len = strcspn(at, "[]{");

                add(&l, at, len);
                at += len;
                if (*at == '[') {
                        piece = l.len;
                        l.lacks = false;
                } else if (*at == ']' && l.lacks) {
                        l.len = piece;
                        ret[piece] = '\0';
                } else if (*at == '{') {
                        len = strcspn(at, "}");
                        add_value(&l, e, at + 1, len - 1);
                        at += len;
                } else if (*at == '\0') {
                        break;
                }
        }
}
