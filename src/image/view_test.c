/*
 * image/view_test.c - layers as one root: whiteouts, opaque directories, links, what covers them;
 * and that overlayfs sees the same in trees made at random.
 */
#include "image/view.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/openat2.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/scoped.h"

enum { LAYERS = 3, ROUNDS = 40, ENTRIES = 14, PATHS = 39, UNABLE = 77 };

struct bench {
        char state[64];
        int roots[LAYERS]; /* the lowest first */
        struct image_record record;
        struct arena arena;
        struct image_view view;
};

static void
make_layer(struct bench *b, unsigned number)
{
        char path[256], hex[DIGEST_HEX];

        b->record.layers[number] = (struct digest){ .bytes = { (unsigned char)(number + 1) } };
        digest_hex(&b->record.layers[number], hex);
        (void)snprintf(path, sizeof path, "%s/images/layers/%s", b->state, hex);
        assert_int_equal(mkdir(path, 0700), 0);
        (void)snprintf(path, sizeof path, "%s/images/layers/%s/root", b->state, hex);
        assert_int_equal(mkdir(path, 0755), 0);
        b->roots[number] = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(b->roots[number] >= 0);
}

static void
begin(struct bench *b)
{
        static const char *const parts[] = { "", "/names", "/records", "/layers", "/making" };
        char path[128];

        *b = (struct bench){ .record = { .layer_count = LAYERS } };
        (void)snprintf(b->state, sizeof b->state, "/tmp/carrel-view-XXXXXX");
        assert_non_null(mkdtemp(b->state));
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
                (void)snprintf(path, sizeof path, "%s/images%s", b->state, parts[i]);
                assert_int_equal(mkdir(path, 0700), 0);
        }
        for (unsigned i = 0; i < LAYERS; i++)
                make_layer(b, i);
        arena_init(&b->arena, 8 << 20);
}

static void
look(struct bench *b)
{
        struct error e;

        assert_int_equal(image_view_open(&b->arena, b->state, &b->record, &b->view, &e), 0);
}

static int
remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
        (void)st;
        (void)kind;
        (void)at;
        return remove(path);
}

static void
finish(struct bench *b)
{
        image_view_close(&b->view);
        arena_fini(&b->arena);
        for (unsigned i = 0; i < LAYERS; i++)
                (void)close(b->roots[i]);
        (void)nftw(b->state, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* -- entries of a layer ------------------------------------------------------------------------ */

enum kind { FILE_, FOLDER, OPAQUE, LINK, HARD, WHITEOUT };

/* 0, or -1 with errno. Directories on the way are made. */
static int
put(int root, enum kind kind, const char *path, const char *text)
{
        char parent[256];
        scoped_fd int fd = -1;

        for (const char *at = strchr(path, '/'); at; at = strchr(at + 1, '/')) {
                (void)snprintf(parent, sizeof parent, "%.*s", (int)(at - path), path);
                if (mkdirat(root, parent, 0755) < 0 && errno != EEXIST)
                        return -1;
        }
        switch (kind) {
        case FILE_:
                fd = openat(root, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
                return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -1;
        case LINK:
                return symlinkat(text, root, path);
        case HARD:
                return linkat(root, text, root, path, 0);
        case WHITEOUT:
                return mknodat(root, path, S_IFCHR, 0);
        default:
                if (mkdirat(root, path, 0755) < 0)
                        return -1;
                fd = openat(root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                return kind == FOLDER ? 0 : fsetxattr(fd, "user.overlay.opaque", "y", 1, 0);
        }
}

static const struct {
        unsigned layer;
        enum kind kind;
        const char *path, *text;
} tree[] = {
        { 0, FILE_, "bin/busybox", "low" },
        { 0, LINK, "bin/ls", "busybox" },
        { 0, LINK, "bin/cat", "/bin/busybox" },
        { 0, HARD, "bin/hard", "bin/busybox" },
        { 0, FILE_, "bin/copy", "low" },
        { 0, FILE_, "bin/old", "low" },
        { 0, FILE_, "usr/bin/tool", "low" },
        { 0, FILE_, "opt/gone/x", "low" },
        { 0, FILE_, "opt/dir/a", "low" },
        { 0, FILE_, "srv/app", "low" },
        { 0, LINK, "out", "../../../../etc/motd" },
        { 0, LINK, "climbs", "/../../bin/../bin/ls" },
        { 0, LINK, "loop", "loop2" },
        { 0, LINK, "loop2", "/loop" },
        { 0, LINK, "dangling", "/nothing/at/all" },
        { 0, LINK, "mnt", "/usr/local" },
        { 0, FILE_, "etc/motd", "of the image" },
        { 1, WHITEOUT, "bin/old", NULL },
        { 1, FILE_, "usr/bin/tool", "middle" },
        { 1, WHITEOUT, "opt/gone", NULL },
        { 1, OPAQUE, "opt/dir", NULL },
        { 1, FILE_, "opt/dir/b", "middle" },
        { 1, FILE_, "srv/app/c", "middle" },
        { 1, FILE_, "bin/late", "middle" },
        { 2, FILE_, "opt/gone/y", "high" },
        { 2, FOLDER, "opt/dir", NULL },
        { 2, LINK, "bin/late", "tool" },
        { 2, LINK, "bin/tool", "../usr/bin/tool" },
};

static void
fill(struct bench *b)
{
        for (size_t i = 0; i < sizeof tree / sizeof *tree; i++)
                assert_int_equal(
                        put(b->roots[tree[i].layer], tree[i].kind, tree[i].path, tree[i].text), 0);
}

/* -- rows -------------------------------------------------------------------------------------- */

static const struct {
        const char *path;
        enum image_found found;
        const char *real, *content;
} rows[] = {
        { "/bin/busybox", IMAGE_FOUND, "/bin/busybox", "low" },
        { "/bin/ls", IMAGE_FOUND, "/bin/busybox", "low" },
        { "/bin/cat", IMAGE_FOUND, "/bin/busybox", "low" },
        { "//bin/.//hard", IMAGE_FOUND, "/bin/hard", "low" },
        { "/bin/old", IMAGE_ABSENT, NULL, NULL },
        { "/usr/bin/tool", IMAGE_FOUND, "/usr/bin/tool", "middle" },
        { "/bin/tool", IMAGE_FOUND, "/usr/bin/tool", "middle" },
        { "/bin/late", IMAGE_FOUND, "/usr/bin/tool", "middle" },
        { "/opt/gone/x", IMAGE_ABSENT, NULL, NULL },
        { "/opt/gone/y", IMAGE_FOUND, "/opt/gone/y", "high" },
        { "/opt/dir/a", IMAGE_ABSENT, NULL, NULL },
        { "/opt/dir/b", IMAGE_FOUND, "/opt/dir/b", "middle" },
        { "/srv/app/c", IMAGE_FOUND, "/srv/app/c", "middle" },
        { "/out", IMAGE_FOUND, "/etc/motd", "of the image" },
        { "/climbs", IMAGE_FOUND, "/bin/busybox", "low" },
        { "/loop", IMAGE_UNKNOWN, NULL, NULL },
        { "/loop/x", IMAGE_UNKNOWN, NULL, NULL },
        { "/dangling", IMAGE_ABSENT, NULL, NULL },
        { "/bin/ls/", IMAGE_ABSENT, NULL, NULL },
        { "/bin/ls/x", IMAGE_ABSENT, NULL, NULL },
        { "/bin/nothing", IMAGE_ABSENT, NULL, NULL },
        { "/", IMAGE_FOUND, "/", NULL },
        { "/..", IMAGE_FOUND, "/", NULL },
        { "/opt/dir/../gone", IMAGE_FOUND, "/opt/gone", NULL },
        { "bin/ls", IMAGE_UNKNOWN, NULL, NULL },
        { "", IMAGE_UNKNOWN, NULL, NULL },
};

static void
a_path_is_what_the_highest_layer_has(void **state)
{
        struct bench b;

        (void)state;
        begin(&b);
        fill(&b);
        look(&b);
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                char real[IMAGE_VIEW_PATH], content[16] = "";
                scoped_fd int fd = -1;
                struct stat st;

                if (image_view_find(&b.view, rows[i].path, real, &st) != rows[i].found)
                        fail_msg("%s", rows[i].path);
                if (rows[i].found != IMAGE_FOUND)
                        continue;
                assert_string_equal(real, rows[i].real);
                assert_int_equal(S_ISDIR(st.st_mode), rows[i].content == NULL);
                if (!rows[i].content)
                        continue;
                assert_int_equal(image_view_read(&b.view, rows[i].path, &fd, &st), IMAGE_FOUND);
                assert_true(read(fd, content, sizeof content - 1) > 0);
                assert_string_equal(content, rows[i].content);
        }
        finish(&b);
}

static void
hard_links_are_one_file_and_copies_are_not(void **state)
{
        struct stat link, hard, copy;
        struct bench b;

        (void)state;
        begin(&b);
        fill(&b);
        look(&b);
        assert_int_equal(image_view_find(&b.view, "/bin/ls", NULL, &link), IMAGE_FOUND);
        assert_int_equal(image_view_find(&b.view, "/bin/hard", NULL, &hard), IMAGE_FOUND);
        assert_int_equal(image_view_find(&b.view, "/bin/copy", NULL, &copy), IMAGE_FOUND);
        assert_true(link.st_dev == hard.st_dev && link.st_ino == hard.st_ino);
        assert_true(link.st_ino != copy.st_ino);
        finish(&b);
}

static void
nothing_is_known_where_it_is_covered(void **state)
{
        static const struct {
                const char *path;
                enum image_found found;
        } covered[] = {
                { "/opt/dir", IMAGE_UNKNOWN },
                { "/opt/dir/b", IMAGE_UNKNOWN },
                { "/bin/../opt/dir/b", IMAGE_UNKNOWN },
                { "/opt/gone/y", IMAGE_FOUND },
                { "/usr/local/bin", IMAGE_UNKNOWN }, /* by the link /mnt */
                { "/usr/local/bin/ls", IMAGE_UNKNOWN },
                { "/mnt/bin/ls", IMAGE_UNKNOWN },
                { "/usr/local", IMAGE_UNKNOWN }, /* made for the mount */
                { "/usr/local2", IMAGE_ABSENT },
                { "/bin/ls", IMAGE_UNKNOWN }, /* the file it leads to */
                { "/climbs", IMAGE_UNKNOWN },
                { "/bin/copy", IMAGE_FOUND },
                { "/dangling", IMAGE_UNKNOWN },
                { "/nothing/at/all", IMAGE_UNKNOWN },
        };
        struct bench b;
        struct stat st;

        (void)state;
        begin(&b);
        fill(&b);
        look(&b);
        assert_true(image_view_cover(&b.view, "/opt/dir"));
        assert_true(image_view_cover(&b.view, "/mnt/bin"));
        assert_true(image_view_cover(&b.view, "/bin/cat"));
        assert_true(image_view_cover(&b.view, "/dangling"));
        assert_true(image_view_cover(&b.view, "/loop"));
        for (size_t i = 0; i < sizeof covered / sizeof *covered; i++)
                if (image_view_find(&b.view, covered[i].path, NULL, &st) != covered[i].found)
                        fail_msg("%s", covered[i].path);
        assert_true(image_view_cover(&b.view, "/"));
        assert_int_equal(image_view_find(&b.view, "/bin/copy", NULL, &st), IMAGE_UNKNOWN);
        assert_int_equal(image_view_find(&b.view, "/", NULL, &st), IMAGE_UNKNOWN);
        finish(&b);
}

static void
what_was_written_above_is_not_known(void **state)
{
        static const struct {
                enum kind kind;
                const char *path;
        } above[] = {
                { FILE_, "bin/ls" },    { WHITEOUT, "bin/cat" }, { FOLDER, "usr" },
                { OPAQUE, "opt/gone" }, { FOLDER, "usr/local" }, { FILE_, "usr/local/new" },
                { FOLDER, "srv/app" },  { FOLDER, "etc/motd" },  { LINK, "mnt" },
        };
        static const struct {
                const char *path;
                enum image_found found;
        } seen[] = {
                { "/bin/busybox", IMAGE_FOUND },
                { "/bin/ls", IMAGE_UNKNOWN },
                { "/climbs", IMAGE_UNKNOWN },
                { "/bin/cat", IMAGE_UNKNOWN },
                { "/bin/nothing", IMAGE_ABSENT },
                { "/usr/bin/tool", IMAGE_FOUND },
                { "/opt/gone", IMAGE_UNKNOWN },
                { "/opt/gone/y", IMAGE_UNKNOWN },
                { "/opt/dir/b", IMAGE_FOUND },
                { "/usr/local", IMAGE_UNKNOWN },
                { "/usr/local/x", IMAGE_UNKNOWN },
                { "/srv/app/c", IMAGE_FOUND },
                { "/out", IMAGE_UNKNOWN },
                { "/mnt/bin", IMAGE_UNKNOWN },
                { "/", IMAGE_FOUND },
        };
        char path[128];
        struct bench b;
        struct stat st;
        int upper;

        (void)state;
        begin(&b);
        fill(&b);
        look(&b);
        (void)snprintf(path, sizeof path, "%s/upper", b.state);
        assert_int_equal(mkdir(path, 0755), 0);
        upper = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        assert_int_equal(image_view_find(&b.view, "/bin/ls", NULL, &st), IMAGE_FOUND);
        assert_int_equal(image_view_upper(&b.view, upper), 0);
        assert_int_equal(image_view_find(&b.view, "/bin/ls", NULL, &st), IMAGE_FOUND);
        for (size_t i = 0; i < sizeof above / sizeof *above; i++)
                assert_int_equal(put(upper, above[i].kind, above[i].path, "x"), 0);
        for (size_t i = 0; i < sizeof seen / sizeof *seen; i++)
                if (image_view_find(&b.view, seen[i].path, NULL, &st) != seen[i].found)
                        fail_msg("%s", seen[i].path);
        (void)close(upper);
        finish(&b);
}

static void
a_layer_that_is_missing_is_an_error(void **state)
{
        struct image_view view;
        struct bench b;
        struct error e;

        (void)state;
        begin(&b);
        b.record.layers[1].bytes[5] = 1;
        assert_int_equal(image_view_open(&b.arena, b.state, &b.record, &view, &e), -1);
        assert_int_equal(e.code, ERROR_IMAGE_NOT_FOUND);
        image_view_close(&view);
        finish(&b);
}

/* -- against the kernel ------------------------------------------------------------------------ */

static uint32_t seed;

static unsigned
roll(unsigned below)
{
        seed = seed * 1664525u + 1013904223u;
        return (seed >> 16) % below;
}

/* "a" to "c/c/c", one to three names deep. */
static void
name_path(unsigned number, char path[8])
{
        unsigned depth = number < 3 ? 1 : number < 12 ? 2 : 3;
        size_t len = 0;

        number -= depth == 1 ? 0 : depth == 2 ? 3 : 12;
        for (unsigned i = 0; i < depth; i++, number /= 3) {
                if (i > 0)
                        path[len++] = '/';
                path[len++] = (char)('a' + number % 3);
        }
        path[len] = '\0';
}

/* What cannot be made because of what is there already is left out. -1: attributes cannot be set */
static int
fill_at_random(struct bench *b, unsigned round)
{
        static const enum kind kinds[] = { FILE_, FILE_, FOLDER, FOLDER, OPAQUE, LINK, WHITEOUT };

        seed = round;
        for (unsigned i = 0; i < LAYERS * ENTRIES; i++) {
                enum kind kind = kinds[roll(sizeof kinds / sizeof *kinds)];
                char path[8], other[8], text[16];

                name_path(roll(PATHS), path);
                name_path(roll(PATHS), other);
                (void)snprintf(text, sizeof text, kind == FILE_ ? "%u" : "%.0u%s%s", i,
                               roll(2) ? "/" : "../", other);
                if (put(b->roots[i % LAYERS], kind, path, text) < 0 &&
                    (errno == ENOTSUP || errno == EPERM))
                        return -1;
        }
        return 0;
}

static int
write_map(const char *path, unsigned id)
{
        char text[32];
        scoped_fd int fd = open(path, O_WRONLY | O_CLOEXEC);
        int len = snprintf(text, sizeof text, "0 %u 1\n", id);

        return fd >= 0 && write(fd, text, (size_t)len) == len ? 0 : -1;
}

static int
enter_namespaces(void)
{
        unsigned uid = geteuid(), gid = getegid();
        scoped_fd int deny = -1;

        if (unshare(CLONE_NEWNS | (uid == 0 ? 0 : CLONE_NEWUSER)) < 0)
                return -1;
        if (uid != 0) {
                deny = open("/proc/self/setgroups", O_WRONLY | O_CLOEXEC);
                if (deny < 0 || write(deny, "deny", 4) != 4 ||
                    write_map("/proc/self/uid_map", uid) < 0 ||
                    write_map("/proc/self/gid_map", gid) < 0)
                        return -1;
        }
        return mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL);
}

static int
mount_layers(const struct bench *b)
{
        char options[640] = "userxattr,lowerdir=", hex[DIGEST_HEX], at[128];
        size_t used = strlen(options);

        (void)snprintf(at, sizeof at, "%s/merged", b->state);
        for (unsigned i = LAYERS; i-- > 0;) {
                digest_hex(&b->record.layers[i], hex);
                used += (size_t)snprintf(options + used, sizeof options - used,
                                         "%s/images/layers/%s/root%s", b->state, hex,
                                         i > 0 ? ":" : "");
        }
        if (mkdir(at, 0755) < 0 || mount("overlay", at, "overlay", MS_RDONLY, options) < 0)
                return -1;
        return open(at, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static bool
is_same_content(int one, int other)
{
        char a[16] = "", b[16] = "";

        return read(one, a, sizeof a - 1) == read(other, b, sizeof b - 1) && strcmp(a, b) == 0;
}

static bool
agrees(struct bench *b, int merged, const char *path)
{
        struct open_how how = { .flags = O_RDONLY | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT };
        scoped_fd int there = (int)syscall(SYS_openat2, merged, path, &how, sizeof how), here = -1;
        int sys = there < 0 ? errno : 0;
        char full[16], real[IMAGE_VIEW_PATH];
        struct stat st, other;
        enum image_found found;

        (void)snprintf(full, sizeof full, "/%s", path);
        found = image_view_find(&b->view, full, real, &st);
        if (there < 0)
                return found == (sys == ELOOP ? IMAGE_UNKNOWN : IMAGE_ABSENT);
        if (found != IMAGE_FOUND || fstat(there, &other) < 0 ||
            (st.st_mode & S_IFMT) != (other.st_mode & S_IFMT))
                return false;
        if (S_ISDIR(st.st_mode))
                return image_view_read(&b->view, full, &here, &st) == IMAGE_ABSENT;
        return image_view_read(&b->view, full, &here, &st) == IMAGE_FOUND &&
               is_same_content(there, here);
}

/* In a process of its own, because of its namespaces. */
static int
compare(struct bench *b)
{
        int merged = enter_namespaces() < 0 ? -1 : mount_layers(b), wrong = 0;
        char path[8];

        if (merged < 0)
                return UNABLE;
        for (unsigned i = 0; i < PATHS; i++) {
                name_path(i, path);
                if (agrees(b, merged, path))
                        continue;
                wrong++;
                (void)fprintf(stderr, "# %s: overlayfs has something else\n", path);
        }
        return wrong;
}

static void
overlayfs_sees_the_same(void **state)
{
        for (unsigned round = 0; round < ROUNDS; round++) {
                struct bench b;
                int status = 0;
                pid_t pid;

                (void)state;
                begin(&b);
                if (fill_at_random(&b, round) < 0) {
                        finish(&b);
                        skip(); /* this file system has no attributes, or no whiteouts for a user */
                }
                look(&b);
                pid = fork();
                if (pid == 0)
                        _exit(compare(&b));
                assert_int_equal(waitpid(pid, &status, 0), pid);
                finish(&b);
                if (WIFEXITED(status) && WEXITSTATUS(status) == UNABLE)
                        skip(); /* this user may not mount an overlay */
                if (status != 0)
                        fail_msg("round %u", round);
        }
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_path_is_what_the_highest_layer_has),
                cmocka_unit_test(hard_links_are_one_file_and_copies_are_not),
                cmocka_unit_test(nothing_is_known_where_it_is_covered),
                cmocka_unit_test(what_was_written_above_is_not_known),
                cmocka_unit_test(a_layer_that_is_missing_is_an_error),
                cmocka_unit_test(overlayfs_sees_the_same),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
