/* policy/host_secret_test.c - what policy/host_secret.h promises. */
#include "policy/host_secret.h"

#include <string.h>

#include "base/unit.h"
#include "text/json.h"

static struct arena arena;
static const struct text_limits limits = { 65536, 16, 4096 };

static const struct node *
tree(const char *text)
{
        const struct node *root;
        struct error e;

        arena_fini(&arena);
        arena_init(&arena, 4u << 20);
        if (json_read(&arena, text, strlen(text), &limits, &root, &e) < 0)
                fail_msg("%s: %s", text, e.message);
        return root;
}

static void
knows_a_slug(void **state)
{
        static const struct {
                const char *text;
                bool is_slug;
        } rows[] = {
                { "ab", true },          { "openai-api-key", true },
                { "acme/gh-app", true }, { "a", false },
                { "", false },           { "ab-", false },
                { "-ab", false },        { "aB", false },
                { "a/b", false },        { "org/acme/modal-token", false },
                { "../etc", false },     { "ab/../cd", false },
                { "ab.cd", false },
        };

        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                if (host_slug_check(rows[i].text) != rows[i].is_slug)
                        fail_msg("%s", rows[i].text);
}

/*
 * One matching grant is enough. Without `access`, only the owner has access. Unknown kinds grant
 * nothing.
 */
static void
grants_what_is_granted(void **state)
{
        static const char list[] =
                "[{\"slug\": \"open\"}, {\"slug\": \"nobody\", \"access\": []}, {\"slug\": "
                "\"ops\", \"access\": [{\"role\": \"ops\"}, {\"userId\": \"bob\"}]},"
                "{\"slug\": \"odd\", \"access\": [{\"planet\": \"mars\"}]}, {\"slug\": \"mapped\", "
                "\"access\": {\"bind\": [{\"cap\": \"fly\"}], \"reveal\": []}},"
                "{\"slug\": \"tool\", \"access\": [{\"tool\": \"t\"}]}, {\"slug\": \"flow\", "
                "\"access\": {\"reveal\": [{\"workflow\": \"w\"}]}}, {\"slug\": \"mute\", "
                "\"access\": {}}]";
        static const char *const ops[] = { "ops" }, *const fly[] = { "fly" }, *const t[] = { "t" },
                                 *const w[] = { "w" };
        static const struct host_actor actors[] = {
                { "alice", { [HOST_GRANT_ROLE] = { ops, 1 }, [HOST_GRANT_CAP] = { fly, 1 } } },
                { "carol", { [HOST_GRANT_TOOL] = { t, 1 }, [HOST_GRANT_WORKFLOW] = { w, 1 } } }
        };
        static const struct {
                const char *slug, *user;
                bool is_owner, may;
                const char *by;
        } rows[] = {
                { "open", "root", true, true, NULL },
                { "open", "bob", false, false, NULL },
                { "nobody", "root", true, false, NULL },
                { "ops", "root", true, false, NULL },
                { "ops", "bob", false, true, "userId" },
                { "ops", "alice", false, true, "role" },
                { "ops", "carol", false, false, NULL },
                { "odd", "root", true, false, NULL },
                { "mapped", "alice", false, true, "cap" },
                { "mapped", "bob", false, false, NULL },
                { "tool", "carol", false, true, "tool" },
                { "flow", "carol", false, true, "workflow" },
                { "mute", "root", true, false, NULL },
                { "tool", "alice", true, false, NULL },
        };
        struct host_inventory inventory = { .ref = "./SECRETS.md" };
        struct error e;

        (void)state;
        assert_int_equal(host_inventory_read(&arena, tree(list), &inventory, &e), 0);
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                const struct host_asking asking = { rows[i].user, rows[i].is_owner, actors, 2 };
                const struct host_grant *by = NULL;

                if (host_secret_granted(&inventory, rows[i].slug, &asking, &by) != rows[i].may)
                        fail_msg("%s for %s", rows[i].slug, rows[i].user);
                if ((by != NULL) != (rows[i].by != NULL) ||
                    (by && strcmp(host_grant_word(by->kind), rows[i].by) != 0))
                        fail_msg("%s for %s: granted by %s", rows[i].slug, rows[i].user,
                                 by ? host_grant_word(by->kind) : "nothing");
        }
}

static void
refuses_bad_grants(void **state)
{
        static const char *const rows[] = {
                "[{\"slug\": \"ab\", \"access\": \"all\"}]",
                "[{\"slug\": \"ab\", \"access\": [\"role\"]}]",
                "[{\"slug\": \"ab\", \"access\": [{\"role\": 7}]}]",
                "[{\"slug\": \"ab\", \"access\": [{\"role\": \"a\", \"cap\": \"b\"}]}]",
                "[{\"slug\": \"ab\", \"access\": [{\"role\": \"\"}]}]",
                "[{\"slug\": \"ab\", \"access\": {\"bind\": {}}}]",
        };

        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                struct host_inventory inventory = { .ref = "x" };
                struct error e;

                if (host_inventory_read(&arena, tree(rows[i]), &inventory, &e) == 0)
                        fail_msg("accepted: %s", rows[i]);
                assert_int_equal(e.code, ERROR_SCHEMA_INVALID);
                assert_string_equal(e.path, "secrets/0/access");
        }
}

static void
reads_sources_in_their_order(void **state)
{
        struct host_sources s;
        struct error e;

        (void)state;
        assert_int_equal(
                host_sources_read(
                        &arena,
                        tree("[{\"file\": \"/f\"}, {\"environment\": {\"ab\": \"AB\", \"acme/cd\": "
                             "\"CD_2\"}}, {\"directory\": \"$CREDENTIALS_DIRECTORY\"},"
                             "{\"command\": [\"/bin/x\", \"{slug}\"], \"slugs\": [\"ab\"], "
                             "\"timeout_ms\": 500}]"),
                        &s, &e),
                0);
        assert_int_equal(s.count, 4);
        assert_int_equal(s.items[0].kind, HOST_SOURCE_FILE);
        assert_string_equal(s.items[1].variables[1].slug, "acme/cd");
        assert_int_equal(s.items[2].kind, HOST_SOURCE_DIRECTORY);
        assert_int_equal(s.items[3].timeout_ms, 500);
        assert_int_equal(s.items[0].timeout_ms, HOST_COMMAND_TIMEOUT_MS);
        assert_true(host_sources_have_variable(&s, "CD_2"));
        assert_false(host_sources_have_variable(&s, "CD"));
}

static void
refuses_what_is_no_source(void **state)
{
        static const char *const rows[] = {
                "{}",
                "[{}]",
                "[7]",
                "[{\"file\": \"relative\"}]",
                "[{\"file\": \"/a\", \"directory\": \"/b\"}]",
                "[{\"slugs\": [\"ab\"]}]",
                "[{\"files\": \"/a\"}]",
                "[{\"environment\": {\"AB\": \"X\"}}]",
                "[{\"environment\": {\"ab\": \"X=Y\"}}]",
                "[{\"environment\": {}}]",
                "[{\"environment\": {\"ab\": \"1X\"}}]",
                "[{\"command\": \"/bin/x\"}]",
                "[{\"command\": []}]",
                "[{\"command\": [\"pass\"]}]",
                "[{\"command\": [\"/x\"], \"timeout_ms\": 0}]",
                "[{\"command\": [\"/x\"], \"timeout_ms\": 60001}]",
                "[{\"command\": [\"/x\"], \"slugs\": [\"A\"]}]",
                "[{\"directory\": \"$HOME\"}]",
        };

        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                struct host_sources s;
                struct error e;

                if (host_sources_read(&arena, tree(rows[i]), &s, &e) == 0)
                        fail_msg("accepted: %s", rows[i]);
                assert_int_equal(e.code, ERROR_SCHEMA_INVALID);
                assert_int_equal(strncmp(e.path, "secret_sources", 14), 0);
        }
}

static void
reads_actors(void **state)
{
        const struct host_actor *actors;
        struct error e;
        size_t count;

        (void)state;
        assert_int_equal(host_actors_read(&arena,
                                          tree("{\"uid:7\": {\"roles\": [\"a\", \"b\"], \"caps\": "
                                               "[\"c\"]}, \"x\": {}}"),
                                          &actors, &count, &e),
                         0);
        assert_int_equal(count, 2);
        assert_string_equal(actors[0].user, "uid:7");
        assert_int_equal(actors[0].has[HOST_GRANT_ROLE].count, 2);
        assert_int_equal(
                host_actors_read(&arena, tree("{\"x\": {\"role\": [\"a\"]}}"), &actors, &count, &e),
                -1);
        assert_int_equal(host_actors_read(&arena, tree("{\"x\": [\"a\"]}"), &actors, &count, &e),
                         -1);
        assert_int_equal(host_actors_read(&arena, tree("[]"), &actors, &count, &e), -1);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(knows_a_slug),
                cmocka_unit_test(grants_what_is_granted),
                cmocka_unit_test(refuses_bad_grants),
                cmocka_unit_test(reads_sources_in_their_order),
                cmocka_unit_test(refuses_what_is_no_source),
                cmocka_unit_test(reads_actors),
        };
        int failed = cmocka_run_group_tests(tests, NULL, NULL);

        arena_fini(&arena);
        return failed;
}
