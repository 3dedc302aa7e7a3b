/* secret/bind_test.c - what secret/bind.h promises. */
#include "secret/bind.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/unit.h"

static const char *const slugs[] = { "openai-api-key", "gh-app", "denied" };
static const char *const denied[] = { "denied" };
static const struct host_binding bindings[] = { { "GITHUB_TOKEN", "gh-app" } };

static struct host_inventory inventory = { .ref = "./SECRETS.md",
                                           .slugs = { slugs, 3 },
                                           .bindings = bindings,
                                           .binding_count = 1,
                                           .deny_bind = { denied, 1 },
                                           .may_reveal = true };

static struct secret_values *
values_of(const char *text)
{
        char path[] = "/tmp/carrel-bind-test-XXXXXX";
        int fd = mkstemp(path);
        struct secret_values *values;
        struct error e;

        assert_true(fd >= 0);
        assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
        (void)close(fd);
        assert_int_equal(secret_values_open(path, &values, &e), 0);
        (void)unlink(path);
        return values;
}

static void
gives_each_name_its_value(void **state)
{
        static const struct spec_secret_name names[] = { { "OPENAI_API_KEY", { 3, 4 } },
                                                         { "GITHUB_TOKEN", { 3, 9 } } };
        const struct spec_env env = { .auth_ref = "./SECRETS.md", .auth = names, .auth_count = 2 };
        const struct host_rules rules = { .inventories = &inventory, .inventory_count = 1 };
        struct secret_values *values = values_of("openai-api-key=one\ngh-app=two\n");
        const struct secret_bound *bound;
        struct arena arena;
        struct error e;
        size_t count;

        (void)state;
        arena_init(&arena, 1 << 16);
        assert_int_equal(secret_bind(&arena, &env, &rules, values, &bound, &count, &e), 0);
        assert_int_equal(count, 2);
        assert_string_equal(bound[0].value, "one");
        assert_string_equal(bound[1].slug, "gh-app");
        assert_string_equal(bound[1].value, "two");
        secret_values_free(values);
        arena_fini(&arena);
}

static void
refuses_before_it_fetches(void **state)
{
        static const struct {
                const char *ref, *name;
                bool may_reveal;
                const char *reason;
        } rows[] = {
                { NULL, "OPENAI_API_KEY", true, "missing_ref" },
                { "./other", "OPENAI_API_KEY", true, "not_found" },
                { "./SECRETS.md", "OPENAI_API_KEY", false, "not_authorised" },
                { "./SECRETS.md", "NOT_THERE", true, "no_slug" },
                { "./SECRETS.md", "DENIED", true, "bind_denied" },
                { "./SECRETS.md", "GITHUB_TOKEN", true, "not_found" },
        };
        struct secret_values *values = values_of("denied=CANARY\nopenai-api-key=CANARY\n");

        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
                const struct spec_secret_name name = { rows[i].name, { 7, 8 } };
                const struct spec_env env = { .auth_ref = rows[i].ref,
                                              .auth = &name,
                                              .auth_count = 1 };
                const struct host_rules rules = { .inventories = &inventory, .inventory_count = 1 };
                const struct secret_bound *bound = NULL;
                struct arena arena;
                struct error e;
                size_t count;

                arena_init(&arena, 1 << 16);
                inventory.may_reveal = rows[i].may_reveal;
                assert_int_equal(secret_bind(&arena, &env, &rules, values, &bound, &count, &e), -1);
                assert_string_equal(e.reason, rows[i].reason);
                assert_string_equal(e.path, "env/auth/state/env/0");
                assert_int_equal(e.line, 7);
                assert_null(strstr(e.message, "CANARY"));
                assert_null(bound);
                arena_fini(&arena);
        }
        secret_values_free(values);
}

static void
binds_nothing_where_nothing_is_asked(void **state)
{
        const struct spec_env env = { .auth_ref = NULL };
        const struct host_rules rules = { .is_trusted = false };
        const struct secret_bound *bound;
        struct arena arena;
        struct error e;
        size_t count = 9;

        (void)state;
        arena_init(&arena, 1 << 16);
        assert_int_equal(secret_bind(&arena, &env, &rules, NULL, &bound, &count, &e), 0);
        assert_int_equal(count, 0);
        arena_fini(&arena);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(gives_each_name_its_value),
                cmocka_unit_test(refuses_before_it_fetches),
                cmocka_unit_test(binds_nothing_where_nothing_is_asked),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
