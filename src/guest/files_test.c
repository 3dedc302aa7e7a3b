/*
 * guest/files_test.c - guest/files.h and wire/file.h: the operations as functions between two
 * descriptors.
 *
 * slow: 25 s: large files and deep directories are written and read
 */
#include "base/unit.h"
#include "guest/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "wire/file.h"

enum { OUT_MAX = 1 << 20 };

static char folder[64];
static char out[OUT_MAX];
static size_t out_len;
static char failed_at[FILE_PATH_MAX + 1];

static void
make_file(const char *path, const void *bytes, size_t len)
{
        int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0644);

        assert_true(fd >= 0);
        assert_int_equal(write(fd, bytes, len), len);
        assert_int_equal(close(fd), 0);
}

static int
set_up(void **state)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "socket" };
        int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        (void)snprintf(folder, sizeof folder, "/tmp/carrel-files-XXXXXX");
        if (!mkdtemp(folder) || chdir(folder) < 0)
                return -1;
        (void)umask(022); /* independent of the caller's */
        make_file("file", "0123456789", 10);
        (void)umask(0);
        return s < 0 || bind(s, (const struct sockaddr *)&address, sizeof address) < 0 ||
                               close(s) < 0 || mkdir("dir", 0755) < 0 || mkfifo("fifo", 0644) < 0 ||
                               symlink("file", "link") < 0 || symlink("dir", "to-dir") < 0 ||
                               symlink("loop", "loop") < 0
                       ? -1
                       : 0;
}

static int
tear_down(void **state)
{
        char *argv[] = { (char *)(uintptr_t) "remove", folder, (char *)(uintptr_t) "1", NULL };
        struct files_io io = { -1, -1, "" };

        return chdir("/") < 0 ? -1 : files_run(argv, &io);
}

/* Runs one operation with these bytes as its input; its output is in `out`. */
static int
run(const char *const *words, const void *in, size_t in_len)
{
        struct files_io io = { memfd_create("in", MFD_CLOEXEC), memfd_create("out", MFD_CLOEXEC),
                               NULL };
        int sys;

        assert_true(io.in >= 0 && io.out >= 0);
        assert_int_equal(write(io.in, in, in_len), in_len);
        assert_int_equal(lseek(io.in, 0, SEEK_SET), 0);
        sys = files_run((char *const *)(uintptr_t)words, &io);
        (void)snprintf(failed_at, sizeof failed_at, "%s", io.failed);
        out_len = (size_t)lseek(io.out, 0, SEEK_END);
        assert_true(out_len < sizeof out);
        assert_int_equal(pread(io.out, out, out_len, 0), out_len);
        assert_int_equal(close(io.in), 0);
        assert_int_equal(close(io.out), 0);
        return sys;
}

#define RUN(...) run((const char *const[]){ __VA_ARGS__, NULL }, "", 0)

struct row {
        const char *words[6];
        int sys;
};

static void
each_answers_as_it_should(void **state)
{
        static const struct row rows[] = {
                { { "format", "x" }, ENOSYS },
                { { "read" }, EINVAL },
                { { "read", "file", "0" }, EINVAL },
                { { "read", "file", "0", "1", "2" }, EINVAL },
                { { "read", "file", "-1", "1" }, EINVAL },
                { { "read", "file", "1x", "1" }, EINVAL },
                { { "read", "file", "", "1" }, EINVAL },
                { { "read", "file", "99999999999999999999", "1" }, EINVAL },
                { { "read", "file", "0", "5" }, 0 },
                { { "read", "link", "0", "5" }, 0 },
                { { "read", "file/", "0", "5" }, ENOTDIR },
                { { "read", "loop", "0", "5" }, ELOOP },
                { { "read", "fifo", "0", "5" }, ENXIO },
                { { "read", "socket", "0", "5" }, ENXIO },
                { { "read", "dir", "0", "5" }, EISDIR },
                { { "read", "to-dir", "0", "5" }, EISDIR },
                { { "read", "/dev/zero", "0", "5" }, ENXIO },
                { { "read", "/proc/self/exe", "0", "5" }, EACCES },
                { { "stat", "file" }, 0 },
                { { "stat", "missing" }, ENOENT },
                { { "stat", "/proc/self" }, EACCES },
                { { "stat", "link/" }, ENOTDIR },
                { { "list", "dir", "1", "9" }, 0 },
                { { "list", "dir", "0", "9" }, EINVAL },
                { { "list", "dir", "65", "9" }, EINVAL },
                { { "list", "file", "1", "9" }, ENOTDIR },
                { { "list", "/proc", "1", "9" }, EACCES },
                { { "mkdir", "dir", "493", "0" }, EEXIST },
                { { "mkdir", "dir", "493", "1" }, 0 },
                { { "mkdir", "file", "493", "1" }, EEXIST },
                { { "mkdir", "a/b", "493", "0" }, ENOENT },
                { { "mkdir", "a/b", "493", "2" }, EINVAL },
                { { "mkdir", "a/b", "493", "1" }, 0 },
                { { "mkdir", "/proc/self/x", "493", "1" }, EACCES },
                { { "move", "missing", "x" }, ENOENT },
                { { "move", "a", "a/b/c" }, EINVAL },
                { { "move", "fifo/", "x" }, ENOTDIR },
                { { "move", "file", "x/" }, ENOTDIR },
                { { "move", "a/b", "a/c" }, 0 },
                { { "remove", "a/b", "1" }, ENOENT },
                { { "remove", "a", "0" }, ENOTEMPTY },
                { { "remove", "a", "1" }, 0 },
                { { "remove", ".", "1" }, EINVAL },
                { { "remove", "fifo/", "1" }, ENOTDIR },
                { { "remove", "/proc/self/fd", "1" }, EACCES },
        };

        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                int sys = run(rows[i].words, "", 0);

                if (sys != rows[i].sys)
                        fail_msg("%s %s %s: %s, not %s", rows[i].words[0], rows[i].words[1],
                                 rows[i].words[2], strerror(sys), strerror(rows[i].sys));
                if (sys != 0 && rows[i].words[1] && sys != EINVAL &&
                    strcmp(rows[i].words[0], "move") != 0 &&
                    strcmp(rows[i].words[0], "format") != 0)
                        assert_string_equal(failed_at, rows[i].words[1]);
        }
}

static void
a_piece_is_what_was_asked_for(void **state)
{
        static const struct {
                const char *offset, *len, *expected;
        } pieces[] = {
                { "0", "10", "0123456789" },
                { "0", "18446744073709551615", "0123456789" },
                { "3", "4", "3456" },
                { "9", "5", "9" },
                { "10", "5", "" },
                { "400", "5", "" },
                { "2", "0", "" },
        };

        for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
                struct file_info info;

                assert_int_equal(RUN("read", "file", pieces[i].offset, pieces[i].len), 0);
                assert_int_equal(out_len, sizeof info + strlen(pieces[i].expected));
                memcpy(&info, out, sizeof info);
                assert_int_equal(info.size, 10);
                assert_int_equal(info.mode, 0644);
                assert_int_equal(info.kind, FILE_REGULAR);
                assert_true(info.mtime_ns > INT64_C(1500000000000000000));
                assert_memory_equal(out + sizeof info, pieces[i].expected,
                                    strlen(pieces[i].expected));
        }
}

/* -- write ------------------------------------------------------------------------------------- */

static size_t
put(char *at, const char *path, const char *bytes, unsigned mode, unsigned flags)
{
        struct file_put head = { .len = strlen(bytes),
                                 .path_len = (uint32_t)strlen(path),
                                 .mode = mode,
                                 .flags = flags };

        memcpy(at, &head, sizeof head);
        memcpy(at + sizeof head, path, head.path_len);
        memcpy(at + sizeof head + head.path_len, bytes, head.len);
        return sizeof head + head.path_len + head.len;
}

static const char *
content(const char *path)
{
        static char text[64];
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t len = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;

        if (fd >= 0)
                (void)close(fd);
        text[len > 0 ? len : 0] = '\0';
        return len >= 0 ? text : "(none)";
}

static unsigned
mode_of(const char *path)
{
        struct stat st;

        return stat(path, &st) == 0 ? st.st_mode & 07777 : 1;
}

static size_t
count_names(void)
{
        assert_int_equal(RUN("list", ".", "1", "100000"), 0);
        return out_len;
}

static void
a_batch_is_whole_or_nothing(void **state)
{
        char in[512];
        size_t len = 0, names;

        make_file("w-old", "old", 3);
        names = count_names();
        len += put(in + len, "w-old", "new", 0, 0);
        len += put(in + len, "w-more", "more", 0, 0);
        for (size_t cut = 0; cut < len; cut++)
                if (run((const char *const[]){ "write", NULL }, in, cut) != ECANCELED)
                        fail_msg("cut at %zu of %zu", cut, len);
        /* complete files, but no end */
        assert_int_equal(run((const char *const[]){ "write", NULL }, in, len), ECANCELED);
        assert_string_equal(content("w-old"), "old");
        assert_int_equal(count_names(), names);
        len += put(in + len, "", "", 0, 0);
        assert_int_equal(run((const char *const[]){ "write", NULL }, in, len), 0);
        assert_int_equal(out_len, 0);
        assert_string_equal(content("w-old"), "new");
        assert_string_equal(content("w-more"), "more");
}

static void
what_cannot_be_written_changes_nothing(void **state)
{
        static const struct {
                const char *path;
                int sys;
        } rows[] = {
                { "dir", EISDIR },
                { ".", EISDIR },
                { "dir/..", EISDIR },
                { "w-new/", EISDIR },
                { "fifo", ENXIO },
                { "socket", ENXIO },
                { "loop", ELOOP },
                { "file/x", ENOTDIR },
                { "file/", ENOTDIR },
                { "/dev/null", ENXIO },
                { "/proc/self/comm", EACCES },
                { "/dev/fd/1", EACCES },
        };
        size_t names;

        make_file("w-first", "before", 6);
        names = count_names();
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                char in[512];
                size_t len = put(in, "w-first", "after", 0, 0);

                len += put(in + len, rows[i].path, "x", 0, 0);
                len += put(in + len, "", "", 0, 0);
                if (run((const char *const[]){ "write", NULL }, in, len) != rows[i].sys)
                        fail_msg("%s: not %s", rows[i].path, strerror(rows[i].sys));
                assert_string_equal(failed_at, rows[i].path);
                assert_string_equal(content("w-first"), "before");
                assert_int_equal(count_names(), names);
        }
}

static void
what_was_not_announced_is_not_written(void **state)
{
        static const struct {
                const char *words[4];
                int sys;
        } rows[] = {
                { { "write", "1 w-one", "2 w-two" }, 0 },
                { { "write", "1 w-one" }, EKEYREJECTED },
                { { "write", "2 w-two", "1 w-one" }, EKEYREJECTED },
                { { "write", "1 w-one", "3 w-two" }, EKEYREJECTED },
                { { "write", "1 w-one", "2 w-twos" }, EKEYREJECTED },
                { { "write", "1 w-one", "2 ./w-two" }, EKEYREJECTED },
                { { "write", "x w-one", "2 w-two" }, EKEYREJECTED },
                { { "write", "1 w-one", "2" }, EKEYREJECTED },
        };

        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                char in[512];
                size_t len = put(in, "w-one", "1", 0, 0);

                (void)unlink("w-one");
                (void)unlink("w-two");
                len += put(in + len, "w-two", "22", 0, 0);
                len += put(in + len, "", "", 0, 0);
                if (run(rows[i].words, in, len) != rows[i].sys)
                        fail_msg("row %zu: not %s", i, strerror(rows[i].sys));
                assert_string_equal(content("w-one"), rows[i].sys == 0 ? "1" : "(none)");
        }
        {
                char in[128];
                size_t len = put(in, "w-fewer", "1", 0, 0);

                len += put(in + len, "", "", 0, 0);
                assert_int_equal(
                        run((const char *const[]){ "write", "1 w-fewer", "1 x", NULL }, in, len),
                        EKEYREJECTED);
                assert_string_equal(content("w-fewer"), "(none)");
        }
}

static void
a_flag_of_tomorrow_is_refused(void **state)
{
        char in[256];
        size_t len = put(in, "w-tomorrow", "x", 0, FILE_PUT_MODE << 1);

        len += put(in + len, "", "", 0, 0);
        assert_int_equal(run((const char *const[]){ "write", NULL }, in, len), EINVAL);
        assert_string_equal(content("w-tomorrow"), "(none)");
}

static void
modes_are_kept_asked_for_or_ordinary(void **state)
{
        char in[1024];
        size_t len = 0;

        make_file("m-kept", "", 0);
        assert_int_equal(chmod("m-kept", 0750), 0);
        make_file("m-asked", "", 0);
        len += put(in + len, "m-kept", "1", 04777, 0);
        len += put(in + len, "m-asked", "2", 0640, FILE_PUT_MODE);
        len += put(in + len, "m-new", "3", 0, 0);
        len += put(in + len, "m-set-id", "4", 07755, FILE_PUT_MODE);
        len += put(in + len, "m-none", "5", 0, FILE_PUT_MODE);
        len += put(in + len, "m/a/d/e", "6", 0, 0);
        len += put(in + len, "", "", 0, 0);
        assert_int_equal(run((const char *const[]){ "write", NULL }, in, len), 0);
        assert_int_equal(mode_of("m-kept"), 0750);
        assert_int_equal(mode_of("m-asked"), 0640);
        assert_int_equal(mode_of("m-new"), 0644);
        assert_int_equal(mode_of("m-set-id"), 0755);
        assert_int_equal(mode_of("m-none"), 0);
        assert_int_equal(mode_of("m/a"), 0755);
        assert_string_equal(content("m/a/d/e"), "6");
}

static void
a_link_stays_and_its_target_is_replaced(void **state)
{
        char in[512];
        struct stat st;
        size_t len = 0;

        make_file("t-target", "old", 3);
        assert_int_equal(symlink("t-target", "t-link"), 0);
        assert_int_equal(symlink("t-made", "t-dangling"), 0);
        len += put(in + len, "t-link", "new", 0, 0);
        len += put(in + len, "t-dangling", "made", 0, 0);
        len += put(in + len, "", "", 0, 0);
        assert_int_equal(run((const char *const[]){ "write", NULL }, in, len), 0);
        assert_int_equal(lstat("t-link", &st), 0);
        assert_true(S_ISLNK(st.st_mode));
        assert_string_equal(content("t-target"), "new");
        assert_string_equal(content("t-made"), "made");
}

/* -- list and remove --------------------------------------------------------------------------- */

static size_t
count_entries(uint32_t kind)
{
        size_t count = 0;

        for (size_t at = 0; at < out_len;) {
                struct file_entry e;

                assert_true(out_len - at >= sizeof e);
                memcpy(&e, out + at, sizeof e);
                at += sizeof e + e.path_len + e.target_len;
                assert_true(at <= out_len);
                count += kind == 0 || e.kind == kind;
        }
        return count;
}

static void
a_listing_has_an_end_in_depth_and_number(void **state)
{
        char name[16];

        assert_int_equal(RUN("mkdir", "n/1/2/3", "493", "1"), 0);
        assert_int_equal(symlink("/", "n/1/root"), 0);
        for (int i = 0; i < 600; i++) {
                (void)snprintf(name, sizeof name, "n/1/2/f%d", i);
                make_file(name, "", 0);
        }
        assert_int_equal(RUN("list", "n", "1", "1000"), 0);
        assert_int_equal(count_entries(0), 1);
        assert_int_equal(RUN("list", "n", "2", "1000"), 0);
        assert_int_equal(count_entries(0), 3);
        assert_int_equal(RUN("list", "n", "64", "10000"), 0);
        assert_int_equal(count_entries(0), 604);
        assert_int_equal(count_entries(FILE_LINK), 1);
        assert_int_equal(count_entries(FILE_REGULAR), 600);
        assert_int_equal(RUN("list", "n", "64", "604"), 0);
        assert_int_equal(count_entries(FILE_MORE), 0);
        assert_int_equal(RUN("list", "n", "64", "603"), 0);
        assert_int_equal(count_entries(FILE_MORE), 1);
        assert_int_equal(count_entries(0), 604);
        assert_int_equal(RUN("remove", "n", "1"), 0);
}

/* The paths of a page, one per line; `next` becomes the next cursor, "" at the end. */
static void
read_page(char *paths, char *next)
{
        *paths = *next = '\0';
        for (size_t at = 0; at < out_len;) {
                struct file_entry e;

                memcpy(&e, out + at, sizeof e);
                at += sizeof e;
                (void)snprintf(e.kind == FILE_MORE ? next : paths + strlen(paths), 4096, "%.*s%s",
                               (int)e.path_len, out + at, e.kind == FILE_MORE ? "" : "\n");
                at += e.path_len + e.target_len;
        }
}

static void
pages_are_in_the_order_of_names(void **state)
{
        static const char *const names[] = { "p/b/x", "p/a",   "p/b/sub/deep", "p/b-",
                                             "p/c",   "p/b/a", "p/\xff",       "p/B" };
        static const char whole[] = "B\na\nb\nb/a\nb/sub\nb/sub/deep\nb/x\nb-\nc\n\xff\n";
        static char paths[8192], all[8192];
        char next[4096], max[8];

        assert_int_equal(RUN("mkdir", "p/b/sub", "493", "1"), 0);
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
                make_file(names[i], "", 0);
        for (unsigned most = 1; most <= 11; most++) {
                (void)snprintf(max, sizeof max, "%u", most);
                all[0] = next[0] = '\0';
                do {
                        char after[4096];

                        (void)snprintf(after, sizeof after, "%s", next);
                        assert_int_equal(RUN("page", "p", "3", max, after), 0);
                        read_page(paths, next);
                        assert_true(strlen(all) + strlen(paths) < sizeof all);
                        memcpy(all + strlen(all), paths, strlen(paths) + 1);
                } while (next[0] != '\0');
                assert_string_equal(all, whole);
        }
        /* after b/x/y, which does not exist, and is deeper than this listing */
        assert_int_equal(RUN("page", "p", "1", "9", "622f782f79"), 0);
        read_page(paths, next);
        assert_string_equal(paths, "b-\nc\n\xff\n");
        assert_int_equal(RUN("page", "p", "3", "9", "622f782f79"), 0);
        read_page(paths, next);
        assert_string_equal(paths, "b-\nc\n\xff\n");
        assert_int_equal(RUN("remove", "p/b", "1"), 0);
        /* after b/a, of a directory that was removed */
        assert_int_equal(RUN("page", "p", "3", "9", "622f61"), 0);
        read_page(paths, next);
        assert_string_equal(paths, "b-\nc\n\xff\n");
}

static void
a_page_of_a_large_directory_is_whole(void **state)
{
        static char paths[1 << 20];
        static unsigned char seen[3000];
        char name[32], next[4096] = "", after[4096];
        size_t turns = 0;

        assert_int_equal(RUN("mkdir", "l/d", "493", "1"), 0);
        for (int i = 0; i < 3000; i++) {
                (void)snprintf(name, sizeof name, "l/%s%d", i % 10 == 0 ? "d/" : "", i);
                make_file(name, "", 0);
        }
        do {
                (void)snprintf(after, sizeof after, "%s", next);
                assert_int_equal(RUN("page", "l", "2", "700", after), 0);
                read_page(paths, next);
                for (const char *line = paths; *line != '\0'; line += strcspn(line, "\n") + 1) {
                        size_t number = strtoul(line + strspn(line, "d/"), NULL, 10);

                        seen[number < 3000 ? number : 0]++;
                }
                /* added meanwhile */
                (void)snprintf(name, sizeof name, "l/%s%zu", turns % 2 == 0 ? "" : "d/",
                               5000 + turns);
                make_file(name, "", 0);
                turns++;
        } while (next[0] != '\0');
        for (int i = 1; i < 3000; i++)
                assert_int_equal(seen[i], 1);
        assert_int_equal(turns, 5);
}

static void
what_is_no_cursor_is_refused(void **state)
{
        static const char *const wrong[] = { "6",  "6g",   "00",       "2f",       "612f",
                                             "2e", "2e2e", "612f2e2e", "612f2f62", "6A" };

        assert_int_equal(RUN("mkdir", "w/a", "493", "1"), 0);
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
                assert_int_equal(RUN("page", "w", "4", "9", wrong[i]), EINVAL);
        assert_int_equal(symlink("/", "w/out"), 0);
        /* out/a: a link is not followed */
        assert_int_equal(RUN("page", "w", "4", "9", "6f75742f61"), 0);
        assert_int_equal(count_entries(0), 0);
}

/* Deeper than descriptors or names reach. Links in it lead out, and are not followed. */
static void
however_deep_it_is_removed(void **state)
{
        assert_int_equal(mkdir("deep", 0755), 0);
        assert_int_equal(chdir("deep"), 0);
        for (int i = 0; i < 5000; i++)
                if (symlink("/etc", "etc") < 0 || symlink(folder, "home") < 0 ||
                    mkdir("d", 0755) < 0 || chdir("d") < 0)
                        fail_msg("level %d: %s", i, strerror(errno));
        assert_int_equal(chdir(folder), 0);
        assert_int_equal(RUN("remove", "deep", "1"), 0);
        assert_int_equal(access("deep", F_OK), -1);
        assert_string_equal(content("file"), "0123456789");
        assert_int_equal(access("/etc", F_OK), 0);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_piece_is_what_was_asked_for),
                cmocka_unit_test(each_answers_as_it_should),
                cmocka_unit_test(a_batch_is_whole_or_nothing),
                cmocka_unit_test(what_cannot_be_written_changes_nothing),
                cmocka_unit_test(what_was_not_announced_is_not_written),
                cmocka_unit_test(a_flag_of_tomorrow_is_refused),
                cmocka_unit_test(modes_are_kept_asked_for_or_ordinary),
                cmocka_unit_test(a_link_stays_and_its_target_is_replaced),
                cmocka_unit_test(a_listing_has_an_end_in_depth_and_number),
                cmocka_unit_test(pages_are_in_the_order_of_names),
                cmocka_unit_test(a_page_of_a_large_directory_is_whole),
                cmocka_unit_test(what_is_no_cursor_is_refused),
                cmocka_unit_test(however_deep_it_is_removed),
        };

        return cmocka_run_group_tests(tests, set_up, tear_down);
}
