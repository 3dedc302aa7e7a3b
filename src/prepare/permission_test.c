/*
 * prepare/permission_test.c - which interpreters are refused, and which words a command becomes.
 */
#include "prepare/permission.h"

#include <string.h>

#include "base/unit.h"
#include "text/json.h"

struct bench {
        struct permission p;
        struct spec spec;
        struct arena arena;
        struct error e;
};

static void
set_up(struct bench *b, const char *config, const char *interpreter)
{
        memset(b, 0, sizeof *b);
        arena_init(&b->arena, 1 << 20);
        b->spec.provider = "example";
        b->p.spec = &b->spec;
        b->p.interpreter = interpreter;
        b->p.cwd = "/work";
        assert_int_equal(json_read(&b->arena, config, strlen(config), &text_limits_manifest,
                                   &b->spec.config, &b->e),
                         0);
}

static void
an_interpreter_is_refused_by_name(void **state)
{
        static const struct runtime old = { "node", "18.19.1", "/usr/bin/node", NULL },
                                    usable = { "node", "20.0.0", "/usr/bin/node", NULL };
        static const struct runtimes none = { NULL, 0 }, older = { &old, 1 },
                                     newer = { &usable, 1 };
        struct bench b;

        (void)state;
        set_up(&b, "{}", "node");
        assert_int_equal(permission_check(&b.p, &older, &b.e), -1);
        assert_string_equal(b.e.reason, "too_old");
        assert_int_equal(b.e.code, ERROR_CAPABILITY_UNAVAILABLE);
        assert_int_equal(permission_check(&b.p, &newer, &b.e), 0);
        b.p.interpreter = "carrel-no-such-interpreter";
        assert_int_equal(permission_check(&b.p, &none, &b.e), -1);
        assert_string_equal(b.e.reason, "missing");
        b.p.interpreter = NULL;
        assert_int_equal(permission_check(&b.p, &none, &b.e), 0);
        arena_fini(&b.arena);
}

static const char *
words_of(struct bench *b, const char *first, const char *second, const char *third)
{
        static char text[512];
        const char *const argv[] = { first, second, third, NULL };
        struct wire_command c = { .argv = argv };

        while (c.head.argc < 3 && argv[c.head.argc])
                c.head.argc++;
        if (permission_words(&b->arena, &b->p, &c, &b->e) < 0)
                return b->e.reason;
        text[0] = '\0';
        for (uint32_t i = 4; i < c.head.argc; i++) { /* after sh -c TEXT node */
                (void)strncat(text, " ", sizeof text - strlen(text) - 1);
                (void)strncat(text, c.argv[i], sizeof text - strlen(text) - 1);
        }
        return text;
}

static void
each_command_gets_its_grants(void **state)
{
        static const struct spec_mount mounts[] = { { .at = "/work", .is_read_only = true },
                                                    { .at = "/out" } };
        struct bench b;

        (void)state;
        set_up(&b, "{}", "node");
        b.spec.mounts = mounts;
        b.spec.mount_count = 2;
        assert_string_equal(words_of(&b, "node", "a.js", "-x"),
                            " --allow-fs-read=/home/agent --allow-fs-write=/home/agent "
                            "--allow-fs-read=/tmp --allow-fs-write=/tmp --allow-fs-read=/work "
                            "--allow-fs-read=/out --allow-fs-write=/out a.js -x");
        assert_string_equal(words_of(&b, "sh", "a.js", NULL), "not_interpreter");
        assert_string_equal(words_of(&b, "node", NULL, NULL), "options");
        assert_string_equal(words_of(&b, "node", "--allow-fs-read=*", "a.js"), "options");
        arena_fini(&b.arena);
        set_up(&b, "{\"tools\":{\"a.js\":{\"write\":[\"/out\"],\"allow\":[\"worker\"]}}}", "node");
        assert_string_equal(
                words_of(&b, "node", "a.js", NULL),
                " --allow-fs-read=/work/a.js --allow-fs-write=/out --allow-worker a.js");
        assert_string_equal(words_of(&b, "node", "b.js", NULL), "no_grants");
        assert_string_equal(words_of(&b, "node", "-e", "1"), "options");
        arena_fini(&b.arena);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(an_interpreter_is_refused_by_name),
                cmocka_unit_test(each_command_gets_its_grants),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
