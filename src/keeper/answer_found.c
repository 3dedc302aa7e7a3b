/*
 * keeper/answer_found.c - writes into answers and events what commands left in a workspace.
 *
 * Room: keeper (joining). Touches: nothing.
 * Theory: the payload chose the names. A record carries UTF-8, so other bytes become "?". Control
 * characters stay: whoever shows a text escapes it. A list is cut at LIST_LEN, so that an answer
 * fits into one message whatever the names are.
 */
#include <string.h>

#include "keeper/sandbox.h"
#include "outcome/left.h"
#include "text/utf8.h"

enum { LIST_LEN = 96 * 1024, CHARACTER_MAX = 4 };

/* The box is a process of this user, but its texts are terminated and cleaned here all the same. */
static void
make_clean(char *text, size_t room)
{
        size_t len, at;

        text[room - 1] = '\0';
        len = strlen(text);
        for (at = utf8_valid_len(text, len); at < len; at += utf8_valid_len(text + at, len - at))
                text[at] = '?';
}

static const char *
or_null(const char *text)
{
        return text[0] != '\0' ? text : NULL;
}

static struct wire_kept
clean_copy(const struct wire_kept *kept)
{
        struct wire_kept copy = *kept;

        make_clean(copy.name, sizeof copy.name);
        make_clean(copy.kept, sizeof copy.kept);
        make_clean(copy.key, sizeof copy.key);
        return copy;
}

struct event_left
answer_kept(const struct wire_kept *kept, struct wire_kept *ret_copy)
{
        struct wire_kept *copy = ret_copy;
        struct event_left left = { .host_path = copy->name };

        *copy = clean_copy(kept);
        if (copy->what < KEPT_REPOSITORY)
                left.kept_at = or_null(copy->kept);
        else
                left.reason = or_null(copy->kept);
        for (char *at = copy->kept; left.reason && (at = strchr(at, '\n')) != NULL;)
                *at = ',';
        if (copy->what == KEPT_RESTORED)
                left.reason = copy->key;
        if (left_is_folded(copy->what))
                left.count = left_count(&(struct left_behind){ copy->what, "", "", copy->key });
        return left;
}

static void
write_one(struct record_writer *w, const struct wire_box_found *one, bool was_shown)
{
        struct wire_kept copy = clean_copy(&one->kept), words;
        struct event_left left = answer_kept(&one->kept, &words);
        char message[LEFT_MESSAGE_ROOM];

        left_message(&(struct left_behind){ copy.what, copy.name, copy.kept, copy.key }, message);
        record_uint(w, FIELD_AT, one->at_ms);
        record_text(w, FIELD_WHAT, left_word(copy.what));
        record_text(w, FIELD_HOST_PATH, left.host_path);
        record_text(w, FIELD_KEPT_AT, left.kept_at);
        record_text(w, FIELD_REASON, left.reason);
        if (left.count > 0)
                record_uint(w, FIELD_COUNT, left.count);
        record_text(w, FIELD_MESSAGE, message);
        record_bool(w, FIELD_SHOWN, was_shown);
}

/*
 * A later search of the same repository says what git would run in it now. Of a path that fills its
 * field only the end is known: it may be another one.
 */
static bool
is_outdated(const struct found *f, size_t i)
{
        const struct wire_kept *one = &f->items[i]->kept;

        if (one->what < KEPT_REPOSITORY || one->what > KEPT_GITFILE ||
            strlen(one->name) + CHARACTER_MAX >= sizeof one->name)
                return false;
        for (size_t later = i + 1; later < f->count; later++) {
                const struct wire_kept *other = &f->items[later]->kept;

                if (other->what == one->what && strcmp(other->name, one->name) == 0)
                        return true;
        }
        return false;
}

void
answer_found(struct record_writer *w, const struct sandbox *s, uint64_t after)
{
        const struct found *f = &s->found;
        size_t begin = w->len;
        uint64_t listed = 0, total = f->total > after ? f->total - after : 0;

        for (size_t i = 0; i < f->count; i++) {
                size_t before = w->len, mark;

                if (f->items[i]->number <= after || !left_word(f->items[i]->kept.what))
                        continue;
                if (is_outdated(f, i)) {
                        total--;
                        continue;
                }
                mark = record_open(w, FIELD_LEFT_BEHIND);
                write_one(w, f->items[i], f->items[i]->number <= f->shown);
                record_close(w, mark);
                if (w->is_broken || w->len - begin > LIST_LEN) {
                        w->len = before;
                        w->is_broken = 0;
                        break;
                }
                listed++;
        }
        if (total > listed)
                record_uint(w, FIELD_LEFT_MORE, total - listed);
}
