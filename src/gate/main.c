/*
 * gate/main.c - carrel-gate: every connection that leaves a sandbox passes through here.
 *
 * Room: gate (acting). Touches: fd, this process.
 * Theory: the order is: take the control socket, read the resolvers, drop all rights, loop. The
 * gate ends when its keeper closes the socket. The boxes hold the walls' sockets too, so new
 * connections wait in their queues for the next gate.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "gate/accept_retry.h"
#include "gate/control.h"
#include "gate/gate.h"
#include "gate/test_switches.h"
#include "loop/startup.h"
#include "seal/seal.h"

enum { POLLS_MAX = 16 };

/* Reserves some for pipes; the rest is for connections. */
static void
share_descriptors(struct gate *g, size_t files)
{
        size_t left = files > 2 * GATE_FILES_SPARE ? files - GATE_FILES_SPARE : GATE_FILES_SPARE;

        g->pipes.max = left / 16 < PIPES_MAX ? left / 16 : PIPES_MAX;
        left -= 2 * g->pipes.max;
        g->sockets_most = left < GATE_SOCKETS_MAX ? left : GATE_SOCKETS_MAX;
        g->sockets = (struct fair_share_pool){ .max = g->sockets_most, .common_percent = 75 };
        g->held = (struct fair_share_pool){ .max = GATE_HELD_MAX, .common_percent = 50 };
}

/*
 * Notes the events of all walls first, then does a small part of the work. Reads a flood of events
 * only for a limited time; each can be noted again.
 */
static void
turn(struct gate *g)
{
        if (turns_are_over(&g->turns))
                loop_turn(g->loop);
        else
                for (int i = 0; i < POLLS_MAX && loop_poll(g->loop) == LOOP_BATCH; i++)
                        continue;
        turns_take(&g->turns);
        gate_reap(g);
}

struct options {
        int keeper;
        bool is_stand_in;
};

static int
serve(const struct options *o, struct error *e)
{
        static struct gate g;
        struct rlimit files = { 1024, 1024 };

        if (loop_new(&g.loop) < 0)
                return fail(e, ERROR_INTERNAL, "cannot create an epoll instance");
        switches_read();
        turns_init(&g.turns, loop_work_us);
        g.is_stand_in = o->is_stand_in;
        if (resolver_new(g.loop, &g.resolver, e) < 0 ||
            seal_enter(o->is_stand_in ? SEAL_STAND_IN : SEAL_GATE, NULL, 0, e) < 0)
                return -1;
        if (control_open(&g, o->keeper) < 0)
                return fail(e, ERROR_INTERNAL, "the control socket cannot be waited for");
        (void)getrlimit(RLIMIT_NOFILE, &files);
        share_descriptors(&g, (size_t)files.rlim_cur);
        while (!g.is_over)
                turn(&g);
        return 0;
}

int
main(int argc, char **argv)
{
        struct sigaction ignore = { .sa_handler = SIG_IGN };
        static const struct startup_option options[] = {
                STARTUP_ROW(struct options, keeper, "--keeper-fd", STARTUP_FD, 1),
                STARTUP_ROW(struct options, is_stand_in, "--stand-in", STARTUP_FLAG, 0),
        };
        struct options o = { .keeper = -1 };
        struct error e;

        (void)prctl(PR_SET_NAME, "carrel-gate", 0, 0, 0); /* instead of the memfd's name */
        (void)sigaction(SIGPIPE, &ignore, NULL);
        (void)sigaction(SIGXFSZ, &ignore, NULL); /* of a transcript, with `ulimit -f` */
        accept_retry_begin();
        if (startup_read(options, sizeof options / sizeof *options, argc, argv, &o, &e) < 0 ||
            serve(&o, &e) < 0) {
                (void)fprintf(stderr, "carrel-gate: %s\n", e.message);
                return 125;
        }
        return 0;
}
