/*
 * cli/doc_prove_limits.c - proves limits of a document.
 *
 * Room: cli (joining). Touches: what doc_proof.h touches.
 */
#include "cli/doc_proof.h"

#include <inttypes.h>
#include <string.h>

#include "document/value.h"

enum {
        TASKS_TRIED_MAX = 256,
        MEMORY_TRIED_MAX_MB = 512,
        DISK_TRIED_MAX_MB = 256,
};

static void
prove_amount(struct doc_proving *p, const char *path, const struct node *claim,
             bool (*read)(const char *text, uint64_t *ret), const char *how)
{
        const struct node *here = doc_part(p, path);
        uint64_t wanted, real;

        if (!here || !read(here->text, &real))
                doc_say(p, DOC_REFUTED, path, "there is no cap here");
        else if (!read(claim->text, &wanted) || wanted != real)
                doc_say(p, DOC_REFUTED, path, "the cap is %s here", here->text);
        else
                doc_say(p, DOC_PROVEN, path, "%s: %s", here->text, how);
}

void
doc_prove_cpu(struct doc_proving *p, const char *path, const struct node *claim)
{
        prove_amount(p, path, claim, document_millicores, "the control group has this quota");
}

void
doc_prove_memory(struct doc_proving *p, const char *path, const struct node *claim)
{
        uint64_t mb = p->way->p.spec->limits.memory_mb;
        struct doc_probed done;

        if (mb == SPEC_UNSET || mb > MEMORY_TRIED_MAX_MB) {
                prove_amount(p, path, claim, document_quantity, "the control group has this cap");
                return;
        }
        (void)doc_shell(p, "head -c $1 /dev/zero | tail -c $1 > /dev/null",
                        arena_format(&p->a->arena, "%" PRIu64, (mb + 64) << 20), &done);
        if (strcmp(doc_ending(&done), "oom_killed") == 0)
                prove_amount(p, path, claim, document_quantity, "a command that used more ended");
        else
                doc_say(p, DOC_REFUTED, path, "a command could use more than %" PRIu64 " MiB", mb);
}

void
doc_prove_disk(struct doc_proving *p, const char *path, const struct node *claim)
{
        uint64_t mb = p->way->p.plan->disk_mb;
        struct doc_probed done;
        const char *out;

        if (mb == SPEC_UNSET || mb > DISK_TRIED_MAX_MB) {
                prove_amount(p, path, claim, document_quantity,
                             "the private places have this size");
                return;
        }
        out = doc_shell(p, "head -c $1 /dev/zero > /tmp/carrel-doc || [ $? -ne 1 ] || echo full",
                        arena_format(&p->a->arena, "%" PRIu64, (mb + 1) << 20), &done);
        if (doc_has_line(out, "full") || strcmp(doc_ending(&done), "oom_killed") == 0)
                prove_amount(p, path, claim, document_quantity, "more could not be written");
        else
                doc_say(p, DOC_REFUTED, path, "more than %" PRIu64 " MiB could be written", mb);
}

void
doc_prove_tasks(struct doc_proving *p, const char *path, const struct node *claim)
{
        static const char script[] = "i=0; while [ $i -lt $1 ]; do sleep 3 & i=$((i+1)); "
                                     "echo $i; done 2>/dev/null; exit 0";
        uint64_t cap = p->way->p.plan->pids;
        struct doc_probed done;
        const char *out;

        if (cap == SPEC_UNSET || claim->integer < 0 || (uint64_t)claim->integer != cap) {
                doc_say(p, DOC_REFUTED, path, "the cap is %" PRIu64 " here",
                        cap == SPEC_UNSET ? 0 : cap);
                return;
        }
        if (cap > TASKS_TRIED_MAX) {
                doc_say(p, DOC_PROVEN, path,
                        "%" PRIu64 ": the control group or rlimit has this cap", cap);
                return;
        }
        out = doc_shell(p, script, arena_format(&p->a->arena, "%" PRIu64, cap + 8), &done);
        if (out[0] == '\0' || doc_has_line(out, arena_format(&p->a->arena, "%" PRIu64, cap + 1)))
                doc_say(p, DOC_REFUTED, path, "more than %" PRIu64 " processes could start", cap);
        else
                doc_say(p, DOC_PROVEN, path, "no more than %" PRIu64 " processes could start", cap);
}
