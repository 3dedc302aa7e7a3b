/*
 * guest/listen.c - listeners on the address of a name, or on every address of a routed wall. Pid 1
 * opens them and hands them out.
 *
 * Room: guest (program). Touches: the box's own addresses, fd.
 * Theory: ports from 1024 on need no privilege, and pid 1 has none. For a routed wall, the stock
 * was created in its namespace, where no port needs one. Pid 1 keeps no listener: gate and box hold
 * them, so that connections wait in the queue while no gate answers.
 */
#include "guest/listen.h"

#include <errno.h>
#include <unistd.h>

#include "wall/wall.h"

/* Makes the last socket of the stock a listener. One that cannot be bound stays in the stock. */
static int
take_stock(struct listens *x, uint16_t port)
{
        int result;

        if (x->stock_count == 0)
                return -ENFILE;
        result = wall_bind(x->stock[x->stock_count - 1], port);
        if (result == 0)
                x->fds[0] = x->stock[--x->stock_count];
        return result;
}

void
listens_start(struct listens *x, const struct wire_wall_listen *wanted)
{
        int result = wanted->index == 0 ? take_stock(x, wanted->port)
                                        : wall_listen(wanted->index, wanted->port, x->fds);

        x->answer = (struct wire_wall_listened){ wanted->request, -result };
        x->fd_count = result < 0 ? 0 : wanted->index == 0 ? 1 : 2;
        x->is_due = 1;
}

int
listens_tell(struct listens *x)
{
        int result = x->is_due ? wire_send(x->control, WIRE_WALL_LISTENED, &x->answer,
                                           sizeof x->answer, x->fds, x->fd_count)
                               : -EAGAIN;

        if (result < 0)
                return wire_is_for_later(result) ? 0 : -1;
        for (size_t i = 0; i < x->fd_count; i++)
                (void)close(x->fds[i]);
        x->is_due = 0;
        return 0;
}
