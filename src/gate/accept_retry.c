/*
 * gate/accept_retry.c - accepts a connection without a risk to block.
 *
 * Room: gate (acting). Touches: net, signals of this process.
 * Theory: O_NONBLOCK belongs to the open socket, which a box holds too. A compromised box can clear
 * it, empty the queue first, and so block the gate for every wall. No check before accept4(2)
 * prevents that. So a timer signal interrupts accept4(2), and the gate drops that wall. A busy gate
 * sets the timer once a second; an idle gate gets one signal.
 */
#include "gate/accept_retry.h"

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
        if (is_accepting) /* the call may be about to block: repeat */
                set();
        errno = before;
}

void
accept_retry_begin(void)
{
        /* without SA_RESTART, so that the call is interrupted */
        struct sigaction on_ring = { .sa_handler = rings };

        (void)sigaction(SIGALRM, &on_ring, NULL);
}

int
accept_retry(int listener, struct sockaddr_in6 *ret_from)
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
