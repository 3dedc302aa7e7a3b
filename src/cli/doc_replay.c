/*
 * cli/doc_replay.c - can a session be replayed exactly?
 *
 * Room: cli (joining). Touches: what doc_probe.h touches.
 * Theory: what a command got from outside must be in the recording. Standard input is, with its
 * content, and so is what servers answer without TLS; what they answer with TLS, and secrets, are
 * not. Which of its destinations a command speaks to with TLS is not known before. A program that
 * asks the clock or for randomness may still differ, and `carrel audit replay` says where.
 */
#include "cli/doc_replay.h"

/* Why no session can be replayed; NULL: it can be tried. */
static const char *
why_not(const struct doc_probe *probe, const struct run_way *way)
{
        const struct spec *spec = way->p.spec;

        if (!probe->state)
                return "nothing is recorded";
        if (!probe->keeps_output && !way->keeps_content)
                return "what commands read and print is not kept: add --keep-output, or audit: "
                       "[run, content] to the host file";
        if (spec->egress_count > 0)
                return "the sandbox has destinations, and what they answer over TLS cannot be "
                       "replayed";
        return spec->env.auth_count > 0 ? "the sandbox gets secrets, and they are not recorded"
                                        : NULL;
}

int
doc_replay_try(struct arena *arena, const struct doc_probe *probe, const struct run_way *way,
               bool *ret_is_supported, const char **ret_why, struct error *e)
{
        static const char *const command[] = {
                "/bin/sh", "-c",
                "i=0; while [ $i -lt 100 ]; do echo $i; echo e$i >&2; i=$((i+1)); done; exit 3",
                NULL
        };
        struct doc_probe again = *probe;
        const struct node *ref, *equal;
        struct doc_probed done;

        *ret_is_supported = false;
        *ret_why = why_not(probe, way);
        if (*ret_why)
                return 0;
        if (doc_probe_run(arena, probe, command, &done, e) < 0)
                return -1;
        ref = node_find(done.json, "audit_ref");
        again.replay = ref && ref->kind == NODE_STRING ? ref->text : "";
        if (doc_probe_run(arena, &again, command, &done, e) < 0)
                return -1;
        equal = node_find(done.json, "equal");
        *ret_is_supported = done.status == 0 && equal && equal->kind == NODE_BOOL && equal->boolean;
        *ret_why = *ret_is_supported ? "a recorded command printed the same when it was replayed"
                                     : "a recorded command could not be replayed";
        return 0;
}
