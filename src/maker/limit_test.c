/* maker/limit_test.c - what maker/limit.h promises, with files of a directory as a group. */
#include "base/unit.h"
#include "maker/limit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/scoped.h"

enum { ROOM = 256, STEPS = 4 };

static char directory[] = "/tmp/carrel-limit-XXXXXX";

static const char *const files[] = { "memory.max",      "memory.high", "memory.current",
                                     "memory.swap.max", "pids.max",    "pids.current",
                                     "cpu.max",         "io.max" };

static const char *
in_directory(const char *name)
{
        static char paths[2 * STEPS][ROOM];
        static size_t next;
        char *path = paths[next++ % (2 * STEPS)];

        (void)snprintf(path, ROOM, "%s/%s", directory, name);
        return path;
}

/* The kernel's files are replaced by a write, ordinary ones overwritten: the texts have one length.
 */
static void
put(const char *name, const char *text)
{
        scoped_fd int fd = open(in_directory(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        assert_true(fd >= 0);
        assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static const char *
get(const char *name)
{
        static char text[ROOM];
        scoped_fd int fd = open(in_directory(name), O_RDONLY | O_CLOEXEC);
        ssize_t len = read(fd, text, sizeof text - 1);

        assert_true(len >= 0);
        text[len] = '\0';
        return text;
}

static struct step
limit_step(const char *name, const char *text)
{
        return (struct step){ .op = STEP_CGROUP_LIMIT,
                              .source = STEP_NO_SOURCE,
                              .path = in_directory(name),
                              .text = text,
                              .text_len = strlen(text) };
}

static _Alignas(8) unsigned char own_bytes[8192];
static struct plan_view own;

/* Sends these steps, and gives the answer. */
static struct wire_limited
serve(uint64_t number, enum wire_limit_what what, const struct step *steps, size_t count)
{
        static _Alignas(8) unsigned char body[WIRE_LIMIT_MAX];
        struct wire_limit head = { .number = number, .what = what };
        size_t len = count > 0 ? plan_pack_len(steps, count) : 0;
        struct wire_limited told;

        memcpy(body, &head, sizeof head);
        if (count > 0)
                plan_pack(steps, count, 0, body + sizeof head);
        limit_serve(&own, body, sizeof head + len, &told);
        assert_int_equal(told.number, number);
        return told;
}

static int
make_group(void **state)
{
        struct step steps[STEPS];

        (void)state;
        if (!mkdtemp(directory))
                return -1;
        put("memory.max", "1000");
        put("memory.high", "none");
        put("memory.current", "500");
        put("pids.max", "100");
        put("pids.current", "7");
        put("cpu.max", "100000 100000");
        put("io.max", "8:0 rbps=1000");
        steps[0] = limit_step("memory.max", "1000");
        steps[1] = limit_step("pids.max", "100");
        steps[2] = limit_step("cpu.max", "100000 100000");
        steps[3] = limit_step("io.max", "8:0 rbps=1000");
        plan_pack(steps, STEPS, 0, own_bytes);
        return plan_unpack(own_bytes, plan_pack_len(steps, STEPS), &own);
}

static int
remove_group(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof files / sizeof *files; i++)
                (void)unlink(in_directory(files[i]));
        return rmdir(directory);
}

static void
what_is_used_is_answered(void **state)
{
        struct wire_limited told = serve(1, WIRE_LIMIT_ASK, NULL, 0);

        (void)state;
        assert_int_equal(told.sys, 0);
        assert_int_equal(told.memory_bytes, 500);
        assert_int_equal(told.tasks, 7);
}

static void
a_change_is_written_and_can_be_undone(void **state)
{
        struct step steps[] = { limit_step("memory.max", "2000"), limit_step("pids.max", "200"),
                                limit_step("cpu.max", "150000 100000"),
                                limit_step("io.max", "8:0 rbps=2000") };

        (void)state;
        assert_int_equal(serve(2, WIRE_LIMIT_SET, steps, STEPS).sys, 0);
        assert_string_equal(get("memory.max"), "2000");
        assert_string_equal(get("memory.high"), "max0"); /* "2000", then "max": no limit stays */
        assert_string_equal(get("pids.max"), "200");
        assert_string_equal(get("cpu.max"), "150000 100000");
        assert_string_equal(get("io.max"), "8:0 rbps=2000");
        assert_int_equal(serve(1, WIRE_LIMIT_UNDO, NULL, 0).sys, 0); /* not the last one */
        assert_string_equal(get("pids.max"), "200");
        assert_int_equal(serve(2, WIRE_LIMIT_UNDO, NULL, 0).sys, 0);
        assert_string_equal(get("memory.max"), "1000");
        assert_string_equal(get("pids.max"), "100");
        assert_string_equal(get("io.max"), "8:0 rbps=1000");
}

static void
memory_in_use_stays_and_nothing_else_changes(void **state)
{
        struct step steps[] = { limit_step("pids.max", "300"), limit_step("memory.max", "0400") };
        struct wire_limited told;

        (void)state;
        told = serve(3, WIRE_LIMIT_SET, steps, 2);
        assert_int_equal(told.sys, EBUSY);
        assert_int_equal(told.step, 1);
        assert_int_equal(told.memory_bytes, 500);
        assert_string_equal(get("memory.max"), "1000");
        assert_string_equal(get("pids.max"), "100");
        assert_int_equal(strncmp(get("memory.high"), "max", 3), 0);
}

/* No path of the message is written, only the files that the plan has limited. */
static void
only_files_of_the_plan_are_written(void **state)
{
        struct step elsewhere = { .op = STEP_CGROUP_LIMIT,
                                  .source = STEP_NO_SOURCE,
                                  .path = "/nowhere/pids.max",
                                  .text = "150",
                                  .text_len = 3 },
                    steps[] = { limit_step("pids.max", "400"), limit_step("memory.swap.max", "0") };
        struct wire_limited told;

        (void)state;
        put("memory.swap.max", "1");
        told = serve(4, WIRE_LIMIT_SET, steps, 2);
        assert_int_equal(told.sys, ENOENT);
        assert_int_equal(told.step, 1);
        assert_string_equal(get("memory.swap.max"), "1");
        assert_string_equal(get("pids.max"), "100");
        assert_int_equal(serve(5, WIRE_LIMIT_SET, &elsewhere, 1).sys, 0);
        assert_string_equal(get("pids.max"), "150");
        assert_int_equal(serve(5, WIRE_LIMIT_UNDO, NULL, 0).sys, 0);
        elsewhere.op = STEP_CGROUP_MAKE;
        assert_int_equal(serve(6, WIRE_LIMIT_SET, &elsewhere, 1).sys, EPROTO);
        steps[0] = limit_step("io.max", "8:16 rbps=9"); /* another disk */
        assert_int_equal(serve(7, WIRE_LIMIT_SET, steps, 1).sys, ENOENT);
}

/* A number that the kernel does not take as it is: the rest is taken back. */
static void
what_is_not_taken_is_taken_back(void **state)
{
        struct step steps[] = { limit_step("cpu.max", "250000 100000"),
                                limit_step("pids.max", "11") }; /* leaves "110" */

        (void)state;
        assert_int_equal(serve(8, WIRE_LIMIT_SET, steps, 2).sys, EIO);
        assert_string_equal(get("cpu.max"), "100000 100000");
        assert_string_equal(get("pids.max"), "100");
}

static void
a_message_that_is_none_changes_nothing(void **state)
{
        struct wire_limited told;
        _Alignas(8) unsigned char body[64] = { 0 };
        struct wire_limit head = { .number = 9, .what = WIRE_LIMIT_SET };

        (void)state;
        limit_serve(&own, body, sizeof head - 1, &told);
        assert_int_equal(told.sys, EPROTO);
        memcpy(body, &head, sizeof head);
        limit_serve(&own, body, sizeof body, &told);
        assert_int_equal(told.sys, EPROTO);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_is_used_is_answered),
                cmocka_unit_test(a_change_is_written_and_can_be_undone),
                cmocka_unit_test(memory_in_use_stays_and_nothing_else_changes),
                cmocka_unit_test(only_files_of_the_plan_are_written),
                cmocka_unit_test(what_is_not_taken_is_taken_back),
                cmocka_unit_test(a_message_that_is_none_changes_nothing),
        };

        return cmocka_run_group_tests(tests, make_group, remove_group);
}
