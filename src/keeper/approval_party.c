/*
 * keeper/approval_party.c - whose answers a request for approval needs.
 *
 * Room: keeper (joining). Touches: mem.
 */
#include "keeper/approval_party.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/approval_from.h"

enum { LINE_LEN = 2400 }; /* 16 names of 128 bytes, and what joins them: policy/requirement.c */

/* -- the copy ---------------------------------------------------------------------------------- */

static size_t
put(char *to, size_t at, const char *text)
{
        size_t len = strlen(text) + 1;

        if (to)
                memcpy(to + at, text, len);
        return at + len;
}

/* Writes the requirements that apply; `to` NULL: only counts bytes. */
static size_t
pack(char *to, const struct spec *spec, const char *operation, unsigned *ret_count)
{
        size_t at = 0;

        *ret_count = 0;
        for (size_t i = 0; i < spec->approval_from_count; i++) {
                const struct spec_approval_from *r = &spec->approval_from[i];

                if (!approval_from_applies(spec, r, operation))
                        continue;
                for (size_t j = 0; j < r->parties.count; j++)
                        at = put(to, at, r->parties.items[j]);
                at = put(to, at, "");
                ++*ret_count;
        }
        return at;
}

int
approval_parties_init(struct approval_parties *p, const struct spec *spec, const char *operation,
                      struct error *e)
{
        *p = (struct approval_parties){ 0 };
        p->len = pack(NULL, spec, operation, &p->count);
        if (p->count == 0)
                return 0;
        p->texts = malloc(p->len);
        if (!p->texts)
                return fail(e, ERROR_NO_MEMORY, "no memory for a request for approval");
        (void)pack(p->texts, spec, operation, &p->count);
        return 0;
}

void
approval_parties_fini(struct approval_parties *p)
{
        free(p->texts);
        *p = (struct approval_parties){ 0 };
}

/* -- who --------------------------------------------------------------------------------------- */

/* The requirements that this caller can satisfy, a bit for each. */
static unsigned
named_by(const struct approval_parties *p, const struct keeper *k, const struct caller *who)
{
        unsigned bits = 0, index = 0;

        for (size_t at = 0; at < p->len; at += strlen(p->texts + at) + 1) {
                const char *party = p->texts + at;

                if (*party == '\0')
                        index++;
                else if (approval_from_names(party, who->owner, k->host.rules->principal, k->owner))
                        bits |= 1u << index;
        }
        return bits;
}

bool
approval_parties_have(const struct approval_parties *p, const struct keeper *k,
                      const struct caller *who)
{
        return (!who->is_token || who->is_approver) && named_by(p, k, who) != 0;
}

/* One requirement as a line, from `at`; returns where the next begins. */
static size_t
join(const struct approval_parties *p, size_t at, char out[LINE_LEN])
{
        size_t len = 0;

        out[0] = '\0';
        for (; p->texts[at] != '\0'; at += strlen(p->texts + at) + 1) {
                int got = snprintf(out + len, LINE_LEN - len, "%s%s", len > 0 ? " or " : "",
                                   p->texts + at);

                len += got > 0 && (size_t)got < LINE_LEN - len ? (size_t)got : 0;
        }
        return at + 1;
}

/* The first requirement that nobody has satisfied. */
static void
first_open(const struct approval_parties *p, char out[LINE_LEN])
{
        size_t at = 0;

        for (unsigned i = 0; i < p->count; i++) {
                at = join(p, at, out);
                if ((p->approved & 1u << i) == 0)
                        return;
        }
}

int
approval_parties_check(const struct approval_parties *p, const struct keeper *k,
                       const struct caller *who, const char *id, struct error *e)
{
        unsigned named = named_by(p, k, who);
        char open[LINE_LEN];

        if (p->count == 0 || (named & ~p->approved) != 0)
                return 0;
        first_open(p, open);
        if (named != 0)
                return fail_at(e, ERROR_APPROVAL_ANSWERED, "id", "approved",
                               "%.64s has approved the request %s already; it waits for %.300s",
                               who->owner, id, open);
        (void)fail_at(e, ERROR_FORBIDDEN, "", "approval_from",
                      "the policy of the sandbox requires the approval of %.300s; %.64s may not "
                      "answer the request %s, which still waits",
                      open, who->owner, id);
        error_hint(e, "Ask them to answer it. From elsewhere they need a token of scope approve: "
                      "carrel key new --scope approve --owner NAME.");
        return -1;
}

bool
approval_parties_approve(struct approval_parties *p, const struct keeper *k,
                         const struct caller *who)
{
        p->approved |= named_by(p, k, who);
        return p->approved == (1u << p->count) - 1;
}

void
approval_parties_write(const struct approval_parties *p, struct record_writer *w)
{
        char line[LINE_LEN];
        size_t at = 0;

        for (unsigned i = 0; i < p->count; i++) {
                at = join(p, at, line);
                record_text(w, FIELD_APPROVAL_FROM, line);
        }
}
