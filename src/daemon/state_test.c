/* daemon/state_test.c - promises of daemon/state.h. */
#include "base/unit.h"
#include "daemon/state.h"
#include "wire/message.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static char top[64];

static int
make_top(void **state)
{
        (void)state;
        (void)snprintf(top, sizeof top, "/tmp/carrel-state-XXXXXX");
        return mkdtemp(top) ? 0 : -1;
}

static int
remove_top(void **state)
{
        char command[128];
        pid_t pid;

        (void)state;
        (void)snprintf(command, sizeof command, "%s", top);
        pid = fork();
        if (pid == 0) {
                (void)execlp("rm", "rm", "-rf", command, (char *)NULL);
                _exit(1);
        }
        return waitpid(pid, NULL, 0) == pid ? 0 : -1;
}

static void
makes_it_closed_with_all_that_leads_to_it(void **state)
{
        char path[128];
        struct state s;
        struct stat st;
        struct error e;

        (void)state;
        (void)snprintf(path, sizeof path, "%s/a/b/state", top);
        assert_int_equal(state_open(path, 0600, &s, &e), 0);
        assert_int_equal(fstat(s.fd, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0700);
        (void)snprintf(path, sizeof path, "%s/a", top);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0700);
        state_close(&s);
}

/* Only users of the sockets may pass through the directory. */
static void
is_passed_through_where_sockets_are_open(void **state)
{
        static const struct {
                mode_t socket, directory;
        } cases[] = { { 0660, 0710 }, { 0666, 0711 }, { 0640, 0710 }, { 0600, 0700 } };

        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                char path[128];
                struct state s;
                struct stat st;
                struct error e;

                (void)snprintf(path, sizeof path, "%s/state-%zu", top, i);
                assert_int_equal(state_open(path, cases[i].socket, &s, &e), 0);
                assert_int_equal(fstat(s.fd, &st), 0);
                assert_int_equal(st.st_mode & 07777, cases[i].directory);
                state_close(&s);
                /* without open sockets the next one closes it again */
                assert_int_equal(state_open(path, 0600, &s, &e), 0);
                assert_int_equal(fstat(s.fd, &st), 0);
                assert_int_equal(st.st_mode & 07777, 0700);
                state_close(&s);
        }
}

static void
refuses_what_is_not_its_own(void **state)
{
        char path[128], target[128], longer[256];
        struct state s;
        struct error e;

        (void)state;
        (void)snprintf(target, sizeof target, "%s/target", top);
        (void)snprintf(path, sizeof path, "%s/link", top);
        assert_int_equal(mkdir(target, 0700), 0);
        assert_int_equal(symlink(target, path), 0);
        assert_int_equal(state_open(path, 0600, &s, &e), -1);
        assert_string_equal(e.reason, "symlink");
        (void)snprintf(path, sizeof path, "%s/file", top);
        assert_int_equal(close(open(path, O_CREAT | O_WRONLY, 0600)), 0);
        assert_int_equal(state_open(path, 0600, &s, &e), -1);
        assert_string_equal(e.reason, "not_directory");
        (void)snprintf(path, sizeof path, "%s/open", top);
        assert_int_equal(mkdir(path, 0700), 0);
        assert_int_equal(chmod(path, 0755), 0);
        assert_int_equal(state_open(path, 0600, &s, &e), -1);
        assert_string_equal(e.reason, "mode");
        assert_non_null(strstr(e.hint, path));
        assert_int_equal(e.code, ERROR_STATE_UNUSABLE);
        assert_int_equal(state_open(geteuid() == 0 ? path : "/", 0600, &s, &e), -1);
        if (geteuid() == 0) {
                assert_int_equal(chmod(path, 0700), 0);
                assert_int_equal(chown(path, 4242, 4242), 0);
                assert_int_equal(state_open(path, 0600, &s, &e), -1);
        }
        assert_string_equal(e.reason, "owner");
        memset(longer, 'x', sizeof longer - 1);
        longer[0] = '/';
        longer[sizeof longer - 1] = '\0';
        assert_int_equal(state_open(longer, 0600, &s, &e), -1);
        assert_string_equal(e.reason, "too_long");
}

static void
one_daemon_at_a_time_with_its_pid(void **state)
{
        char path[128], pid[16];
        struct state first, second;
        struct error e;

        (void)state;
        (void)snprintf(path, sizeof path, "%s/one", top);
        (void)snprintf(pid, sizeof pid, "%d", (int)getpid());
        assert_int_equal(state_open(path, 0600, &first, &e), 0);
        assert_int_equal(state_open(path, 0600, &second, &e), -1);
        assert_int_equal(e.code, ERROR_STATE_IN_USE);
        assert_non_null(strstr(e.message, pid));
        state_close(&first);
        assert_int_equal(state_open(path, 0600, &second, &e), 0);
        state_close(&second);
}

/* Answers one connection as a box does, and one with something else. */
static pid_t
answer_twice(int listener)
{
        const struct wire_head heads[] = { { WIRE_MAGIC, WIRE_VERSION, WIRE_BOX_HELLO },
                                           { WIRE_MAGIC, WIRE_VERSION, WIRE_BOX_GONE } };
        pid_t child = fork();

        for (size_t i = 0; child == 0 && i < 2; i++) {
                int fd = accept(listener, NULL, NULL);

                (void)send(fd, &heads[i], sizeof heads[i], MSG_NOSIGNAL);
                (void)close(fd);
        }
        if (child == 0)
                _exit(0);
        return child;
}

/* Two directories of boxes. A process listens in one of them, first silent, then answering. */
static void
counts_boxes_that_answer(void **state)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        char path[128];
        struct state s;
        struct error e;
        pid_t child;
        int fd;

        (void)state;
        (void)snprintf(path, sizeof path, "%s/count", top);
        assert_int_equal(state_open(path, 0600, &s, &e), 0);
        assert_int_equal(state_count_boxes(&s), 0);
        assert_int_equal(mkdirat(s.fd, "boxes", 0700), 0);
        assert_int_equal(mkdirat(s.fd, "boxes/a", 0700), 0);
        assert_int_equal(mkdirat(s.fd, "boxes/b", 0700), 0);
        assert_int_equal(state_count_boxes(&s), 0);
        fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        (void)snprintf(address.sun_path, sizeof address.sun_path, "%.90s/boxes/a/sock", path);
        assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
        assert_int_equal(state_count_boxes(&s), 0);
        assert_int_equal(listen(fd, 1), 0);
        /* the kernel accepted the connection, but no box answered */
        assert_int_equal(state_count_boxes(&s), 0);
        assert_int_equal(close(accept(fd, NULL, NULL)), 0);
        child = answer_twice(fd);
        assert_int_equal(state_count_boxes(&s), 1);
        assert_int_equal(state_count_boxes(&s), 0);
        assert_int_equal(waitpid(child, NULL, 0), child);
        assert_int_equal(close(fd), 0);
        assert_int_equal(state_count_boxes(&s), 0);
        state_close(&s);
}

static void
keeps_a_number(void **state)
{
        char path[128];
        struct state s;
        struct error e;

        (void)state;
        (void)snprintf(path, sizeof path, "%s/number", top);
        assert_int_equal(state_open(path, 0600, &s, &e), 0);
        assert_int_equal(state_number_read(&s, "n"), 0);
        state_number_write(&s, "n", 7071);
        assert_int_equal(state_number_read(&s, "n"), 7071);
        state_close(&s);
}

static void
is_the_first_directory_that_is_named(void **state)
{
        static const struct {
                const char *named, *carrel, *xdg, *home, *ordinary, *root;
        } cases[] = {
                { "/x//", "/y", NULL, NULL, "/x", "/x" },
                { NULL, "/y", "/z", "/h", "/y", "/y" },
                { NULL, NULL, "/z", "/h", "/z/carrel", "/var/lib/carrel" },
                { NULL, NULL, NULL, "/h", "/h/.local/state/carrel", "/var/lib/carrel" },
                { NULL, "", "z", "/h", "/h/.local/state/carrel", "/var/lib/carrel" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct arena arena;
                const char *path;
                struct error e;

                arena_init(&arena, 1 << 16);
                cases[i].carrel ? setenv("CARREL_STATE", cases[i].carrel, 1)
                                : unsetenv("CARREL_STATE");
                cases[i].xdg ? setenv("XDG_STATE_HOME", cases[i].xdg, 1)
                             : unsetenv("XDG_STATE_HOME");
                cases[i].home ? setenv("HOME", cases[i].home, 1) : unsetenv("HOME");
                assert_int_equal(state_choose(&arena, cases[i].named, &path, &e), 0);
                assert_string_equal(path, geteuid() == 0 ? cases[i].root : cases[i].ordinary);
                arena_fini(&arena);
        }
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(makes_it_closed_with_all_that_leads_to_it),
                cmocka_unit_test(is_passed_through_where_sockets_are_open),
                cmocka_unit_test(refuses_what_is_not_its_own),
                cmocka_unit_test(one_daemon_at_a_time_with_its_pid),
                cmocka_unit_test(counts_boxes_that_answer),
                cmocka_unit_test(keeps_a_number),
                cmocka_unit_test(is_the_first_directory_that_is_named),
        };

        return cmocka_run_group_tests(tests, make_top, remove_top);
}
