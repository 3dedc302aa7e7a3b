/*
 * ref/file_test.c - what ref/file.h promises, with real files and links that an attacker planted.
 */
#include "ref/file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/unit.h"

static char top[64]; /* a directory of this test; the workspace is top/ws */
static int workspace = -1;

static void
plant(const char *path, const char *text)
{
        int fd = openat(workspace, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        assert_true(fd >= 0);
        assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
        (void)close(fd);
}

static int
set_up(void **state)
{
        int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        struct sockaddr_un name = { .sun_family = AF_UNIX };
        char text[128];

        (void)state;
        (void)snprintf(top, sizeof top, "/tmp/carrel-file-test-XXXXXX");
        assert_non_null(mkdtemp(top));
        (void)snprintf(text, sizeof text, "%s/ws", top);
        assert_int_equal(mkdir(text, 0700), 0);
        workspace = open(text, O_PATH | O_DIRECTORY | O_CLOEXEC);
        assert_true(workspace >= 0);
        assert_int_equal(mkdirat(workspace, "sub", 0700), 0);
        plant("../secret.md", "canary");
        plant("plain.md", "hello");
        plant("empty.md", "");
        plant("sub/deep.md", "deep");
        assert_int_equal(mkfifoat(workspace, "pipe.md", 0600), 0);
        assert_int_equal(symlinkat("../secret.md", workspace, "out.md"), 0);
        (void)snprintf(text, sizeof text, "%s/secret.md", top);
        assert_int_equal(symlinkat(text, workspace, "absolute.md"), 0);
        assert_int_equal(symlinkat("sub/deep.md", workspace, "inside.md"), 0);
        assert_int_equal(symlinkat("..", workspace, "up"), 0);
        assert_int_equal(symlinkat("loop.md", workspace, "loop.md"), 0);
        assert_int_equal(symlinkat("nowhere", workspace, "dangling.md"), 0);
        assert_int_equal(symlinkat("/proc/self/root/etc/passwd", workspace, "magic.md"), 0);
        (void)snprintf(name.sun_path, sizeof name.sun_path, "%s/ws/socket.md", top);
        assert_int_equal(bind(sock, (struct sockaddr *)&name, sizeof name), 0);
        (void)close(sock);
        return 0;
}

static int
tear_down(void **state)
{
        static const char *const names[] = { "plain.md",    "empty.md", "sub/deep.md",
                                             "pipe.md",     "out.md",   "absolute.md",
                                             "inside.md",   "up",       "loop.md",
                                             "dangling.md", "magic.md", "socket.md",
                                             "../secret.md" };
        char text[128];

        (void)state;
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
                assert_int_equal(unlinkat(workspace, names[i], 0), 0);
        assert_int_equal(unlinkat(workspace, "sub", AT_REMOVEDIR), 0);
        (void)close(workspace);
        (void)snprintf(text, sizeof text, "%s/ws", top);
        assert_int_equal(rmdir(text), 0);
        assert_int_equal(rmdir(top), 0);
        return 0;
}

struct row {
        const char *path;
        enum error_code code;
        const char *reason;
        const char *walk_reason;
};

static const struct row beneath[] = {
        { "plain.md", ERROR_NONE, "", "" },
        { "empty.md", ERROR_NONE, "", "" },
        { "sub/deep.md", ERROR_NONE, "", "" },
        { "./sub//deep.md", ERROR_NONE, "", "" },
        { "inside.md", ERROR_NONE, "", "outside_workspace" },
        { "nope.md", ERROR_FILE_UNREADABLE, "not_found", "not_found" },
        { "sub", ERROR_FILE_UNREADABLE, "not_regular", "not_regular" },
        { "pipe.md", ERROR_FILE_UNREADABLE, "not_regular", "not_regular" },
        { "socket.md", ERROR_FILE_UNREADABLE, "not_regular", "not_regular" },
        { "plain.md/x", ERROR_FILE_UNREADABLE, "not_found", "not_found" },
        { "dangling.md", ERROR_FILE_UNREADABLE, "not_found", "outside_workspace" },
        { "out.md", ERROR_REF_UNRESOLVABLE, "outside_workspace", "outside_workspace" },
        { "absolute.md", ERROR_REF_UNRESOLVABLE, "outside_workspace", "outside_workspace" },
        { "up/secret.md", ERROR_REF_UNRESOLVABLE, "outside_workspace", "*" },
        { "../secret.md", ERROR_REF_UNRESOLVABLE, "outside_workspace", "outside_workspace" },
        { "sub/../../secret.md", ERROR_REF_UNRESOLVABLE, "outside_workspace", "outside_workspace" },
        { "/etc/passwd", ERROR_REF_UNRESOLVABLE, "outside_workspace", "*" },
        { "loop.md", ERROR_REF_UNRESOLVABLE, "outside_workspace", "outside_workspace" },
        { "magic.md", ERROR_REF_UNRESOLVABLE, "outside_workspace", "outside_workspace" },
};

static int
try_beneath(const struct row *r, bool is_walk)
{
        const char *wanted = is_walk ? r->walk_reason : r->reason;
        struct arena a;
        struct error e = { .code = ERROR_NONE };
        const char *bytes;
        size_t len;
        int rc, bad;

        arena_init(&a, 1 << 20);
        rc = ref_file_read_beneath(&a, workspace, r->path, 1000, NULL, &bytes, &len, &e);
        bad = (rc == 0) != (*wanted == '\0') || (rc == 0 && strstr(bytes, "canary"));
        if (rc < 0 && strcmp(wanted, "*") != 0)
                bad |= strcmp(e.reason, wanted) != 0;
        if (bad)
                (void)fprintf(stderr, "%s: %d %s %s\n", r->path, rc, e.reason, e.message);
        arena_fini(&a);
        return bad;
}

static void
stays_beneath_the_directory(void **state)
{
        int bad = 0;

        (void)state;
        for (size_t i = 0; i < sizeof beneath / sizeof beneath[0]; i++)
                bad += try_beneath(&beneath[i], false);
        assert_int_equal(bad, 0);
}

/* Makes openat2 answer ENOSYS for this process and its children. */
static void
take_openat2_away(void)
{
        struct sock_filter code[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        struct sock_fprog prog = { sizeof code / sizeof code[0], code };

        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) < 0)
                _exit(99);
}

static void
stays_beneath_without_openat2(void **state)
{
        pid_t child = fork();
        int status;

        (void)state;
        assert_true(child >= 0);
        if (child == 0) {
                int bad = 0;

                take_openat2_away();
                for (size_t i = 0; i < sizeof beneath / sizeof beneath[0]; i++)
                        bad += try_beneath(&beneath[i], true);
                _exit(bad);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
}

static void
refuses_what_is_no_bounded_file(void **state)
{
        static const struct {
                const char *path;
                enum error_code code;
                const char *reason;
        } rows[] = {
                { "/dev/zero", ERROR_FILE_UNREADABLE, "not_regular" },
                { "/", ERROR_FILE_UNREADABLE, "not_regular" },
                { "/no/such/file", ERROR_FILE_UNREADABLE, "not_found" },
                { "/proc/kallsyms", ERROR_MANIFEST_SYNTAX, "too_large" },
                { "", ERROR_FILE_UNREADABLE, "not_found" },
        };
        char path[128];
        struct arena a;
        const char *bytes;
        size_t len;
        struct error e;

        (void)state;
        arena_init(&a, 1 << 20);
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
                if (rows[i].code == ERROR_MANIFEST_SYNTAX && access(rows[i].path, R_OK) < 0)
                        continue;
                assert_int_equal(ref_file_read(&a, rows[i].path, 1000, NULL, &bytes, &len, &e), -1);
                assert_int_equal(e.code, rows[i].code);
                assert_string_equal(e.reason, rows[i].reason);
        }
        (void)snprintf(path, sizeof path, "%s/ws/plain.md", top);
        assert_int_equal(ref_file_read(&a, path, 5, NULL, &bytes, &len, &e), 0);
        assert_int_equal(len, 5);
        assert_string_equal(bytes, "hello");
        assert_int_equal(ref_file_read(&a, path, 4, NULL, &bytes, &len, &e), -1);
        assert_string_equal(e.reason, "too_large");
        (void)snprintf(path, sizeof path, "%s/ws/empty.md", top);
        assert_int_equal(ref_file_read(&a, path, 5, NULL, &bytes, &len, &e), 0);
        assert_int_equal(len, 0);
        arena_fini(&a);
}

/*
 * If a process holds a lease on a file, a non-blocking open gives EAGAIN. openat2 gives the same
 * error if a path changes meanwhile.
 */
static void
says_that_a_file_has_a_lease(void **state)
{
        int fd = openat(workspace, "plain.md", O_RDONLY | O_CLOEXEC);
        struct sigaction ignored = { .sa_handler = SIG_IGN }, before;
        char path[128];
        struct arena a;

        (void)state;
        (void)snprintf(path, sizeof path, "%s/ws/plain.md", top);
        assert_int_equal(sigaction(SIGIO, &ignored, &before), 0);
        if (fcntl(fd, F_SETLEASE, F_WRLCK) < 0) {
                (void)close(fd);
                skip(); /* a file system without leases */
        }
        arena_init(&a, 1 << 20);
        for (int i = 0; i < 2; i++) {
                struct error e = { .code = ERROR_NONE };
                const char *bytes;
                size_t len;
                int rc = i == 0 ? ref_file_read_beneath(&a, workspace, "plain.md", 1000, NULL,
                                                        &bytes, &len, &e)
                                : ref_file_read(&a, path, 1000, NULL, &bytes, &len, &e);

                assert_int_equal(rc, -1);
                assert_int_equal(e.code, ERROR_FILE_UNREADABLE);
                assert_string_equal(e.reason, "busy");
                assert_non_null(strstr(e.message, "lease"));
        }
        arena_fini(&a);
        (void)close(fd);
        assert_int_equal(sigaction(SIGIO, &before, NULL), 0);
}

static void
finds_the_manifest_of_a_workspace(void **state)
{
        struct ref_manifest_file file;
        char path[128];
        struct arena a;
        struct error e;

        (void)state;
        arena_init(&a, 4 << 20);
        (void)snprintf(path, sizeof path, "%s/ws", top);
        assert_int_equal(ref_manifest_find(&a, "/no/such/dir", NULL, &file, &e), -1);
        assert_int_equal(e.code, ERROR_WORKSPACE_NOT_FOUND);
        assert_int_equal(ref_manifest_find(&a, path, NULL, &file, &e), -1);
        assert_int_equal(e.code, ERROR_NOT_CONFIGURED);
        assert_non_null(strstr(error_hint_text(&e), "schema: sandbox/v1"));

        plant("WORKSPACE.md", "---\nname: docs\n---\n");
        assert_int_equal(ref_manifest_find(&a, path, NULL, &file, &e), -1);
        assert_int_equal(e.code, ERROR_NOT_CONFIGURED);
        plant("WORKSPACE.md", "---\nsandbox: {inline: {provider: local, config: {}}}\n---\n");
        assert_int_equal(ref_manifest_find(&a, path, NULL, &file, &e), 0);
        assert_int_equal(file.kind, MANIFEST_PARENT);
        plant("SANDBOX.md", "---\nprovider: local\n---\n");
        assert_int_equal(ref_manifest_find(&a, path, NULL, &file, &e), 0);
        assert_int_equal(file.kind, MANIFEST_STANDALONE);
        assert_int_equal(unlinkat(workspace, "SANDBOX.md", 0), 0);
        assert_int_equal(symlinkat("../secret.md", workspace, "SANDBOX.md"), 0);
        assert_int_equal(ref_manifest_find(&a, path, NULL, &file, &e), -1);
        assert_int_equal(e.code, ERROR_REF_UNRESOLVABLE);
        assert_non_null(strstr(error_hint_text(&e), "-f FILE"));
        assert_int_equal(unlinkat(workspace, "SANDBOX.md", 0), 0);
        assert_int_equal(unlinkat(workspace, "WORKSPACE.md", 0), 0);
        arena_fini(&a);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(stays_beneath_the_directory),
                cmocka_unit_test(stays_beneath_without_openat2),
                cmocka_unit_test(refuses_what_is_no_bounded_file),
                cmocka_unit_test(says_that_a_file_has_a_lease),
                cmocka_unit_test(finds_the_manifest_of_a_workspace),
        };

        return cmocka_run_group_tests(tests, set_up, tear_down);
}
