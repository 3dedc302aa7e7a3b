/* manifest/manifest_test.c - what manifest/manifest.h promises. */
#include "base/unit.h"
#include "manifest/manifest.h"

#include <stdlib.h>
#include <string.h>

static struct arena arena;
static struct findings findings;
static struct manifest manifest;
static struct error error;

static int
read_bytes(const char *bytes, size_t len, enum manifest_kind kind, enum manifest_syntax syntax)
{
        char *exact = malloc(len > 0 ? len : 1);
        int result;

        assert_non_null(exact);
        if (len > 0)
                memcpy(exact, bytes, len);
        arena_fini(&arena);
        arena_init(&arena, 16u << 20);
        findings_init(&findings, &arena);
        manifest = (struct manifest){ 0 };
        error = (struct error){ 0 };
        result = manifest_read(&arena, exact, len, kind, syntax, &manifest, &findings, &error);
        free(exact);
        return result;
}

struct refusal {
        const char *text;
        enum error_code code;
        const char *path, *reason;
        unsigned line, column;
};

static void
check_refusals(const struct refusal *cases, size_t count, enum manifest_kind kind,
               enum manifest_syntax syntax)
{
        for (size_t i = 0; i < count; i++) {
                const struct refusal *c = &cases[i];

                if (read_bytes(c->text, strlen(c->text), kind, syntax) == 0)
                        fail_msg("accepted: %s", c->text);
                if (error.code != c->code || strcmp(error.path, c->path) != 0 ||
                    strcmp(error.reason, c->reason) != 0 || error.line != c->line ||
                    error.column != c->column)
                        fail_msg("%s: %s %s %s at %u:%u (%s)", c->text, error_wire_name(error.code),
                                 error.path, error.reason, error.line, error.column, error.message);
                assert_int_equal(findings.error_count, 1);
                assert_int_equal(findings.errors->error.code, c->code);
                assert_null(manifest.root);
        }
}

static void
reads_a_standalone_file(void **state)
{
        static const char text[] = "---\n"
                                   "schema: sandbox/v1\n"
                                   "provider: local\n"
                                   "config: {}\n"
                                   "---\n"
                                   "\n"
                                   "## Description\n"
                                   "a: *body that is no YAML\xff\n";

        (void)state;
        assert_int_equal(read_bytes(text, sizeof text - 1, MANIFEST_STANDALONE, MANIFEST_YAML), 0);
        assert_int_equal(manifest.form, MANIFEST_INLINE);
        assert_ptr_equal(manifest.block, manifest.root);
        assert_string_equal(manifest.block_path, "");
        assert_true(node_is_text(node_find(manifest.block, "provider"), "local"));
        assert_int_equal(node_find(manifest.block, "provider")->line, 3);
        assert_int_equal(findings.error_count + findings.warning_count, 0);
}

static void
refuses_invalid_standalone_files(void **state)
{
        static const struct refusal cases[] = {
                { "# My sandbox\n", ERROR_MANIFEST_SYNTAX, "", "no_frontmatter", 1, 1 },
                { "", ERROR_MANIFEST_SYNTAX, "", "no_frontmatter", 1, 1 },
                { "provider: local\nconfig: {}\n", ERROR_MANIFEST_SYNTAX, "", "no_frontmatter", 1,
                  1 },
                { "---\nprovider: local\n", ERROR_MANIFEST_SYNTAX, "", "unterminated_frontmatter",
                  1, 1 },
                { "---\n---\n", ERROR_MANIFEST_SYNTAX, "", "empty", 2, 1 },
                { "---\n\n# c\n---\n", ERROR_MANIFEST_SYNTAX, "", "empty", 2, 1 },
                { "---\na: 1\na: 2\n---\n", ERROR_MANIFEST_SYNTAX, "", "duplicate_key", 3, 1 },
                { "---\na: 1\nref: @x\n---\n", ERROR_MANIFEST_SYNTAX, "", "yaml", 3, 6 },
                { "---\na: !x 1\n---\n", ERROR_MANIFEST_SYNTAX, "", "tag_forbidden", 2, 4 },
                { "---\n- a\n---\n", ERROR_SCHEMA_INVALID, "", "type", 2, 1 },
                { "---\ntext\n---\n", ERROR_SCHEMA_INVALID, "", "type", 2, 1 },
                { "\xef\xbb\xbf---\na: 1\n---\n", ERROR_MANIFEST_SYNTAX, "", "yaml", 1, 1 },
        };

        (void)state;
        check_refusals(cases, sizeof cases / sizeof cases[0], MANIFEST_STANDALONE, MANIFEST_YAML);
}

static void
reads_every_form_of_embedding(void **state)
{
        static const struct {
                const char *text;
                enum manifest_form form;
                const char *block_path, *ref;
                size_t warnings;
        } cases[] = {
                { "{name: docs-only}", MANIFEST_NONE, "", NULL, 0 },
                { "sandbox: {inline: {provider: local, config: {}}}", MANIFEST_INLINE,
                  "sandbox/inline", NULL, 0 },
                { "sandbox: {inline: {}}", MANIFEST_INLINE, "sandbox/inline", NULL, 0 },
                { "sandbox: {provider: local, config: {}}", MANIFEST_BARE, "sandbox", NULL, 1 },
                { "sandbox: {ref: ./does/not/exist.SANDBOX.md}", MANIFEST_REF, "",
                  "./does/not/exist.SANDBOX.md", 0 },
                { "sandbox: {ref: '@acme/x'}", MANIFEST_REF, "", "@acme/x", 0 },
                { "sandbox: {file: ./s.SANDBOX.md}", MANIFEST_FILE, "", "./s.SANDBOX.md", 0 },
                { "---\nname: w\nsandbox:\n  ref: ./a\n---\n# Workspace\nsandbox: no\n",
                  MANIFEST_REF, "", "./a", 0 },
        };

        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                if (read_bytes(cases[i].text, strlen(cases[i].text), MANIFEST_PARENT,
                               MANIFEST_YAML) != 0)
                        fail_msg("%s: %s", cases[i].text, error.message);
                assert_int_equal(manifest.form, cases[i].form);
                assert_string_equal(manifest.block_path, cases[i].block_path);
                assert_int_equal(manifest.block != NULL, *cases[i].block_path != '\0');
                if (cases[i].ref)
                        assert_string_equal(manifest.ref, cases[i].ref);
                else
                        assert_null(manifest.ref);
                assert_int_equal(findings.warning_count, cases[i].warnings);
                assert_int_equal(findings.error_count, 0);
        }
        assert_int_equal(manifest.ref_line, 4);
        assert_int_equal(manifest.ref_column, 8);
}

static void
warns_of_a_bare_block_at_its_line(void **state)
{
        static const char text[] = "name: w\nsandbox:\n  provider: local\n";

        (void)state;
        assert_int_equal(read_bytes(text, sizeof text - 1, MANIFEST_PARENT, MANIFEST_YAML), 0);
        assert_string_equal(findings.warnings->name, "bare_block");
        assert_string_equal(findings.warnings->path, "sandbox");
        assert_int_equal(findings.warnings->line, 2);
        assert_int_equal(findings.warnings->column, 1);
        assert_ptr_equal(manifest.block, node_find(manifest.root, "sandbox"));
}

static void
refuses_ambiguous_and_missing_parents(void **state)
{
        static const struct refusal cases[] = {
                { "sandbox: [{inline: {}}]", ERROR_SCHEMA_INVALID, "sandbox", "type", 1, 10 },
                { "sandbox: ./x.SANDBOX.md", ERROR_SCHEMA_INVALID, "sandbox", "type", 1, 10 },
                { "sandbox: false", ERROR_SCHEMA_INVALID, "sandbox", "type", 1, 10 },
                { "sandbox: null", ERROR_SCHEMA_INVALID, "sandbox", "type", 1, 10 },
                { "a: 1\nsandbox:\n", ERROR_SCHEMA_INVALID, "sandbox", "type", 2, 9 },
                { "sandbox: {}", ERROR_FORM_MISSING, "sandbox", "", 1, 10 },
                { "sandbox: {inline: {}, ref: ./a}", ERROR_FORM_CONFLICT, "sandbox", "", 1, 23 },
                { "sandbox: {ref: ./a, file: ./b}", ERROR_FORM_CONFLICT, "sandbox", "", 1, 21 },
                { "sandbox: {ref: ./a, provider: x, file: ./b}", ERROR_FORM_CONFLICT, "sandbox", "",
                  1, 34 },
                { "sandbox: {ref: null, inline: {}}", ERROR_FORM_CONFLICT, "sandbox", "", 1, 22 },
                { "sandbox: {ref: ./a, env: x}", ERROR_SCHEMA_INVALID, "sandbox/env",
                  "unknown_field", 1, 21 },
                { "sandbox: {env: {}, inline: {}}", ERROR_SCHEMA_INVALID, "sandbox/env",
                  "unknown_field", 1, 11 },
                { "sandbox: {inline: local}", ERROR_SCHEMA_INVALID, "sandbox/inline", "type", 1,
                  19 },
                { "sandbox: {inline: null}", ERROR_SCHEMA_INVALID, "sandbox/inline", "type", 1,
                  19 },
                { "sandbox: {ref: {a: b}}", ERROR_SCHEMA_INVALID, "sandbox/ref", "type", 1, 16 },
                { "sandbox: {ref: 1}", ERROR_SCHEMA_INVALID, "sandbox/ref", "type", 1, 16 },
                { "sandbox: {file: }", ERROR_SCHEMA_INVALID, "sandbox/file", "type", 1, 17 },
                { "- a", ERROR_SCHEMA_INVALID, "", "type", 1, 1 },
                { "runner: fast", ERROR_SCHEMA_INVALID, "runner", "type", 1, 9 },
                { "runner: {inline: []}", ERROR_SCHEMA_INVALID, "runner/inline", "type", 1, 18 },
                { "", ERROR_MANIFEST_SYNTAX, "", "empty", 1, 1 },
                { "---\nsandbox: {}\n", ERROR_MANIFEST_SYNTAX, "", "unterminated_frontmatter", 1,
                  1 },
                { "sandbox: {ref: @a/b}", ERROR_MANIFEST_SYNTAX, "", "yaml", 1, 16 },
        };

        (void)state;
        check_refusals(cases, sizeof cases / sizeof cases[0], MANIFEST_PARENT, MANIFEST_YAML);
}

static void
records_a_runner_that_is_written_out(void **state)
{
        static const struct {
                const char *text;
                bool has_runner;
        } cases[] = {
                { "runner: {limits: {timeout_ms: 5}}", true },
                { "runner: {inline: {limits: {timeout_ms: 5}}}", true },
                { "runner: {ref: ./r.RUNNER.md}", false },
                { "runner: {file: ./r.RUNNER.md}", false },
                { "runner:", false },
                { "name: x", false },
        };

        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                assert_int_equal(read_bytes(cases[i].text, strlen(cases[i].text), MANIFEST_PARENT,
                                            MANIFEST_YAML),
                                 0);
                assert_int_equal(manifest.runner != NULL, cases[i].has_runner);
                if (cases[i].has_runner)
                        assert_int_equal(
                                node_find(node_find(manifest.runner, "limits"), "timeout_ms")
                                        ->integer,
                                5);
        }
}

static void
reads_json_on_every_surface(void **state)
{
        static const char block[] = "{\n \"provider\": \"local\", \"config\": {}}";
        static const char parent[] = "{\"sandbox\": {\"inline\": {\"provider\": \"local\"}}}";
        static const struct refusal cases[] = {
                { "{\"a\":1,\"a\":2}", ERROR_MANIFEST_SYNTAX, "", "duplicate_key", 1, 8 },
                { "provider: local", ERROR_MANIFEST_SYNTAX, "", "json", 1, 1 },
                { "[]", ERROR_SCHEMA_INVALID, "", "type", 1, 1 },
                { "null", ERROR_SCHEMA_INVALID, "", "type", 1, 1 },
        };

        (void)state;
        assert_int_equal(read_bytes(block, sizeof block - 1, MANIFEST_BLOCK, MANIFEST_JSON), 0);
        assert_int_equal(node_find(manifest.block, "provider")->line, 2);
        assert_int_equal(manifest.syntax, MANIFEST_JSON);
        assert_int_equal(read_bytes(block, sizeof block - 1, MANIFEST_STANDALONE, MANIFEST_JSON),
                         0);
        assert_int_equal(manifest.form, MANIFEST_INLINE);
        assert_int_equal(read_bytes(parent, sizeof parent - 1, MANIFEST_PARENT, MANIFEST_JSON), 0);
        assert_true(node_is_text(node_find(manifest.block, "provider"), "local"));
        check_refusals(cases, sizeof cases / sizeof cases[0], MANIFEST_BLOCK, MANIFEST_JSON);
}

static void
reads_a_block_alone(void **state)
{
        static const struct refusal cases[] = {
                { "provider: local\nprovider: weak\nconfig: {}\n", ERROR_MANIFEST_SYNTAX, "",
                  "duplicate_key", 2, 1 },
                { "provider: !!python/name:os.system local\n", ERROR_MANIFEST_SYNTAX, "",
                  "tag_forbidden", 1, 11 },
                { "provider: local\n---\nprovider: weak\n", ERROR_MANIFEST_SYNTAX, "",
                  "multi_document", 2, 1 },
                { "network: {egress: [*.anthropic.com]}\n", ERROR_MANIFEST_SYNTAX, "", "yaml", 1,
                  20 },
        };

        (void)state;
        assert_int_equal(
                read_bytes("{provider: local, config: {}}", 29, MANIFEST_BLOCK, MANIFEST_YAML), 0);
        assert_int_equal(manifest.form, MANIFEST_INLINE);
        assert_string_equal(manifest.block_path, "");
        assert_int_equal(manifest.block->len, 2);
        check_refusals(cases, sizeof cases / sizeof cases[0], MANIFEST_BLOCK, MANIFEST_YAML);
}

static int
let_go(void **state)
{
        (void)state;
        arena_fini(&arena);
        return 0;
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(reads_a_standalone_file),
                cmocka_unit_test(refuses_invalid_standalone_files),
                cmocka_unit_test(reads_every_form_of_embedding),
                cmocka_unit_test(warns_of_a_bare_block_at_its_line),
                cmocka_unit_test(refuses_ambiguous_and_missing_parents),
                cmocka_unit_test(records_a_runner_that_is_written_out),
                cmocka_unit_test(reads_json_on_every_surface),
                cmocka_unit_test(reads_a_block_alone),
        };

        return cmocka_run_group_tests(tests, NULL, let_go);
}
