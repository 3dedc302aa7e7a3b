/*
 * gate/patience.c - accepting without being made to wait.
 *
 * Room: gate (acting). Touches: net, signals of this process.
 * Theory: O_NONBLOCK belongs to the open socket, which a box has as well: one that was taken over can clear it, empty the queue first, and hold up every wall there is.
 * No check before accept4(2) closes that, so a clock rings while we are in it: it comes back, and that wall is let go. Who accepts all the time sets
 * the clock once a second, who accepts nothing hears it once.
 */
#include "gate/patience.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

static volatile sig_atomic_t is_accepting, is_set;

static void
set(void)
{
        const struct itimerval second = { .it_value = { .tv_sec = 1 } };

        is_set = setitimer(ITIMER_REAL, &second, NULL) == 0;
}

static void
rings(int number)
{
        int before = errno;

        (void)number;
        is_set = 0;
        if (is_accepting)                      /* it may be about to block: once more */
                set();
        errno = before;
}

void
patience_begin(void)
{
        struct sigaction on_ring = { .sa_handler = rings };    /* without SA_RESTART */

        (void)sigaction(SIGALRM, &on_ring, NULL);
}

int
patience_accept(int listener, struct sockaddr_in6 *ret_from)
{
        socklen_t len = sizeof *ret_from;
        int fd;

        memset(ret_from, 0, sizeof *ret_from);
        is_accepting = 1;
        if (!is_set)
                set();
        fd = accept4(listener, (struct sockaddr *)ret_from, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
        is_accepting = 0;
        return fd < 0 ? -errno : fd;
}
