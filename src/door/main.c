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
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "door/facades.h"
#include "door/mcp_stdio.h"
#include "http/connection.h"
#include "http/door.h"
#include "ingress/ingress.h"
#include "seal/seal.h"

struct options {
        int keeper, http, tcp, ingress;
};

static int
read_options(int argc, char **argv, struct options *ret)
{
        const struct {
                const char *name;
                int *fd;
        } names[] = {
                { "--keeper-fd", &ret->keeper },
                { "--http-fd", &ret->http },
                { "--tcp-fd", &ret->tcp },
                { "--ingress-fd", &ret->ingress },
        };

        for (int i = 1; i < argc; i += 2) {
                size_t row = 0;
                char *end;
                long fd;

                while (row < sizeof names / sizeof *names && strcmp(argv[i], names[row].name) != 0)
                        row++;
                if (row == sizeof names / sizeof *names || i + 1 >= argc)
                        return -1;
                fd = strtol(argv[i + 1], &end, 10);
                if (end == argv[i + 1] || *end != '\0' || fd < 0 || fd > 1 << 20)
                        return -1;
                *names[row].fd = (int)fd;
        }
        return ret->keeper >= 0 && ret->http >= 0 ? 0 : -1;
}

static void
keeper_gone(void *data)
{
        loop_stop(data);
}

static void
accepted_unix(struct listener *l, int take_fd)
{
        connection_open(l, take_fd, 0);
}

static void
accepted_tcp(struct listener *l, int take_fd)
{
        connection_open(l, take_fd, 1);
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
        if (read_options(argc, argv, &o) < 0) {
                (void)fprintf(
                        stderr,
                        "carrel-door: --keeper-fd N --http-fd N [--tcp-fd N] [--ingress-fd N]\n");
                return 125;
        }
        (void)sigaction(SIGPIPE, &ignore, NULL);
        if (serve(&o, &e) < 0) {
                (void)fprintf(stderr, "carrel-door: %s\n", e.message);
                return 125;
        }
        return 0;
}
