/*
 * prepare/verdict.c - all stages from the bytes of a manifest to the verdict.
 *
 * Room: prepare (joining). Touches: whatever the reader touches.
 * Knows the order of the stages. Knows nothing of how any of them decides. The later ones, which
 * read no text, are in judge.c.
 */
#include "prepare/verdict.h"

#include <string.h>

#include "manifest/override.h"
#include "ref/approve.h"
#include "ref/rules.h"
#include "secret/inventory.h"
#include "spec/norm.h"
#include "spec/reference.h"

static const char *const stage_names[] = { "parse", "validate", "resolve", "authorise" };

const char *
verdict_stage_name(enum verdict_stage stage)
{
        return stage_names[stage];
}

int
verdict_stage_find(const char *name)
{
        for (int i = 0; i < 4; i++)
                if (strcmp(stage_names[i], name) == 0)
                        return i;
        return -1;
}

/* Adds errors of a stage to the findings once: some stages add them themselves, helpers do not. */
static int
record(struct findings *findings, size_t errors_before, struct error *e)
{
        if (findings->error_count == errors_before)
                findings_add(findings, e);
        return -1;
}

/*
 * Reads the SECRETS.md that the block names, unless the host's rules declare its content. If it is
 * missing or may not be read, authorise() reports it in its order. If it exists and is wrong, that
 * is an error at once.
 */
static int
read_inventory(struct arena *arena, const struct spec *spec, const struct verdict_host *host,
               struct error *e)
{
        const char *ref = spec->env.auth_ref;
        const struct host_inventory *known = ref ? host_rules_inventory(host->rules, ref) : NULL;
        struct host_inventory inventory = { .ref = ref };
        struct reference target;
        const char *bytes;
        size_t len;

        if (!ref || (known && (known->slugs.count > 0 || !known->may_reveal)))
                return 0;
        if (reference_read(arena, ref, "SECRETS.md", &target, e) < 0 ||
            host->reader.read(host->reader.ctx, arena, &target, &bytes, &len, e) < 0) {
                if (e->code != ERROR_REF_UNRESOLVABLE)
                        return -1;
                if (known || strcmp(e->reason, "acl_denied") != 0)
                        return 0;
                return host_rules_add_inventory(arena, host->rules, &inventory, e);
        }
        if (secret_inventory_read(arena, ref, bytes, len, &inventory, e) < 0)
                return -1;
        inventory.is_of_workspace = !known;
        return host_rules_add_inventory(arena, host->rules, &inventory, e);
}

static int
walk(struct arena *arena, const struct ref_manifest_file *file, enum verdict_stage stage,
     const struct verdict_host *host, struct verdict *v, struct findings *findings, struct error *e)
{
        if (manifest_read(arena, file->bytes, file->len, file->kind, file->syntax, &v->written,
                          findings, e) < 0)
                return -1;
        v->found = v->written;
        if (stage == VERDICT_PARSE || v->written.form == MANIFEST_NONE)
                return 0;
        if (!v->found.block && stage >= VERDICT_RESOLVE &&
            ref_resolve(arena, &v->written, &host->reader, &v->found, findings, e) < 0)
                return -1;
        if (!v->found.block)
                return 0;
        if (stage >= VERDICT_RESOLVE &&
            (manifest_override(arena, &v->found, host->overrides, host->override_count, e) < 0 ||
             ref_rules_resolve(arena, &v->found, &host->reader, e) < 0 ||
             ref_approve_resolve(arena, &v->found, &host->reader, e) < 0))
                return -1;
        if (verdict_check(arena, v, findings, e) < 0)
                return -1;
        if (stage < VERDICT_AUTHORISE)
                return 0;
        return read_inventory(arena, v->spec, host, e) < 0
                       ? -1
                       : verdict_allow(arena, host->rules, host->now_s, v, findings, e);
}

int
verdict_reach(struct arena *arena, const struct ref_manifest_file *file, enum verdict_stage stage,
              const struct verdict_host *host, struct verdict *ret, struct findings *findings,
              struct error *e)
{
        size_t errors_before = findings->error_count;

        *ret = (struct verdict){ .spec = NULL };
        if (walk(arena, file, stage, host, ret, findings, e) < 0)
                return record(findings, errors_before, e);
        return 0;
}

void
verdict_norm_write(struct json_writer *w, const struct verdict *v)
{
        const struct spec *spec = v->allowed ? v->allowed : v->spec;

        if (spec) {
                spec_norm_write(w, spec);
                return;
        }
        json_open_map(w);
        json_member_bool(w, "configured", v->written.form != MANIFEST_NONE);
        if (v->written.form == MANIFEST_REF || v->written.form == MANIFEST_FILE) {
                json_member_text(w, "form", v->written.form == MANIFEST_REF ? "ref" : "file");
                json_member_text(w, "ref", v->written.ref);
                json_member_bool(w, "resolved", false);
        }
        json_close_map(w);
}
