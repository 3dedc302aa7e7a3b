/* sources/beneath_test.c - what sources/beneath.h promises. */
#include "base/unit.h"
#include "sources/beneath.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/scoped.h"

enum { MEMORY_MAX = 1 << 20, ROOM = 8 };

struct look_row {
        const char *what, *text, *root;
        const char *found[ROOM];
};

#define MOUNT(point) "36 35 98:0 / " point " rw,noatime shared:1 - ext4 /dev/sda1 rw\n"

static const struct look_row mount_rows[] = {
        { "nothing", "", "/w", { NULL } },
        { "the root itself", MOUNT("/w"), "/w", { NULL } },
        { "one below", MOUNT("/w/a"), "/w", { "a" } },
        { "deeper, in order", MOUNT("/w/a/b") MOUNT("/w/c"), "/w", { "a/b", "c" } },
        { "names that only look alike",
          MOUNT("/work") MOUNT("/w2/a") MOUNT("/ww") MOUNT("/") MOUNT("/x/w/a"),
          "/w",
          { NULL } },
        { "everything is below /",
          MOUNT("/") MOUNT("/proc") MOUNT("/a/b"),
          "/",
          { "proc", "a/b" } },
        { "a blank", MOUNT("/w/with\\040blank"), "/w", { "with blank" } },
        { "tab, line end, backslash", MOUNT("/w/\\011\\012\\134"), "/w", { "\t\n\\" } },
        { "a backslash before digits", MOUNT("/w/\\134040"), "/w", { "\\040" } },
        { "bytes above ASCII", MOUNT("/w/\\303\\251"), "/w", { "\303\251" } },
        { "an escape at the end that is none", MOUNT("/w/a\\04"), "/w", { "a\\04" } },
        { "no octal digits", MOUNT("/w/a\\9zz\\0*1"), "/w", { "a\\9zz\\0*1" } },
        { "too large for a byte", MOUNT("/w/a\\777"), "/w", { "a\\777" } },
        { "an escape in the root's own name", MOUNT("/my\\040work/a"), "/my work", { "a" } },
        { "no line end", "36 35 98:0 / /w/a rw", "/w", { "a" } },
        { "lines that stop early",
          "\n36\n36 35 98:0 /\n36 35 98:0 / \n" MOUNT("/w/a"),
          "/w",
          { "a" } },
        { "the mounted root is not the place",
          "36 35 98:0 /w/a /other rw - ext4 x rw\n",
          "/w",
          { NULL } },
        { "only a slash more", MOUNT("/w/"), "/w", { NULL } },
};

#define SOCKETS "Num       RefCount Protocol Flags    Type St Inode Path\n"
#define SOCKET(path) "0000000000000000: 00000002 00000000 00010000 0001 01 15837 " path "\n"

static const struct look_row socket_rows[] = {
        { "nothing at all", "", "/w", { NULL } },
        { "a head alone", SOCKETS, "/w", { NULL } },
        { "one below", SOCKETS SOCKET("/w/s"), "/w", { "s" } },
        { "one that nobody bound",
          SOCKETS "0000000000000000: 00000003 00000000 00000000 0001 03 17\n" SOCKET("/w/s"),
          "/w",
          { "s" } },
        { "an abstract one", SOCKETS SOCKET("@/w/s") SOCKET("@w"), "/w", { NULL } },
        { "a relative one", SOCKETS SOCKET("w/s"), "/w", { NULL } },
        { "blanks are part of the name",
          SOCKETS SOCKET("/w/my own socket"),
          "/w",
          { "my own socket" } },
        { "backslashes stand for themselves", SOCKETS SOCKET("/w/a\\040b"), "/w", { "a\\040b" } },
        { "names that only look alike",
          SOCKETS SOCKET("/work/s") SOCKET("/w.s") SOCKET("/w"),
          "/w",
          { NULL } },
        { "everything is below /", SOCKETS SOCKET("/run/a") SOCKET("/b"), "/", { "run/a", "b" } },
        { "a short inode is padded", SOCKETS "0: 2 0 10000 0001 01    17 /w/s\n", "/w", { "s" } },
        { "no line end", SOCKETS "0: 2 0 10000 0001 01 17 /w/s", "/w", { "s" } },
        { "the head is no socket", "0: 2 0 10000 0001 01 17 /w/s\n", "/w", { NULL } },
};

typedef size_t look_fn(struct arena *, const char *, const char *, const char **, size_t);

static void
check_rows(look_fn *look, const struct look_row *rows, size_t count)
{
        for (size_t i = 0; i < count; i++) {
                const char *found[ROOM];
                struct arena arena;
                size_t got, k = 0;

                arena_init(&arena, MEMORY_MAX);
                got = look(&arena, rows[i].text, rows[i].root, found, ROOM);
                while (k < got && rows[i].found[k] && strcmp(found[k], rows[i].found[k]) == 0)
                        k++;
                if (k < got || rows[i].found[k])
                        fail_msg("%s: found %zu, the %zuth differs", rows[i].what, got, k);
                arena_fini(&arena);
        }
}

static void
mounts_are_found_by_name(void **state)
{
        (void)state;
        check_rows(beneath_mounts, mount_rows, sizeof mount_rows / sizeof *mount_rows);
}

static void
sockets_are_found_by_name(void **state)
{
        (void)state;
        check_rows(beneath_sockets, socket_rows, sizeof socket_rows / sizeof *socket_rows);
}

static void
no_more_is_given_than_there_is_room_for(void **state)
{
        const char *found[3] = { NULL, NULL, "untouched" };
        struct arena arena;

        (void)state;
        arena_init(&arena, MEMORY_MAX);
        assert_int_equal(
                beneath_mounts(&arena, MOUNT("/w/a") MOUNT("/w/b") MOUNT("/w/c"), "/w", found, 2),
                2);
        assert_string_equal(found[2], "untouched");
        assert_int_equal(beneath_sockets(&arena,
                                         SOCKETS SOCKET("/w/a") SOCKET("/w/b") SOCKET("/w/c"), "/w",
                                         found, 2),
                         2);
        assert_string_equal(found[2], "untouched");
        arena_fini(&arena);
}

static bool
has(const char *const *items, size_t count, const char *text)
{
        for (size_t i = 0; i < count; i++)
                if (strcmp(items[i], text) == 0)
                        return true;
        return false;
}

static int
bind_socket(const char *directory, const char *name)
{
        struct sockaddr_un at = { .sun_family = AF_UNIX };
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        assert_true(fd >= 0);
        (void)snprintf(at.sun_path, sizeof at.sun_path, "%.60s/%.20s", directory, name);
        assert_int_equal(bind(fd, (const struct sockaddr *)(const void *)&at, sizeof at), 0);
        return fd;
}

static void
a_look_sees_this_machine(void **state)
{
        char directory[] = "/tmp/carrel-beneath-XXXXXX", path[96];
        struct plan_source source = { .host_path = directory, .is_directory = true };
        struct plan_source top = { .host_path = "/", .is_directory = true },
                           file = { .host_path = directory };
        struct arena arena;
        struct error e;

        (void)state;
        assert_non_null(mkdtemp(directory));
        {
                scoped_fd int fd = bind_socket(directory, "bound");

                (void)fd;
                arena_init(&arena, MEMORY_MAX);
                assert_int_equal(beneath_look(&arena, &source, &e), 0);
                assert_int_equal(source.submount_count, 0);
                assert_int_equal(source.socket_count, 1);
                assert_string_equal(source.sockets[0], "bound");
                if (beneath_look(&arena, &top, &e) ==
                    0) /* a host with too many mounts is refused here */
                        assert_true(has(top.submounts, top.submount_count, "proc"));
                else
                        assert_int_equal(e.code, ERROR_QUOTA_EXCEEDED);
                assert_int_equal(beneath_look(&arena, &file, &e), 0);
                assert_int_equal(file.submount_count + file.socket_count, 0);
                arena_fini(&arena);
        }
        (void)snprintf(path, sizeof path, "%s/bound", directory);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(rmdir(directory), 0);
}

static void
too_many_sockets_are_refused(void **state)
{
        char directory[] = "/tmp/carrel-beneath-XXXXXX", name[16], path[96];
        struct plan_source source = { .host_path = directory, .is_directory = true };
        struct arena arena;
        struct error e;
        int fds[65];

        (void)state;
        assert_non_null(mkdtemp(directory));
        for (int i = 0; i < 65; i++) {
                (void)snprintf(name, sizeof name, "s%d", i);
                fds[i] = bind_socket(directory, name);
        }
        arena_init(&arena, MEMORY_MAX);
        assert_int_equal(beneath_look(&arena, &source, &e), -1);
        assert_int_equal(e.code, ERROR_QUOTA_EXCEEDED);
        (void)close(fds[64]);
        assert_int_equal(beneath_look(&arena, &source, &e), 0);
        assert_int_equal(source.socket_count, 64);
        arena_fini(&arena);
        for (int i = 0; i < 65; i++) {
                if (i < 64)
                        (void)close(fds[i]);
                (void)snprintf(path, sizeof path, "%s/s%d", directory, i);
                assert_int_equal(unlink(path), 0);
        }
        assert_int_equal(rmdir(directory), 0);
}

static void
no_memory_is_no_answer(void **state)
{
        struct plan_source source = { .host_path = "/", .is_directory = true };
        struct arena arena;
        struct error e;

        (void)state;
        for (size_t limit = 0; limit < 1200; limit += 50) {
                arena_init(&arena, limit);
                assert_int_equal(beneath_look(&arena, &source, &e), -1);
                if (e.code != ERROR_NO_MEMORY && e.code != ERROR_QUOTA_EXCEEDED)
                        fail_msg("limit %zu: %s", limit, e.message);
                arena_fini(&arena);
        }
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(mounts_are_found_by_name),
                cmocka_unit_test(sockets_are_found_by_name),
                cmocka_unit_test(no_more_is_given_than_there_is_room_for),
                cmocka_unit_test(a_look_sees_this_machine),
                cmocka_unit_test(too_many_sockets_are_refused),
                cmocka_unit_test(no_memory_is_no_answer),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
