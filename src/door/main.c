/*
 * door/main.c - carrel-door: the HTTP server that `carrel serve` starts. With the role `mcp`, the
 * server of one agent on two pipes, started by `carrel mcp`.
 *
 * Room: door (joining). Touches: fd, this process.
 * Theory: main() takes its descriptors, drops its privileges, then runs the loop. It ends when the
 * keeper ends; the program that started it restarts both.
 */
#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "door/facades.h"
#include "door/mcp_stdio.h"
#include "http/door.h"
#include "http/serve.h"
#include "ingress/ingress.h"
#include "loop/startup.h"
#include "seal/seal.h"

struct options {
        int keeper, http, tcp, ingress;
};

static const struct startup_option rows[] = {
        STARTUP_ROW(struct options, keeper, "--keeper-fd", STARTUP_FD, 1),
        STARTUP_ROW(struct options, http, "--http-fd", STARTUP_FD, 1),
        STARTUP_ROW(struct options, tcp, "--tcp-fd", STARTUP_FD, 0),
        STARTUP_ROW(struct options, ingress, "--ingress-fd", STARTUP_FD, 0),
};

static void
keeper_gone(void *data)
{
        loop_stop(data);
}

static void
accepted_unix(struct listener *l, int take_fd)
{
        serve_connection(l, take_fd, 0);
}

static void
accepted_tcp(struct listener *l, int take_fd)
{
        serve_connection(l, take_fd, 1);
}

static void
accepted_ingress(struct listener *l, int take_fd)
{
        ingress_open(l, take_fd);
}

static int
serve(const struct options *o, struct error *e)
{
        static struct listener http, tcp, ingress;
        static struct link link;
        static struct door door = { .facades = door_facades, .link = &link };

        if (loop_new(&door.loop) < 0)
                return fail(e, ERROR_INTERNAL, "cannot create an epoll instance");
        link_init(&link, door.loop, LINK_SAYS_WHO, keeper_gone, door.loop);
        if (link_connect(&link, o->keeper, e) < 0 ||
            listener_open(&http, &door, o->http, accepted_unix, e) < 0 ||
            (o->tcp >= 0 && listener_open(&tcp, &door, o->tcp, accepted_tcp, e) < 0) ||
            (o->ingress >= 0 &&
             listener_open(&ingress, &door, o->ingress, accepted_ingress, e) < 0))
                return -1;
        /*
         * seeded by the kernel while it is still reachable: callers must not be able to choose
         * colliding keys
         */
        json_object_seed(0);
        if (seal_enter(SEAL_DOOR, NULL, 0, e) < 0)
                return -1;
        loop_run(door.loop);
        link_close(&link);
        return 0;
}

int
main(int argc, char **argv)
{
        struct options o = { -1, -1, -1, -1 };
        struct sigaction ignore = { .sa_handler = SIG_IGN };
        struct error e;

        if (argc > 1 && strcmp(argv[1], "mcp") == 0)
                return mcp_stdio_main(argc - 1, argv + 1);
        /* otherwise it has the name of a memory file */
        (void)prctl(PR_SET_NAME, "carrel-door", 0, 0, 0);
        (void)sigaction(SIGPIPE, &ignore, NULL);
        if (startup_read(rows, sizeof rows / sizeof *rows, argc, argv, &o, &e) < 0 ||
            serve(&o, &e) < 0) {
                (void)fprintf(stderr, "carrel-door: %s\n", e.message);
                return 125;
        }
        return 0;
}
