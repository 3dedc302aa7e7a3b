/* wire/message_test.c - what wire/message.h promises. */
#include "base/unit.h"
#include "wire/message.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct pair {
        int ours, theirs;
};

static struct pair
pair_open(void)
{
        int fds[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
        return (struct pair){ fds[0], fds[1] };
}

static void
pair_close(struct pair *p)
{
        (void)close(p->ours);
        if (p->theirs >= 0)
                (void)close(p->theirs);
}

static size_t
count_fds(void)
{
        DIR *list = opendir("/proc/self/fd");
        size_t count = 0;

        assert_non_null(list);
        while (readdir(list))
                count++;
        (void)closedir(list);
        return count;
}

/* Raw bytes with descriptors, as a foreign program would send them. */
static void
send_raw(int socket, const void *bytes, size_t len, const int *fds, size_t fd_count)
{
        _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int) * 8)] = { 0 };
        struct iovec part = { (void *)(uintptr_t)bytes, len };
        struct msghdr msg = { .msg_iov = &part, .msg_iovlen = 1 };

        assert_true(fd_count <= 8);
        if (fd_count > 0) {
                struct cmsghdr *c;

                msg.msg_control = control;
                msg.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
                c = CMSG_FIRSTHDR(&msg);
                c->cmsg_level = SOL_SOCKET;
                c->cmsg_type = SCM_RIGHTS;
                c->cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
                memcpy(CMSG_DATA(c), fds, sizeof(int) * fd_count);
        }
        assert_int_equal(sendmsg(socket, &msg, MSG_NOSIGNAL), len);
}

static void
carries_body_and_descriptors(void **state)
{
        static const size_t lens[] = { 0, 1, 7, 8, 200, WIRE_BODY_MAX };
        static const size_t counts[] = { 0, 1, 3, WIRE_FDS_MAX };
        static char out[WIRE_BODY_MAX];
        static _Alignas(8) char in[WIRE_BODY_MAX];
        static struct wire_message m;
        int fds[WIRE_FDS_MAX];
        struct stat sent, got;
        size_t before;

        (void)state;
        for (size_t i = 0; i < sizeof out; i++)
                out[i] = (char)(i * 7);
        for (size_t i = 0; i < WIRE_FDS_MAX; i++)
                fds[i] = STDIN_FILENO;
        before = count_fds();
        for (size_t l = 0; l < sizeof lens / sizeof *lens; l++) {
                for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
                        struct pair p = pair_open();

                        assert_int_equal(
                                wire_send(p.theirs, WIRE_MAKE, out, lens[l], fds, counts[c]), 0);
                        memset(in, 0, lens[l]);
                        assert_int_equal(wire_receive(p.ours, 1, &m, in, sizeof in), 1);
                        assert_int_equal(m.kind, WIRE_MAKE);
                        assert_int_equal(m.len, lens[l]);
                        assert_memory_equal(in, out, lens[l]);
                        assert_int_equal(m.fd_count, counts[c]);
                        for (size_t i = 0; i < m.fd_count; i++) {
                                assert_true((fcntl(m.fds[i], F_GETFD) & FD_CLOEXEC) != 0);
                                assert_int_equal(fstat(m.fds[i], &got), 0);
                                assert_int_equal(fstat(STDIN_FILENO, &sent), 0);
                                assert_int_equal(got.st_ino, sent.st_ino);
                        }
                        wire_message_close(&m);
                        assert_int_equal(m.fd_count, 0);
                        pair_close(&p);
                        assert_int_equal(count_fds(), before);
                }
        }
}

static void
a_moved_descriptor_stays_open(void **state)
{
        struct wire_message m;
        struct pair p = pair_open();
        char body[8];
        int moved;

        (void)state;
        assert_int_equal(wire_send(p.theirs, WIRE_EXEC_STARTED, NULL, 0, &(int){ STDIN_FILENO }, 1),
                         0);
        assert_int_equal(wire_receive(p.ours, 0, &m, body, sizeof body), 1);
        moved = m.fds[0];
        m.fds[0] = -1;
        wire_message_close(&m);
        assert_true(fcntl(moved, F_GETFD) >= 0);
        (void)close(moved);
        pair_close(&p);
}

struct foreign_row {
        const char *what;
        struct wire_head head;
        size_t len; /* of the whole datagram */
};

static void
refuses_foreign_bytes_and_keeps_no_descriptor(void **state)
{
        static const struct foreign_row rows[] = {
                { "one byte", { WIRE_MAGIC, WIRE_VERSION, WIRE_KILL }, 1 },
                { "half a head",
                  { WIRE_MAGIC, WIRE_VERSION, WIRE_KILL },
                  sizeof(struct wire_head) - 1 },
                { "another magic",
                  { WIRE_MAGIC + 1, WIRE_VERSION, WIRE_KILL },
                  sizeof(struct wire_head) },
                { "an older version",
                  { WIRE_MAGIC, WIRE_VERSION - 1, WIRE_KILL },
                  sizeof(struct wire_head) },
                { "a newer version",
                  { WIRE_MAGIC, WIRE_VERSION + 1, WIRE_KILL },
                  sizeof(struct wire_head) },
                { "no kind", { WIRE_MAGIC, WIRE_VERSION, 0 }, sizeof(struct wire_head) },
                { "an unknown kind",
                  { WIRE_MAGIC, WIRE_VERSION, WIRE_KIND_MAX },
                  sizeof(struct wire_head) },
                { "the largest kind",
                  { WIRE_MAGIC, WIRE_VERSION, UINT16_MAX },
                  sizeof(struct wire_head) },
                { "a body that is too long",
                  { WIRE_MAGIC, WIRE_VERSION, WIRE_KILL },
                  sizeof(struct wire_head) + 9 },
        };
        const int fds[] = { 0, 0, 0 };
        size_t before = count_fds();

        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                for (size_t fd_count = 0; fd_count <= 3; fd_count += 3) {
                        char bytes[64] = { 0 }, body[8];
                        struct wire_message m;
                        struct pair p = pair_open();
                        int got;

                        memcpy(bytes, &rows[i].head, sizeof rows[i].head);
                        send_raw(p.theirs, bytes, rows[i].len, fds, fd_count);
                        got = wire_receive(p.ours, 0, &m, body, sizeof body);
                        if (got != -EPROTO)
                                fail_msg("%s: %d", rows[i].what, got);
                        assert_int_equal(m.fd_count, 0);
                        pair_close(&p);
                        if (count_fds() != before)
                                fail_msg("%s: a descriptor stayed open", rows[i].what);
                }
        }
}

/*
 * If only some of the descriptors fit, the first ones arrive. They are of no use without the
 * others.
 */
static void
says_that_there_is_no_room_for_descriptors(void **state)
{
        const int fds[] = { 0, 0, 0, 0 };
        struct rlimit before, few;
        struct wire_message m;
        char body[8];
        struct pair p = pair_open();
        size_t open;

        (void)state;
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
        assert_int_equal(wire_send(p.theirs, WIRE_SIGNAL, "word", 5, fds, 4), 0);
        open = count_fds();
        few = (struct rlimit){ (rlim_t)p.ours + (rlim_t)2 > (rlim_t)p.theirs ? (rlim_t)p.ours + 2
                                                                             : (rlim_t)p.theirs + 1,
                               before.rlim_max };
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        assert_int_equal(wire_receive(p.ours, 0, &m, body, sizeof body), -EMFILE);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        assert_int_equal(m.kind, WIRE_SIGNAL);
        assert_int_equal(m.len, 5);
        assert_string_equal(body, "word");
        assert_int_equal(m.fd_count, 0);
        assert_int_equal(count_fds(), open);
        pair_close(&p);
}

/* An empty datagram looks like the end of the stream. Its descriptors must be closed too. */
static void
an_empty_datagram_leaves_no_descriptor(void **state)
{
        struct wire_message m;
        size_t before = count_fds();
        struct pair p = pair_open();
        char body[8];

        (void)state;
        send_raw(p.theirs, "", 0, (const int[]){ 0, 0 }, 2);
        assert_true(wire_receive(p.ours, 0, &m, body, sizeof body) <= 0);
        assert_int_equal(m.fd_count, 0);
        pair_close(&p);
        assert_int_equal(count_fds(), before);
}

static void
tells_quiet_from_gone(void **state)
{
        struct wire_message m;
        struct pair p = pair_open();
        char body[8];

        (void)state;
        assert_int_equal(wire_receive(p.ours, 0, &m, body, sizeof body), -EAGAIN);
        assert_int_equal(wire_send(p.theirs, WIRE_KILL, NULL, 0, NULL, 0), 0);
        (void)close(p.theirs);
        p.theirs = -1;
        /* a message sent before the close is still received */
        assert_int_equal(wire_receive(p.ours, 0, &m, body, sizeof body), 1);
        assert_int_equal(m.len, 0);
        assert_int_equal(wire_receive(p.ours, 0, &m, body, sizeof body), 0);
        assert_int_equal(wire_receive(p.ours, 1, &m, body, sizeof body), 0);
        assert_int_equal(wire_send(p.ours, WIRE_KILL, NULL, 0, NULL, 0), -EPIPE);
        pair_close(&p);
}

static void
refuses_to_send_too_much(void **state)
{
        static char body[WIRE_BODY_MAX + 1];
        int fds[WIRE_FDS_MAX + 1] = { 0 };
        struct pair p = pair_open();
        int small = 1;

        (void)state;
        assert_int_equal(wire_send(p.ours, WIRE_MAKE, body, sizeof body, NULL, 0), -E2BIG);
        assert_int_equal(wire_send(p.ours, WIRE_MAKE, body, 1, fds, WIRE_FDS_MAX + 1), -E2BIG);
        assert_int_equal(wire_send(p.ours, WIRE_MAKE, body, 1, &(int){ -1 }, 1), -EBADF);
        assert_int_equal(setsockopt(p.ours, SOL_SOCKET, SO_SNDBUF, &small, sizeof small), 0);
        assert_int_equal(wire_send(p.ours, WIRE_MAKE, body, WIRE_BODY_MAX, NULL, 0), -EMSGSIZE);
        assert_int_equal(wire_send(p.ours, WIRE_KILL, NULL, 0, NULL, 0), 0);
        pair_close(&p);
}

/*
 * As a user without privileges: the kernel refuses more descriptors in transit than a process may
 * have open, until a reader takes some.
 */
static int
sends_past_the_limit(void)
{
        struct rlimit few = { 16, 16 };
        struct wire_message m;
        uint32_t body = 0;
        int pair[2], start[2], result = 0;

        if ((geteuid() == 0 && setresuid(65532, 65532, 65532) < 0) ||
            setrlimit(RLIMIT_NOFILE, &few) < 0 ||
            socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) < 0 || pipe(start) < 0)
                return 1;
        if (fork() == 0) {
                (void)close(pair[0]);
                (void)close(start[1]);
                if (read(start[0], &body, 1) != 1)
                        _exit(1);
                while (wire_receive(pair[1], 1, &m, &body, sizeof body) == 1)
                        wire_message_close(&m);
                _exit(0);
        }
        for (int i = 0; i < 64 && result == 0; i++)
                result = wire_send(pair[0], WIRE_BOX_LISTED, &body, 4, &pair[0], 1);
        if (result == 0)
                return 3; /* the kernel accepted all, so this proves nothing */
        if (result != -ETOOMANYREFS || write(start[1], "g", 1) != 1)
                return 4;
        return wire_send_in_time(pair[0], WIRE_BOX_LISTED, &body, 4, &pair[0], 1) == 0 ? 0 : 5;
}

static void
too_many_descriptors_in_transit_are_sent_in_time(void **state)
{
        pid_t child = fork();
        int status;

        if (child == 0)
                _exit(sends_past_the_limit());
        assert_int_equal(waitpid(child, &status, 0), child);
        if (!WIFEXITED(status) || (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != 3))
                fail_msg("status %x", (unsigned)status);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(carries_body_and_descriptors),
                cmocka_unit_test(a_moved_descriptor_stays_open),
                cmocka_unit_test(refuses_foreign_bytes_and_keeps_no_descriptor),
                cmocka_unit_test(says_that_there_is_no_room_for_descriptors),
                cmocka_unit_test(an_empty_datagram_leaves_no_descriptor),
                cmocka_unit_test(tells_quiet_from_gone),
                cmocka_unit_test(refuses_to_send_too_much),
                cmocka_unit_test(too_many_descriptors_in_transit_are_sent_in_time),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
