/*
 * maker/tap.c - makes the wall of a virtual machine.
 *
 * Room: maker (program). Touches: processes, a network namespace of its own.
 * Theory: a child makes the namespace, and sends what leads there. This process and the box never
 * enter it, and no process stays in it. So a payload that takes over QEMU can send frames into it,
 * which its machine can anyway, and open no socket there. The child has the user's rights, because
 * the ids of a box may not open /dev/net/tun.
 */
#include "maker/tap.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "maker/child.h"
#include "wire/message.h"

static _Noreturn void
make(int control, int to, const struct step *s)
{
        struct namespace_sockets made = { .control = control, .tap = -1 };
        int fds[WALL_STOCK_MAX + 1], result = namespace_step(&made, s);

        if (result == 0) {
                fds[0] = made.tap;
                memcpy(fds + 1, made.stock, made.stock_count * sizeof *fds);
                result = wire_send(to, WIRE_WALL, NULL, 0, fds, made.stock_count + 1);
        }
        _exit(-result);
}

/* What the child sent. After a failure the box is not made, and the descriptors go with it. */
static int
take(int from, struct namespace_sockets *sockets)
{
        struct wire_message m;
        int got = wire_receive(from, 0, &m, NULL, 0);

        if (got <= 0 || m.kind != WIRE_WALL || m.fd_count == 0) {
                if (got > 0)
                        wire_message_close(&m);
                return -EPROTO;
        }
        sockets->tap = m.fds[0];
        return namespace_keep(sockets, m.fds + 1, m.fd_count - 1);
}

int
tap_make(struct namespace_sockets *sockets, const struct step *s)
{
        int ends[2], result;
        pid_t pid;

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
                return -errno;
        pid = fork();
        if (pid == 0)
                make(sockets->control, ends[1], s);
        result = pid < 0 ? -errno : child_wait(pid);
        if (result > 0)
                result = -result; /* the step's error */
        if (result == 0)
                result = take(ends[0], sockets);
        (void)close(ends[0]);
        (void)close(ends[1]);
        return result;
}

void
tap_let_go(struct namespace_sockets *sockets)
{
        if (sockets->tap >= 0)
                (void)close(sockets->tap);
        for (size_t i = 0; i < sockets->stock_count; i++)
                (void)close(sockets->stock[i]);
        sockets->tap = -1;
        sockets->stock_count = 0;
}
