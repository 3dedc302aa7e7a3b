/*
 * cli/judge.c - asks a carrel-judge of its own for one judgement.
 *
 * Room: cli (joining). Touches: processes, one socket, what host/programs.h looks up.
 * Theory: the process exists for one command and is killed when it has answered, or has not in
 * time. Whatever it does instead of answering denies the command.
 */
#include "cli/judge.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/scoped.h"
#include "base/switches.h"
#include "clock/clock.h"
#include "judge/asker.h"
#include "programs/programs.h"

/* -- asking ------------------------------------------------------------------------------------ */

struct conversation {
        struct host_programs *programs;
        int socket;
};

static int
send_to(void *context, uint16_t kind, const void *body, size_t len)
{
        const struct conversation *c = context;

        return wire_send_in_time(c->socket, kind, body, len, NULL, 0);
}

static void
look(void *context, const char *name, struct wire_judge_file *ret)
{
        const struct conversation *c = context;
        struct host_file_id id;
        const char *found = host_programs_look(c->programs, name, &id);

        ret->device = id.device;
        ret->inode = id.inode;
        if (found && strlen(found) < sizeof ret->name)
                (void)memccpy(ret->name, found, '\0', sizeof ret->name);
}

/* One message, or the end of patience. */
static int
hear(int socket, uint64_t until_ms, struct wire_message *m, void *body, struct error *e)
{
        struct pollfd p = { .fd = socket, .events = POLLIN };
        int result;

        for (;;) {
                uint64_t now_ms = clock_boot_ms();

                result = wire_receive(socket, 0, m, body, WIRE_BODY_MAX);
                if (result != -EAGAIN)
                        break;
                if (now_ms >= until_ms)
                        return judge_fail(e, "carrel-judge did not answer within 5 s");
                (void)poll(&p, 1, (int)(until_ms - now_ms));
        }
        if (result <= 0)
                return judge_fail(e, "carrel-judge has ended");
        wire_message_close(m);
        return 0;
}

static int
converse(struct judge_asker *a, int socket, const struct judge_request *request, struct error *e)
{
        static _Alignas(8) unsigned char body[WIRE_BODY_MAX];
        uint64_t until_ms = clock_boot_ms() + JUDGE_PATIENCE_MS;
        struct wire_message m;
        int result = judge_asker_begin(a, request, body, e);

        while (result == 0) {
                result = hear(socket, until_ms, &m, body, e);
                if (result == 0)
                        result = judge_asker_take(a, &m, body, e);
        }
        return result < 0 ? -1 : 0;
}

int
judge_command(struct arena *arena, const struct judge_request *request,
              struct host_programs *programs, struct judgement *ret, size_t *ret_list,
              struct error *e)
{
        char *const argv[] = { (char *)(uintptr_t) "carrel-judge",
                               (char *)(uintptr_t) "--socket-fd", (char *)(uintptr_t) "3", NULL };
#ifdef CARREL_TEST_SWITCHES
        char *const *envp = environ;
#else
        char *const envp[] = { NULL };
#endif
        struct conversation c = { .programs = programs };
        struct judge_asker asker = { .send = send_to, .look = look, .context = &c, .arena = arena };
        scoped_fd int socket = -1;
        pid_t pid;
        int result;

        *ret_list = request->rules_count;
        if (program_start_linked(PROGRAM_JUDGE, argv, envp, &socket, &pid, e) < 0)
                return judge_fail(e, "carrel-judge cannot be started");
        c.socket = socket;
        result = converse(&asker, socket, request, e);
        *ret = asker.judgement;
        if (result < 0)
                *ret_list = asker.bad_list;
        (void)kill(pid, SIGKILL);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
                continue;
        return result;
}
