/*
 * spec/block_test.c - the meaning of a sandbox block: tables of blocks, with their errors in order
 * and their warnings.
 */
#include <stdio.h>
#include <string.h>

#include "base/unit.h"
#include "spec/spec.h"
#include "text/yaml.h"

enum { ARENA_LIMIT = 8 << 20 };

struct reading {
        struct arena arena;
        struct findings findings;
        struct spec *spec;
        struct error e;
        int result;
};

static void
read_block(struct reading *r, const char *yaml, enum manifest_kind kind,
           enum manifest_syntax syntax)
{
        struct manifest m = {
                .kind = kind, .syntax = syntax, .form = MANIFEST_INLINE, .block_path = ""
        };
        struct error e;

        *r = (struct reading){ 0 };
        arena_init(&r->arena, ARENA_LIMIT);
        findings_init(&r->findings, &r->arena);
        if (yaml_read(&r->arena, yaml, strlen(yaml), 1, &text_limits_manifest, &m.root, &e) < 0)
                fail_msg("%s: %s", yaml, e.message);
        m.block = m.root;
        r->result = spec_read(&r->arena, &m, &r->spec, &r->findings, &r->e);
}

/* All errors as "code path reason; ...", all warnings as "name name ..." */
static const char *
errors_of(const struct reading *r)
{
        static char text[4096];
        size_t used = 0;

        text[0] = '\0';
        for (const struct finding *f = r->findings.errors; f; f = f->next)
                used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %s %s",
                                         used ? "; " : "",
                                         error_wire_name(f->error.code) + strlen("sandbox_"),
                                         f->error.path, f->error.reason);
        return text;
}

static const char *
warnings_of(const struct reading *r)
{
        static char text[4096];
        size_t used = 0;

        text[0] = '\0';
        for (const struct warning *w = r->findings.warnings; w; w = w->next)
                used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", used ? " " : "",
                                         w->name);
        return text;
}

#define LOCAL(rest) "{provider: local, config: {}, " rest "}"
#define MODAL(rest) "{provider: mastra-modal, config: {app_name: a, function_name: f}, " rest "}"
#define MOUNT(rest) LOCAL("mounts: [{" rest "}]")

struct fault_case {
        const char *yaml, *errors;
};

static const struct fault_case fault_cases[] = {
        { "{config: {}}", "schema_invalid provider missing" },
        { "{provider: local}", "schema_invalid config missing" },
        { "{provider: 3, config: {}}", "schema_invalid provider type" },
        { "{provider: Local, config: {}}", "schema_invalid provider pattern" },
        { "{provider: '', config: {}}", "schema_invalid provider pattern" },
        { "{provider: -a, config: {}}", "schema_invalid provider pattern" },
        { "{provider: local, config: null}", "schema_invalid config type" },
        { "{provider: local, config: []}", "schema_invalid config type" },
        { "[]", "schema_invalid  type" },
        { "local", "schema_invalid  type" },
        { LOCAL("netwrok: {egress: []}"), "schema_invalid netwrok unknown_field" },
        { LOCAL("read_only: yes"), "schema_invalid read_only type" },
        { LOCAL("read_only: \"false\""), "schema_invalid read_only type" },
        { LOCAL("read_only: 0"), "schema_invalid read_only type" },
        { LOCAL("read_only: ~"), "schema_invalid read_only type" },
        { LOCAL("readonly: true"), "schema_invalid readonly unknown_field" },
        { LOCAL("read_only: false, readOnly: true"), "alias_conflict read_only alias" },
        { LOCAL("limits: {timeout_ms: 5, timeoutMs: 6}"),
          "alias_conflict limits/timeout_ms alias" },
        /* standalone fields */
        { LOCAL("schema: agentsandbox/v1"), "schema_invalid schema enum" },
        { LOCAL("schema: 1"), "schema_invalid schema type" },
        { LOCAL("id: '@Acme/x'"), "schema_invalid id pattern" },
        { LOCAL("id: '@a'"), "schema_invalid id pattern" },
        { LOCAL("id: '@a/'"), "schema_invalid id pattern" },
        { LOCAL("id: '@a/-b'"), "schema_invalid id pattern" },
        { LOCAL("id: '@a/b/c'"), "schema_invalid id pattern" },
        { LOCAL("id: 'a/b'"), "schema_invalid id pattern" },
        { LOCAL("version: 1.0"), "schema_invalid version pattern" },
        { LOCAL("version: 1"), "schema_invalid version pattern" },
        { LOCAL("version: '1.0'"), "schema_invalid version pattern" },
        { LOCAL("version: v1.0.0"), "schema_invalid version pattern" },
        { LOCAL("version: 1.0.0-"), "schema_invalid version pattern" },
        { LOCAL("version: 1.0.0.0"), "schema_invalid version pattern" },
        { LOCAL("version: null"), "schema_invalid version type" },
        /* config */
        { "{provider: local, config: {privileged: true}}",
          "config_invalid config/privileged unknown_field" },
        { "{provider: local, config: {shell: /bin/zsh}}", "config_invalid config/shell enum" },
        { "{provider: local, config: {shell: 1}}", "config_invalid config/shell type" },
        { "{provider: local, config: {cwd: ''}}", "config_invalid config/cwd type" },
        { "{provider: mastra-e2b, config: {}}", "config_invalid config/template missing" },
        { "{provider: mastra-e2b, config: {template: t, region: mars}}",
          "config_invalid config/region enum" },
        { "{provider: mastra-modal, config: {}}",
          "config_invalid config/app_name missing; config_invalid config/function_name missing" },
        { "{provider: mastra-daytona, config: {api_key_ref: daytona-key}}",
          "config_invalid config/workspace_id missing" },
        { "{provider: mastra-blaxel, config: {workspace: 3}}",
          "config_invalid config/workspace type" },
        /* numbers: exact, or refused */
        { LOCAL("limits: {timeout_ms: 0}"), "schema_invalid limits/timeout_ms range" },
        { LOCAL("limits: {timeout_ms: -0}"), "schema_invalid limits/timeout_ms range" },
        { LOCAL("limits: {timeout_ms: -1}"), "schema_invalid limits/timeout_ms range" },
        { LOCAL("limits: {timeout_ms: 9007199254740993}"),
          "schema_invalid limits/timeout_ms range" },
        { LOCAL("limits: {timeout_ms: 18446744073709551616}"),
          "schema_invalid limits/timeout_ms range" },
        { LOCAL("limits: {timeout_ms: 1e309}"), "schema_invalid limits/timeout_ms type" },
        { LOCAL("limits: {timeout_ms: 1.5}"), "schema_invalid limits/timeout_ms type" },
        { LOCAL("limits: {timeout_ms: .inf}"), "schema_invalid limits/timeout_ms type" },
        { LOCAL("limits: {timeout_ms: 30s}"), "schema_invalid limits/timeout_ms type" },
        { LOCAL("limits: {timeout_ms: '30'}"), "schema_invalid limits/timeout_ms type" },
        { LOCAL("limits: {timeout_ms: 1_000}"), "schema_invalid limits/timeout_ms type" },
        { LOCAL("limits: {timeout_ms: '60:30'}"), "schema_invalid limits/timeout_ms type" },
        { LOCAL("limits: {timeout_ms: true}"), "schema_invalid limits/timeout_ms type" },
        { LOCAL("limits: {timeoutMs: 0}"), "schema_invalid limits/timeout_ms range" },
        { LOCAL("limits: []"), "schema_invalid limits type" },
        { LOCAL("limits: {pids: 64}"), "schema_invalid limits/pids unknown_field" },
        { LOCAL("limits: {max_cost_units_per_run: 5}"),
          "schema_invalid limits/max_cost_units_per_run unknown_field" },
        { LOCAL("limits: {memory_mb: 0, cpu_ms: x}"),
          "schema_invalid limits/memory_mb range; schema_invalid limits/cpu_ms type" },
        /* env and credentials */
        { LOCAL("env: {NODE_ENV: production}"), "schema_invalid env/NODE_ENV unknown_field" },
        { LOCAL("env: {passthrough: ['AWS_*']}"), "schema_invalid env/passthrough/0 pattern" },
        { LOCAL("env: {passthrough: [A, 1]}"), "schema_invalid env/passthrough/1 type" },
        { LOCAL("env: {passthrough: ['']}"), "schema_invalid env/passthrough/0 pattern" },
        { LOCAL("env: {passthrough: [1A]}"), "schema_invalid env/passthrough/0 pattern" },
        { LOCAL("env: {passthrough: A}"), "schema_invalid env/passthrough type" },
        { LOCAL("env: {auth: {ref: ''}}"), "schema_invalid env/auth/ref range" },
        { LOCAL("env: {auth: {env: [A]}}"), "schema_invalid env/auth/env unknown_field" },
        { LOCAL("env: {auth: {state: {envs: [A]}}}"),
          "schema_invalid env/auth/state/envs unknown_field" },
        { LOCAL("env: {auth: {state: {env: [FOO]}}, passthrough: [FOO]}"),
          "env_conflict env duplicate" },
        { LOCAL("env: {auth: {state: {env: ['OPENAI_API_KEY=abc']}}}"),
          "plaintext_credential env/auth/state/env/0 value" },
        { LOCAL("env: {passthrough: ['A', 'B=c']}"),
          "plaintext_credential env/passthrough/1 value" },
        { LOCAL("env: {passthrough: ['B=']}"), "schema_invalid env/passthrough/0 pattern" },
        { "{provider: mastra-e2b, config: {template: t, api_key: x123}}",
          "plaintext_credential config/api_key key" },
        { "{provider: mastra-e2b, config: {template: t, api_key_ref: "
          "e2b_0123456789abcdef0123456789abcdef}}",
          "plaintext_credential config/api_key_ref value" },
        { LOCAL("metadata: {acme: {note: sk-abcdefghijklmnopqrstuvwx}}"),
          "plaintext_credential metadata/acme/note value" },
        { MOUNT("source: {inline: {provider: self-bucket, config: {bucket: b, secretAccessKey: "
                "zzz}}}, at: /cache"),
          "plaintext_credential mounts/0/source/inline/config/secretAccessKey key" },
        { "{config: {password: x}, nope: 1}",
          "plaintext_credential config/password key; schema_invalid nope unknown_field; "
          "schema_invalid provider missing" },
        /* network */
        { LOCAL("network: null"), "schema_invalid network type" },
        { LOCAL("network: []"), "schema_invalid network type" },
        { LOCAL("network: {egres: []}"), "schema_invalid network/egres unknown_field" },
        { LOCAL("network: {egress: api.openai.com}"), "schema_invalid network/egress type" },
        { LOCAL("network: {egress: {}}"), "schema_invalid network/egress type" },
        { LOCAL("network: {egress: '*'}"), "schema_invalid network/egress type" },
        { LOCAL("network: {egress: null}"), "schema_invalid network/egress type" },
        { LOCAL("network: {egress: [a.test, 3, '*', null]}"),
          "schema_invalid network/egress/1 type; egress_invalid network/egress/2 wildcard; "
          "schema_invalid network/egress/3 type" },
        { LOCAL("network: {egress: ['a.test:65536']}"), "egress_invalid network/egress/0 port" },
        /* mounts */
        { LOCAL("mounts: {}"), "schema_invalid mounts type" },
        { LOCAL("mounts: [workspace]"), "mount_invalid mounts/0 type" },
        { MOUNT("source: workspace"), "mount_invalid mounts/0/at missing" },
        { MOUNT("at: /w"), "mount_invalid mounts/0/source missing" },
        { MOUNT("source: workspace, at: 3"), "mount_invalid mounts/0/at type" },
        { MOUNT("source: workspace, at: ''"), "mount_invalid mounts/0/at not_absolute" },
        { MOUNT("source: workspace, at: workspace"), "mount_invalid mounts/0/at not_absolute" },
        { MOUNT("source: workspace, at: /workspace/../etc"), "mount_invalid mounts/0/at dotdot" },
        { MOUNT("source: workspace, at: /.."), "mount_invalid mounts/0/at dotdot" },
        { MOUNT("source: workspace, at: /proc/self"), "mount_invalid mounts/0/at reserved" },
        { MOUNT("source: workspace, at: //./"), "mount_invalid mounts/0/at reserved" },
        { MOUNT("source: workspace, at: //dev/."), "mount_invalid mounts/0/at reserved" },
        { MOUNT("source: workspace, at: /sys"), "mount_invalid mounts/0/at reserved" },
        { MOUNT("source: workspace, at: \"/a\\nb\""), "mount_invalid mounts/0/at charset" },
        { MOUNT("source: workspace, at: \"/a\\x7f\""), "mount_invalid mounts/0/at charset" },
        { MOUNT("source: workspace, at: /w, mode: rw"), "schema_invalid mounts/0/mode enum" },
        { MOUNT("source: workspace, at: /w, read_only: true"),
          "schema_invalid mounts/0/read_only unknown_field" },
        { MOUNT("source: storage, at: /w"), "mount_invalid mounts/0/source source_string" },
        { MOUNT("source: 3, at: /w"), "mount_invalid mounts/0/source type" },
        { MOUNT("source: {}, at: /w"), "mount_invalid mounts/0/source source_form" },
        { MOUNT("source: {url: x}, at: /w"), "mount_invalid mounts/0/source source_form" },
        { MOUNT("source: {ref: '@a/b', inline: {provider: dev-local, config: {}}}, at: /w"),
          "mount_invalid mounts/0/source source_form" },
        { MOUNT("source: {ref: 3}, at: /w"), "mount_invalid mounts/0/source/ref type" },
        { MOUNT("source: {inline: {provider: dev-local}}, at: /w"),
          "mount_invalid mounts/0/source/inline/config missing" },
        { MOUNT("source: {inline: x}, at: /w"), "mount_invalid mounts/0/source/inline type" },
        { MOUNT("source: {inline: {provider: dev-local, config: {}, read_only: 'yes'}}, at: /w"),
          "mount_invalid mounts/0/source/inline/read_only type" },
        { LOCAL("mounts: [{source: workspace, at: /w}, {source: {ref: '@a/b'}, at: /w/}]"),
          "mount_invalid mounts/1/at duplicate" },
        /* identity */
        { LOCAL("identity: bob"), "schema_invalid identity type" },
        { LOCAL("identity: {}"), "schema_invalid identity form" },
        { LOCAL("identity: {role: x}"), "schema_invalid identity form" },
        { LOCAL("identity: {ref: 'bot://x', name: X, email: x@y.z}"),
          "schema_invalid identity form" },
        { LOCAL("identity: {ref: 'bot://x', file: ./a}"), "schema_invalid identity form" },
        { LOCAL("identity: {name: Bob}"), "schema_invalid identity/email missing" },
        { LOCAL("identity: [{ref: 'bot://x'}, {name: Bob}]"),
          "schema_invalid identity/1/email missing" },
        { LOCAL("identity: [{ref: 'bot://x', email: 3}, 3]"),
          "schema_invalid identity/0 form; schema_invalid identity/1 type" },
        { LOCAL("identity: []"), "schema_invalid identity range" },
        { LOCAL("identity: {name: B, email: b@c.d, uid: 0}"),
          "schema_invalid identity/uid unknown_field" },
        /* policy: shape only */
        { LOCAL("policy: 3"), "schema_invalid policy type" },
        { LOCAL("policy: ''"), "schema_invalid policy range" },
        { LOCAL("policy: []"), "schema_invalid policy range" },
        { LOCAL("policy: {default: maybe}"), "schema_invalid policy/default enum" },
        { LOCAL("policy: {inline: {default: maybe}}"),
          "schema_invalid policy/inline/default enum" },
        { LOCAL("policy: {grants: {}}"), "schema_invalid policy/grants type" },
        { LOCAL("policy: {grant: []}"), "schema_invalid policy/grant unknown_field" },
        { LOCAL("policy: {ref: ./a, file: ./b}"), "schema_invalid policy form" },
        { LOCAL("policy: {ref: ./a, grants: []}"), "schema_invalid policy form" },
        { LOCAL("policy: [{ref: ./a}, {inline: 3}]"), "schema_invalid policy/1/inline type" },
        /* lifecycle */
        { LOCAL("lifecycle: null"), "schema_invalid lifecycle type" },
        { LOCAL("lifecycle: {pause_after_idle: 600}"),
          "schema_invalid lifecycle/pause_after_idle type" },
        { LOCAL("lifecycle: {pause_after_idle: ''}"),
          "schema_invalid lifecycle/pause_after_idle range" },
        { LOCAL("lifecycle: {pauseAfterIdleMs: 0}"),
          "schema_invalid lifecycle/pause_after_idle_ms range" },
        { LOCAL("lifecycle: {pause_after_idle_ms: idle-3}"),
          "schema_invalid lifecycle/pause_after_idle_ms type" },
        { LOCAL("lifecycle: {destroy_on_workspace_close: 'true'}"),
          "schema_invalid lifecycle/destroy_on_workspace_close type" },
        { MODAL("lifecycle: {pause_after_idle: idle-300, pause_after_idle_ms: 5000}"),
          "alias_conflict lifecycle/pause_after_idle alias" },
        { MODAL("lifecycle: {pause_after_idle: idle-2, pause_after_idle_ms: 1500}"),
          "alias_conflict lifecycle/pause_after_idle alias" },
        { MODAL("lifecycle: {pause_on: idle-3, pauseAfterIdleMs: 5000}"),
          "alias_conflict lifecycle/pause_after_idle alias" },
        { MODAL("lifecycle: {pause_after_idle: idle-300, pause_on: turn-end}"),
          "alias_conflict lifecycle/pause_after_idle alias" },
        { LOCAL("lifecycle: {destroy_on: workspace-close, destroy_on_workspace_close: false}"),
          "alias_conflict lifecycle/destroy_on alias" },
        { LOCAL("lifecycle: {destroy_on: turn-end, destroyOnWorkspaceClose: true}"),
          "alias_conflict lifecycle/destroy_on alias" },
        /* metadata */
        { LOCAL("metadata: x"), "schema_invalid metadata type" },
        { LOCAL("metadata: {carrel: x}"), "schema_invalid metadata/carrel type" },
        { LOCAL("metadata: {carrel: {limit: {}}}"),
          "schema_invalid metadata/carrel/limit unknown_field" },
        { LOCAL("metadata: {carrel: {limits: {pids: 0}}}"),
          "schema_invalid metadata/carrel/limits/pids range" },
        { LOCAL("metadata: {carrel: {limits: {timeout_ms: 5}}}"),
          "schema_invalid metadata/carrel/limits/timeout_ms unknown_field" },
        { LOCAL("metadata: {carrel: {egress: {connections: 0}}}"),
          "schema_invalid metadata/carrel/egress/connections range" },
        { LOCAL("metadata: {carrel: {egress: {connections: 10241, names: 4097}}}"),
          "schema_invalid metadata/carrel/egress/connections range; schema_invalid "
          "metadata/carrel/egress/names range" },
        { LOCAL("metadata: {carrel: {egress: {bytes: 1}}}"),
          "schema_invalid metadata/carrel/egress/bytes unknown_field" },
        { LOCAL("metadata: {carrel: {egress: {bytes_out: '1'}}}"),
          "schema_invalid metadata/carrel/egress/bytes_out type" },
        { LOCAL("metadata: {carrel: {unix: true}}"), "schema_invalid metadata/carrel/unix type" },
        { LOCAL("metadata: {carrel: {unix: maybe}}"), "schema_invalid metadata/carrel/unix enum" },
        { LOCAL("metadata: {carrel: {tools: [opt]}}"),
          "schema_invalid metadata/carrel/tools/0 pattern" },
        { LOCAL("metadata: {carrel: {tools: [/]}}"),
          "schema_invalid metadata/carrel/tools/0 pattern" },
        { LOCAL("metadata: {carrel: {tools: [/opt/../root]}}"),
          "schema_invalid metadata/carrel/tools/0 pattern" },
        { LOCAL("metadata: {carrel: {protect: [/etc]}}"),
          "schema_invalid metadata/carrel/protect/0 pattern" },
        { LOCAL("metadata: {carrel: {unprotect: [., a/../b]}}"),
          "schema_invalid metadata/carrel/unprotect/0 pattern; schema_invalid "
          "metadata/carrel/unprotect/1 pattern" },
};

static void
faults_have_code_path_and_reason(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof fault_cases / sizeof fault_cases[0]; i++) {
                struct reading r;

                read_block(&r, fault_cases[i].yaml, MANIFEST_BLOCK, MANIFEST_YAML);
                if (r.result == 0 || strcmp(errors_of(&r), fault_cases[i].errors) != 0)
                        fail_msg("%s\n  gave     %s\n  expected %s", fault_cases[i].yaml,
                                 errors_of(&r), fault_cases[i].errors);
                assert_int_equal(r.e.code, r.findings.errors->error.code);
                assert_null(r.spec);
                arena_fini(&r.arena);
        }
}

struct remark_case {
        const char *yaml, *warnings;
        enum manifest_kind kind;
        enum manifest_syntax syntax;
};

static const struct remark_case remark_cases[] = {
        { LOCAL(""), "", MANIFEST_BLOCK, MANIFEST_YAML },
        { LOCAL("schema: sandbox/v1, id: '@a/b', version: 1.0.0"), "standalone_field_inline",
          MANIFEST_PARENT, MANIFEST_YAML },
        { LOCAL("schema: sandbox/v1, id: '@a/b', version: 1.0.0"), "", MANIFEST_STANDALONE,
          MANIFEST_YAML },
        { LOCAL("schema: sandbox/v1, id: '@a/b', version: 1.0.0-rc.1+b.5"), "", MANIFEST_STANDALONE,
          MANIFEST_YAML },
        { LOCAL("schema: sandbox/v1"), "standalone_field_missing standalone_field_missing",
          MANIFEST_STANDALONE, MANIFEST_YAML },
        { LOCAL("readOnly: true, limits: {timeoutMs: 5}"), "alias_spelling alias_spelling",
          MANIFEST_BLOCK, MANIFEST_YAML },
        { LOCAL("read_only: true, readOnly: true"), "alias_spelling", MANIFEST_BLOCK,
          MANIFEST_YAML },
        { LOCAL("readOnly: true, limits: {timeoutMs: 5}"), "", MANIFEST_BLOCK, MANIFEST_JSON },
        { LOCAL("read_only: true, limits: {timeout_ms: 5}"), "alias_spelling alias_spelling",
          MANIFEST_BLOCK, MANIFEST_JSON },
        { LOCAL("lifecycle: {destroyOnWorkspaceClose: true}"), "alias_spelling", MANIFEST_BLOCK,
          MANIFEST_JSON },
        { LOCAL("lifecycle: {destroyOnWorkspaceClose: true}"), "alias_spelling", MANIFEST_BLOCK,
          MANIFEST_YAML },
        { LOCAL("lifecycle: {pauseAfterIdle: idle-3, destroyOn: turn-end}"), "", MANIFEST_BLOCK,
          MANIFEST_JSON },
        { MODAL("lifecycle: {pause_on: idle-300, pauseAfterIdleMs: 300000, pause_after_idle: "
                "idle-300}"),
          "alias_spelling alias_spelling", MANIFEST_BLOCK, MANIFEST_YAML },
        { MODAL("lifecycle: {pause_after_idle: idle-300, pause_after_idle_ms: 300000}"),
          "alias_spelling", MANIFEST_BLOCK, MANIFEST_YAML },
        { LOCAL("lifecycle: {destroy_on: full-moon}"), "event_unknown", MANIFEST_BLOCK,
          MANIFEST_YAML },
        { LOCAL("lifecycle: {pause_after_idle: idle-0}"), "event_unknown", MANIFEST_BLOCK,
          MANIFEST_YAML },
        { LOCAL("lifecycle: {pause_after_idle: idle-1e3}"), "event_unknown", MANIFEST_BLOCK,
          MANIFEST_YAML },
        { LOCAL("lifecycle: {pause_after_idle: idle-1234567890}"), "event_unknown", MANIFEST_BLOCK,
          MANIFEST_YAML },
        { LOCAL("lifecycle: {destroy_on: 'acme:done'}"), "event_namespaced", MANIFEST_BLOCK,
          MANIFEST_YAML },
        { LOCAL("policy: '@acme/policies/team-baseline'"), "policy_shorthand", MANIFEST_BLOCK,
          MANIFEST_YAML },
        { LOCAL("policy: {schema: policy/v1, default: deny}"), "", MANIFEST_BLOCK, MANIFEST_YAML },
        { LOCAL("metadata: {acme: {a: 1}, note: x, acme.note: y}"), "metadata_not_namespaced",
          MANIFEST_BLOCK, MANIFEST_YAML },
        { "{provider: mastra-e2b, config: {template: t, api_key_ref: org/acme/key}}",
          "secret_slug_nonconforming", MANIFEST_BLOCK, MANIFEST_YAML },
        { "{provider: mastra-e2b, config: {template: t, api_key_ref: acme/key}}", "",
          MANIFEST_BLOCK, MANIFEST_YAML },
        { MOUNT("source: {inline: {provider: dev-local, config: {}, readOnly: true}}, at: /w"),
          "alias_spelling mount_mode_narrowed", MANIFEST_BLOCK, MANIFEST_YAML },
        { "{provider: flyio-machines, config: {anything: 1}}", "", MANIFEST_BLOCK, MANIFEST_YAML },
        { "{provider: node-permission, config: {allow_fs_read: [a]}}", "", MANIFEST_BLOCK,
          MANIFEST_YAML },
        { LOCAL("identity: [{ref: 'bot://a'}, {name: B, email: b@c.d, role: co-owner}]"), "",
          MANIFEST_BLOCK, MANIFEST_YAML },
        { LOCAL("network: {}, mounts: [], env: {}, limits: {}, lifecycle: {}, metadata: {}"), "",
          MANIFEST_BLOCK, MANIFEST_YAML },
};

static void
remarks_are_counted(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof remark_cases / sizeof remark_cases[0]; i++) {
                const struct remark_case *c = &remark_cases[i];
                struct reading r;

                read_block(&r, c->yaml, c->kind, c->syntax);
                if (r.result < 0 || strcmp(warnings_of(&r), c->warnings) != 0)
                        fail_msg("%s\n  gave     %s (%s)\n  expected %s", c->yaml, warnings_of(&r),
                                 errors_of(&r), c->warnings);
                arena_fini(&r.arena);
        }
}

static void
the_way_out_is_capped(void **state)
{
        struct spec_egress_caps caps;
        struct reading r;

        (void)state;
        read_block(&r,
                   LOCAL("metadata: {carrel: {egress: {connections: 5, bytes_out: 1000, "
                         "bytes_per_second: 7}}}"),
                   MANIFEST_BLOCK, MANIFEST_YAML);
        assert_int_equal(r.result, 0);
        caps = r.spec->egress_caps;
        assert_int_equal(caps.connections, 5);
        assert_true(caps.names == SPEC_UNSET && caps.bytes_in == SPEC_UNSET);
        assert_int_equal(caps.bytes_out, 1000);
        egress_caps_narrow(&caps, &(struct spec_egress_caps){ 9, 8, 999, SPEC_UNSET, 7 });
        assert_int_equal(caps.connections, 5);
        assert_int_equal(caps.names, 8);
        assert_int_equal(caps.bytes_out, 999);
        assert_true(caps.bytes_in == SPEC_UNSET);
        assert_int_equal(caps.bytes_per_second, 7);
        arena_fini(&r.arena);
}

static void
defaults_fill_what_is_absent(void **state)
{
        struct reading r;

        (void)state;
        read_block(&r, LOCAL("limits: {memory_mb: 64}"), MANIFEST_BLOCK, MANIFEST_YAML);
        assert_int_equal(r.result, 0);
        assert_int_equal(r.spec->limits.timeout_ms, 30000);
        assert_int_equal(r.spec->limits.memory_mb, 64);
        assert_true(r.spec->limits.cpu_ms == SPEC_UNSET);
        assert_int_equal(r.spec->limits.pids, SPEC_PIDS);
        assert_int_equal(r.spec->limits.open_files, 65536);
        assert_int_equal(r.spec->limits.disk_mb, 2048);
        assert_true(r.spec->limits.output_bytes == SPEC_UNSET);
        assert_int_equal(r.spec->egress_count, 0);
        assert_int_equal(r.spec->mount_count, 0);
        assert_false(r.spec->is_read_only);
        assert_string_equal(r.spec->shell, "/bin/sh");
        assert_string_equal(r.spec->lifecycle.destroy_on, "workspace-close");
        assert_null(r.spec->lifecycle.pause_event);
        arena_fini(&r.arena);
}

static void
everything_written_arrives(void **state)
{
        struct reading r;

        (void)state;
        read_block(&r,
                   "provider: local\nconfig: {cwd: src, shell: /bin/bash}\n"
                   "env: {auth: {ref: ./SECRETS.md, state: {env: [K]}}, passthrough: [A, B]}\n"
                   "network: {egress: ['*.Anthropic.com', 'github.com:22']}\n"
                   "mounts: [{source: workspace, at: '//work/./space/'}, {source: {ref: '@a/b'}, "
                   "at: /v, mode: read-only},\n"
                   "  {source: {inline: {provider: local-fs, config: {path: /x}}}, at: "
                   "/work/space/deep}]\n"
                   "identity: {name: B, email: b@c.d}\nlifecycle: {pause_after_idle: idle-600, "
                   "destroy_on: per-conversation}\n"
                   "read_only: true\nmetadata: {carrel: {limits: {pids: 7, cpu_millicores: 500}, "
                   "unix: off, tools: [/opt//x/],\n"
                   "  protect: [./.env], unprotect: [.git/hooks]}}\n",
                   MANIFEST_BLOCK, MANIFEST_YAML);
        if (r.result < 0)
                fail_msg("%s", errors_of(&r));
        assert_string_equal(r.spec->cwd, "src");
        assert_string_equal(r.spec->shell, "/bin/bash");
        assert_string_equal(r.spec->env.auth_ref, "./SECRETS.md");
        assert_int_equal(r.spec->env.auth_place.line, 3);
        assert_string_equal(r.spec->env.auth[0].name, "K");
        assert_int_equal(r.spec->env.passthrough_count, 2);
        assert_string_equal(r.spec->env.passthrough[1].name, "B");
        assert_string_equal(r.spec->egress[0].host, "anthropic.com");
        assert_true(r.spec->egress[0].is_wildcard);
        assert_int_equal(r.spec->egress[1].ports[0], 22);
        assert_int_equal(r.spec->mount_count, 3);
        assert_string_equal(r.spec->mounts[0].at, "/work/space");
        assert_false(r.spec->mounts[0].is_read_only);
        assert_int_equal(r.spec->mounts[1].kind, SPEC_SOURCE_REF);
        assert_string_equal(r.spec->mounts[1].ref, "@a/b");
        assert_true(r.spec->mounts[1].is_read_only);
        assert_string_equal(r.spec->mounts[2].storage_provider, "local-fs");
        assert_string_equal(r.spec->identities[0].email, "b@c.d");
        assert_int_equal(r.spec->lifecycle.pause_idle_ms, 600000);
        assert_string_equal(r.spec->lifecycle.pause_event, "idle-600");
        assert_string_equal(r.spec->lifecycle.destroy_on, "conversation-end");
        assert_true(r.spec->is_read_only);
        assert_int_equal(r.spec->limits.pids, 7);
        assert_int_equal(r.spec->limits.cpu_millicores, 500);
        assert_int_equal(r.spec->carrel.unix_sockets, SPEC_UNIX_OFF);
        assert_string_equal(r.spec->carrel.tools.items[0], "/opt/x");
        assert_string_equal(r.spec->carrel.protect.items[0], ".env");
        assert_string_equal(r.spec->carrel.unprotect.items[0], ".git/hooks");
        arena_fini(&r.arena);
}

static void
destroy_default_follows_the_provider(void **state)
{
        static const struct {
                const char *yaml, *event;
        } cases[] = {
                { "{provider: mastra-e2b, config: {template: t}}", "tool-result" },
                { MODAL(""), NULL },
                { "{provider: mastra-daytona, config: {workspace_id: w}}", NULL },
                { "{provider: acme-vm, config: {}}", "workspace-close" },
                { LOCAL("lifecycle: {destroy_on_workspace_close: false}"), NULL },
                { MODAL("lifecycle: {destroy_on_workspace_close: true}"), "workspace-close" },
                { LOCAL("lifecycle: {destroy_on: each-write}"), "write" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                struct reading r;

                read_block(&r, cases[i].yaml, MANIFEST_BLOCK, MANIFEST_YAML);
                assert_int_equal(r.result, 0);
                if (cases[i].event)
                        assert_string_equal(r.spec->lifecycle.destroy_on, cases[i].event);
                else
                        assert_null(r.spec->lifecycle.destroy_on);
                arena_fini(&r.arena);
        }
}

static void
lists_have_bounds(void **state)
{
        static const struct {
                const char *head, *item, *tail;
                size_t most;
                const char *path;
        } cases[] = {
                { "{provider: local, config: {}, network: {egress: [", "a.test", "]}}", 1024,
                  "network/egress" },
                { "{provider: local, config: {}, env: {passthrough: [", "A", "]}}", 256,
                  "env/passthrough" },
                { "{provider: local, config: {}, env: {auth: {state: {env: [", "A", "]}}}}", 256,
                  "env/auth/state/env" },
                { "{provider: local, config: {}, metadata: {carrel: {tools: [", "/opt/a", "]}}}",
                  64, "metadata/carrel/tools" },
                { "{provider: local, config: {}, mounts: [", "{source: workspace, at: /m%zu}", "]}",
                  64, "mounts" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
                for (size_t count = cases[i].most; count <= cases[i].most + 1; count++) {
                        static char text[65536];
                        size_t used = (size_t)snprintf(text, sizeof text, "%s", cases[i].head);
                        struct reading r;

                        for (size_t k = 0; k < count; k++) {
                                char item[64];

                                if (strchr(cases[i].item, '%'))
                                        (void)snprintf(item, sizeof item,
                                                       "{source: workspace, at: /m%zu}", k);
                                else
                                        (void)snprintf(item, sizeof item, "%s", cases[i].item);
                                used += (size_t)snprintf(text + used, sizeof text - used, "%s%s",
                                                         k ? ", " : "", item);
                        }
                        (void)snprintf(text + used, sizeof text - used, "%s", cases[i].tail);
                        read_block(&r, text, MANIFEST_BLOCK, MANIFEST_YAML);
                        assert_int_equal(r.result, count == cases[i].most ? 0 : -1);
                        if (r.result < 0) {
                                assert_string_equal(r.e.path, cases[i].path);
                                assert_string_equal(r.e.reason, "range");
                        }
                        arena_fini(&r.arena);
                }
}

static void
long_words_have_bounds(void **state)
{
        static char text[8192], word[4200];
        struct reading r;

        (void)state;
        memset(word, 'a', sizeof word - 1);
        word[0] = '/';
        for (int len = 4095; len <= 4096; len++) {
                (void)snprintf(text, sizeof text, MOUNT("source: workspace, at: %.*s"), len, word);
                read_block(&r, text, MANIFEST_BLOCK, MANIFEST_YAML);
                assert_string_equal(errors_of(&r),
                                    len == 4095 ? "" : "schema_invalid mounts/0/at range");
                arena_fini(&r.arena);
        }
        for (int len = 128; len <= 129; len++) {
                (void)snprintf(text, sizeof text, LOCAL("env: {passthrough: [%.*s]}"), len,
                               word + 1);
                read_block(&r, text, MANIFEST_BLOCK, MANIFEST_YAML);
                assert_string_equal(errors_of(&r),
                                    len == 128 ? "" : "schema_invalid env/passthrough/0 pattern");
                arena_fini(&r.arena);
        }
        for (int len = 63; len <= 64; len++) {
                (void)snprintf(text, sizeof text, "{provider: %.*s, config: {}}", len, word + 1);
                read_block(&r, text, MANIFEST_BLOCK, MANIFEST_YAML);
                assert_string_equal(errors_of(&r),
                                    len == 63 ? "" : "schema_invalid provider pattern");
                arena_fini(&r.arena);
        }
}

static void
a_fault_names_its_place_and_a_cure(void **state)
{
        struct reading r;

        (void)state;
        read_block(&r, "provider: local\nconfig: {}\nnetwrok:\n  egress: []\n", MANIFEST_BLOCK,
                   MANIFEST_YAML);
        assert_int_equal(r.e.line, 3);
        assert_int_equal(r.e.column, 1);
        assert_string_equal(r.e.hint, "Did you mean `network`?");
        arena_fini(&r.arena);
        read_block(&r, "provider: local\nconfig: {}\nlimits:\n  memory_mb: lots\n", MANIFEST_BLOCK,
                   MANIFEST_YAML);
        assert_int_equal(r.e.line, 4);
        assert_int_equal(r.e.column, 14);
        arena_fini(&r.arena);
        read_block(&r, LOCAL("limits: {pids: 3}"), MANIFEST_BLOCK, MANIFEST_YAML);
        assert_string_equal(r.e.hint, "Write it as metadata.carrel.limits.pids.");
        arena_fini(&r.arena);
}

static void
no_word_repeats_a_credential(void **state)
{
        static const char canary[] = "sk-CANARYcanaryCANARYcanary";
        static const char *const blocks[] = {
                "{provider: mastra-e2b, config: {template: t, region: %s, api_key: %s}}",
                "{provider: %s, config: {}}",
                LOCAL("%s: 1, read_only: %s, schema: %s"),
                LOCAL("network: {egress: [%s]}, lifecycle: {destroy_on: %s}"),
                LOCAL("metadata: {%s: {%s: %s}}, limits: {%s: 1}"),
                MOUNT("source: %s, at: %s, mode: %s"),
                LOCAL("env: {passthrough: [%s], auth: {ref: %s, state: {env: ['A=%s']}}}"),
        };

        (void)state;
        for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
                char text[1024];
                size_t used = 0;
                struct reading r;

                for (const char *c = blocks[i]; *c; c++)
                        if (c[0] == '%' && c[1] == 's') {
                                used += (size_t)snprintf(text + used, sizeof text - used, "%s",
                                                         canary);
                                c++;
                        } else {
                                text[used++] = *c;
                        }
                text[used] = '\0';
                read_block(&r, text, MANIFEST_BLOCK, MANIFEST_YAML);
                assert_int_equal(r.result, -1);
                for (const struct finding *f = r.findings.errors; f; f = f->next)
                        if (strstr(f->error.message, "CANARY") || strstr(f->error.path, "CANARY") ||
                            strstr(f->error.hint, "CANARY"))
                                fail_msg("%s repeats it: %s %s", text, f->error.path,
                                         f->error.message);
                for (const struct warning *w = r.findings.warnings; w; w = w->next)
                        if (strstr(w->message, "CANARY") || strstr(w->path, "CANARY"))
                                fail_msg("%s repeats it: %s", text, w->message);
                arena_fini(&r.arena);
        }
}

static void
the_smaller_of_two_limits_applies(void **state)
{
        static const struct {
                const char *runner;
                uint64_t timeout_ms, memory_mb;
                int result;
        } cases[] = {
                { "{limits: {timeout_ms: 60000, memory_mb: 32}}", 1000, 32, 0 },
                { "{limits: {timeout_ms: 500}}", 500, SPEC_UNSET, 0 },
                { "{limits: {timeout_ms: 500, disk_gb: 4}, engine: subprocess}", 500, SPEC_UNSET,
                  0 },
                { "{engine: subprocess}", 1000, SPEC_UNSET, 0 },
                { "{limits: {timeout_ms: 30s}}", 0, 0, -1 },
        };

        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                static const char block[] = LOCAL("limits: {timeout_ms: 1000}");
                struct manifest m = { .kind = MANIFEST_PARENT,
                                      .syntax = MANIFEST_YAML,
                                      .block_path = "sandbox/inline" };
                struct reading r = { 0 };

                arena_init(&r.arena, ARENA_LIMIT);
                findings_init(&r.findings, &r.arena);
                assert_int_equal(yaml_read(&r.arena, block, sizeof block - 1, 1,
                                           &text_limits_manifest, &m.block, &r.e),
                                 0);
                assert_int_equal(yaml_read(&r.arena, cases[i].runner, strlen(cases[i].runner), 1,
                                           &text_limits_manifest, &m.runner, &r.e),
                                 0);
                assert_int_equal(spec_read(&r.arena, &m, &r.spec, &r.findings, &r.e),
                                 cases[i].result);
                if (cases[i].result == 0) {
                        assert_true(r.spec->limits.timeout_ms == cases[i].timeout_ms);
                        assert_true(r.spec->limits.memory_mb == cases[i].memory_mb);
                } else {
                        assert_string_equal(r.e.path, "runner/limits/timeout_ms");
                }
                arena_fini(&r.arena);
        }
}

/* The default time limit does not end a background command. The same number, if written, does. */
static void
a_default_differs_from_a_written_value(void **state)
{
        static const struct {
                const char *yaml;
                bool is_given;
        } cases[] = {
                { LOCAL(""), false },
                { LOCAL("limits: {}"), false },
                { LOCAL("limits: {memory_mb: 64}"), false },
                { LOCAL("limits: {timeout_ms: 30000}"), true },
                { LOCAL("limits: {timeoutMs: 30000}"), true },
        };
        static const struct {
                const char *runner;
                bool is_given;
        } runners[] = { { "{engine: subprocess}", false },
                        { "{limits: {timeout_ms: 30000}}", true } };

        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                struct reading r;

                read_block(&r, cases[i].yaml, MANIFEST_BLOCK, MANIFEST_YAML);
                assert_int_equal(r.result, 0);
                if (r.spec->limits.is_timeout_given != cases[i].is_given ||
                    r.spec->limits.timeout_ms != 30000)
                        fail_msg("%s", cases[i].yaml);
                arena_fini(&r.arena);
        }
        for (size_t i = 0; i < sizeof runners / sizeof runners[0]; i++) {
                static const char block[] = LOCAL("limits: {memory_mb: 64}");
                struct manifest m = { .kind = MANIFEST_PARENT,
                                      .syntax = MANIFEST_YAML,
                                      .block_path = "sandbox/inline" };
                struct reading r = { 0 };

                arena_init(&r.arena, ARENA_LIMIT);
                findings_init(&r.findings, &r.arena);
                assert_int_equal(yaml_read(&r.arena, block, sizeof block - 1, 1,
                                           &text_limits_manifest, &m.block, &r.e),
                                 0);
                assert_int_equal(yaml_read(&r.arena, runners[i].runner, strlen(runners[i].runner),
                                           1, &text_limits_manifest, &m.runner, &r.e),
                                 0);
                assert_int_equal(spec_read(&r.arena, &m, &r.spec, &r.findings, &r.e), 0);
                assert_int_equal(r.spec->limits.is_timeout_given, runners[i].is_given);
                arena_fini(&r.arena);
        }
}

static void
a_small_arena_is_an_error_not_a_crash(void **state)
{
        static const char yaml[] = LOCAL(
                "network: {egress: [a.test, b.test]}, mounts: [{source: workspace, at: /w}], "
                "env: {passthrough: [A]}, identity: {ref: x}, metadata: {carrel: {tools: [/opt]}}");
        struct arena tree;
        struct manifest m = { .kind = MANIFEST_BLOCK, .syntax = MANIFEST_YAML, .block_path = "" };
        struct error e;

        (void)state;
        arena_init(&tree, ARENA_LIMIT);
        assert_int_equal(
                yaml_read(&tree, yaml, sizeof yaml - 1, 1, &text_limits_manifest, &m.block, &e), 0);
        for (size_t limit = 0; limit < 4096; limit += 16) {
                struct arena arena;
                struct findings findings;
                struct spec *spec = NULL;

                arena_init(&arena, limit);
                findings_init(&findings, &arena);
                if (spec_read(&arena, &m, &spec, &findings, &e) < 0)
                        assert_int_equal(e.code, ERROR_NO_MEMORY);
                else
                        assert_non_null(spec->mounts[0].at);
                arena_fini(&arena);
        }
        arena_fini(&tree);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(faults_have_code_path_and_reason),
                cmocka_unit_test(remarks_are_counted),
                cmocka_unit_test(the_way_out_is_capped),
                cmocka_unit_test(defaults_fill_what_is_absent),
                cmocka_unit_test(everything_written_arrives),
                cmocka_unit_test(destroy_default_follows_the_provider),
                cmocka_unit_test(lists_have_bounds),
                cmocka_unit_test(long_words_have_bounds),
                cmocka_unit_test(a_fault_names_its_place_and_a_cure),
                cmocka_unit_test(no_word_repeats_a_credential),
                cmocka_unit_test(the_smaller_of_two_limits_applies),
                cmocka_unit_test(a_default_differs_from_a_written_value),
                cmocka_unit_test(a_small_arena_is_an_error_not_a_crash),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
