/* secret/inventory_test.c - what secret/inventory.h promises. */
#include "secret/inventory.h"

#include <string.h>

#include "base/unit.h"

static struct arena arena;

static int
read_text(const char *front, struct host_inventory *ret, struct error *e)
{
        const char *text;

        arena_fini(&arena);
        arena_init(&arena, 4u << 20);
        text = arena_format(&arena, "---\n%s\n---\nwords\n", front);
        return secret_inventory_read(&arena, "./SECRETS.md", text, strlen(text), ret, e);
}

static void
reads_slugs_and_bindings(void **state)
{
        struct host_inventory inventory;
        struct error e;

        (void)state;
        assert_int_equal(read_text("schema: secrets/v1\nsecrets:\n  - {slug: openai-api-key, name: "
                                   "OpenAI, description: x}\n"
                                   "  - {slug: acme/gh-app, metadata: {bindings: {env: "
                                   "[GITHUB_TOKEN, GH_TOKEN]}}}\n"
                                   "  - {slug: db, exposures: [{kind: env, name: PGPASSWORD, "
                                   "field: pw}, {kind: file, name: X}]}",
                                   &inventory, &e),
                         0);
        assert_int_equal(inventory.slugs.count, 3);
        assert_int_equal(inventory.binding_count, 3);
        assert_string_equal(host_inventory_slug(&inventory, &arena, "GITHUB_TOKEN"), "acme/gh-app");
        assert_string_equal(host_inventory_slug(&inventory, &arena, "PGPASSWORD"), "db");
        assert_string_equal(host_inventory_slug(&inventory, &arena, "OPENAI_API_KEY"),
                            "openai-api-key");
        assert_true(inventory.may_reveal);
        assert_int_equal(inventory.deny_bind.count, 0);
}

static void
refuses_values_and_bad_entries(void **state)
{
        static const struct {
                const char *front;
                enum error_code code;
                const char *path, *reason;
        } rows[] = {
                { "secrets: [{slug: ab, value: CANARY}]", ERROR_PLAINTEXT_CREDENTIAL,
                  "secrets/0/value", "key" },
                { "secrets: [{slug: ab}, {slug: cd, plaintext: CANARY}]",
                  ERROR_PLAINTEXT_CREDENTIAL, "secrets/1/plaintext", "key" },
                { "secrets: [{ciphertext: CANARY}]", ERROR_PLAINTEXT_CREDENTIAL,
                  "secrets/0/ciphertext", "key" },
                { "secrets: [{slug: ab, token: CANARY}]", ERROR_PLAINTEXT_CREDENTIAL,
                  "secrets/0/token", "key" },
                { "secrets: [{slug: ab, key: null}]", ERROR_PLAINTEXT_CREDENTIAL, "secrets/0/key",
                  "key" },
                { "secrets: [{name: x}]", ERROR_SCHEMA_INVALID, "secrets/0/slug", "missing" },
                { "secrets: [{slug: A}]", ERROR_SCHEMA_INVALID, "secrets/0/slug", "pattern" },
                { "secrets: [{slug: 7}]", ERROR_SCHEMA_INVALID, "secrets/0/slug", "pattern" },
                { "secrets: [{slug: ab}, {slug: ab}]", ERROR_SCHEMA_INVALID, "secrets/1/slug",
                  "duplicate" },
                { "secrets: [ab]", ERROR_SCHEMA_INVALID, "secrets/0", "type" },
                { "secrets: {ab: {}}", ERROR_SCHEMA_INVALID, "secrets", "type" },
                { "name: x", ERROR_SCHEMA_INVALID, "secrets", "missing" },
                { "secrets: [{slug: ab, metadata: {bindings: {env: [X]}}}, {slug: cd, metadata: "
                  "{bindings: {env: [X]}}}]",
                  ERROR_SCHEMA_INVALID, "secrets/1/metadata/bindings/env", "duplicate" },
                { "secrets: [{slug: ab, metadata: {bindings: {env: [1]}}}]", ERROR_SCHEMA_INVALID,
                  "secrets/0/metadata/bindings/env", "type" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
                struct host_inventory inventory;
                struct error e;

                if (read_text(rows[i].front, &inventory, &e) == 0)
                        fail_msg("accepted: %s", rows[i].front);
                if (e.code != rows[i].code || strcmp(e.path, rows[i].path) != 0 ||
                    strcmp(e.reason, rows[i].reason) != 0)
                        fail_msg("%s: %s at %s, %s", rows[i].front, error_wire_name(e.code), e.path,
                                 e.reason);
                assert_null(strstr(e.message, "CANARY"));
        }
}

static void
knows_a_slug(void **state)
{
        static const struct {
                const char *text;
                bool is_slug;
        } rows[] = {
                { "ab", true },
                { "openai-api-key", true },
                { "acme/gh-app", true },
                { "a1", true },
                { "a", false },
                { "", false },
                { "1ab", false },
                { "ab-", false },
                { "-ab", false },
                { "aB", false },
                { "a_b", false },
                { "a/b", false },
                { "org/acme/modal-token", false },
                { "ab/", false },
                { "/ab", false },
                { "a b", false },
                { "abcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghi"
                  "j",
                  true },
                { "abcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghij"
                  "k",
                  false },
        };

        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
                if (host_slug_check(rows[i].text) != rows[i].is_slug)
                        fail_msg("%s", rows[i].text);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(reads_slugs_and_bindings),
                cmocka_unit_test(refuses_values_and_bad_entries),
                cmocka_unit_test(knows_a_slug),
        };
        int failed = cmocka_run_group_tests(tests, NULL, NULL);

        arena_fini(&arena);
        return failed;
}
