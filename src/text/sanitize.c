/*
 * text/sanitize.c - removes from the output of a command what must not reach an agent.
 *
 * Room: text (words). Touches: mem.
 *
 *     LOOKING --a secret up to the end of the window--> IN_VALUE --space, quote--> LOOKING
 *        \------a key without an end in the window----> IN_KEY --> IN_LABEL --> LOOKING
 *
 * Theory: each place is decided by the byte before it and at most SANITIZE_WINDOW bytes from it on,
 * and only when these are there, or a rule did not look further (redact_place.met_end). So the
 * decision is the same for every way to cut the stream.
 */
#include "text/sanitize.h"

#include <errno.h>
#include <string.h>

#include "text/redact_find.h"

enum { LOOKING, IN_VALUE, IN_KEY, IN_LABEL };

void
sanitize_init(struct sanitize *s, unsigned kinds)
{
        *s = (struct sanitize){ .kinds = kinds,
                                .strip = { .control = (kinds & SANITIZE_control) != 0,
                                           .hidden = (kinds & SANITIZE_hidden) != 0 } };
}

void
sanitize_fini(struct sanitize *s)
{
        buffer_fini(&s->text);
        s->at = 0;
}

uint64_t
sanitize_count(const struct sanitize *s, size_t kind)
{
        const uint64_t counts[] = { [SANITIZE_BIT_control] = s->strip.controls,
                                    [SANITIZE_BIT_hidden] = s->strip.hiddens,
                                    [SANITIZE_BIT_secrets] = s->secrets };

        return kind < SANITIZE_BITS ? counts[kind] : 0;
}

size_t
sanitize_held(const struct sanitize *s)
{
        return s->strip.held_len + s->strip.ends_line + s->text.len - s->at;
}

/* -- a secret that is longer than the window --------------------------------------------------- */

/* Drops up to `mark`, and says so. Otherwise everything that cannot be its beginning. */
static bool
skip_to(struct sanitize *s, const char *mark, bool is_last)
{
        size_t rest = s->text.len - s->at, len = strlen(mark), keep = is_last ? 0 : len - 1;
        const char *from = s->text.bytes + s->at, *found = memmem(from, rest, mark, len);

        if (found)
                s->at += (size_t)(found - from) + len;
        else
                s->at += rest > keep ? rest - keep : 0;
        return found != NULL;
}

/* 0: more bytes are needed. */
static int
skip(struct sanitize *s, bool is_last)
{
        if (s->state == IN_VALUE) {
                while (s->at < s->text.len && !redact_ends_value(s->text.bytes[s->at]))
                        s->at++;
                s->state = s->at < s->text.len ? LOOKING : IN_VALUE;
        }
        if (s->state == IN_KEY && skip_to(s, REDACT_KEY_END, is_last))
                s->state = IN_LABEL;
        if (s->state == IN_LABEL && skip_to(s, REDACT_KEY_CLOSE, is_last))
                s->state = LOOKING;
        return s->state == LOOKING;
}

/* -- looking for secrets ----------------------------------------------------------------------- */

/* What is behind the cut belongs to the secret, too: finds the state, and how much may go now. */
static size_t
go_on(struct sanitize *s, const struct redact_place *p, const struct redact_cut *cut)
{
        const char *from = p->text + p->at, *end;
        size_t len = p->len - p->at;

        if (!cut->is_open_key) {
                s->state = IN_VALUE;
                return cut->len;
        }
        s->state = IN_KEY;
        end = memmem(from, len, REDACT_KEY_END, strlen(REDACT_KEY_END));
        return end ? (size_t)(end - from) : len - (strlen(REDACT_KEY_END) - 1);
}

/* Appends the text from `from` to the place, and the mark. */
static int
replace(struct sanitize *s, size_t from, const struct redact_place *p, size_t rule,
        const struct redact_cut *cut, struct buffer *out)
{
        char mark[REDACT_MARK_MAX];
        size_t len = redact_mark(rule, mark), gone = cut->len;

        if (p->at + cut->kept + cut->len == p->len && p->len - p->at == SANITIZE_WINDOW)
                gone = go_on(s, p, cut);
        s->at = p->at + cut->kept + gone;
        s->secrets++;
        return buffer_add(out, p->text + from, p->at + cut->kept - from, SIZE_MAX / 2) < 0 ||
                               buffer_add(out, mark, len, SIZE_MAX / 2) < 0
                       ? -ENOMEM
                       : 0;
}

/* Up to the first secret, or to what is not decided yet. 1: it goes on; 0: more bytes are needed */
static int
look(struct sanitize *s, bool is_last, struct buffer *out)
{
        size_t from = s->at, rule = REDACT_RULES;
        struct redact_cut cut;
        struct redact_place p = { .text = s->text.bytes, .leaves = ~(1u << REDACT_credentials) };
        bool is_open = false;

        for (; s->at < s->text.len; s->at++) {
                size_t rest = s->text.len - s->at;
                bool met_end = false;

                p.at = s->at;
                p.len = s->at + (rest < SANITIZE_WINDOW ? rest : SANITIZE_WINDOW);
                p.met_end = &met_end;
                rule = redact_find(&p, &cut);
                is_open = met_end && !is_last && rest < SANITIZE_WINDOW;
                if (is_open || rule != REDACT_RULES)
                        break;
        }
        if (rule != REDACT_RULES && !is_open)
                return replace(s, from, &p, rule, &cut, out) < 0 ? -ENOMEM : 1;
        return buffer_add(out, s->text.bytes + from, s->at - from, SIZE_MAX / 2) < 0 ? -ENOMEM : 0;
}

/* Keeps the byte before the place, and what follows. */
static void
shorten(struct sanitize *s)
{
        size_t gone = s->at > 0 ? s->at - 1 : 0;

        if (gone == 0)
                return;
        s->text.len -= gone;
        memmove(s->text.bytes, s->text.bytes + gone, s->text.len);
        s->at -= gone;
}

static int
find_secrets(struct sanitize *s, bool is_last, struct buffer *out)
{
        int result = 0, goes_on = 1;

        while (goes_on && s->at < s->text.len) {
                goes_on = s->state == LOOKING ? look(s, is_last, out) : skip(s, is_last);
                if (goes_on < 0)
                        result = goes_on;
        }
        shorten(s);
        return result;
}

int
sanitize_write(struct sanitize *s, const char *in, size_t len, bool is_last, struct buffer *out)
{
        struct buffer *to = (s->kinds & SANITIZE_secrets) != 0 ? &s->text : out;
        int result = 0;

        if (s->strip.control || s->strip.hidden)
                result = strip_write(&s->strip, in, len, is_last, to);
        else if (len > 0)
                result = buffer_add(to, in, len, SIZE_MAX / 2);
        if (to == &s->text && find_secrets(s, is_last, out) < 0)
                result = -ENOMEM;
        return result < 0 ? -ENOMEM : 0;
}
