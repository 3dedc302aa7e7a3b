/*
 * prepare/judge.c - the stages of a verdict that read no text: from a block to the permitted spec.
 *
 * Room: prepare (joining). Touches: mem.
 */
#include "policy/authorise.h"
#include "prepare/verdict.h"

int
verdict_check(struct arena *arena, struct verdict *v, struct findings *findings, struct error *e)
{
        struct spec *spec;

        if (spec_read(arena, &v->found, &spec, findings, e) < 0)
                return -1;
        v->spec = spec;
        return 0;
}

int
verdict_allow(struct arena *arena, const struct host_rules *rules, int64_t now_s, struct verdict *v,
              struct findings *findings, struct error *e)
{
        const struct node *commands = v->spec->carrel.commands;

        /* whoever sent the manifest follows its references (ref/rules.h) */
        if (commands && node_find(commands, "file")) {
                (void)fail_at(e, ERROR_REF_UNRESOLVABLE, "metadata/carrel/commands/file",
                              "not_found", "the daemon does not open files of rules");
                error_hint(e, "Send the rules themselves as metadata.carrel.commands, or create "
                              "the sandbox with `carrel create`, which reads the file.");
                findings_add(findings, e);
                return -1;
        }
        if (v->spec->carrel.approve_document) {
                (void)fail_at(e, ERROR_REF_UNRESOLVABLE, "metadata/carrel/approve/document",
                              "not_found", "the daemon does not open sandbox documents");
                error_hint(e,
                           "Send its list as metadata.carrel.approve, or create the sandbox with "
                           "`carrel create`, which reads the document.");
                findings_add(findings, e);
                return -1;
        }
        return authorise(arena, v->spec, rules, now_s, &v->allowed, findings, e);
}
