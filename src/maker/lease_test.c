/* maker/lease_test.c - what maker/lease.h promises. */
#include "base/unit.h"
#include "maker/lease.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scoped.h"

enum { PLAN_ROOM = 4096 };

/* A runtime directory, and plain directories in place of groups. */
struct bench {
        char base[40], run[64], work[64], group[64];
        _Alignas(8) unsigned char plan[PLAN_ROOM];
        size_t plan_len;
};

static struct bench b;

static int
bench_open(void **state)
{
        (void)state;
        (void)snprintf(b.base, sizeof b.base, "%s", "/tmp/carrel-lease-XXXXXX");
        if (!mkdtemp(b.base))
                return -1;
        (void)snprintf(b.run, sizeof b.run, "%s/run", b.base);
        (void)snprintf(b.work, sizeof b.work, "%s/work", b.base);
        (void)snprintf(b.group, sizeof b.group, "%s/group", b.base);
        return mkdir(b.run, 0700) < 0 || mkdir(b.work, 0700) < 0 ? -1 : 0;
}

/* rmdir() fails if a test left a file behind. */
static int
bench_close(void **state)
{
        (void)state;
        return rmdir(b.run) < 0 || rmdir(b.work) < 0 || rmdir(b.base) < 0 ? -1 : 0;
}

static const char *
in(const char *directory, const char *name)
{
        static char paths[4][160];
        static unsigned turn;
        char *path = paths[turn++ % 4];

        (void)snprintf(path, sizeof paths[0], "%s/%s", directory, name);
        return path;
}

static bool
is_there(const char *path)
{
        struct stat st;

        return lstat(path, &st) == 0;
}

static struct step
step_of(enum step_op op, const char *path, const char *text)
{
        return (struct step){ .op = op,
                              .source = STEP_NO_SOURCE,
                              .path = path,
                              .text = text,
                              .text_len = strlen(text),
                              .why = "" };
}

/* Packs a plan with a group or without one; GUARD and KEEPING steps are nothing to undo. */
static void
pack_plan(bool has_group)
{
        struct step steps[5] = { step_of(STEP_LEASE, "/x.lease", "") };
        size_t count = 1;

        if (has_group)
                steps[count++] = step_of(STEP_CGROUP_MAKE, b.group, "");
        steps[count++] = step_of(STEP_KEEPING, b.work, "");
        steps[count++] = step_of(STEP_GUARD, b.work, "m.bashrc");
        steps[count++] = step_of(STEP_SPAWN, "", "");
        b.plan_len = plan_pack_len(steps, count);
        assert_in_range(b.plan_len, 1, PLAN_ROOM);
        plan_pack(steps, count, 1, b.plan);
}

static void
make_bashrc(void)
{
        scoped_fd int fd =
                open(in(b.work, ".bashrc"), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

        assert_true(fd >= 0);
}

static void
do_plan(void)
{
        struct plan_view view;

        assert_int_equal(plan_unpack(b.plan, b.plan_len, &view), 0);
        for (uint32_t i = 0; i < view.step_count; i++) {
                struct step s = plan_view_step(&view, i);

                if (s.op == STEP_CGROUP_MAKE)
                        assert_int_equal(mkdir(s.path, 0700), 0);
        }
}

/*
 * Writes a file of the runtime directory as a killed runtime leaves it: no process holds its lock.
 */
static void
leave(const char *name, const void *bytes, size_t len)
{
        scoped_fd int fd = open(in(b.run, name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

        assert_true(fd >= 0);
        assert_int_equal(write(fd, bytes, len), (ssize_t)len);
}

/* -- the life of one lease --------------------------------------------------------------------- */

static void
it_is_locked_from_its_first_name_to_its_last(void **state)
{
        const char *path = in(b.run, "0123.lease");
        unsigned char content[PLAN_ROOM];
        struct stat st;
        int fd;

        (void)state;
        pack_plan(false);
        fd = lease_open(path, b.plan, b.plan_len, true);
        assert_true(fd >= 0);
        assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
        {
                scoped_fd int other = open(path, O_RDONLY | O_CLOEXEC);

                assert_int_equal(read(other, content, sizeof content), (ssize_t)b.plan_len);
                assert_memory_equal(content, b.plan, b.plan_len);
                assert_int_equal(flock(other, LOCK_SH | LOCK_NB), -1);
                assert_int_equal(fstat(other, &st), 0);
                assert_int_equal(st.st_mode & 07777, 0600);
        }
        assert_int_equal(lease_open(path, b.plan, b.plan_len, true), -EEXIST);
        assert_true(is_there(path));
        lease_close(path, fd);
        assert_false(is_there(path));
        lease_close(path, -1);
}

static void
its_directory_is_made_for_the_caller_alone(void **state)
{
        const char *path = in(b.run, "new/0123.lease");
        struct stat st;
        int fd;

        (void)state;
        pack_plan(false);
        fd = lease_open(path, b.plan, b.plan_len, true);
        assert_true(fd >= 0);
        assert_int_equal(stat(in(b.run, "new"), &st), 0);
        assert_int_equal(st.st_mode & 07777, 0700);
        lease_close(path, fd);
        assert_int_equal(rmdir(in(b.run, "new")), 0);
}

/* -- directories ------------------------------------------------------------------------------- */

/* If anything is wrong with the directory, nothing in it is collected. */
static void
refuses_directory(const char *directory, int result, const char *what)
{
        int fd = lease_open(in(directory, "0123.lease"), b.plan, b.plan_len, true);
        int collected = lease_collect(directory);

        if (fd != result || collected != result)
                fail_msg("%s: %d and %d, not %d", what, fd, collected, result);
}

static void
a_directory_of_others_is_refused(void **state)
{
        static const mode_t open_modes[] = { 0755, 0770, 0701, 0710, 0704, 0777, 01777 };
        char link[64], file[64];

        (void)state;
        (void)snprintf(link, sizeof link, "%s/link", b.base);
        (void)snprintf(file, sizeof file, "%s/file", b.base);
        pack_plan(false);
        leave("left.lease", b.plan, b.plan_len);
        for (size_t i = 0; i < sizeof open_modes / sizeof *open_modes; i++) {
                assert_int_equal(chmod(b.run, open_modes[i]), 0);
                refuses_directory(b.run, -EPERM, "an open mode");
        }
        assert_int_equal(chmod(b.run, 0700), 0);
        if (geteuid() == 0) {
                assert_int_equal(chown(b.run, 1234, 0), 0);
                refuses_directory(b.run, -EPERM, "another owner");
                assert_int_equal(chown(b.run, 0, 0), 0);
        }
        assert_int_equal(symlink(b.run, link), 0);
        refuses_directory(link, -ENOTDIR, "a link to a good one");
        assert_int_equal(symlink("/nowhere/at/all", file), 0);
        refuses_directory(file, -ENOTDIR, "a link to nothing");
        assert_int_equal(unlink(file) + unlink(link), 0);
        {
                scoped_fd int fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

                assert_true(fd >= 0);
        }
        refuses_directory(file, -ENOTDIR, "a file");
        assert_int_equal(unlink(file), 0);
        assert_true(is_there(in(b.run, "left.lease")));
        assert_int_equal(lease_collect(b.run), 0);
        assert_false(is_there(in(b.run, "left.lease")));
}

static void
a_path_without_a_directory_is_refused(void **state)
{
        static char longest[5000];

        (void)state;
        pack_plan(false);
        memset(longest, 'x', sizeof longest - 1);
        longest[0] = longest[sizeof longest - 3] = '/';
        assert_int_equal(lease_open("0123.lease", b.plan, b.plan_len, true), -EINVAL);
        assert_int_equal(lease_open("/0123.lease", b.plan, b.plan_len, true), -EINVAL);
        assert_int_equal(lease_open(longest, b.plan, b.plan_len, true), -EINVAL);
        assert_int_equal(lease_open(in(b.base, "no/way/0123.lease"), b.plan, b.plan_len, true),
                         -ENOENT);
        assert_int_equal(lease_collect(in(b.base, "missing")), -ENOENT);
        assert_false(is_there(in(b.base, "missing")));
}

/* -- collecting -------------------------------------------------------------------------------- */

/* P1: the next start undoes what a killed runtime left, with or without a lease of its own. */
static void
what_was_abandoned_is_undone(void **state)
{
        (void)state;
        for (int way = 0; way < 2; way++) {
                int fd = -1;

                pack_plan(true);
                do_plan();
                leave("dead.lease", b.plan, b.plan_len);
                pack_plan(false);
                if (way == 0)
                        assert_int_equal(lease_collect(b.run), 0);
                else
                        assert_true((fd = lease_open(in(b.run, "new.lease"), b.plan, b.plan_len,
                                                     true)) >= 0);
                assert_false(is_there(b.group));
                assert_false(is_there(in(b.run, "dead.lease")));
                lease_close(in(b.run, "new.lease"), fd);
        }
}

static void
what_lives_is_left_alone(void **state)
{
        int fd;

        (void)state;
        pack_plan(true);
        fd = lease_open(in(b.run, "live.lease"), b.plan, b.plan_len, true);
        assert_true(fd >= 0);
        do_plan();
        assert_int_equal(lease_collect(b.run), 0);
        assert_true(is_there(in(b.run, "live.lease")) && is_there(b.group));

        (void)close(fd); /* as the kernel does when a maker is killed */
        assert_int_equal(lease_collect(b.run), 0);
        assert_false(is_there(in(b.run, "live.lease")) || is_there(b.group));
}

/*
 * A guarded name that the host created later belongs to the host: neither collecting nor undoing
 * touches a workspace.
 */
static void
no_workspace_is_touched(void **state)
{
        struct plan_view view;

        (void)state;
        pack_plan(true);
        do_plan();
        make_bashrc();
        leave("dead.lease", b.plan, b.plan_len);
        assert_int_equal(lease_collect(b.run), 0);
        assert_true(is_there(in(b.work, ".bashrc")));
        assert_false(is_there(b.group));

        do_plan(); /* the same for a runtime that ends normally */
        assert_int_equal(plan_unpack(b.plan, b.plan_len, &view), 0);
        lease_undo(&view);
        assert_true(is_there(in(b.work, ".bashrc")));
        assert_int_equal(unlink(in(b.work, ".bashrc")), 0);
}

static void
an_undone_plan_without_a_lease_leaves_nothing(void **state)
{
        struct plan_view view;

        (void)state;
        pack_plan(true);
        do_plan();
        assert_int_equal(plan_unpack(b.plan, b.plan_len, &view), 0);
        lease_undo(&view);
        assert_false(is_there(b.group));
        assert_false(is_there(in(b.work, ".bashrc")));
        lease_undo(&view); /* steps that were never applied are skipped */
        assert_false(is_there(b.group));
}

static void
garbage_is_cleared_and_moves_nothing(void **state)
{
        static unsigned char large[PLAN_PACK_MAX + 8];

        (void)state;
        pack_plan(true);
        do_plan();
        make_bashrc();
        leave("empty.lease", "", 0);
        leave("text.lease", "a lease, but no plan\n", 21);
        leave("short.lease", b.plan, b.plan_len - 1);
        memcpy(large, b.plan, b.plan_len);
        leave("long.lease", large, sizeof large);
        b.plan[4] ^= 1; /* another version */
        leave("version.lease", b.plan, b.plan_len);
        assert_int_equal(lease_collect(b.run), 0);
        assert_true(is_there(in(b.work, ".bashrc")) && is_there(b.group));
        assert_int_equal(unlink(in(b.work, ".bashrc")) + rmdir(b.group), 0);
        /* bench_close() checks that the runtime directory is empty */
}

static void
what_is_no_lease_stays(void **state)
{
        static const char *const names[] = { "note", ".lease", "x.leases", "x.lease.tmp", "lease" };

        (void)state;
        pack_plan(true);
        do_plan();
        make_bashrc();
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
                leave(names[i], b.plan, b.plan_len);
        {
                scoped_fd int fd =
                        open(in(b.work, "victim"), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

                assert_int_equal(write(fd, b.plan, b.plan_len), (ssize_t)b.plan_len);
        }
        assert_int_equal(symlink(in(b.work, "victim"), in(b.run, "link.lease")), 0);
        assert_int_equal(mkdir(in(b.run, "directory.lease"), 0700), 0);
        assert_int_equal(mkfifo(in(b.run, "fifo.lease"), 0600), 0);

        assert_int_equal(lease_collect(b.run), 0);
        assert_true(is_there(in(b.work, "victim")) && is_there(in(b.work, ".bashrc")) &&
                    is_there(b.group));
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
                assert_int_equal(unlink(in(b.run, names[i])), 0);
        assert_int_equal(unlink(in(b.run, "link.lease")) + rmdir(in(b.run, "directory.lease")), 0);
        (void)unlink(in(b.run, "fifo.lease"));
        assert_int_equal(
                unlink(in(b.work, "victim")) + unlink(in(b.work, ".bashrc")) + rmdir(b.group), 0);
}

int
main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, bench_open, bench_close)
        const struct CMUnitTest tests[] = {
                CASE(it_is_locked_from_its_first_name_to_its_last),
                CASE(its_directory_is_made_for_the_caller_alone),
                CASE(a_directory_of_others_is_refused),
                CASE(a_path_without_a_directory_is_refused),
                CASE(what_was_abandoned_is_undone),
                CASE(what_lives_is_left_alone),
                CASE(no_workspace_is_touched),
                CASE(an_undone_plan_without_a_lease_leaves_nothing),
                CASE(garbage_is_cleared_and_moves_nothing),
                CASE(what_is_no_lease_stays),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
