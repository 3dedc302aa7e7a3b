/*
 * cli/conformance_doc.c - one case of a sandbox document, for `carrel conformance`.
 *
 * Room: cli (joining, program). Touches: mem.
 * Theory: a case changes the base document (`set`, `del`) and expects the exact sets of errors and
 * warnings, "code@path"; or it asks (`admit`) and expects a decision; or it changes the document
 * once more (`review`) and expects what has to be reviewed.
 */
#include "cli/conformance_doc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "document/admit.h"
#include "document/check.h"
#include "document/value.h"

enum { NAMES_MAX = 256, LIST_ROOM = 2048 };

bool
conformance_doc_is(const struct node *root)
{
        return node_find(root, "base") != NULL;
}

static const char *
text_of(const struct node *n)
{
        return n && n->kind == NODE_STRING ? n->text : "";
}

/* -- changing a document ----------------------------------------------------------------------- */

/* A copy of one node, without its siblings. */
static struct node *
copy(struct arena *arena, const struct node *n, const char *key)
{
        struct node *made = arena_new(arena, struct node);

        if (!made)
                return NULL;
        *made = *n;
        made->key = key;
        made->next = NULL;
        return made;
}

/* The map with the member at the dotted path replaced, added, or removed (value NULL). */
static const struct node *
changed(struct arena *arena, const struct node *map, const char *path, const struct node *value)
{
        static const struct node empty = { .kind = NODE_MAP };
        const char *dot = strchr(path, '.');
        const char *key = dot ? arena_copy(arena, path, (size_t)(dot - path)) : path;
        struct node *made = copy(arena, map->kind == NODE_MAP ? map : &empty, map->key);
        const struct node **end, *old, *new;

        if (!made || !key)
                return NULL;
        old = node_find(made, key);
        new = dot ? changed(arena, old ? old : &empty, dot + 1, value) : value;
        end = &made->first;
        for (const struct node *member = made->first; member;) {
                const struct node *next = member->next;
                const struct node *taken = member == old ? new : member;

                if (taken) {
                        *end = copy(arena, taken, member->key);
                        if (!*end)
                                return NULL;
                        end = (const struct node **)&((struct node *)*end)->next;
                }
                member = next;
        }
        *end = !old && new ? copy(arena, new, key) : NULL;
        made->len = 0;
        for (const struct node *member = made->first; member; member = member->next)
                made->len++;
        return made;
}

static const struct node *
apply(struct arena *arena, const struct node *doc, const struct node *set, const struct node *del)
{
        if (set)
                for (const struct node *member = set->first; member && doc; member = member->next)
                        doc = changed(arena, doc, member->key, member);
        if (del)
                for (const struct node *item = del->first; item && doc; item = item->next)
                        doc = changed(arena, doc, text_of(item), NULL);
        return doc;
}

/* -- comparing --------------------------------------------------------------------------------- */

static int
order(const void *a, const void *b)
{
        return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void
compare(const char *what, const char **wanted, size_t wanted_count, const char **got,
        size_t got_count, char *why, size_t room)
{
        char lists[2][LIST_ROOM] = { "", "" };
        const char **names[] = { wanted, got };
        const size_t counts[] = { wanted_count, got_count };

        for (int side = 0; side < 2; side++) {
                size_t used = 0;

                qsort(names[side], counts[side], sizeof *names[side], order);
                for (size_t i = 0; i < counts[side] && used < LIST_ROOM; i++)
                        used += (size_t)snprintf(lists[side] + used, LIST_ROOM - used, "%s%s",
                                                 i > 0 ? " " : "", names[side][i]);
        }
        if (strcmp(lists[0], lists[1]) != 0) {
                size_t used = strlen(why);

                (void)snprintf(why + used, room - used, "%s%s: wanted %.400s, got %.400s",
                               used ? "; " : "", what, lists[0][0] ? lists[0] : "none",
                               lists[1][0] ? lists[1] : "none");
        }
}

static void
compare_findings(struct arena *arena, const struct document_findings *f, bool is_error,
                 const struct node *expected, char *why, size_t room)
{
        const char *wanted[NAMES_MAX], *got[NAMES_MAX];
        size_t wanted_count = 0, got_count = 0;

        for (const struct node *n = expected ? expected->first : NULL; n; n = n->next)
                if (wanted_count < NAMES_MAX)
                        wanted[wanted_count++] = text_of(n);
        for (const struct document_finding *found = f->first; found; found = found->next)
                if (found->is_error == is_error && got_count < NAMES_MAX)
                        got[got_count++] = arena_format(arena, "%s@%s", found->code, found->path);
        for (size_t i = 0; i < got_count; i++)
                got[i] = got[i] ? got[i] : "";
        compare(is_error ? "errors" : "warnings", wanted, wanted_count, got, got_count, why, room);
}

/* -- the kinds of cases ------------------------------------------------------------------------ */

static void
run_admit(const struct node *doc, const struct node *asked, const struct node *result, char *why,
          size_t room)
{
        const struct node *risk = node_find(asked, "risk"), *host = node_find(asked, "host"),
                          *port = node_find(asked, "port"),
                          *operation = node_find(asked, "operation"),
                          *elapsed = node_find(asked, "elapsed");
        struct document_request request = {
                .risk = node_is_text(risk, "high")     ? DOCUMENT_HIGH
                        : node_is_text(risk, "medium") ? DOCUMENT_MEDIUM
                                                       : DOCUMENT_LOW,
                .host = host ? text_of(host) : NULL,
                .port = port && port->kind == NODE_INT ? (uint16_t)port->integer : 0,
                .operation = operation ? text_of(operation) : NULL,
        };
        struct document_verdict v;

        for (size_t i = 0; i < DOCUMENT_TIMEOUTS; i++) {
                const struct node *time = node_find(elapsed, document_timeout_names[i]);

                request.elapsed_ms[i] = DOCUMENT_NOT_ELAPSED;
                if (time)
                        (void)document_duration(text_of(time), &request.elapsed_ms[i]);
        }
        v = document_admit(doc, &request);
        if (strcmp(v.word, text_of(result)) != 0)
                (void)snprintf(why, room, "decision: wanted %.100s, got %s", text_of(result),
                               v.word);
}

void
conformance_doc_run(struct arena *arena, const struct node *root, const struct node *test,
                    char *why, size_t room, bool *ret_skipped)
{
        const struct document_options options = {
                .is_draft = node_is_text(node_find(test, "profile"), "draft"),
                .is_literal = node_find(test, "literal") && node_find(test, "literal")->boolean,
        };
        const struct node *expect = node_find(test, "expect"), *again = node_find(test, "review"),
                          *warnings = node_find(expect, "warnings"), *doc;
        struct document_findings f;

        *ret_skipped = node_find(test, "runtime") != NULL;
        if (*ret_skipped)
                return;
        doc = apply(arena, node_find(root, "base"), node_find(test, "set"), node_find(test, "del"));
        if (!doc) {
                (void)snprintf(why, room, "no memory for the case");
                return;
        }
        if (node_find(test, "admit")) {
                run_admit(doc, node_find(test, "admit"), node_find(test, "result"), why, room);
                return;
        }
        document_findings_init(&f, arena);
        if (again)
                (void)document_review(doc, apply(arena, doc, again, NULL), &f);
        else
                document_check(doc, &options, &f);
        compare_findings(arena, &f, true, node_find(expect, "errors"), why, room);
        compare_findings(arena, &f, false,
                         warnings || again ? warnings : node_find(root, "base_warnings"), why,
                         room);
}
