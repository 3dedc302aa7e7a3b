/* prepare/prepare_test.c - what prepare/prepare.h promises. */
#include "base/unit.h"
#include "prepare/prepare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "text/json.h"
#include "text/yaml.h"

struct bench {
        struct prepare_host host;
        struct prepared p;
        struct arena arena;
        struct error e;
};

static const struct node *
tree(struct bench *b, const char *json)
{
        const struct node *root = NULL;

        assert_int_equal(
                json_read(&b->arena, json, strlen(json), &text_limits_manifest, &root, &b->e), 0);
        return root;
}

/* A made-up host, so that a test does not depend on the machine. */
static void
set_up(struct bench *b, const char *host_file)
{
        static const struct runtime items[] = {
                { "node", "24.1.0", "/opt/node-24/bin/node", "/opt" },
                { "python", "3.11.2", "/usr/bin/python3.11", NULL }
        };
        static const struct runtimes runtimes = { items, 2 };
        const void *packed;
        size_t len;

        memset(b, 0, sizeof *b);
        arena_init(&b->arena, 16 << 20);
        assert_int_equal(prepare_host_init(&b->host, &b->e), 0);
        b->host.facts.is_privileged = false;
        b->host.facts.has_user_ns = b->host.facts.has_seccomp = b->host.facts.has_mount_api =
                b->host.facts.has_openat2 = true;
        b->host.facts.has_clone3 = b->host.facts.has_pidfd = b->host.facts.has_close_range = true;
        b->host.facts.uid = 1000;
        assert_int_equal(prepare_host_pack(&b->arena,
                                           &(struct prepare_host_source){
                                                   .tree = host_file ? tree(b, host_file) : NULL,
                                                   .runtimes = &runtimes },
                                           &packed, &len, &b->e),
                         0);
        assert_int_equal(prepare_host_read(&b->host, packed, len, true, &b->e), 0);
        prepared_init(&b->p);
}

static void
tear_down(struct bench *b)
{
        prepared_fini(&b->p);
        prepare_host_fini(&b->host);
        arena_fini(&b->arena);
}

static struct prepare_request
request(void)
{
        return (struct prepare_request){ .id = "00112233445566aa",
                                         .caller_uid = PREPARE_UID_ANY,
                                         .now_s = 1,
                                         .is_living = true };
}

static void
the_standard_sandbox_has_a_private_place_to_work(void **state)
{
        struct prepare_request r = request();
        struct bench b;

        (void)state;
        set_up(&b, NULL);
        assert_int_equal(prepare_judge(&b.host, &r, NULL, &b.p, &b.e), 0);
        assert_string_equal(b.p.spec->provider, "local");
        assert_int_equal(b.p.spec->mount_count, 0);
        assert_int_equal(b.p.spec->egress_count, 0);
        assert_int_equal(prepare_plan(&b.host, &r, &b.p, &b.e), 0);
        assert_string_equal(b.p.cwd, PLAN_HOME);
        assert_int_equal(b.p.sources->count, 0);
        tear_down(&b);
}

static void
plans_again_after_letting_go(void **state)
{
        struct prepare_request r = request();
        struct bench b;

        (void)state;
        set_up(&b, NULL);
        assert_int_equal(prepare_judge(&b.host, &r, NULL, &b.p, &b.e), 0);
        for (int i = 0; i < 3; i++) {
                assert_int_equal(prepare_plan(&b.host, &r, &b.p, &b.e), 0);
                assert_non_null(b.p.plan);
                prepared_release(&b.p);
                assert_null(b.p.plan);
                assert_string_equal(b.p.cwd, PLAN_HOME);
        }
        tear_down(&b);
}

static void
judges_each_shape(void **state)
{
        static const struct {
                const char *json;
                enum error_code code;
                const char *reason, *hint;
        } cases[] = {
                { "{\"provider\":\"local\",\"config\":{}}", ERROR_NONE, "", "" },
                { "{\"schema\":\"sandbox/v1\",\"id\":\"@a/"
                  "b\",\"version\":\"1.0.0\",\"provider\":\"local\",\"config\":{}}",
                  ERROR_NONE, "", "" },
                { "{\"sandbox\":{\"inline\":{\"provider\":\"local\",\"config\":{}}}}", ERROR_NONE,
                  "", "" },
                { "{\"sandbox\":{\"ref\":\"./x\"}}", ERROR_REF_UNRESOLVABLE, "not_followed",
                  "carrel create" },
                { "{\"sandbox\":{\"file\":\"./x\"}}", ERROR_REF_UNRESOLVABLE, "not_followed",
                  "carrel create" },
                { "{\"provider\":\"nobody\",\"config\":{}}", ERROR_PROVIDER_UNKNOWN, "", "" },
                { "{\"provider\":\"local\",\"config\":{},\"colour\":1}", ERROR_SCHEMA_INVALID,
                  "unknown_field", "" },
                { "{\"provider\":\"local\",\"config\":{},\"env\":{\"auth\":{\"ref\":\"./"
                  "SECRETS.md\",\"state\":{\"env\":[\"TOKEN_A\"]}}}}",
                  ERROR_AUTH_UNRESOLVABLE, "", "host file" },
                { "[]", ERROR_SCHEMA_INVALID, "type", "" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct prepare_request r = request();
                struct bench b;
                int result;

                set_up(&b, NULL);
                result = prepare_judge(&b.host, &r, tree(&b, cases[i].json), &b.p, &b.e);
                if (result == 0)
                        b.e = (struct error){ .code = ERROR_NONE };
                if (b.e.code != cases[i].code)
                        fail_msg("%s: %s (%s)", cases[i].json, b.e.message,
                                 error_wire_name(b.e.code));
                if (*cases[i].reason != '\0')
                        assert_string_equal(b.e.reason, cases[i].reason);
                if (*cases[i].hint != '\0')
                        assert_non_null(strstr(b.e.hint, cases[i].hint));
                assert_int_equal(b.p.findings.error_count > 0, result < 0);
                tear_down(&b);
        }
}

/*
 * First the references of the provider's own configuration are judged. Then the error is that the
 * host file names no program.
 */
static void
a_provider_without_a_program_is_the_last_error(void **state)
{
        static const char hosted[] =
                "{\"provider\":\"mastra-e2b\",\"config\":{\"template\":\"t\",\"api_key_ref\":\"%"
                "s\"},\"env\":{\"auth\":{\"ref\":\"./SECRETS.md\"}}}";
        static const struct {
                const char *slug, *grants;
                enum error_code code;
                const char *path, *reason;
        } cases[] = {
                { "e2b-key", "\"deny_bind\":[\"e2b-key\"]", ERROR_AUTH_UNRESOLVABLE,
                  "config/api_key_ref", "bind_denied" },
                { "e2b-key", "\"access\":{\"e2b-key\":[]}", ERROR_AUTH_UNRESOLVABLE,
                  "config/api_key_ref", "bind_denied" },
                { "e2b_0123456789abcdef0123456789abcdef", "\"deny_bind\":[]",
                  ERROR_PLAINTEXT_CREDENTIAL, "config/api_key_ref", "value" },
                { "e2b-key", "\"deny_bind\":[]", ERROR_PROVIDER_UNKNOWN, "provider", "no_program" },
                { "of-the-host", "\"deny_bind\":[]", ERROR_PROVIDER_UNKNOWN, "provider",
                  "no_program" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct prepare_request r = request();
                char manifest[400], rules[400];
                struct bench b;

                (void)snprintf(manifest, sizeof manifest, hosted, cases[i].slug);
                (void)snprintf(rules, sizeof rules,
                               "{\"providers\":{\"mastra-e2b\":{\"isolated\":true}},\"secrets\":{"
                               "\"./SECRETS.md\":{\"slugs\":[\"e2b-key\"],%s}}}",
                               cases[i].grants);
                set_up(&b, rules);
                if (prepare_judge(&b.host, &r, tree(&b, manifest), &b.p, &b.e) == 0)
                        assert_int_equal(prepare_plan(&b.host, &r, &b.p, &b.e), -1);
                if (b.e.code != cases[i].code || strcmp(b.e.path, cases[i].path) != 0 ||
                    strcmp(b.e.reason, cases[i].reason) != 0)
                        fail_msg("%s with %s: %s at %s, %s: %s", cases[i].slug, cases[i].grants,
                                 error_wire_name(b.e.code), b.e.path, b.e.reason, b.e.message);
                assert_null(strstr(b.e.message, "0123456789"));
                if (b.e.code == ERROR_PROVIDER_UNKNOWN)
                        assert_non_null(
                                strstr(b.e.message, "no program for the provider mastra-e2b"));
                tear_down(&b);
        }
}

static void
a_template_is_brought_in(void **state)
{
        static const char name[] = PLAN_RUNTIME_DIR "/node";
        static const char *const words[] = { "true" };
        const struct wire_command asked = { .head.argc = 1, .argv = words };
        struct prepare_command command = { .command = &asked };
        struct prepare_request r = request();
        struct environment env;
        bool has_link = false;
        struct bench b;

        (void)state;
        set_up(&b, NULL);
        r.runtime = "node24";
        assert_int_equal(prepare_judge(&b.host, &r, NULL, &b.p, &b.e), 0);
        assert_int_equal(prepare_plan(&b.host, &r, &b.p, &b.e), 0);
        assert_int_equal(b.p.sources->count, 1);
        assert_true(b.p.sources->mounts[0].is_tool && b.p.sources->mounts[0].is_read_only);
        for (size_t i = 0; i < b.p.plan->step_count; i++)
                has_link |= b.p.plan->steps[i].op == STEP_LINK &&
                            strcmp(b.p.plan->steps[i].path, name) == 0 &&
                            strcmp(b.p.plan->steps[i].text, "/opt/node-24/bin/node") == 0;
        assert_true(has_link);
        assert_int_equal(prepare_environment(&b.arena, &b.p, &command, &env, &b.e), 0);
        assert_string_equal(env.items[0], "PATH=" PLAN_HOME "/.local/bin:" PLAN_RUNTIME_DIR
                                          ":/opt/bin:/opt:/usr/local/bin:/usr/bin:/bin");
        assert_int_equal(b.host.rules->tool_roots.count + 1, b.p.rules->tool_roots.count);
        tear_down(&b);
        set_up(&b, NULL);
        r.runtime = "ruby3";
        assert_int_equal(prepare_judge(&b.host, &r, NULL, &b.p, &b.e), -1);
        assert_int_equal(b.e.code, ERROR_RUNTIME_UNKNOWN);
        tear_down(&b);
}

static void
the_environment_of_a_command_wins(void **state)
{
        static const char *const of_sandbox[] = { "A=sandbox", "B=sandbox" },
                                 *const of_command[] = { "B=command" };
        static char path[] = "PATH=/host", lang[] = "LANG=C.UTF-8";
        char *host[] = { path, lang, NULL };
        const struct wire_command asked = {
                { .argc = 1, .envc = 1 }, of_sandbox, of_command, "/tmp"
        };
        struct prepare_command command = {
                .command = &asked, .sandbox_env = of_sandbox, .sandbox_env_count = 2, .host = host
        };
        struct prepare_request r = request();
        struct environment env;
        struct bench b;
        bool seen_a = false, seen_b = false, seen_cwd = false;

        (void)state;
        set_up(&b, NULL);
        assert_int_equal(prepare_judge(&b.host, &r, NULL, &b.p, &b.e), 0);
        assert_int_equal(prepare_environment(&b.arena, &b.p, &command, &env, &b.e), 0);
        for (size_t i = 0; i < env.count; i++) {
                seen_a |= strcmp(env.items[i], "A=sandbox") == 0;
                seen_b |= strcmp(env.items[i], "B=command") == 0;
                seen_cwd |= strcmp(env.items[i], "PWD=/tmp") == 0;
                assert_string_not_equal(env.items[i], "PATH=/host");
                assert_string_not_equal(env.items[i], "B=sandbox");
        }
        assert_true(seen_a && seen_b && seen_cwd);
        prepare_environment_wipe(&env);
        assert_int_equal(env.count, 0);
        tear_down(&b);
}

/*
 * Workspaces: the caller's own, one under a mount root, another user's, a missing one, and a link
 * to another user's.
 */
static void
a_workspace_is_the_callers_or_the_operators(void **state)
{
        char base[] = "/tmp/carrel-prepare-XXXXXX", link[64], host_file[128], missing[64],
             aside[64];
        static const char manifest[] =
                "{\"provider\":\"local\",\"config\":{},\"mounts\":[{\"source\":\"workspace\","
                "\"at\":\"/workspace\",\"mode\":\"read-only\"}]}";
        struct stat st;
        const struct {
                uint32_t caller;
                bool is_rooted;
                const char *workspace;
                enum error_code code;
        } cases[] = {
                { PREPARE_UID_ANY, false, base, ERROR_NONE },
                { 1000, false, base, ERROR_NONE },               /* the daemon's own user */
                { (uint32_t)getuid(), false, base, ERROR_NONE }, /* its owner */
                { 4242, false, base, ERROR_MOUNT_DENIED },
                { 4242, true, base, ERROR_NONE },
                { 4242, false, link, ERROR_MOUNT_DENIED },
                { 4242, true, "/usr", ERROR_MOUNT_DENIED },
                { PREPARE_UID_ANY, false, "/nowhere/at/all", ERROR_WORKSPACE_NOT_FOUND },
                { 4242, true, "/nowhere/at/all",
                  ERROR_MOUNT_DENIED }, /* a caller cannot distinguish a missing directory from
                                           another user's */
                { 4242, false, "/etc/passwd", ERROR_MOUNT_DENIED },
                { 4242, true, missing,
                  ERROR_WORKSPACE_NOT_FOUND }, /* below a mount root, the caller gets the reason */
                { 4242, true, aside, ERROR_MOUNT_DENIED },
                { 4242, true, "relative", ERROR_INVALID_ARGUMENT },
        };

        (void)state;
        assert_non_null(mkdtemp(base));
        assert_int_equal(stat(base, &st), 0);
        (void)snprintf(link, sizeof link, "%s.link", base);
        (void)snprintf(missing, sizeof missing, "%s/missing", base);
        (void)snprintf(aside, sizeof aside, "%s/../nowhere-at-all", base);
        assert_int_equal(symlink(base, link), 0);
        (void)snprintf(host_file, sizeof host_file,
                       "{\"mount_roots\":[\"%s\"],\"providers\":{\"local\":{\"isolated\":true}}}",
                       base);
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct prepare_request r = request();
                struct bench b;
                int result;

                set_up(&b, cases[i].is_rooted ? host_file : NULL);
                r.caller_uid = cases[i].caller;
                r.workspace = cases[i].workspace;
                assert_int_equal(prepare_judge(&b.host, &r, tree(&b, manifest), &b.p, &b.e), 0);
                result = prepare_plan(&b.host, &r, &b.p, &b.e);
                if (result == 0)
                        b.e = (struct error){ .code = ERROR_NONE };
                if (b.e.code != cases[i].code)
                        fail_msg("case %zu: %s", i, b.e.message);
                tear_down(&b);
        }
        (void)unlink(link);
        (void)rmdir(base);
}

/*
 * No mount may show the daemon's state: not the directory, not a part of it, not a directory that
 * contains it.
 */
static void
no_mount_shows_the_state(void **state)
{
        char base[] = "/tmp/carrel-prepare-XXXXXX", inner[64], beside[64];
        static const char manifest[] =
                "{\"provider\":\"local\",\"config\":{},\"mounts\":[{\"source\":\"workspace\","
                "\"at\":\"/workspace\",\"mode\":\"read-only\"}]}";
        const struct {
                const char *state, *workspace;
                bool is_permitted;
        } cases[] = {
                { base, base, false },   { inner, base, false },  { base, inner, false },
                { beside, inner, true }, { inner, beside, true },
        };

        (void)state;
        assert_non_null(mkdtemp(base));
        (void)snprintf(inner, sizeof inner, "%s/inner", base);
        (void)snprintf(beside, sizeof beside, "%s/inner-not", base);
        assert_int_equal(mkdir(inner, 0700) | mkdir(beside, 0700), 0);
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct prepare_request r = request();
                struct bench b;

                set_up(&b, NULL);
                assert_int_equal(prepare_host_guard(&b.host, cases[i].state, &b.e), 0);
                r.workspace = cases[i].workspace;
                assert_int_equal(prepare_judge(&b.host, &r, tree(&b, manifest), &b.p, &b.e), 0);
                assert_int_equal(prepare_plan(&b.host, &r, &b.p, &b.e),
                                 cases[i].is_permitted ? 0 : -1);
                if (!cases[i].is_permitted)
                        assert_string_equal(b.e.reason, "holds_state");
                tear_down(&b);
        }
        assert_int_equal(rmdir(inner) | rmdir(beside) | rmdir(base), 0);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_standard_sandbox_has_a_private_place_to_work),
                cmocka_unit_test(plans_again_after_letting_go),
                cmocka_unit_test(judges_each_shape),
                cmocka_unit_test(a_provider_without_a_program_is_the_last_error),
                cmocka_unit_test(a_template_is_brought_in),
                cmocka_unit_test(the_environment_of_a_command_wins),
                cmocka_unit_test(a_workspace_is_the_callers_or_the_operators),
                cmocka_unit_test(no_mount_shows_the_state),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
