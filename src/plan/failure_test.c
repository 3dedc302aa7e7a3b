/* plan/failure_test.c - a step that failed, in words: what plan/failure.h promises. */
#include "base/unit.h"
#include "plan/failure.h"

#include <errno.h>
#include <string.h>

struct failure_case {
        enum step_op op;
        int sys;
        enum error_code code;
        const char *reason;
};

#define UNAVAILABLE ERROR_CAPABILITY_UNAVAILABLE

static const struct failure_case cases[] = {
        { STEP_BIND, ESTALE, ERROR_MOUNT_UNRESOLVABLE, "changed" },
        { STEP_BIND, ENOENT, ERROR_MOUNT_UNRESOLVABLE, "not_found" },
        { STEP_BIND, ELOOP, ERROR_MOUNT_UNRESOLVABLE, "symlink" },
        { STEP_DIR, EROFS, ERROR_MOUNT_UNRESOLVABLE, "read_only_parent" },
        { STEP_DIR, ELOOP, ERROR_MOUNT_UNRESOLVABLE, "symlink" },
        { STEP_FREEZE, ELOOP, ERROR_MOUNT_DENIED, "protected_symlink" },
        { STEP_OVERLAY, EINVAL, UNAVAILABLE, "overlay" },
        { STEP_OVERLAY, EPERM, UNAVAILABLE, "overlay" },
        { STEP_TREE, EINVAL, UNAVAILABLE, "idmap" },
        { STEP_LEASE, EPERM, ERROR_BACKEND_FAILED, "runtime_dir" },
        { STEP_LANDLOCK_ALLOW, EOPNOTSUPP, UNAVAILABLE, "landlock" },
        { STEP_LANDLOCK_ALLOW, ENOSYS, UNAVAILABLE, "landlock" },
        { STEP_WALL, EPERM, ERROR_EGRESS_UNENFORCEABLE, "wall" },
        { STEP_ROUTED, EOPNOTSUPP, ERROR_EGRESS_UNENFORCEABLE, "no_veth" },
        { STEP_ROUTED, EROFS, ERROR_EGRESS_UNENFORCEABLE, "routed" },
        { STEP_TAP, ENOENT, ERROR_EGRESS_UNENFORCEABLE, "no_tun" },
        { STEP_TAP, EACCES, ERROR_EGRESS_UNENFORCEABLE, "no_tun" },
        { STEP_TAP, ENOSPC, ERROR_QUOTA_EXCEEDED, "namespaces" },
        { STEP_TAP, EPERM, ERROR_EGRESS_UNENFORCEABLE, "tap" },
        { STEP_JOIN, ENODEV, ERROR_EGRESS_UNENFORCEABLE, "machine_network" },
        { STEP_FILTER, EINVAL, UNAVAILABLE, "seccomp" },
        { STEP_SPAWN, EPERM, UNAVAILABLE, "namespaces" },
        { STEP_SPAWN, ENOSPC, ERROR_QUOTA_EXCEEDED, "namespaces" },
        { STEP_PROC, EPERM, UNAVAILABLE, "proc" },
        { STEP_MAP_UID, EPERM, UNAVAILABLE, "user_namespaces" },
        /* other numbers of the same steps, and steps without a row */
        { STEP_BIND, EIO, ERROR_BACKEND_FAILED, "bind" },
        { STEP_TREE, EPERM, ERROR_BACKEND_FAILED, "tree" },
        { STEP_LEASE, EACCES, ERROR_BACKEND_FAILED, "lease" },
        { STEP_CGROUP_MAKE, EEXIST, ERROR_BACKEND_FAILED, "cgroup_make" },
        { STEP_ENTER, EINVAL, ERROR_BACKEND_FAILED, "enter" },
        /* a shortage is no missing capability */
        { STEP_PROC, EMFILE, ERROR_BACKEND_FAILED, "proc" },
        { STEP_SPAWN, EAGAIN, ERROR_BACKEND_FAILED, "spawn" },
        { STEP_OVERLAY, ENOMEM, ERROR_BACKEND_FAILED, "overlay" },
        { STEP_WALL, ENFILE, ERROR_BACKEND_FAILED, "wall" },
        { STEP_FILE, ENOSPC, ERROR_STORAGE_FULL, "" },
        { STEP_LEASE, EDQUOT, ERROR_STORAGE_FULL, "" },
        { STEP_DROP_CAPS, 0, ERROR_BACKEND_FAILED, "drop_caps" },
        { STEP_DROP_CAPS, -1, ERROR_BACKEND_FAILED, "drop_caps" },
        { STEP_DROP_CAPS, INT32_MAX, ERROR_BACKEND_FAILED, "drop_caps" },
};

static struct plan
plan_of(const struct step *s)
{
        return (struct plan){ .id = "0123456789abcdef", .steps = s, .step_count = 1 };
}

static void
every_failure_names_its_step_and_its_reason(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                const struct failure_case *c = &cases[i];
                const struct step s = { .op = c->op,
                                        .source = STEP_NO_SOURCE,
                                        .path = "/place/of/it",
                                        .text = "",
                                        .why = "" };
                const struct plan plan = plan_of(&s);
                struct error e = { .code = ERROR_NONE };

                assert_int_equal(plan_step_failed(&e, &plan, 0, c->sys), -1);
                if (e.code != c->code || strcmp(e.reason, c->reason) != 0)
                        fail_msg("%s, %d: %s %s", step_name(c->op), c->sys, error_wire_name(e.code),
                                 e.reason);
                assert_int_equal(e.sys, c->sys);
                assert_non_null(strstr(e.message, step_name(c->op)));
                assert_non_null(strstr(e.message, "/place/of/it"));
                assert_true(error_hint_text(&e)[0] != '\0');
        }
}

/* Any step and any number gives a sentence, a hint and a code that is not "none". */
static void
every_step_fails_in_words(void **state)
{
        (void)state;
        for (int op = 0; op < STEP_MAX; op++) {
                const struct step s = { .op = (enum step_op)op,
                                        .source = STEP_NO_SOURCE,
                                        .path = "/p",
                                        .text = "",
                                        .why = "" };
                const struct plan plan = plan_of(&s);

                for (int sys = 0; sys < 140; sys++) {
                        struct error e = { .code = ERROR_NONE };

                        assert_int_equal(plan_step_failed(&e, &plan, 0, sys), -1);
                        assert_true(e.code != ERROR_NONE && e.message[0] != '\0' &&
                                    error_hint_text(&e)[0] != '\0');
                        assert_int_equal(e.sys, sys);
                }
        }
}

static void
a_long_path_is_cut_not_spilt(void **state)
{
        static char path[4000];
        const struct step s = {
                .op = STEP_BIND, .source = STEP_NO_SOURCE, .path = path, .text = "", .why = ""
        };
        const struct plan plan = plan_of(&s);
        struct error e;

        (void)state;
        memset(path, 'x', sizeof path - 1);
        assert_int_equal(plan_step_failed(&e, &plan, 0, ESTALE), -1);
        assert_int_equal(e.code, ERROR_MOUNT_UNRESOLVABLE);
        assert_true(strlen(e.message) < sizeof e.message);
}

static void
a_step_that_is_not_in_the_plan_is_a_broken_protocol(void **state)
{
        static const size_t strangers[] = { 1, 2, UINT32_MAX, SIZE_MAX };
        const struct step s = {
                .op = STEP_SPAWN, .source = STEP_NO_SOURCE, .path = "", .text = "", .why = ""
        };
        const struct plan plan = plan_of(&s), empty = { .id = "0123456789abcdef" };
        struct error e;

        (void)state;
        for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++) {
                e = (struct error){ .code = ERROR_NONE };
                assert_int_equal(plan_step_failed(&e, &plan, strangers[i], EPROTO), -1);
                assert_int_equal(e.code, ERROR_PROTOCOL);
                assert_int_equal(e.sys, EPROTO);
        }
        assert_int_equal(plan_step_failed(&e, &empty, 0, ENOSPC), -1);
        assert_int_equal(e.code, ERROR_PROTOCOL);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_failure_names_its_step_and_its_reason),
                cmocka_unit_test(every_step_fails_in_words),
                cmocka_unit_test(a_long_path_is_cut_not_spilt),
                cmocka_unit_test(a_step_that_is_not_in_the_plan_is_a_broken_protocol),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
