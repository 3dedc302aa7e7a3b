/*
 * test/rig/guest_rig.c - a sandbox whose pid 1 is controlled by a test directly.
 *
 *   guest-rig SOCKET MANIFEST.json [WORKSPACE]
 *
 * Creates a sandbox as the daemon would, from a manifest in JSON and the defaults of a host without
 * a host file. Pid 1 gets the inherited descriptor SOCKET as its control end. Prints "made" when
 * the sandbox has started and "ended" when it is gone. If standard input closes, the sandbox is
 * killed.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "backend/ns/maker.h"
#include "prepare/prepare.h"
#include "text/json.h"

enum { ARENA_LEN = 16 << 20 };

static int
complain(const struct error *e)
{
        (void)fprintf(stderr, "guest-rig: %s: %s\n", error_wire_name(e->code), e->message);
        return 1;
}

static int
serve(struct backend_box *box, struct error *e)
{
        struct pollfd fds[2] = { { STDIN_FILENO, POLLIN, 0 },
                                 { backend_ns.descriptor(box), POLLIN, 0 } };
        struct backend_news news;

        for (;;) {
                (void)poll(fds, 2, -1);
                if (fds[0].revents != 0) {
                        backend_ns.kill(box);
                        fds[0].fd = -1;
                }
                if (fds[1].revents == 0)
                        continue;
                if (backend_ns.read(box, &news, e) < 0)
                        return complain(e);
                if (news.kind == BACKEND_FAILED)
                        return complain(&news.error);
                if (news.kind == BACKEND_SPAWNED || news.kind == BACKEND_ENDED)
                        (void)printf("%s\n", news.kind == BACKEND_SPAWNED ? "made" : "ended");
                (void)fflush(stdout);
                if (news.kind == BACKEND_ENDED)
                        return 0;
        }
}

static int
make(const char *manifest, const char *workspace, int guest, struct error *e)
{
        static struct prepare_host host;
        static struct prepared p;
        struct prepare_request request = { .id = "00c0ffee00c0ffee",
                                           .workspace = workspace,
                                           .caller_uid = PREPARE_UID_ANY,
                                           .now_s = (int64_t)time(NULL),
                                           .is_living = true };
        struct backend_box *box;
        const struct node *tree;
        struct arena arena;
        char id[17];
        int result;

        (void)snprintf(id, sizeof id, "%016x", (unsigned)getpid());
        request.id = id;
        arena_init(&arena, ARENA_LEN);
        prepared_init(&p);
        if (prepare_host_init(&host, e) < 0 || prepare_host_read(&host, NULL, 0, true, e) < 0 ||
            json_read(&arena, manifest, strlen(manifest), &text_limits_manifest, &tree, e) < 0 ||
            prepare_judge(&host, &request, tree, &p, e) < 0 ||
            prepare_plan(&host, &request, &p, e) < 0 ||
            backend_ns.start(&box, p.plan, p.sources->fds, guest, e) < 0)
                return complain(e);
        (void)close(guest);
        result = serve(box, e);
        backend_ns.close(box);
        prepared_fini(&p);
        prepare_host_fini(&host);
        arena_fini(&arena);
        return result;
}

int
main(int argc, char **argv)
{
        struct error e = { .code = ERROR_NONE };
        int guest;

        if (argc < 3)
                return 2;
        guest = (int)strtol(argv[1], NULL, 10);
        (void)fcntl(guest, F_SETFD, FD_CLOEXEC);
        return make(argv[2], argc > 3 ? argv[3] : NULL, guest, &e);
}
