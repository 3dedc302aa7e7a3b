/*
 * changes/look_test.c - what changed between two looks is found, whatever a program does to times
 * and names, and nothing is waited for.
 */
#include "changes/look.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/unit.h"
#include "base/unit_directory.h"
#include "clock/clock.h"

enum { ROWS_ROOM = 1 << 22, MANY = 300, ORDINARY_UID = 1000 };

static char directory[64];
static int top = -1;
static struct changes *changes;
static struct changes_root root;
static struct changes_look asked;
static struct changes_result found;
static struct error error;
/* the rows of the last look, of what changed before `since_ms` and since, each on a line */
static struct buffer rows[2];

static int
take_rows(void *ctx, bool is_by, const struct json_writer *list, struct error *e)
{
        (void)ctx;
        (void)e;
        if (buffer_add(&rows[is_by], list->text, list->len, ROWS_ROOM) < 0)
                fail_msg("no memory for rows");
        return 0;
}

static int
set_up(void **state)
{
        (void)state;
        if (unit_directory_make(directory, "changes", false) < 0)
                return -1;
        top = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
        root = (struct changes_root){ top, "/w", NULL, false };
        asked = (struct changes_look){
                .roots = &root, .root_count = 1, .rows_max = CHANGES_ROWS_MAX, .part = take_rows
        };
        changes = changes_new();
        return changes ? 0 : -1;
}

static int
tear_down(void **state)
{
        (void)state;
        changes_free(changes);
        (void)close(top);
        buffer_fini(&rows[0]);
        buffer_fini(&rows[1]);
        return unit_directory_remove(directory);
}

static void
put(const char *name, const char *text)
{
        int fd = openat(top, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

        if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) || close(fd) < 0)
                fail_msg("cannot write %s", name);
}

static void
begin(void)
{
        assert_int_equal(changes_begin(changes, &asked, &found, &error), 0);
}

static void
look(void)
{
        buffer_fini(&rows[0]);
        buffer_fini(&rows[1]);
        assert_int_equal(changes_look(changes, &asked, &found, &error), 0);
}

/* Until the clock that stamps inodes has gone on: what is there now is not compared by digest. */
static void
let_it_settle(void)
{
        uint64_t until = clock_wall_ms() + 2 * CHANGES_TICK_MS;

        while (clock_wall_ms() < until)
                (void)usleep(1000);
}

static void
has_row(const char *event, const char *path, const char *rest)
{
        char start[256];
        const char *at;

        (void)snprintf(start, sizeof start, "{\"event\":\"%s\",\"path\":\"%s\"", event, path);
        at = rows[1].bytes ? strstr(rows[1].bytes, start) : NULL;
        if (!at || !strstr(at, rest) || strstr(at, rest) > strchr(at, '}'))
                fail_msg("no row %s %s in %s", start, rest, rows[1].bytes ? rows[1].bytes : "");
}

static void
has_rows(size_t count)
{
        if (found.rows != count)
                fail_msg("%zu rows, expected %zu: %s", (size_t)found.rows, count,
                         rows[1].bytes ? rows[1].bytes : "");
}

static void
what_a_name_can_undergo(void **state)
{
        struct timespec old[2] = { { 1, 0 }, { 1, 0 } };
        struct stat st;

        (void)state;
        put("same-size", "before");
        put("mode", "x");
        put("renamed", "x");
        put("removed", "x");
        put("untouched", "x");
        assert_int_equal(mkdirat(top, "tree", 0755), 0);
        put("tree/leaf", "leaf");
        assert_int_equal(symlinkat("untouched", top, "link"), 0);
        assert_int_equal(utimensat(top, "same-size", old, 0), 0);
        let_it_settle();
        begin();
        look();
        has_rows(0);
        assert_true(changes_result_is_whole(&found));

        put("same-size", "after!");
        assert_int_equal(utimensat(top, "same-size", old, 0), 0);
        assert_int_equal(fstatat(top, "same-size", &st, 0), 0);
        assert_int_equal(st.st_mtim.tv_sec, 1);
        assert_int_equal(fchmodat(top, "mode", 0600, 0), 0);
        assert_int_equal(renameat(top, "renamed", top, "new-name"), 0);
        assert_int_equal(unlinkat(top, "removed", 0), 0);
        assert_int_equal(renameat(top, "tree", top, "wood"), 0);
        assert_int_equal(unlinkat(top, "link", 0), 0);
        assert_int_equal(symlinkat("/etc/passwd", top, "link"), 0);
        assert_int_equal(mkfifoat(top, "fifo", 0600), 0);
        put("caf\xc3\xa9", "");
        put("a\xff'b", "");
        look();
        has_row("changed", "/w/same-size", "\"sha256\":\"f778dacc09a32699");
        has_row("changed", "/w/mode", "\"mode\":\"0600\"");
        has_row("removed", "/w/renamed", "file");
        has_row("added", "/w/new-name", "\"bytes\":1");
        has_row("removed", "/w/removed", "file");
        has_row("removed", "/w/tree", "directory");
        has_row("removed", "/w/tree/leaf", "file");
        has_row("added", "/w/wood", "directory");
        has_row("added", "/w/wood/leaf", "\"bytes\":4");
        has_row("changed", "/w/link", "\"target\":\"/etc/passwd\"");
        has_row("added", "/w/fifo", "\"kind\":\"fifo\"");
        has_row("added", "/w/caf\xc3\xa9", "file");
        has_row("added", "$'/w/a\\\\xff\\\\x27b'", "file");
        has_rows(13);
        look(); /* not adopted: they are found again */
        has_rows(13);
        changes_adopt(changes);
        look();
        has_rows(0);
}

static void
the_same_clock_tick(void **state)
{
        char text[8];

        (void)state;
        put("fast", "0000000");
        begin();
        for (int i = 1; i < MANY; i++) { /* faster than the clock that stamps inodes */
                (void)snprintf(text, sizeof text, "%07d", i);
                put("fast", text);
                look();
                has_rows(1);
                changes_adopt(changes);
        }
}

static void
who_changed_it(void **state)
{
        (void)state;
        put("before", "x");
        assert_int_equal(mkdirat(top, "tree", 0755), 0);
        put("tree/old", "x");
        begin();
        asked.since_ms = clock_wall_ms() + 60 * 1000;
        put("before", "y");
        look();
        assert_non_null(rows[0].bytes);
        assert_null(rows[1].bytes);
        asked.since_ms = clock_wall_ms();
        assert_int_equal(renameat(top, "tree", top, "moved"), 0);
        look();
        has_row("added", "/w/moved/old", "file"); /* though its own ctime is older */
        has_row("removed", "/w/tree/old", "file");
}

static void
without_a_base(void **state)
{
        (void)state;
        put("old", "x");
        asked.since_ms = clock_wall_ms() + 60 * 1000;
        look();
        has_rows(0);
        assert_true(found.has_no_base);
        asked.since_ms = clock_wall_ms();
        put("new", "x");
        look();
        has_row("changed", "/w/new", "file");
}

static void
bounds(void **state)
{
        char name[32];
        int dir = dup(top), sparse;

        (void)state;
        begin();
        put("zz", "x");
        for (int i = 0; i < MANY; i++) {
                (void)snprintf(name, sizeof name, "%d", i);
                put(name, "x");
        }
        asked.rows_max = 10;
        look();
        has_rows(10);
        assert_int_equal(found.more, MANY + 1 - 10);
        asked.rows_max = CHANGES_ROWS_MAX;
        look();
        has_rows(MANY + 1);
        changes_adopt(changes);
        put("sparse", "x");
        sparse = openat(top, "sparse", O_WRONLY | O_CLOEXEC);
        assert_int_equal(ftruncate(sparse, (off_t)CHANGES_BYTES_MAX * 4096), 0);
        (void)close(sparse);
        look();
        has_row("added", "/w/sparse", "\"error\":\"too_large\"");
        changes_adopt(changes);
        assert_int_equal(unlinkat(top, "sparse", 0), 0);
        for (int i = 0; i < CHANGES_DEPTH_MAX + 8; i++) {
                int next = mkdirat(dir, "d", 0755) < 0 ? -1 : openat(dir, "d", O_PATH | O_CLOEXEC);

                (void)close(dir);
                dir = next;
        }
        (void)close(dir);
        look();
        assert_true(found.is_too_deep);
        has_rows(CHANGES_DEPTH_MAX + 1);
        changes_adopt(changes);
        assert_int_equal(unlinkat(top, "zz", 0), 0);
        look();
        has_row("removed", "/w/zz", "file"); /* what is too deep hides nothing else */
        has_rows(1);
}

static void
a_directory_that_cannot_be_read(void **state)
{
        bool is_root = geteuid() == 0;

        (void)state;
        assert_int_equal(fchmodat(top, ".", 0755, 0), 0);
        assert_int_equal(mkdirat(top, "closed", 0755), 0);
        put("closed/in", "x");
        begin();
        put("closed/in", "y");
        assert_int_equal(fchmodat(top, "closed", 0, 0), 0);
        if (is_root) /* whom no mode keeps out */
                assert_int_equal(seteuid(ORDINARY_UID), 0);
        look();
        if (is_root)
                assert_int_equal(seteuid(0), 0);
        assert_int_equal(found.unreadable, 1);
        changes_adopt(changes);
        assert_int_equal(fchmodat(top, "closed", 0755, 0), 0);
        look();
        has_row("changed", "/w/closed/in", "file");
}

/* Only of a volume, and of all its names, whether they changed or not. */
static void
what_a_volume_holds(void **state)
{
        struct stat st;

        put("a", "text");
        assert_int_equal(fstatat(top, "a", &st, 0), 0);
        begin();
        assert_int_equal(found.volume_bytes, 0);
        root.is_volume = true;
        look();
        assert_int_equal(found.volume_bytes, st.st_blocks * 512);
        changes_adopt(changes);
        put("b", "text");
        look();
        assert_int_equal(found.volume_bytes, 2 * st.st_blocks * 512);
}

static void
what_the_sandbox_does_not_see(void **state)
{
        (void)state;
        root.hidden = "state/dir";
        assert_int_equal(mkdirat(top, "state", 0755), 0);
        assert_int_equal(mkdirat(top, "state/dir", 0755), 0);
        begin();
        put("state/dir/log", "x");
        put("state/other", "x");
        look();
        has_row("added", "/w/state/other", "file");
        has_rows(1);
}

static void
a_mount_that_appears(void **state)
{
        (void)state;
        put("in", "x");
        root.fd = -1;
        begin();
        root.fd = top;
        look();
        has_row("added", "/w/in", "file");
        changes_adopt(changes);
        root.fd = -1;
        look();
        has_row("removed", "/w/in", "file");
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(what_a_name_can_undergo, set_up, tear_down),
                cmocka_unit_test_setup_teardown(the_same_clock_tick, set_up, tear_down),
                cmocka_unit_test_setup_teardown(who_changed_it, set_up, tear_down),
                cmocka_unit_test_setup_teardown(without_a_base, set_up, tear_down),
                cmocka_unit_test_setup_teardown(bounds, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_directory_that_cannot_be_read, set_up, tear_down),
                cmocka_unit_test_setup_teardown(what_a_volume_holds, set_up, tear_down),
                cmocka_unit_test_setup_teardown(what_the_sandbox_does_not_see, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_mount_that_appears, set_up, tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
