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
        return authorise(arena, v->spec, rules, now_s, &v->allowed, findings, e);
}
