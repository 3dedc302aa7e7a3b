/* daemon/listen_test.c - promises of daemon/listen.h. */
#include "base/unit.h"
#include "daemon/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

struct place {
        char path[64];
        struct state state;
};

static void
make_place(struct place *p)
{
        (void)snprintf(p->path, sizeof p->path, "/tmp/carrel-listen-XXXXXX");
        assert_non_null(mkdtemp(p->path));
        p->state = (struct state){ .path = p->path,
                                   .fd = open(p->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
                                   .lock = -1 };
        assert_true(p->state.fd >= 0);
}

static void
remove_place(struct place *p)
{
        (void)unlinkat(p->state.fd, "carrel.sock", 0);
        (void)close(p->state.fd);
        assert_int_equal(rmdir(p->path), 0);
}

static void
a_socket_is_closed_from_its_first_moment(void **state)
{
        static const mode_t modes[] = { 0600, 0660, 0666 };

        (void)state;
        for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
                struct listeners l;
                struct place p;
                struct stat st;
                struct error e;
                mode_t before = umask(0);

                make_place(&p);
                listeners_init(&l);
                assert_int_equal(listeners_unix(&l, SLOT_HTTP_SOCKET, &p.state, modes[i], &e), 0);
                assert_int_equal(umask(before), 0);
                assert_int_equal(fstatat(p.state.fd, "carrel.sock", &st, AT_SYMLINK_NOFOLLOW), 0);
                assert_true(S_ISSOCK(st.st_mode));
                assert_int_equal(st.st_mode & 07777, modes[i]);
                listeners_fini(&l, &p.state);
                assert_int_equal(fstatat(p.state.fd, "carrel.sock", &st, AT_SYMLINK_NOFOLLOW), -1);
                remove_place(&p);
        }
}

static void
a_stale_socket_is_replaced_and_nothing_else(void **state)
{
        struct listeners l;
        struct place p;
        struct stat st;
        struct error e;

        (void)state;
        make_place(&p);
        listeners_init(&l);
        assert_int_equal(listeners_unix(&l, SLOT_HTTP_SOCKET, &p.state, 0600, &e), 0);
        assert_int_equal(close(l.fds[SLOT_HTTP_SOCKET]), 0); /* as a killed daemon leaves it */
        listeners_init(&l);
        assert_int_equal(listeners_unix(&l, SLOT_HTTP_SOCKET, &p.state, 0600, &e), 0);
        listeners_fini(&l, &p.state);
        assert_int_equal(symlinkat("/tmp/nowhere-at-all.sock", p.state.fd, "carrel.sock"), 0);
        listeners_init(&l);
        assert_int_equal(listeners_unix(&l, SLOT_HTTP_SOCKET, &p.state, 0600, &e), -1);
        assert_string_equal(e.reason, "not_socket");
        assert_int_equal(stat("/tmp/nowhere-at-all.sock", &st), -1);
        assert_int_equal(fstatat(p.state.fd, "carrel.sock", &st, AT_SYMLINK_NOFOLLOW), 0);
        remove_place(&p);
}

static void
listens_on_loopback_only(void **state)
{
        static const struct {
                const char *text, *reason;
                int result;
        } cases[] = {
                { "127.0.0.1:0", "", 0 },
                { "127.0.0.2:0", "", 0 },
                { "0.0.0.0:0", "not_loopback", -1 },
                { "192.0.2.1:80", "not_loopback", -1 },
                { "[::]:0", "not_loopback", -1 },
                { "[::ffff:127.0.0.1]:0", "not_loopback", -1 },
                { "localhost:80", "", -1 },
                { "127.0.0.1", "", -1 },
                { "127.0.0.1:", "", -1 },
                { "127.0.0.1:65536", "", -1 },
                { "127.0.0.1:+1", "", -1 },
                { "127.0.0.1:1x", "", -1 },
                { ":80", "", -1 },
                { "", "", -1 },
                { "[::1:80", "", -1 },
                { "[]:80", "", -1 },
        };

        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct state nowhere = { .fd = -1, .lock = -1 };
                struct listeners l;
                struct error e;
                char url[64];

                listeners_init(&l);
                assert_int_equal(listeners_tcp(&l, SLOT_TCP_SOCKET, "--listen", cases[i].text, &e),
                                 cases[i].result);
                if (cases[i].result < 0) {
                        assert_int_equal(e.code, ERROR_INVALID_ARGUMENT);
                        assert_string_equal(e.reason, cases[i].reason);
                        continue;
                }
                assert_true(listeners_port(&l, SLOT_TCP_SOCKET) > 0);
                listeners_url(&l, SLOT_TCP_SOCKET, url);
                assert_int_equal(strncmp(url, "http://127.0.0.", 15), 0);
                listeners_fini(&l, &nowhere);
        }
}

/* The type of a passed socket says its use, not its number. */
static void
takes_what_is_handed_over(void **state)
{
        struct sockaddr_in any = { .sin_family = AF_INET },
                           loop = { .sin_family = AF_INET,
                                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        const struct {
                int domain, type;
                const struct sockaddr_in *bound;
                const char *name;
                enum graph_slot slot;
        } cases[] = {
                { AF_UNIX, SOCK_STREAM, NULL, "", SLOT_HTTP_SOCKET },
                { AF_UNIX, SOCK_SEQPACKET, NULL, "x", SLOT_KEEPER_SOCKET },
                { AF_INET, SOCK_STREAM, &loop, "carrel.socket", SLOT_TCP_SOCKET },
                { AF_INET, SOCK_STREAM, &loop, "ingress", SLOT_INGRESS_SOCKET },
                { AF_INET, SOCK_STREAM, &any, "ingress", SLOT_MAX },
                { AF_UNIX, SOCK_DGRAM, NULL, "", SLOT_MAX },
        };
        int kept = fcntl(3, F_DUPFD_CLOEXEC, 10);

        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct state nowhere = { .fd = -1, .lock = -1 };
                struct listeners l;
                struct error e;
                char pid[16];
                int fd = socket(cases[i].domain, cases[i].type, 0);

                assert_true(fd >= 0);
                if (cases[i].bound)
                        assert_int_equal(bind(fd, (const struct sockaddr *)cases[i].bound,
                                              sizeof *cases[i].bound),
                                         0);
                else
                        assert_int_equal(bind(fd, (const struct sockaddr *)&(struct {
                                                      sa_family_t family;
                                              }){ AF_UNIX },
                                              sizeof(sa_family_t)),
                                         0);
                if (cases[i].type != SOCK_DGRAM)
                        assert_int_equal(listen(fd, 1), 0);
                assert_int_equal(dup2(fd, 3), 3);
                if (fd != 3)
                        assert_int_equal(close(fd), 0);
                (void)snprintf(pid, sizeof pid, "%d", (int)getpid());
                assert_int_equal(setenv("LISTEN_PID", pid, 1) | setenv("LISTEN_FDS", "1", 1) |
                                         setenv("LISTEN_FDNAMES", cases[i].name, 1),
                                 0);
                listeners_init(&l);
                assert_int_equal(listeners_take(&l, &e), cases[i].slot == SLOT_MAX ? -1 : 0);
                assert_null(getenv("LISTEN_FDS"));
                if (cases[i].slot == SLOT_MAX)
                        (void)close(3);
                else
                        assert_int_equal(l.fds[cases[i].slot], 3);
                listeners_fini(&l, &nowhere);
        }
        /* meant for another process */
        assert_int_equal(setenv("LISTEN_PID", "1", 1) | setenv("LISTEN_FDS", "1", 1), 0);
        {
                struct listeners l;
                struct error e;

                listeners_init(&l);
                assert_int_equal(listeners_take(&l, &e), 0);
                assert_int_equal(l.fds[SLOT_HTTP_SOCKET], -1);
        }
        if (kept >= 0) {
                (void)dup2(kept, 3);
                (void)close(kept);
        }
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_socket_is_closed_from_its_first_moment),
                cmocka_unit_test(a_stale_socket_is_replaced_and_nothing_else),
                cmocka_unit_test(listens_on_loopback_only),
                cmocka_unit_test(takes_what_is_handed_over),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
