/*
 * spec/block.c - the whole block: its fields in check order, from the written text to its meaning.
 *
 * Room: spec (deciding, pure). Touches: mem.
 * Knows the order: credentials first, so that no later message can repeat one; then keys; then the
 * sections in the table's order. Knows nothing of what a section means. All faults are collected;
 * the first is the verdict.
 */
#include <string.h>

#include "spec/advice.h"
#include "spec/credential_scan.h"
#include "spec/provider.h"
#include "spec/section.h"

static const char slug_chars[] = "abcdefghijklmnopqrstuvwxyz0123456789-";

/* ^@[a-z0-9][a-z0-9-]*\/[a-z0-9][a-z0-9-]*$ */
bool
id_check(const char *text)
{
        const char *slug;
        size_t len;

        if (*text != '@' || text[1] == '-')
                return false;
        len = strspn(text + 1, slug_chars);
        slug = text + 1 + len;
        if (len == 0 || *slug++ != '/' || *slug == '-')
                return false;
        len = strspn(slug, slug_chars);
        return len > 0 && slug[len] == '\0';
}

/* Three numbers, then an optional semver "-" or "+" part. */
bool
version_check(const char *text)
{
        static const char digits[] = "0123456789";
        static const char tail[] =
                "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.-+";

        for (int part = 0; part < 3; part++) {
                size_t len = strspn(text, digits);

                if (len == 0)
                        return false;
                text += len;
                if (part < 2 && *text++ != '.')
                        return false;
        }
        if (*text == '\0')
                return true;
        return (*text == '-' || *text == '+') && text[1] != '\0' &&
               text[1 + strspn(text + 1, tail)] == '\0';
}

static const char *const schema_choice[] = { "sandbox/v1", NULL };

static const struct field block_rows[] = {
        { .name = "schema",
          .kind = FIELD_CHOICE,
          .choices = schema_choice,
          .offset = FIELD_NOWHERE,
          .help = "sandbox/v1; required in a file of its own." },
        { .name = "id",
          .kind = FIELD_TEXT,
          .pattern = "^@[a-z0-9][a-z0-9-]*/[a-z0-9][a-z0-9-]*$",
          .matches = id_check,
          .offset = offsetof(struct spec, id),
          .help = "@owner/slug in lower case, for a file that others refer to." },
        { .name = "version",
          .kind = FIELD_TEXT,
          .flags = FIELD_LOOSE_TYPE,
          .pattern = "^[0-9]+\\.[0-9]+\\.[0-9]+([-+][0-9A-Za-z_.-]+)?$",
          .matches = version_check,
          .offset = offsetof(struct spec, version),
          .help = "Version of this file, three numbers: 1.0.0." },
        { .name = "provider",
          .kind = FIELD_TEXT,
          .flags = FIELD_REQUIRED,
          .pattern = "^[a-z0-9][a-z0-9-]{0,62}$",
          .matches = provider_id_check,
          .read = provider_read,
          .help = "Which backend runs the commands, for instance local; auto: the cheapest of "
                  "this machine that fits." },
        { .name = "config",
          .kind = FIELD_MAP,
          .flags = FIELD_REQUIRED,
          .read = config_read,
          .help = "Settings of that provider; {} for no settings." },
        { .name = "limits",
          .kind = FIELD_MAP,
          .members = &limits_set,
          .offset = offsetof(struct spec, limits),
          .help = "Resource caps." },
        { .name = "env",
          .kind = FIELD_MAP,
          .members = &env_set,
          .read = env_read,
          .help = "Variables, by name." },
        { .name = "network",
          .kind = FIELD_MAP,
          .members = &network_set,
          .offset = FIELD_NOWHERE,
          .help = "What commands may reach; missing: nothing." },
        { .name = "mounts",
          .kind = FIELD_LIST,
          .max = 64,
          .item = &mount_item,
          .read = mounts_read,
          .help = "What is seen inside, and where." },
        { .name = "identity",
          .kind = FIELD_ONE_OF,
          .members = &identity_forms,
          .read = identity_read,
          .help = "In whose name commands run; a label, never an operating system user." },
        { .name = "policy",
          .kind = FIELD_ONE_OF,
          .members = &policy_forms,
          .read = policy_read,
          .help = "Who may use the sandbox (AIP-38)." },
        { .name = "lifecycle",
          .kind = FIELD_MAP,
          .members = &lifecycle_set,
          .read = lifecycle_read,
          .help = "When it pauses and when it goes." },
        { .name = "read_only",
          .camel = "readOnly",
          .kind = FIELD_BOOL,
          .offset = offsetof(struct spec, is_read_only),
          .help = "true: no command runs; default false." },
        { .name = "metadata",
          .kind = FIELD_MAP,
          .read = metadata_read,
          .help = "Free, a map for each program; metadata.carrel is Carrel's own." },
};
const struct field_set block_set = { FIELD_SET(block_rows), .code = ERROR_SCHEMA_INVALID };

/* schema, id and version belong to a standalone file: required there, a remark elsewhere. */
static void
standalone_check(struct judge *j, const struct node *block)
{
        static const char *const names[] = { "schema", "id", "version" };

        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
                struct trail at = { NULL, names[i], 0 };
                const struct node *member = node_find(block, names[i]);

                if (j->kind != MANIFEST_STANDALONE && member) {
                        judge_warn(j, member, &at, "standalone_field_inline",
                                   "`%s` has a meaning only in a SANDBOX.md of its own", names[i]);
                        return;
                }
                if (j->kind != MANIFEST_STANDALONE || member)
                        continue;
                if (i == 0)
                        judge_error(j, block, &at, ERROR_SCHEMA_INVALID, "missing",
                                    "Write `schema: sandbox/v1` on top.",
                                    "a SANDBOX.md says which schema it follows");
                else
                        judge_warn(j, block, &at, "standalone_field_missing",
                                   "add `%s` if other files should reference this one", names[i]);
        }
}

static void
spec_init(struct spec *spec, const struct manifest *m)
{
        spec->block_path = m->block_path ? m->block_path : "";
        spec->shell = "/bin/sh";
        spec->lifecycle.pause_idle_ms = SPEC_UNSET;
        fields_default(&limits_set, &spec->limits);
        fields_default(&carrel_limits_set, &spec->limits);
        fields_default(&egress_caps_set, &spec->egress_caps);
        spec->limits.timeout_max_ms = SPEC_UNSET;
        spec->egress_day_bytes = SPEC_UNSET;
}

static void
block_read(struct judge *j, const struct node *block, struct spec *spec)
{
        const struct node *values[FIELD_SET_MAX];

        if (block->kind != NODE_MAP) {
                judge_error(j, block, NULL, ERROR_SCHEMA_INVALID, "type", NULL,
                            "a sandbox block is a map, and this is %s",
                            node_kind_name(block->kind));
                return;
        }
        credential_scan(j, block);
        fields_fold(j, &block_set, block, NULL, values);
        standalone_check(j, block);
        for (size_t i = 0; i < block_set.count; i++)
                (void)field_read(j, &block_set, &block_set.rows[i], block, values[i], NULL, spec);
}

int
spec_read(struct arena *arena, const struct manifest *m, struct spec **ret,
          struct findings *findings, struct error *e)
{
        struct judge j = { arena, findings, m->kind, m->syntax, &advice_of_block };
        struct spec *spec = arena_new(arena, struct spec);

        if (!m->block)
                return fail(e, ERROR_INTERNAL, "a manifest without a block was given to be read");
        if (!spec)
                return fail(e, ERROR_NO_MEMORY, "no memory for the sandbox block");
        spec_init(spec, m);
        block_read(&j, m->block, spec);
        limits_remember(node_find(m->block, "limits"), &spec->limits);
        if (m->runner)
                limits_narrow(&j, m->runner, &spec->limits);
        if (findings_verdict(findings, e) < 0)
                return -1;
        if (arena_is_full(arena))
                return fail(e, ERROR_NO_MEMORY, "no memory for the sandbox block");
        *ret = spec;
        return 0;
}
