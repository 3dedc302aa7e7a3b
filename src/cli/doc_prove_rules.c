/*
 * cli/doc_prove_rules.c - proves rules for commands and approvals of a document.
 *
 * Room: cli (joining). Touches: what doc_proof.h touches.
 * Theory: a command that must be denied is judged first, and run only if that judgement denies it:
 * a proof never runs what a document calls dangerous.
 */
#include <string.h>

#include "cli/doc_proof.h"
#include "cli/doc_rules.h"
#include "document/value.h"
#include "spec/approve.h"

/* Is a probe refused with this code? */
static bool
is_refused(struct doc_proving *p, const char *const *command, enum error_code code)
{
        struct doc_probe probe = { .file = p->a->file,
                                   .workspace = p->a->workspace,
                                   .host_file = p->a->host_file };
        struct doc_probed done;
        const struct node *error;

        (void)doc_output(p, &probe, command, &done);
        error = node_find(done.json, "error");
        return error && node_find(error, "code") &&
               node_is_text(node_find(error, "code"), error_wire_name(code));
}

static bool
has_text(const struct node *list, const char *text)
{
        for (const struct node *n = list->first; n; n = n->next)
                if (strcmp(n->text, text) == 0)
                        return true;
        return false;
}

/* What is enforced here and the claim leaves out. */
static void
prove_whole(struct doc_proving *p, const char *path, const struct node *claim)
{
        const struct node *here = doc_part(p, path);

        for (const struct node *n = here ? here->first : NULL; n; n = n->next)
                if (!has_text(claim, n->text))
                        doc_say(p, DOC_REFUTED, path, "%.200s is enforced, and is not listed",
                                n->text);
        if (claim->len == 0 && (!here || here->len == 0))
                doc_say(p, DOC_PROVEN, path, "none");
}

void
doc_prove_disallowed(struct doc_proving *p, const char *path, const struct node *claim)
{
        node_each(item, claim)
        {
                const char *const command[] = { "/bin/sh", "-c", item->text, NULL };

                if (doc_rules_permit(&p->a->arena, p->way, command))
                        doc_say(p, DOC_REFUTED, path, "%.200s: the rules permit it", item->text);
                else if (is_refused(p, command, ERROR_POLICY_DENIED))
                        doc_say(p, DOC_PROVEN, path, "%.200s: denied", item->text);
                else
                        doc_say(p, DOC_REFUTED, path, "%.200s: not denied", item->text);
        }
        prove_whole(p, path, claim);
}

/* A program that is not listed is denied: the first of some that exist everywhere. */
static void
prove_unlisted(struct doc_proving *p, const char *path, const struct node *claim)
{
        static const char *const some[] = { "id", "uname", "cat", "ls", "true" };

        for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
                const char *const command[] = { some[i], NULL };

                if (has_text(claim, some[i]))
                        continue;
                if (is_refused(p, command, ERROR_POLICY_DENIED))
                        doc_say(p, DOC_PROVEN, path, "%s, which is not listed: denied", some[i]);
                else
                        doc_say(p, DOC_REFUTED, path, "%s runs, and is not listed", some[i]);
                return;
        }
        doc_say(p, DOC_REFUTED, path, "no program that is not listed could be tried");
}

void
doc_prove_allowed(struct doc_proving *p, const char *path, const struct node *claim)
{
        node_each(item, claim)
        {
                const char *const command[] = { item->text, NULL };
                bool runs = doc_rules_permit(&p->a->arena, p->way, command);

                doc_say(p, runs ? DOC_PROVEN : DOC_REFUTED, path, "%.200s: %s", item->text,
                        runs ? "the rules permit it" : "the rules do not permit it");
        }
        prove_unlisted(p, path, claim);
        prove_whole(p, path, claim);
}

void
doc_prove_gate(struct doc_proving *p, const char *path, const char *name)
{
        const struct node *list = doc_rules_allowed(p->way);
        const char *const command[] = { list && list->first ? list->first->text : "true", NULL };

        if (is_refused(p, command, ERROR_APPROVAL_DENIED))
                doc_say(p, DOC_PROVEN, path, "%.100s: a command did not start without an answer",
                        name);
        else
                doc_say(p, DOC_REFUTED, path, "%.100s: a command started without an answer", name);
}

void
doc_prove_people(struct doc_proving *p, const char *path, const struct node *claim)
{
        const char *exec = spec_approve_operation("exec");
        const struct node *here = doc_part(p, path);

        node_each(item, claim)
        {
                const char *operation = spec_approve_operation(item->text);

                if (!operation || !here || !has_text(here, operation))
                        doc_say(p, DOC_REFUTED, path, "%.200s does not wait for a person here",
                                item->text);
                else if (strcmp(operation, exec) == 0)
                        doc_prove_gate(p, path, item->text);
                else
                        doc_say(p, DOC_REMARK, path,
                                "%.200s is listed in `approve`; not tried, because only a daemon "
                                "does it",
                                item->text);
        }
        prove_whole(p, path, claim);
}

/* Device nodes of graphics and compute cards, as drivers name them. */
void
doc_prove_gpu(struct doc_proving *p, const char *path, const struct node *claim)
{
        static const char script[] = "for d in /dev/nvidia* /dev/dri/* /dev/kfd /dev/accel/* "
                                     "/dev/mali*; do [ -e \"$d\" ] && echo \"d $d\"; done; "
                                     "echo looked";
        const struct node *count = node_find(claim, "count");
        struct doc_probed done;
        const char *out = doc_shell(p, script, "", &done);
        bool is_none = doc_has_line(out, "looked") && !strstr(out, "d /dev/");

        if (!is_none)
                doc_say(p, DOC_REFUTED, path, "its device nodes could not be compared");
        else if (count && count->kind == NODE_INT && count->integer == 0)
                doc_say(p, DOC_PROVEN, path, "no device node of a GPU exists inside");
        else
                doc_say(p, DOC_REFUTED, path, "no device node of a GPU exists inside");
}
