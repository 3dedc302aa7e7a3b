/*
 * cli/gate_run.c - a command with a network of its own, run by the same box as `carrel run`.
 *
 * Room: cli (joining, program). Touches: processes (reads only), fd (standard error).
 * Theory: the plan (plan/net_only.c) takes nothing from the command but the network. So the command
 * keeps this process's streams, terminal and process group, and only what concerns the list of
 * destinations passes through here.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/gate.h"
#include "cli/maker.h"
#include "cli/wall.h"

#define ID "gate"

extern char **environ;

struct going {
        struct arena *arena;
        const struct gate_again *again;
};

/* -- another list ------------------------------------------------------------------------------ */

/* Is `process` in the same namespace of this kind as this process? False if it is gone. */
static bool
is_beside_us(unsigned process, const char *kind)
{
        char path[64], ours[64], theirs[64];
        ssize_t len, their_len;

        (void)snprintf(path, sizeof path, "/proc/self/ns/%s", kind);
        len = readlink(path, ours, sizeof ours);
        (void)snprintf(path, sizeof path, "/proc/%u/ns/%s", process, kind);
        their_len = readlink(path, theirs, sizeof theirs);
        return len > 0 && len == their_len && memcmp(ours, theirs, (size_t)len) == 0;
}

/*
 * The command runs as the same user, so it can write that user's policy file and send signals. A
 * request to read the policy again therefore counts only if its sender is still visible outside the
 * wall. Only the kernel's data about the sender counts; for another user's process, only root's
 * request does.
 */
static bool
is_from_outside(const struct signalfd_siginfo *s)
{
        if (s->ssi_code != SI_USER && s->ssi_code != SI_TKILL)
                return false;
        if (s->ssi_uid == 0 && geteuid() != 0)
                return true;
        return is_beside_us(s->ssi_pid, "user") && is_beside_us(s->ssi_pid, "net");
}

static const struct run_wall_options *
change(void *data, const struct signalfd_siginfo *by)
{
        static struct gate_list list;
        const struct going *g = data;
        const struct run_wall_options *ret = NULL;
        struct error e;

        if (!is_from_outside(by)) {
                (void)fputs("carrel gate: the policy stays as it was: who asked for it to be read "
                            "again was not seen outside the wall. Send the signal from a shell "
                            "there.\n",
                            stderr);
                return NULL;
        }
        if (g->again->read(g->again->data, &list, &e) < 0 ||
            wall_options(g->arena, &list.spec, &list.rules, ID, &ret, &e) < 0)
                (void)fprintf(stderr, "carrel gate: the policy stays as it was: %s\n", e.message);
        return ret;
}

/* -- the run ----------------------------------------------------------------------------------- */

int
gate_plan(struct arena *arena, const struct gate_list *list, const struct plan **ret,
          struct error *e)
{
        const struct plan_request request = { .id = ID,
                                              .outside_uid = geteuid(),
                                              .outside_gid = getegid() };

        return plan_build_net_only(arena, &list->spec, &request, ret, e);
}

int
gate_run(struct arena *arena, const struct gate_list *list, const struct plan *plan,
         const struct gate_again *again, char **argv, struct run_result *ret, struct error *e)
{
        struct going going = { arena, again };
        struct run_options options = { .start = maker_start,
                                       .plan = plan,
                                       .command = { { .flags = WIRE_EXEC_AS_CALLER },
                                                    (const char *const *)argv,
                                                    (const char *const *)environ,
                                                    plan->cwd },
                                       .in = STDIN_FILENO,
                                       .out = STDOUT_FILENO,
                                       .err = STDERR_FILENO,
                                       .timeout_ms = SPEC_UNSET,
                                       .cpu_ms = SPEC_UNSET,
                                       .output_bytes = SPEC_UNSET,
                                       .changed = change,
                                       .data = &going };

        while (argv[options.command.head.argc])
                options.command.head.argc++;
        while (environ[options.command.head.envc])
                options.command.head.envc++;
        if (wall_options(arena, &list->spec, &list->rules, ID, &options.wall, e) < 0)
                return -1;
        if (sandbox_run(&options, ret, e) == 0)
                return 0;
        if (e->code == ERROR_COMMAND_NOT_FOUND) { /* its hint speaks of a sandbox's programs */
                (void)fail_sys(e, e->code, ENOENT, "%.100s", argv[0]);
                error_hint(e, "Check the name, and PATH: no program of that name is there.");
        }
        return -1;
}
