/*
 * cli/doc_proof.c - what proofs of claims share: the report, probes, and what is decided here.
 *
 * Room: cli (joining). Touches: processes, fd (standard output).
 */
#include "cli/doc_proof.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/finding_print.h"
#include "document/value.h"

const char *const doc_result_words[] = { "proven", "refuted", "outside proof", "remark" };

void
doc_say(struct doc_proving *p, enum doc_result result, const char *path, const char *fmt, ...)
{
        char text[512];
        va_list ap;

        va_start(ap, fmt);
        (void)vsnprintf(text, sizeof text, fmt, ap);
        va_end(ap);
        p->counts[result]++;
        if (!p->a->is_json) {
                (void)printf("%-13s  %s: ", doc_result_words[result], path);
                print_escaped(stdout, text, false);
                (void)fputc('\n', stdout);
                (void)fflush(stdout);
                return;
        }
        json_open_map(&p->json);
        json_member_text(&p->json, "result", doc_result_words[result]);
        json_member_text(&p->json, "claim", path);
        json_member_text(&p->json, "detail", text);
        json_close_map(&p->json);
}

/* -- probes ------------------------------------------------------------------------------------ */

/* The text of a probe's standard output; "" if it could not run. */
const char *
doc_output(struct doc_proving *p, const struct doc_probe *probe, const char *const *command,
           struct doc_probed *ret)
{
        const struct node *out;
        struct error e;

        *ret = (struct doc_probed){ .status = -1 };
        if (doc_probe_run(&p->a->arena, probe, command, ret, &e) < 0) {
                if (p->broken.code == ERROR_NONE)
                        p->broken = e;
                return "";
        }
        out = node_find(ret->json, "stdout");
        return out && out->kind == NODE_STRING ? out->text : "";
}

const char *
doc_shell(struct doc_proving *p, const char *script, const char *argument, struct doc_probed *ret)
{
        const char *const command[] = { "/bin/sh", "-c", script, "sh", argument, NULL };

        return doc_output(p, &p->probe, command, ret);
}

/* Is there a whole line equal to `line`? */
bool
doc_has_line(const char *text, const char *line)
{
        size_t len = strlen(line);

        for (const char *at = text; (at = strstr(at, line)) != NULL; at += len)
                if ((at == text || at[-1] == '\n') && (at[len] == '\n' || at[len] == '\0'))
                        return true;
        return false;
}

const char *
doc_ending(const struct doc_probed *done)
{
        const struct node *word = node_find(done->json, "outcome");

        return word && word->kind == NODE_STRING ? word->text : "";
}

/* -- what is decided here ---------------------------------------------------------------------- */

const struct node *
doc_part(struct doc_proving *p, const char *path)
{
        const struct node *n;
        struct error e;

        for (size_t i = 0; i < p->facts->count; i++) {
                const char *json = p->facts->items[i].json;

                if (strcmp(p->facts->items[i].path, path) == 0)
                        return json && json_read(&p->a->arena, json, strlen(json),
                                                 &text_limits_manifest, &n, &e) == 0
                                       ? n
                                       : NULL;
        }
        return NULL;
}

const char *
doc_shown(struct doc_proving *p, const struct node *n)
{
        struct json_writer w;
        const char *text;

        json_init(&w, false);
        json_node(&w, n);
        text = w.text ? arena_text(&p->a->arena, w.text) : NULL;
        json_fini(&w);
        return text ? text : "";
}

static bool
is_same(struct doc_proving *p, const struct node *a, const struct node *b)
{
        if (a->kind == NODE_STRING && b->kind == NODE_STRING)
                return document_is_name(a->text, b->text);
        return strcmp(doc_shown(p, a), doc_shown(p, b)) == 0;
}

void
doc_prove_same(struct doc_proving *p, const char *path, const struct node *claim)
{
        const struct node *here = doc_part(p, path);

        if (!here)
                doc_say(p, DOC_REFUTED, path, "nothing here makes it so");
        else if (is_same(p, claim, here))
                doc_say(p, DOC_PROVEN, path, "%.200s", doc_shown(p, here));
        else
                doc_say(p, DOC_REFUTED, path, "it is %.200s here", doc_shown(p, here));
}

/* A name that the manifest does not give is the operator's own. */
void
doc_prove_identity(struct doc_proving *p, const char *path, const struct node *claim)
{
        if (doc_part(p, path))
                doc_prove_same(p, path, claim);
        else
                doc_say(p, DOC_OUTSIDE, path, "the operator's");
}

void
doc_prove_outside(struct doc_proving *p, const char *path, const struct node *claim)
{
        (void)claim;
        doc_say(p, DOC_OUTSIDE, path, "the operator's word");
}

/* A list of something that nothing here has. */
void
doc_prove_none(struct doc_proving *p, const char *path, const struct node *claim)
{
        if (claim->len == 0)
                doc_say(p, DOC_PROVEN, path, "none");
        else
                doc_say(p, DOC_REFUTED, path, "nothing here enforces it");
}
