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
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock/clock.h"
#include "plan/failure.h"
#include "plan/pack.h"
#include "prepare/prepare.h"
#include "programs/programs.h"
#include "text/json.h"
#include "wire/message.h"

enum { ARENA_LEN = 16 << 20, BODY_ROOM = 4096 };

struct maker {
        pid_t pid;
        int socket;
};

static int
complain(const struct error *e)
{
        (void)fprintf(stderr, "guest-rig: %s: %s\n", error_wire_name(e->code), e->message);
        return 1;
}

static int
start(struct maker *ret, const struct prepared *p, int guest, struct error *e)
{
        static char name[] = "carrel-init";
        static _Alignas(16) unsigned char body[PLAN_PACK_MAX];
        size_t count = p->plan->source_count,
               len = plan_pack_len(p->plan->steps, p->plan->step_count);
        int fds[PLAN_SOURCES_MAX + 1] = { guest };

        if (len == 0 || count > PLAN_SOURCES_MAX)
                return fail(e, ERROR_QUOTA_EXCEEDED, "the plan is too large");
        memcpy(fds + 1, p->sources->fds, count * sizeof *fds);
        plan_pack(p->plan->steps, p->plan->step_count, count, body);
        if (program_start_linked(PROGRAM_INIT, (char *[]){ name, NULL }, clock_environment(),
                                 &ret->socket, &ret->pid, e) < 0)
                return -1;
        return wire_send(ret->socket, WIRE_MAKE, body, len, fds, count + 1) < 0
                       ? fail(e, ERROR_BACKEND_FAILED, "the maker does not take the plan")
                       : 0;
}

/* 1: there will be more; 0: the box has ended; -1: an error. */
static int
hear(const struct maker *maker, const struct plan *plan, struct error *e)
{
        _Alignas(8) unsigned char body[BODY_ROOM];
        struct wire_message m;
        struct wire_failed failed;

        if (wire_receive(maker->socket, 0, &m, body, sizeof body) <= 0)
                return fail(e, ERROR_BACKEND_FAILED, "the maker is gone");
        wire_message_close(&m);
        if (m.kind == WIRE_MAKE_FAILED && m.len == sizeof failed) {
                memcpy(&failed, body, sizeof failed);
                return plan_step_failed(e, plan, failed.step, failed.sys);
        }
        if (m.kind == WIRE_SPAWNED || m.kind == WIRE_BOX_ENDED)
                (void)printf("%s\n", m.kind == WIRE_SPAWNED ? "made" : "ended");
        (void)fflush(stdout);
        return m.kind != WIRE_BOX_ENDED;
}

static int
serve(const struct maker *maker, const struct plan *plan, struct error *e)
{
        struct pollfd fds[2] = { { STDIN_FILENO, POLLIN, 0 }, { maker->socket, POLLIN, 0 } };
        int result = 1;

        while (result > 0) {
                (void)poll(fds, 2, -1);
                if (fds[0].revents != 0) {
                        (void)wire_send(maker->socket, WIRE_KILL, NULL, 0, NULL, 0);
                        fds[0].fd = -1;
                }
                if (fds[1].revents != 0)
                        result = hear(maker, plan, e);
        }
        return result < 0 ? complain(e) : 0;
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
        struct maker maker;
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
            prepare_plan(&host, &request, &p, e) < 0 || start(&maker, &p, guest, e) < 0)
                return complain(e);
        (void)close(guest);
        result = serve(&maker, p.plan, e);
        (void)close(maker.socket);
        (void)waitpid(maker.pid, NULL, 0);
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
