/*
 * cli/gate_run.c - a command behind the wall: this process is both keeper and box for its own gate
 * (wire/gate.h).
 *
 *     inside (namespaces, wall) --sockets--> us --sockets, policy--> carrel-gate
 *     command, in the same namespaces        us <--names, denials--- carrel-gate
 *
 * Room: cli (joining, program). Touches: processes, signals, fd.
 * Theory: boxstate/wall_state.h keeps the parts of the wall that outlive a gate. A gate that dies
 * is restarted and continues with that state. Until then connections wait in their queues, and
 * nothing is open.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/scoped.h"
#include "boxstate/wall_state.h"
#include "cli/gate.h"
#include "programs/programs.h"
#include "wire/gate.h"
#include "wire/message.h"

enum {
        RESTARTS_MAX = 50,
        GATE_FD = 3,
        LAST_WORDS_MS = 1500,
        START_MS = 10000,
        WALL_NUMBER = 1,
        DRAIN_MAX = 64
};

struct run {
        struct gate_list list;
        const struct gate_again *again;
        uint32_t generation;
        struct gate_report *report;
        struct gate_inside inside;
        uint16_t ports[WALL_PORTS_MAX];
        size_t port_count;
        int gate, control, restarts;
        struct wall_state hold;
        pid_t command;
        int signals;
};

/* -- the gate's process ------------------------------------------------------------------------ */

static _Noreturn void
become_gate(int image, int control)
{
        char name[] = "carrel-gate", option[] = "--keeper-fd", number[] = "3";
        char *const argv[] = { name, option, number, NULL };
#ifdef CARREL_TEST_SWITCHES
        char *const *environment = environ;
#else
        static char *const environment[] = { NULL };
#endif
        sigset_t nothing;
        int null = open("/dev/null", O_RDWR | O_CLOEXEC),
            away = fcntl(image, F_DUPFD_CLOEXEC, GATE_FD + 10),
            end = fcntl(control, F_DUPFD_CLOEXEC, GATE_FD + 10);

        (void)setsid();
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        (void)sigemptyset(&nothing);
        (void)sigprocmask(SIG_SETMASK, &nothing, NULL);
        if (null < 0 || away < 0 || end < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 ||
            dup2(end, GATE_FD) < 0 || chdir("/") < 0)
                _exit(125);
        (void)syscall(SYS_execveat, away, "", argv, environment, AT_EMPTY_PATH);
        _exit(125);
}

static int
start_process(struct run *r, struct error *e)
{
        scoped_fd int image = -1;
        int ends[2];

        if (program_open(PROGRAM_GATE, &image, e) < 0)
                return -1;
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "making a link to the gate");
        r->gate = fork();
        if (r->gate == 0)
                become_gate(image, ends[1]);
        (void)close(ends[1]);
        r->control = ends[0];
        return r->gate < 0 ? fail_sys(e, ERROR_BACKEND_FAILED, errno, "starting the gate") : 0;
}

/* -- sending to the gate ----------------------------------------------------------------------- */

/* The buffer for all messages to a gate. */
static _Alignas(8) char body[GATE_POLICY_MAX];

static int
send_config(const struct run *r)
{
        size_t len = wire_gate_config(body, sizeof body, r->list.resolvers.items,
                                      r->list.resolvers.count, r->list.networks.items,
                                      r->list.networks.count);

        return len == 0 ? -E2BIG : wire_send(r->control, WIRE_GATE_CONFIG, body, len, NULL, 0);
}

static size_t
write_list(const struct run *r, const struct wall_listener *listeners, size_t count)
{
        const struct wire_gate_policy head = {
                .wall = WALL_NUMBER, .generation = r->generation, .caps = r->list.caps, .id = "gate"
        };

        return wire_gate_policy(body, sizeof body, &head, r->list.allow.items, r->list.allow.count,
                                r->list.private_names.items, r->list.private_names.count, listeners,
                                count);
}

/* Sends only the list: a change of it. */
static int
send_change(const struct run *r)
{
        size_t len = write_list(r, NULL, 0);

        return len == 0 ? -E2BIG : wire_send(r->control, WIRE_GATE_SET, body, len, NULL, 0);
}

/* Sends the list, the other end of a new link, and every socket. */
static int
send_wall(struct run *r)
{
        struct wall_listener listeners[WALL_STATE_LISTENERS_MAX];
        int fds[WALL_STATE_FDS_MAX + 1];
        size_t fd_count, count, len;
        int result = wall_state_link(&r->hold, fds, &fd_count, listeners, &count);

        if (result < 0)
                return result;
        len = write_list(r, listeners, count);
        result = len == 0 ? -E2BIG : wire_send(r->control, WIRE_GATE_ADD, body, len, fds, fd_count);
        (void)close(fds[0]);
        return result;
}

/* Waits for its answer about the wall. */
static int
hear_added(const struct run *r, struct error *e)
{
        struct pollfd wait = { .fd = r->control, .events = POLLIN };
        struct wire_gate_added added;
        struct wire_message m;

        if (poll(&wait, 1, START_MS) != 1 ||
            wire_receive(r->control, 0, &m, &added, sizeof added) != 1)
                return fail(e, ERROR_BACKEND_FAILED, "the gate ended before it served");
        wire_message_close(&m);
        if (m.kind != WIRE_GATE_ADDED || m.len != sizeof added)
                return fail(e, ERROR_BACKEND_FAILED, "the gate spoke out of turn");
        return added.sys == 0 ? 0
                              : fail_sys(e, ERROR_BACKEND_FAILED, added.sys,
                                         "the gate does not serve this wall");
}

static int
start_gate(struct run *r, struct error *e)
{
        int result;

        if (start_process(r, e) < 0)
                return -1;
        result = send_config(r);
        if (result == 0)
                result = send_wall(r);
        return result == 0
                       ? hear_added(r, e)
                       : fail_sys(e, ERROR_BACKEND_FAILED, -result, "telling the gate of its wall");
}

static void
forget_gate(struct run *r)
{
        if (r->control >= 0)
                (void)close(r->control);
        r->control = -1;
        wall_state_unlink(&r->hold);
        if (r->gate > 0) {
                (void)kill(r->gate, SIGKILL);
                (void)waitpid(r->gate, NULL, 0);
        }
        r->gate = -1;
}

/* -- receiving from the gate ------------------------------------------------------------------- */

static int
ask_inside(void *data, const struct wire_wall_listen *wanted)
{
        const struct run *r = data;

        return r->inside.link < 0 ? -EPIPE
                                  : wire_send(r->inside.link, WIRE_WALL_LISTEN, wanted,
                                              sizeof *wanted, NULL, 0);
}

/* Called after the gate's last message. */
static void
report_denials(struct run *r)
{
        const struct refused *of = refusals_find(&r->hold.refusals, 0);
        struct gate_report *report = r->report;

        for (size_t i = 0; of && i < of->count && i < GATE_DENIALS_MAX; i++) {
                const struct wire_wall_denied *m = &of->items[i].d;
                struct gate_denial *d = &report->denials[report->count++];

                *d = (struct gate_denial){ .reason = m->reason,
                                           .count = of->items[i].count,
                                           .cgroup = m->cgroup,
                                           .port = m->port };
                memcpy(d->host, m->host, sizeof d->host - 1);
                memcpy(d->other, m->other, sizeof d->other - 1);
                (void)wall_state_address_text(m, d->address);
        }
        report->left_out = of ? of->more : 0;
}

/* False: the link ended. */
static bool
hear_link(struct run *r)
{
        return wall_state_hear(&r->hold) == 0;
}

/* The process inside opened listeners, or could not. */
static void
hear_inside(struct run *r)
{
        struct wire_wall_listened answer;
        struct wire_message m;
        int result = wire_receive(r->inside.link, 0, &m, &answer, sizeof answer);

        if (result == -EAGAIN)
                return;
        if (result == 1 || result == -EMFILE) {
                if (m.kind == WIRE_WALL_LISTENED && m.len == sizeof answer)
                        wall_state_listened(&r->hold, &m, &answer);
                wire_message_close(&m);
                return;
        }
        (void)close(r->inside.link); /* from now on no new listeners; existing ones stay */
        r->inside.link = -1;
}

/* Handles its answers about changes. False: it is gone. */
static bool
hear_control(const struct run *r)
{
        struct wire_gate_added added;
        struct wire_message m;
        int result = wire_receive(r->control, 0, &m, &added, sizeof added);

        if (result == -EAGAIN)
                return true;
        if (result != 1)
                return false;
        wire_message_close(&m);
        if (m.kind == WIRE_GATE_ADDED && m.len == sizeof added && added.sys != 0)
                (void)fprintf(stderr,
                              "carrel gate: the gate does not take the changed policy: %s\n",
                              strerror(added.sys));
        return true;
}

/* -- the command ------------------------------------------------------------------------------- */

static _Noreturn void
become_command(const struct run *r, char **argv, int told)
{
        sigset_t nothing;
        int wrong = gate_inside_enter(&r->inside);

        if (wrong == 0) {
                (void)sigemptyset(&nothing);
                (void)sigprocmask(SIG_SETMASK, &nothing, NULL);
                (void)execvp(argv[0], argv);
                wrong = errno;
        }
        (void)!write(told, &wrong, sizeof wrong);
        _exit(127);
}

static int
start_command(struct run *r, char **argv, struct error *e)
{
        int told[2], wrong = 0;

        if (pipe2(told, O_CLOEXEC) < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "making a pipe");
        r->command = fork();
        if (r->command == 0)
                become_command(r, argv, told[1]);
        (void)close(told[1]);
        if (r->command < 0 || read(told[0], &wrong, sizeof wrong) != 0) {
                (void)close(told[0]);
                if (r->command > 0)
                        (void)waitpid(r->command, NULL, 0);
                r->command = -1;
                if (wrong < 0) {
                        (void)fail_sys(e, ERROR_CAPABILITY_UNAVAILABLE, -wrong,
                                       "going behind the wall");
                        if (wrong == -EPERM)
                                error_hint(e, "Root needs CAP_SETPCAP to give up what leads back "
                                              "out of the namespace: run this as an ordinary user, "
                                              "or use `carrel run`.");
                        return -1;
                }
                (void)fail_sys(e,
                               wrong == ENOENT ? ERROR_COMMAND_NOT_FOUND
                               : wrong == 0    ? ERROR_BACKEND_FAILED
                                               : ERROR_COMMAND_NOT_EXECUTABLE,
                               wrong, "%.100s", argv[0]);
                if (wrong == ENOENT)
                        error_hint(e,
                                   "Check the name, and PATH: no program of that name is there.");
                return -1;
        }
        (void)close(told[0]);
        return 0;
}

/* Starts a new gate in place of a dead one, with the same sockets and names. */
static void
replace_gate(struct run *r)
{
        struct error e;

        for (int i = 0; i < DRAIN_MAX && hear_link(r); i++)
                continue;
        forget_gate(r);
        if (r->report->is_broken)
                return;
        if (++r->restarts > RESTARTS_MAX || start_gate(r, &e) < 0) {
                forget_gate(r);
                r->report->is_broken = true;
        }
}

/*
 * Reads the changed policy again and sends it to the gate. If it cannot be read, nothing changes.
 */
static void
change(struct run *r)
{
        struct gate_list list;
        struct error e;

        if (r->again->read(r->again->data, &list, &e) < 0) {
                (void)fprintf(stderr, "carrel gate: the policy stays as it was: %s\n", e.message);
                return;
        }
        r->list = list;
        r->generation++;
        if (r->control >= 0)
                (void)send_change(r);
}

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

/* Has the command ended? Its status is then in the report. */
static bool
hear_signal(struct run *r)
{
        struct signalfd_siginfo s;
        int status;

        if (read(r->signals, &s, sizeof s) != sizeof s)
                return false;
        if (s.ssi_signo == SIGTERM || s.ssi_signo == SIGHUP)
                (void)kill(r->command, (int)s.ssi_signo);
        if (s.ssi_signo == SIGUSR1 && is_from_outside(&s))
                change(r);
        else if (s.ssi_signo == SIGUSR1)
                (void)fputs("carrel gate: the policy stays as it was: who asked for it to be read "
                            "again was not seen outside the wall. Send the signal from a shell "
                            "there.\n",
                            stderr);
        if (waitpid(r->command, &status, WNOHANG) != r->command)
                return false;
        r->report->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        return true;
}

static void
wait_for_command(struct run *r)
{
        for (;;) {
                struct pollfd wait[] = { { .fd = r->signals, .events = POLLIN },
                                         { .fd = r->hold.link,
                                           .events = wall_state_events(&r->hold) },
                                         { .fd = r->control, .events = POLLIN },
                                         { .fd = r->inside.link, .events = POLLIN } };

                if (poll(wait, sizeof wait / sizeof *wait, -1) < 0 && errno != EINTR)
                        return;
                if (wait[0].revents != 0 && hear_signal(r))
                        return;
                if (wait[3].revents != 0)
                        hear_inside(r);
                if ((wait[2].revents != 0 && !hear_control(r)) ||
                    (wait[1].revents != 0 && !hear_link(r)))
                        replace_gate(r);
        }
}

/* Reads the gate's remaining messages: it closes the link after the last. */
static void
hear_last_words(struct run *r)
{
        struct wire_number wall = { WALL_NUMBER };
        struct pollfd wait = { .fd = r->hold.link, .events = POLLIN };

        if (r->control < 0 || r->hold.link < 0 ||
            wire_send(r->control, WIRE_GATE_DROP, &wall, sizeof wall, NULL, 0) < 0)
                return;
        while (poll(&wait, 1, LAST_WORDS_MS) == 1)
                if (!hear_link(r))
                        return;
}

/* -- the whole --------------------------------------------------------------------------------- */

/* Ports below 1024 need their listeners from the beginning; 53, 80 and 443 already have theirs. */
static int
collect_ports(struct run *r, struct error *e)
{
        bool has_ssh = false;

        for (size_t i = 0; i < r->list.allow.count; i++)
                for (size_t k = 0; k < r->list.entries[i].port_count; k++) {
                        uint16_t port = r->list.entries[i].ports[k];
                        bool is_there = port >= 1024 || port == 53 || port == 80 || port == 443;

                        for (size_t n = 0; n < r->port_count; n++)
                                is_there |= r->ports[n] == port;
                        if (is_there)
                                continue;
                        if (r->port_count == WALL_PORTS_MAX)
                                return fail(e, ERROR_QUOTA_EXCEEDED,
                                            "more than %d ports below 1024 are listed",
                                            WALL_PORTS_MAX);
                        r->ports[r->port_count++] = port;
                        has_ssh |= port == WALL_SSH;
                }
        if (!has_ssh && r->port_count < WALL_PORTS_MAX)
                r->ports[r->port_count++] = WALL_SSH;
        return 0;
}

static int
take_signals(struct run *r, struct error *e)
{
        sigset_t ours;

        (void)sigemptyset(&ours);
        (void)sigaddset(&ours, SIGCHLD);
        (void)sigaddset(&ours, SIGTERM);
        (void)sigaddset(&ours, SIGHUP);
        (void)sigaddset(&ours, SIGUSR1);
        /* the terminal sends these two to the command as well, which handles them */
        (void)sigaddset(&ours, SIGINT);
        (void)sigaddset(&ours, SIGQUIT);
        (void)sigprocmask(SIG_BLOCK, &ours, NULL);
        r->signals = signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK);
        return r->signals < 0 ? fail_sys(e, ERROR_BACKEND_FAILED, errno, "taking signals") : 0;
}

/* From now on the sockets are held. */
static int
take_wall(struct run *r, size_t stock, struct error *e)
{
        struct wall_listener listeners[WALL_PORTS_MAX + 1] = { 0 };
        struct wire_message m = { .kind = WIRE_WALL,
                                  .len = (r->port_count + (r->list.is_routed ? 1 : 0)) *
                                         sizeof *listeners,
                                  .fd_count = r->inside.socket_count };
        int result;

        for (size_t i = 0; i < r->port_count; i++)
                listeners[i].port = r->ports[i];
        listeners[r->port_count].index = (uint32_t)stock;
        memcpy(m.fds, r->inside.sockets, m.fd_count * sizeof *m.fds);
        r->inside.socket_count = 0;
        result = wall_state_take(&r->hold, &m, listeners);
        wire_message_close(&m);
        return result < 0 ? fail_sys(e, ERROR_BACKEND_FAILED, -result, "taking the wall") : 0;
}

static int
run_all(struct run *r, char **argv, struct error *e)
{
        struct wall_wanted wanted = { .is_routed = r->list.is_routed,
                                      .stock = r->list.is_routed ? WALL_STOCK_MAX : 0 };

        if (collect_ports(r, e) < 0)
                return -1;
        wanted.ports = r->ports;
        wanted.port_count = r->port_count;
        if (take_signals(r, e) < 0 || gate_inside_start(&wanted, &r->inside, e) < 0 ||
            take_wall(r, wanted.stock, e) < 0 || start_gate(r, e) < 0 ||
            start_command(r, argv, e) < 0)
                return -1;
        wait_for_command(r);
        hear_last_words(r);
        return 0;
}

int
gate_run(const struct gate_list *list, const struct gate_again *again, char **argv,
         struct gate_report *ret, struct error *e)
{
        static struct run r;
        int result;

        r = (struct run){ .list = *list,
                          .again = again,
                          .generation = 1,
                          .report = ret,
                          .gate = -1,
                          .control = -1,
                          .command = -1,
                          .signals = -1,
                          .inside = { .pid = -1, .link = -1 } };
        wall_state_init(&r.hold, ask_inside, NULL, &r);
        refusals_init(&r.hold.refusals, GATE_DENIALS_MAX, GATE_DENIALS_MAX);
        result = run_all(&r, argv, e);
        report_denials(&r);
        forget_gate(&r);
        if (r.inside.link >= 0)
                (void)close(r.inside.link); /* closing it ends that process */
        if (r.inside.pid > 0)
                (void)waitpid(r.inside.pid, NULL, 0);
        wall_state_fini(&r.hold);
        return result;
}
