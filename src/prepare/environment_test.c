/* prepare/environment_test.c - what prepare/environment.h promises. */
#include "base/unit.h"
#include "prepare/environment.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MEMORY_MAX = 4 << 20 };

struct bench {
        struct arena arena;
        struct spec spec;
        struct host_rules *rules;
        struct environment_request request;
        struct environment env;
        struct error e;
};

static char *const nothing[] = { NULL };

static struct bench *
bench_new(void)
{
        static const struct host_ability can;
        struct bench *b = calloc(1, sizeof *b);

        assert_non_null(b);
        arena_init(&b->arena, MEMORY_MAX);
        assert_int_equal(host_rules_default(&b->arena, &can, "operator://test", &b->rules, &b->e),
                         0);
        /* without_a_network_nothing_is_tried_again() tests the opposite */
        b->spec.wall.is_given = true;
        b->request = (struct environment_request){
                .spec = &b->spec, .rules = b->rules, .cwd = "/workspace", .host = nothing
        };
        return b;
}

static void
bench_free(struct bench *b)
{
        arena_fini(&b->arena);
        free(b);
}

static int
make(struct bench *b)
{
        int result = environment_make(&b->arena, &b->request, &b->env, &b->e);

        if (result == 0)
                assert_null(b->env.items[b->env.count]);
        return result;
}

/* The items are exactly these, in this order. */
static void
is_exactly(struct bench *b, const char *const *items)
{
        size_t count = 0;

        assert_int_equal(make(b), 0);
        for (; items[count]; count++)
                if (count >= b->env.count || strcmp(b->env.items[count], items[count]) != 0)
                        fail_msg("item %zu: %s, not %s", count,
                                 count < b->env.count ? b->env.items[count] : "none", items[count]);
        assert_int_equal(b->env.count, count);
}

/* -- the base set ------------------------------------------------------------------------------ */

#define BASE_PATH "PATH=/home/agent/.local/bin:/usr/local/bin:/usr/bin:/bin", "HOME=/home/agent"
#define WHO "USER=agent", "LOGNAME=agent", "SHELL=/bin/sh"

static void
the_base_set_is_closed(void **state)
{
        static char *const host[] = { "PATH=/evil", "HOME=/root", "LD_PRELOAD=x",
                                      "SECRET=1",   "TERM=xterm", "PWD=/root",
                                      NULL };
        struct bench *b = bench_new();

        (void)state;
        is_exactly(b, (const char *const[]){ BASE_PATH, "LANG=C.UTF-8", "TERM=dumb",
                                             "PWD=/workspace", WHO, NULL });
        b->request.host = host;
        is_exactly(b, (const char *const[]){ BASE_PATH, "LANG=C.UTF-8", "TERM=dumb",
                                             "PWD=/workspace", WHO, NULL });
        b->request.has_terminal = true;
        is_exactly(b, (const char *const[]){ BASE_PATH, "LANG=C.UTF-8", "TERM=xterm",
                                             "PS1=(carrel) $PWD $ ", "PWD=/workspace", WHO, NULL });
        b->request.host = NULL;
        is_exactly(b, (const char *const[]){ BASE_PATH, "LANG=C.UTF-8", "TERM=dumb",
                                             "PS1=(carrel) $PWD $ ", "PWD=/workspace", WHO, NULL });
        bench_free(b);
}

static void
the_prompt_names_the_sandbox_in_the_words_of_the_shell(void **state)
{
        static const char *const own[] = { "PS1=mine" };
        static const struct {
                const char *program, *name, *prompt;
        } cases[] = {
                { "bash", "demo", "PS1=(demo) \\w \\$ " },
                { "/usr/bin/bash", "demo", "PS1=(demo) \\w \\$ " },
                { "zsh", "demo", "PS1=(demo) %~ %# " },
                { "sh", "demo", "PS1=(demo) $PWD $ " },
                { "dash", NULL, "PS1=(carrel) $PWD $ " },
                { "tmux", "demo", "PS1=(demo) $PWD $ " },
                { NULL, "demo", "PS1=(demo) $PWD $ " },
        };
        struct bench *b = bench_new();

        (void)state;
        b->request.has_terminal = true;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                b->request.program = cases[i].program;
                b->request.name = cases[i].name;
                assert_int_equal(make(b), 0);
                assert_string_equal(b->env.items[4], cases[i].prompt);
        }
        b->request.extra = own;
        b->request.extra_count = 1;
        assert_int_equal(make(b), 0);
        assert_string_equal(b->env.items[4], "PS1=mine");
        bench_free(b);
}

#define RETRIES \
        "npm_config_fetch_retries=0", "PIP_RETRIES=0", "CARGO_NET_RETRY=0", "UV_HTTP_RETRIES=0"

#define RETRIES_OF_A_LIST \
        "npm_config_fetch_retry_mintimeout=1000", "npm_config_fetch_retry_maxtimeout=5000"

static void
without_a_network_nothing_is_tried_again(void **state)
{
        static const char *const extra[] = { "PIP_RETRIES=3" };
        struct bench *b = bench_new();

        (void)state;
        b->spec.wall.is_given = false;
        is_exactly(b, (const char *const[]){ BASE_PATH, "LANG=C.UTF-8", "TERM=dumb",
                                             "PWD=/workspace", WHO, RETRIES, NULL });
        b->request.extra = extra;
        b->request.extra_count = 1;
        is_exactly(b,
                   (const char *const[]){ BASE_PATH, "LANG=C.UTF-8", "TERM=dumb", "PWD=/workspace",
                                          WHO, "npm_config_fetch_retries=0", "PIP_RETRIES=3",
                                          "CARGO_NET_RETRY=0", "UV_HTTP_RETRIES=0", NULL });
        b->request.extra_count = 0;
        b->spec.egress_count = 1;
        is_exactly(b, (const char *const[]){ BASE_PATH, "LANG=C.UTF-8", "TERM=dumb",
                                             "PWD=/workspace", WHO, RETRIES_OF_A_LIST, NULL });
        b->spec.wall.is_given = true;
        is_exactly(b, (const char *const[]){ BASE_PATH, "LANG=C.UTF-8", "TERM=dumb",
                                             "PWD=/workspace", WHO, RETRIES_OF_A_LIST, NULL });
        bench_free(b);
}

static void
a_language_of_sane_length_comes_along(void **state)
{
        static char fits[6 + 63] = "LANG=", longer[6 + 64] = "LANG=";
        char *fitting[] = { fits, NULL }, *long_one[] = { longer, NULL };
        struct bench *b = bench_new();

        (void)state;
        memset(fits + 5, 'x', 63);
        memset(longer + 5, 'x', 64);
        b->request.host = fitting;
        assert_int_equal(make(b), 0);
        assert_string_equal(b->env.items[2], fits);
        b->request.host = long_one;
        assert_int_equal(make(b), 0);
        assert_string_equal(b->env.items[2], "LANG=C.UTF-8");
        bench_free(b);
}

static void
tools_come_first_in_path(void **state)
{
        static const char *const tools[] = { "/opt/a", "/opt/b" };
        struct bench *b = bench_new();

        (void)state;
        b->spec.carrel.tools = (struct spec_names){ tools, 2 };
        assert_int_equal(make(b), 0);
        assert_string_equal(b->env.items[0], "PATH=/home/agent/.local/bin:/opt/a/bin:/opt/a:/opt/b/"
                                             "bin:/opt/b:/usr/local/bin:/usr/bin:/bin");
        bench_free(b);
}

/* Where a person approves `ls`, no command and no function of the guest can write another one. */
static void
path_has_no_writable_place_where_commands_wait(void **state)
{
        static const char *const lists[][1] = { { "exec.start" }, { "network" } };
        struct bench *b = bench_new();

        (void)state;
        b->spec.carrel.approve = (struct spec_names){ lists[0], 1 };
        assert_int_equal(make(b), 0);
        assert_string_equal(b->env.items[0], "PATH=/usr/local/bin:/usr/bin:/bin");
        bench_free(b);
        b = bench_new();
        b->spec.carrel.approve = (struct spec_names){ lists[1], 1 };
        assert_int_equal(make(b), 0);
        assert_string_equal(b->env.items[0],
                            "PATH=/home/agent/.local/bin:/usr/local/bin:/usr/bin:/bin");
        bench_free(b);
}

/* -- passthrough ------------------------------------------------------------------------------- */

static void
what_is_named_passes_through_if_it_is_there(void **state)
{
        static const struct spec_secret_name names[] = { { .name = "EDITOR" },
                                                         { .name = "ABSENT" },
                                                         { .name = "EMPTY" },
                                                         { .name = "LANG" },
                                                         { .name = "EDIT" } };
        static char *const host[] = { "EDITOR_X=no", "EDITOR=vi",     "EMPTY=", "LANG=de_DE.UTF-8",
                                      "OTHER=1",     "EDITOR=second", "ABSENT", NULL };
        struct bench *b = bench_new();

        (void)state;
        b->spec.env.passthrough = names;
        b->spec.env.passthrough_count = 5;
        b->request.host = host;
        is_exactly(b, (const char *const[]){ BASE_PATH, "LANG=de_DE.UTF-8", "TERM=dumb",
                                             "PWD=/workspace", WHO, "EDITOR=vi", "EMPTY=", NULL });
        b->request.host = nothing;
        is_exactly(b, (const char *const[]){ BASE_PATH, "LANG=C.UTF-8", "TERM=dumb",
                                             "PWD=/workspace", WHO, NULL });
        bench_free(b);
}

/* -- secrets ----------------------------------------------------------------------------------- */

static struct secret_values *
values_of(const char *text)
{
        char path[] = "/tmp/carrel-environment-XXXXXX";
        struct secret_values *values;
        struct error e;
        int fd = mkstemp(path); /* mode 0600 */

        assert_true(fd >= 0);
        assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
        (void)close(fd);
        if (secret_values_open(path, &values, &e) < 0)
                fail_msg("%s", e.message);
        assert_int_equal(unlink(path), 0);
        return values;
}

static const char *const slugs[] = { "api-key", "acme/token", "unset", "closed" };
static const struct host_binding bindings[] = { { "TOKEN", "acme/token" }, { "CLOSED", "closed" } };
static const char *const closed[] = { "closed" };

static struct bench *
bench_with_secrets(const struct spec_secret_name *names, size_t count, struct secret_values *values)
{
        const struct host_inventory inventory = { .ref = "./SECRETS.md",
                                                  .slugs = { slugs, 4 },
                                                  .bindings = bindings,
                                                  .binding_count = 2,
                                                  .deny_bind = { closed, 1 },
                                                  .may_reveal = true };
        struct bench *b = bench_new();

        assert_int_equal(host_rules_add_inventory(&b->arena, b->rules, &inventory, &b->e), 0);
        b->spec.env =
                (struct spec_env){ .auth_ref = "./SECRETS.md", .auth = names, .auth_count = count };
        b->request.secrets = values;
        return b;
}

static void
secrets_are_bound_to_their_names(void **state)
{
        static const struct spec_secret_name names[] = { { .name = "API_KEY" },
                                                         { .name = "TOKEN" } };
        static char *const host[] = { "API_KEY=the-callers-own", NULL };
        struct secret_values *values = values_of("api-key=s3=cret\nacme/token=other\nclosed=x\n");
        struct bench *b = bench_with_secrets(names, 2, values);

        (void)state;
        b->request.host = host;
        is_exactly(b,
                   (const char *const[]){ BASE_PATH, "LANG=C.UTF-8", "TERM=dumb", "PWD=/workspace",
                                          WHO, "API_KEY=s3=cret", "TOKEN=other", NULL });
        bench_free(b);
        secret_values_free(values);
}

struct unbound_row {
        const char *name, *reason;
};

static const struct unbound_row unbound[] = {
        { "UNSET", "not_found" },
        { "NOWHERE", "no_slug" },
        { "CLOSED", "bind_denied" },
};

/*
 * P13: a secret that cannot be read is a refusal with its place, and no message contains a value.
 */
static void
a_secret_that_cannot_be_bound_refuses(void **state)
{
        struct secret_values *values = values_of("api-key=s3cret\nclosed=s3cret\nnowhere=s3cret\n");

        (void)state;
        for (size_t i = 0; i < sizeof unbound / sizeof *unbound; i++) {
                const struct spec_secret_name names[] = { { .name = "API_KEY" },
                                                          { .name = unbound[i].name } };
                struct bench *b = bench_with_secrets(names, 2, values);

                if (make(b) == 0)
                        fail_msg("%s was bound", unbound[i].name);
                assert_int_equal(b->e.code, ERROR_AUTH_UNRESOLVABLE);
                assert_string_equal(b->e.reason, unbound[i].reason);
                assert_string_equal(b->e.path, "env/auth/state/env/1");
                assert_null(strstr(b->e.message, "s3cret"));
                bench_free(b);
        }
        secret_values_free(values);
}

static void
without_a_source_nothing_is_bound(void **state)
{
        static const struct spec_secret_name names[] = { { .name = "API_KEY" } };
        struct bench *b = bench_with_secrets(names, 1, NULL);

        (void)state;
        assert_int_equal(make(b), -1);
        assert_int_equal(b->e.code, ERROR_AUTH_UNRESOLVABLE);
        b->spec.env.auth_ref = "./OTHER.md";
        assert_int_equal(make(b), -1);
        assert_int_equal(b->e.code, ERROR_AUTH_UNRESOLVABLE);
        b->spec.env.auth_ref = NULL;
        assert_int_equal(make(b), -1);
        assert_int_equal(b->e.code, ERROR_AUTH_UNRESOLVABLE);
        bench_free(b);
}

/* -- the caller's own -------------------------------------------------------------------------- */

static void
a_later_value_replaces_an_earlier_one_where_it_stood(void **state)
{
        static const char *const extra[] = { "A=1",     "TERM=vt100", "A=2=3",  "B=",
                                             "PATH=/p", "EDITOR=ed",  "HOME=/h" };
        static const struct spec_secret_name names[] = { { .name = "EDITOR" } };
        static char *const host[] = { "EDITOR=vi", NULL };
        struct bench *b = bench_new();

        (void)state;
        b->spec.env.passthrough = names;
        b->spec.env.passthrough_count = 1;
        b->request.host = host;
        b->request.extra = extra;
        b->request.extra_count = sizeof extra / sizeof *extra;
        is_exactly(b, (const char *const[]){ "PATH=/p", "HOME=/h", "LANG=C.UTF-8", "TERM=vt100",
                                             "PWD=/workspace", WHO, "EDITOR=ed", "A=2=3",
                                             "B=", NULL });
        bench_free(b);
}

static void
the_callers_word_goes_before_a_secret(void **state)
{
        static const struct spec_secret_name names[] = { { .name = "API_KEY" } };
        static const char *const extra[] = { "API_KEY=mine" };
        struct secret_values *values = values_of("api-key=s3cret\n");
        struct bench *b = bench_with_secrets(names, 1, values);

        (void)state;
        b->request.extra = extra;
        b->request.extra_count = 1;
        is_exactly(b, (const char *const[]){ BASE_PATH, "LANG=C.UTF-8", "TERM=dumb",
                                             "PWD=/workspace", WHO, "API_KEY=mine", NULL });
        bench_free(b);
        secret_values_free(values);
}

#define CHARACTERS_32 "abcdefghijklmnopqrstuvwxyzABCDEF"
#define CHARACTERS_128 CHARACTERS_32 CHARACTERS_32 CHARACTERS_32 CHARACTERS_32

static const struct {
        const char *text;
        bool is_good;
} extras[] = {
        { "A=1", true },
        { "_=1", true },
        { "a9_Z=1", true },
        { "A=", true },
        { "A==", true },
        { CHARACTERS_128 "=1", true },
        { "A=any bytes: \001\n\377", true },
        { "", false },
        { "=", false },
        { "=1", false },
        { "A", false },
        { "1A=1", false },
        { "A B=1", false },
        { "A-B=1", false },
        { "A.B=1", false },
        { " A=1", false },
        { "\303\244=1", false },
        { "BASH_FUNC_x%%=() { :; }", false },
        { "A\n=1", false },
        { CHARACTERS_128 "x=1", false },
};

static void
a_bad_name_is_refused(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof extras / sizeof *extras; i++) {
                struct bench *b = bench_new();

                b->request.extra = (const char *const[]){ "FIRST=1", extras[i].text };
                b->request.extra_count = 2;
                if ((make(b) == 0) != extras[i].is_good)
                        fail_msg("%s: %s", extras[i].text,
                                 extras[i].is_good ? b->e.message : "passed");
                if (!extras[i].is_good)
                        assert_int_equal(b->e.code, ERROR_INVALID_ARGUMENT);
                else
                        assert_string_equal(b->env.items[b->env.count - 1], extras[i].text);
                bench_free(b);
        }
}

/* -- limits ------------------------------------------------------------------------------------ */

static void
there_is_room_for_so_many_and_no_more(void **state)
{
        static char texts[ENVIRONMENT_MAX][16];
        static const char *extra[ENVIRONMENT_MAX];
        struct bench *b = bench_new();

        (void)state;
        for (int i = 0; i < ENVIRONMENT_MAX; i++) {
                (void)snprintf(texts[i], sizeof texts[i], "V%d=%d", i, i);
                extra[i] = texts[i];
        }
        b->request.extra = extra;
        b->request.extra_count = ENVIRONMENT_MAX - 8;
        assert_int_equal(make(b), 0);
        assert_int_equal(b->env.count, ENVIRONMENT_MAX);
        b->request.extra_count++;
        assert_int_equal(make(b), -1);
        assert_int_equal(b->e.code, ERROR_QUOTA_EXCEEDED);
        /* a full environment still accepts a new value for an existing name */
        extra[ENVIRONMENT_MAX - 8] = "V0=again";
        assert_int_equal(make(b), 0);
        assert_string_equal(b->env.items[8], "V0=again");
        bench_free(b);
}

static void
no_memory_is_no_answer(void **state)
{
        static const char *const tools[] = { "/opt/a" }, *const extra[] = { "A=1" };
        struct bench *b = bench_new();
        bool was_made = false;

        (void)state;
        b->spec.carrel.tools = (struct spec_names){ tools, 1 };
        b->request.extra = extra;
        b->request.extra_count = 1;
        for (size_t limit = 0; limit < 2000; limit += 8) {
                struct arena small;

                arena_init(&small, limit);
                if (environment_make(&small, &b->request, &b->env, &b->e) < 0) {
                        assert_int_equal(b->e.code, ERROR_NO_MEMORY);
                } else {
                        assert_int_equal(b->env.count, 9);
                        assert_string_equal(b->env.items[0],
                                            "PATH=/home/agent/.local/bin:/opt/a/bin:/opt/a:/usr/"
                                            "local/bin:/usr/bin:/bin");
                        was_made = true;
                }
                arena_fini(&small);
        }
        assert_true(was_made);
        bench_free(b);
}

static void
everything_is_kept_only_where_it_is_asked(void **state)
{
        static char *const host[] = { "SECRET=1", "HOME=/root", NULL };
        struct bench *b = bench_new();

        (void)state;
        b->request.host = host;
        b->request.keeps_all = true;
        is_exactly(b, (const char *const[]){
                              "SECRET=1", "HOME=/home/agent",
                              "PATH=/home/agent/.local/bin:/usr/local/bin:/usr/bin:/bin",
                              "LANG=C.UTF-8", "TERM=dumb", "PWD=/workspace", WHO, NULL });
        bench_free(b);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_base_set_is_closed),
                cmocka_unit_test(without_a_network_nothing_is_tried_again),
                cmocka_unit_test(the_base_set_is_closed),
                cmocka_unit_test(the_prompt_names_the_sandbox_in_the_words_of_the_shell),
                cmocka_unit_test(a_language_of_sane_length_comes_along),
                cmocka_unit_test(tools_come_first_in_path),
                cmocka_unit_test(path_has_no_writable_place_where_commands_wait),
                cmocka_unit_test(what_is_named_passes_through_if_it_is_there),
                cmocka_unit_test(secrets_are_bound_to_their_names),
                cmocka_unit_test(a_secret_that_cannot_be_bound_refuses),
                cmocka_unit_test(without_a_source_nothing_is_bound),
                cmocka_unit_test(a_later_value_replaces_an_earlier_one_where_it_stood),
                cmocka_unit_test(the_callers_word_goes_before_a_secret),
                cmocka_unit_test(a_bad_name_is_refused),
                cmocka_unit_test(there_is_room_for_so_many_and_no_more),
                cmocka_unit_test(no_memory_is_no_answer),
                cmocka_unit_test(everything_is_kept_only_where_it_is_asked),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
