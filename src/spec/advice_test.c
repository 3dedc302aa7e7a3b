/* spec/advice_test.c - the line that a hint suggests: tables of mistakes, each with its line. */
#include "spec/advice.h"

#include <stdio.h>
#include <string.h>

#include "base/unit.h"
#include "spec/spec.h"
#include "text/yaml.h"

enum { ARENA_LIMIT = 8 << 20 };

static void
expect_hint(const char *rest, const char *message, const char *hint)
{
        struct manifest m = { .kind = MANIFEST_BLOCK,
                              .syntax = MANIFEST_YAML,
                              .form = MANIFEST_INLINE,
                              .block_path = "" };
        struct findings findings;
        struct spec *spec = NULL;
        struct arena arena;
        struct error e;
        char text[512];

        (void)snprintf(text, sizeof text, "provider: local\n%s%s\n",
                       strncmp(rest, "config", 6) == 0 ? "" : "config: {}\n", rest);
        arena_init(&arena, ARENA_LIMIT);
        findings_init(&findings, &arena);
        assert_int_equal(
                yaml_read(&arena, text, strlen(text), 1, &text_limits_manifest, &m.root, &e), 0);
        m.block = m.root;
        assert_int_equal(spec_read(&arena, &m, &spec, &findings, &e), -1);
        if (!strstr(findings.errors->error.message, message) ||
            !strstr(findings.errors->error.hint, hint))
                fail_msg("%s\nis \"%s\", \"%s\"\nand not \"%s\", \"%s\"", rest,
                         findings.errors->error.message, findings.errors->error.hint, message,
                         hint);
        arena_fini(&arena);
}

static void
values_become_what_is_meant(void **state)
{
        static const struct {
                const char *rest, *message, *hint;
        } cases[] = {
                { "limits: {timeout_ms: \"512\"}", "expected an integer, got the string \"512\"",
                  "Write `timeout_ms: 512`" },
                { "limits: {timeout_ms: 10m}", "got the string \"10m\"",
                  "Write `timeout_ms: 600000`, in milliseconds" },
                { "limits: {timeout_ms: 1.5h}", "", "Write `timeout_ms: 5400000`" },
                { "limits: {timeout_ms: soon}", "", "`timeout_ms` takes an integer from 1 to" },
                { "limits: {memory_mb: 512m}", "", "Write `memory_mb: 512`, in MiB" },
                { "limits: {memory_mb: 2 GB}", "", "Write `memory_mb: 2048`" },
                { "limits: {memory_mb: 0.5}", "got the number 0.5",
                  "`memory_mb` takes an integer" },
                { "limits: {memory_mb: 0.5g}", "", "Write `memory_mb: 512`" },
                { "limits: {memory_mb: 99999999999999999g}", "", "`memory_mb` takes an integer" },
                { "metadata: {carrel: {limits: {pids: \"0\"}}}", "",
                  "`pids` takes an integer from 1 to" },
                { "read_only: yes", "expected true or false, got the string \"yes\"",
                  "Write `read_only: true`." },
                { "read_only: 0", "", "Write `read_only: false`." },
                { "network: {egress: pypi.org}", "expected a list",
                  "Write a list: `egress: [\"pypi.org\"]`." },
                { "network: {egress: all}", "", "No entry allows every host." },
                { "network: {egress: none}", "", "Write `egress: []`" },
                { "network: {egress: }", "got nothing", "Write `egress: []` for an empty list" },
                { "network: none", "expected a map, got a string",
                  "Without `network`, no host can be reached" },
                { "limits:", "got nothing", "Indent the fields of `limits` below it" },
                { "limits: 5", "", "`limits: {timeout_ms: 600000, memory_mb: 512}`" },
                { "mounts: ['./data:/data']", "expected a map", "carrel run -v ./DIR:/PATH" },
                { "mounts: [{source: ./data, at: /data}]", "", "carrel run -v ./data:/PATH" },
                { "mounts: [{source: workspace, at: /w, mode: rw}]",
                  "`rw` is not one of: read-write, read-only", "Write `mode: read-write`." },
                { "mounts: [{source: workspace, at: /w, mode: readonly}]", "",
                  "Write `mode: read-only`." },
                { "mounts: [{source: workspace}]", "`at` is missing",
                  "Add a line: `at: /workspace`" },
                { "id: demo", "invalid id `demo`", "For example `id: \"@me/demo\"`." },
                { "version: 1.0", "put it in quotes", "For example `version: \"1.0.0\"`." },
                { "env: {passthrough: ['AWS_*']}", "invalid name `AWS_*`",
                  "It takes a string: a letter" },
                { "env: {passthrough: ['A=b']}", "takes names alone", "-e NAME=VALUE" },
                { "read_only: ghp_0123456789abcdefghijABCDEFGHIJ012345",
                  "a block never holds credentials", "secret source" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
                expect_hint(cases[i].rest, cases[i].message, cases[i].hint);
}

static void
keys_are_known_from_elsewhere(void **state)
{
        static const struct {
                const char *rest, *hint;
        } cases[] = {
                { "timeout_ms: 5", "`timeout_ms` belongs under `limits`: limits: {timeout_ms: 5}" },
                { "pids: 5", "metadata: {carrel: {limits: {pids: 5}}}" },
                { "egress: [a.example]", "network: {egress: [...]}" },
                { "cwd: src", "config: {cwd: \"src\"}" },
                { "network: {limits: {}}", "`limits` belongs to the top of the block" },
                { "image: debian", "provider: container" },
                { "config: {image: debian}", "provider: container" },
                { "Ports: [8080]", "carrel create --name demo -p 3000" },
                { "limits: {cpus: 2}", "cpu_millicores: 2000" },
                { "limits: {timeout: 2}", "Did you mean `timeout_ms`?" },
                { "env: {FOO: bar}", "-e NAME=VALUE" },
                { "mounts: [{source: workspace, target: /w}]", "Write at: /PATH" },
                { "network: {allow: [a.example]}", "Write egress: [api.example.com]" },
                { "limits: {frobnicate: 2}", "limits has timeout_ms, memory_mb and cpu_ms" },
                { "metadata: {carrel: {commands: {frobnicate: 2}}}", "Known here: `" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
                expect_hint(cases[i].rest, "there is no field", cases[i].hint);
}

int
main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(values_become_what_is_meant),
                cmocka_unit_test(keys_are_known_from_elsewhere),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
