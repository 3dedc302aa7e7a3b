/*
 * daemon/launcher.c - starts and restarts the processes of the daemon.
 *
 * Room: daemon (joining). Touches: processes, signals, the state directory, sockets, its own
 * control group.
 * Theory: all children except the gate hold each other's sockets. So when one dies, all of them are
 * restarted, in order and after a growing delay. Meanwhile callers wait in the listening sockets,
 * which the launcher keeps open. Boxes are not children of these processes and keep running.
 *
 *    starting --probe answered--> ready
 *       | ^                         |
 *       | +-- back-off -- clearing <+-- a child died, SIGHUP
 *       |                    |
 *       +---- SIGTERM --> ending --all exited--> out
 *
 * clearing: the other children get SIGTERM, and SIGKILL later.
 *
 * A child that is stopped by a signal is continued at once, because every caller would wait for it.
 * A child held by a debugger is not stopped in that sense, and stays held.
 */
#include "daemon/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/operation.h"
#include "base/scoped.h"
#include "base/write_all.h"
#include "daemon/child.h"
#include "daemon/children.h"
#include "daemon/graph.h"
#include "daemon/listen.h"
#include "daemon/log.h"
#include "daemon/notify.h"
#include "daemon/state.h"
#include "host/facts.h"
#include "loop/loop.h"
#include "programs/memory_file.h"
#include "wire/call.h"

enum {
        PATIENCE_MS = 3000,
        BACK_OFF_MS = 100,
        BACK_OFF_MAX_MS = 10000,
        LIVED_MS = 5000,
        FAILURES_MAX = 6,
        CONTINUED_MS = 1000,
        REFUSED = 126,
        BROKEN = 125,
        NUMBER_ROOM = 16,
        FILES_LEAST = 96 /* minimum number of descriptors */
};

enum phase { PHASE_STARTING, PHASE_READY, PHASE_CLEARING, PHASE_WAITING, PHASE_ENDING };

struct launcher {
        const uint16_t *host_ports;
        size_t host_port_count; /* from the host file, as last read */
        uint64_t audit_keep_ms; /* and this */
        uint32_t redact_off;    /* and this */
        bool has_validators;    /* and this */
        const struct launcher_options *o;
        struct state state;
        struct listeners listeners;
        struct loop *loop;
        struct loop_watch signals, probe;
        struct loop_timer again, hard, gate_again;
        unsigned gate_failures;
        uint64_t gate_started_ms;
        struct children children;
        enum phase phase;
        unsigned failures;
        /* continued_ms: when a continued child was last logged */
        uint64_t started_ms, continued_ms;
        bool was_ready;
        struct secret_sources secrets;
        struct secret_values *variables; /* secrets taken from the operator's environment */
        int status, refusal; /* refusal: exit status of a child that refused to start; 0: none */
        char ingress[64], leases[512];
};

/* -- before the first start -------------------------------------------------------------------- */

static int
memory_file(const char *name, const void *bytes, size_t len, int *ret, struct error *e)
{
        scoped_fd int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
        int result = fd < 0 ? 0 : write_all(fd, bytes, len);

        if (result < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, -result, "filling a memory file");
        if (fd < 0 || lseek(fd, 0, SEEK_SET) < 0 || memory_file_seal(fd) < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "making a memory file");
        *ret = fd_take(&fd);
        return 0;
}

static bool
has_fetcher(const struct launcher *l)
{
        return l->secrets.listed.count > 0 || l->secrets.file;
}

/*
 * Takes the secrets out of the environment first: children inherit it, and /proc shows it. A
 * process with values must not dump core.
 */
static int
take_secrets(struct launcher *l, const struct secret_sources *secrets, struct error *e)
{
        if (secret_variables_take(&secrets->listed, environ, &l->variables, e) < 0)
                return -1;
        if (l->variables && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "closing its memory to others");
        l->secrets = *secrets;
        l->secrets.variables = l->variables;
        return 0;
}

/* A sandbox that could connect to the daemon's own port would be one of its callers. */
static int
check_own_ports(const struct launcher *l, const uint16_t *ports, size_t count, struct error *e)
{
        static const struct {
                enum graph_slot slot;
                const char *what, *option;
        } own[] = {
                { SLOT_TCP_SOCKET, "its API", "--listen" },
                { SLOT_INGRESS_SOCKET, "the ports of sandboxes", "--ports" },
        };

        for (size_t i = 0; i < count; i++)
                for (size_t k = 0; k < sizeof own / sizeof *own; k++)
                        if (l->listeners.fds[own[k].slot] >= 0 &&
                            listeners_port(&l->listeners, own[k].slot) == ports[i]) {
                                (void)fail_at(e, ERROR_SCHEMA_INVALID, "host_ports", "own_port",
                                              "host_ports of the host file lists port %u, on which "
                                              "this daemon serves %s",
                                              ports[i], own[k].what);
                                error_hint(e,
                                           "Remove %u from host_ports, or give the daemon another "
                                           "port with %s.",
                                           ports[i], own[k].option);
                                return -1;
                        }
        return 0;
}

static int
load_files(struct launcher *l, struct error *e)
{
        struct launcher_files files = { .host = NULL };
        scoped_fd int host = -1;
        scoped_fd int pool = -1;
        scoped_fd int bridge = -1;

        if (l->o->load(l->o->ctx, &files, e) < 0 ||
            memory_file("carrel-host", files.host, files.host_len, &host, e) < 0)
                return -1;
        if (check_own_ports(l, files.host_ports, files.host_port_count, e) < 0)
                return -1;
        if (files.pool && memory_file("carrel-pool", files.pool, files.pool_len, &pool, e) < 0)
                return -1;
        if (take_secrets(l, &files.secrets, e) < 0)
                return -1;
        if (files.has_programs && program_open(PROGRAM_BRIDGE, &bridge, e) < 0)
                return -1;
        for (int slot = SLOT_HOST_FILE; slot <= SLOT_BRIDGE; slot++)
                if (l->listeners.fds[slot] >= 0)
                        (void)close(l->listeners.fds[slot]);
        l->host_ports = files.host_ports;
        l->host_port_count = files.host_port_count;
        l->audit_keep_ms = files.audit_keep_ms;
        l->redact_off = files.redact_off;
        l->has_validators = files.has_validators;
        l->listeners.fds[SLOT_HOST_FILE] = fd_take(&host);
        l->listeners.fds[SLOT_POOL_FILE] = fd_take(&pool);
        l->listeners.fds[SLOT_BRIDGE] = fd_take(&bridge);
        return 0;
}

/*
 * Reuses the port of the last time, so that existing URLs stay valid; picks another if it is taken.
 */
static int
listen_for_ports(struct launcher *l, struct error *e)
{
        char text[NUMBER_ROOM + 16];

        if (l->o->ports && strcmp(l->o->ports, "off") == 0)
                return 0;
        if (l->o->ports)
                return listeners_tcp(&l->listeners, SLOT_INGRESS_SOCKET, "--ports", l->o->ports, e);
        (void)snprintf(text, sizeof text, "127.0.0.1:%u",
                       state_number_read(&l->state, "ingress.port") & 0xffff);
        if (listeners_tcp(&l->listeners, SLOT_INGRESS_SOCKET, "--ports", text, e) < 0 &&
            listeners_tcp(&l->listeners, SLOT_INGRESS_SOCKET, "--ports", "127.0.0.1:0", e) < 0)
                return -1;
        state_number_write(&l->state, "ingress.port",
                           listeners_port(&l->listeners, SLOT_INGRESS_SOCKET));
        return 0;
}

static int
listen_everywhere(struct launcher *l, struct error *e)
{
        if (listeners_take(&l->listeners, e) < 0)
                return -1;
        if (listeners_unix(&l->listeners, SLOT_KEEPER_SOCKET, &l->state, l->o->socket_mode, e) <
                    0 ||
            listeners_unix(&l->listeners, SLOT_HTTP_SOCKET, &l->state, l->o->socket_mode, e) < 0)
                return -1;
        if (l->o->tcp &&
            listeners_tcp(&l->listeners, SLOT_TCP_SOCKET, "--listen", l->o->tcp, e) < 0)
                return -1;
        if (listen_for_ports(l, e) < 0)
                return -1;
        listeners_url(&l->listeners, SLOT_INGRESS_SOCKET, l->ingress);
        return 0;
}

/*
 * A v2 group with delegated controllers may hold no process. So the launcher moves itself to a leaf
 * group before the first box.
 */
static void
leave_group(const struct host_facts *facts)
{
        char path[1024];
        scoped_fd int fd = -1;

        if (!facts->cgroup.must_leave)
                return;
        (void)snprintf(path, sizeof path, "%s/carrel-runtime", facts->cgroup.unified);
        if (mkdir(path, 0755) < 0 && errno != EEXIST)
                return;
        (void)snprintf(path, sizeof path, "%s/carrel-runtime/cgroup.procs", facts->cgroup.unified);
        fd = open(path, O_WRONLY | O_CLOEXEC);
        if (fd < 0 || write(fd, "0", 1) != 1)
                log_say("warning",
                        "the leaf control group %s could not be joined: limits may not be enforced",
                        path);
}

/* Undoes what killed makers left, before anything is planned. */
static void
collect_leases(const struct launcher *l)
{
        struct child_request request = { .process = PROCESS_SPAWNER,
                                         .is_without_role = true,
                                         .words = { l->leases },
                                         .word_count = 1 };
        struct error e;
        pid_t pid;

        if (access(l->leases, F_OK) < 0)
                return;
        if (child_start(&request, &pid, &e) < 0) {
                log_error("warning", &e);
                return;
        }
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
                continue;
}

/* -- starting ---------------------------------------------------------------------------------- */

/* Runs in the fetcher, which is a fork of the launcher. */
static int
give_sources(void *ctx, struct secret_sources *ret, struct error *e)
{
        const struct launcher *l = ctx;

        (void)e;
        *ret = l->secrets;
        return 0;
}

/* Runs in carrel-validate, which is a fork of the launcher too, and needs the environment. */
static void
forget_values(void *ctx)
{
        struct launcher *l = ctx;

        secret_values_free(l->variables);
        l->variables = NULL;
        l->secrets.variables = NULL;
}

/* Runs in the recorder, which is a fork of the launcher too. */
static void
forget_secrets(void *ctx)
{
        forget_values(ctx);
        for (char **item = environ; *item; item++)
                explicit_bzero(*item, strlen(*item));
}

/* -- the gate ---------------------------------------------------------------------------------- */

static void gate_died(struct launcher *l);

/* If the gate fails, sandboxes reach no network; the rest of the daemon works. */
static void
start_gate(struct launcher *l)
{
        struct error e;

        l->gate_started_ms = loop_now_ms();
        if (children_start_gate(&l->children, &e) == 0)
                return;
        log_error("warning", &e);
        if (e.code != ERROR_CAPABILITY_UNAVAILABLE) /* this carrel was built without a gate */
                gate_died(l);
}

static void
start_gate_again(struct loop_timer *t)
{
        struct launcher *l = (struct launcher *)((char *)t - offsetof(struct launcher, gate_again));

        if ((l->phase == PHASE_STARTING || l->phase == PHASE_READY) &&
            l->children.pids[PROCESS_GATE] == 0)
                start_gate(l);
}

/* Restarts only the gate: connections wait in sockets that the boxes hold. */
static void
gate_died(struct launcher *l)
{
        uint64_t wait;

        l->gate_failures =
                loop_now_ms() - l->gate_started_ms >= LIVED_MS ? 0 : l->gate_failures + 1;
        wait = l->gate_failures == 0
                       ? 0
                       : (uint64_t)BACK_OFF_MS << (l->gate_failures < 8 ? l->gate_failures - 1 : 7);
        (void)loop_timer_set(l->loop, &l->gate_again,
                             loop_now_ms() + (wait < BACK_OFF_MAX_MS ? wait : BACK_OFF_MAX_MS),
                             start_gate_again);
}

/* -- starting all children --------------------------------------------------------------------- */

static int
start_children(struct launcher *l, struct error *e)
{
        const struct children_given given = { l->state.path,
                                              l->ingress,
                                              l->o->pool,
                                              l->o->delete_after_ms,
                                              has_fetcher(l) ? give_sources : NULL,
                                              forget_secrets,
                                              l,
                                              l->audit_keep_ms,
                                              l->redact_off,
                                              l->has_validators ? l->o->validate : NULL,
                                              l->o->validate_ctx,
                                              forget_values };

        if (children_start(&l->children, &given, &l->listeners, e) < 0)
                return -1;
        start_gate(l);
        return 0;
}

/* -- is it ready? ------------------------------------------------------------------------------ */

static void
end_probe(struct launcher *l)
{
        int fd = l->probe.fd;

        loop_watch_remove(&l->probe);
        if (fd >= 0)
                (void)close(fd);
        l->probe.fd = -1;
}

static void
say_ready(struct launcher *l)
{
        char status[160], tcp[64];
        unsigned boxes = state_count_boxes(&l->state);

        listeners_url(&l->listeners, SLOT_TCP_SOCKET, tcp);
        if (!l->was_ready) {
                log_say("serving", "serving %s%s", l->state.path,
                        boxes > 0 ? ", with sandboxes from before" : "");
                log_say("listening", "HTTP and MCP on unix:%s/carrel.sock", l->state.path);
                if (tcp[0] != '\0')
                        log_say("listening", "HTTP and MCP on %s, with the token in %s/token", tcp,
                                l->state.path);
                if (l->ingress[0] != '\0')
                        log_say("listening",
                                "ports of sandboxes on %s, each with a token of its own",
                                l->ingress);
        }
        log_say("ready", "ready; %u sandbox%s live%s", boxes, boxes == 1 ? "" : "es",
                boxes == 1 ? "s" : "");
        (void)snprintf(status, sizeof status, "READY=1\nSTATUS=ready, %u boxes from before", boxes);
        notify(status);
        l->was_ready = true;
}

static void
probe_ready(struct loop_watch *w, uint32_t events)
{
        struct launcher *l = (struct launcher *)((char *)w - offsetof(struct launcher, probe));
        char byte;
        bool is_answered = (events & EPOLLIN) != 0 && recv(w->fd, &byte, 1, MSG_DONTWAIT) > 0;

        end_probe(l);
        if (!is_answered || l->phase != PHASE_STARTING)
                return;
        l->phase = PHASE_READY;
        say_ready(l);
}

/* Makes an ordinary call on the public socket: the daemon is ready when it answers. */
static void
begin_probe(struct launcher *l)
{
        struct wire_call call = { .serial = 1, .op = OP_INFO, .protocol = CALL_PROTOCOL };
        struct sockaddr_un address;
        socklen_t len = sizeof address;
        scoped_fd int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        if (fd < 0 ||
            getsockname(l->listeners.fds[SLOT_KEEPER_SOCKET], (struct sockaddr *)&address, &len) <
                    0 ||
            connect(fd, (const struct sockaddr *)&address, len) < 0 ||
            wire_send(fd, WIRE_CALL, &call, sizeof call, NULL, 0) < 0)
                return;
        if (loop_watch_add(l->loop, &l->probe, fd, EPOLLIN, probe_ready) == 0)
                (void)fd_take(&fd);
}

/* -- running ----------------------------------------------------------------------------------- */

static void
out_of_patience(struct loop_timer *t)
{
        struct launcher *l = (struct launcher *)((char *)t - offsetof(struct launcher, hard));

        children_signal(&l->children, SIGKILL);
}

static void
end(struct launcher *l, int status)
{
        l->status = status;
        l->phase = PHASE_ENDING;
        if (!children_any(&l->children))
                loop_stop(l->loop);
}

static void
clear(struct launcher *l, enum phase phase)
{
        end_probe(l);
        loop_timer_remove(&l->gate_again);
        l->phase = phase;
        children_signal(&l->children, SIGTERM);
        if (children_any(&l->children))
                (void)loop_timer_set(l->loop, &l->hard, loop_now_ms() + PATIENCE_MS,
                                     out_of_patience);
}

static void
start(struct launcher *l)
{
        struct error e;

        l->phase = PHASE_STARTING;
        l->started_ms = loop_now_ms();
        if (start_children(l, &e) < 0) {
                log_error("failed", &e);
                l->status = error_exit_status(e.code);
                clear(l, PHASE_ENDING);
                end(l, l->status);
                return;
        }
        begin_probe(l);
}

static void
start_again(struct loop_timer *t)
{
        start((struct launcher *)((char *)t - offsetof(struct launcher, again)));
}

/* All children have exited: restarts them or ends. */
static void
cleared(struct launcher *l)
{
        uint64_t wait = l->failures == 0
                                ? 0
                                : (uint64_t)BACK_OFF_MS << (l->failures < 8 ? l->failures - 1 : 7);

        loop_timer_remove(&l->hard);
        if (l->phase == PHASE_ENDING) {
                loop_stop(l->loop);
                return;
        }
        if (!l->was_ready && (l->refusal != 0 || l->failures >= FAILURES_MAX)) {
                log_say("failed", "the daemon does not come up; the reason stands above");
                end(l, l->refusal != 0 ? l->refusal : BROKEN);
                return;
        }
        collect_leases(l);
        l->phase = PHASE_WAITING;
        if (loop_timer_set(l->loop, &l->again,
                           loop_now_ms() + (wait < BACK_OFF_MAX_MS ? wait : BACK_OFF_MAX_MS),
                           start_again) < 0)
                end(l, BROKEN);
}

static void
child_died(struct launcher *l, enum graph_process process, int status)
{
        const char *name = graph_process(process)->name;

        l->children.pids[process] = 0;
        if (process == PROCESS_GATE) {
                if (l->phase == PHASE_STARTING || l->phase == PHASE_READY) {
                        log_say("restarting",
                                "the gate ended (%s %d); starting it again, sandboxes live on, and "
                                "what they ask for waits",
                                WIFSIGNALED(status) ? "signal" : "status",
                                WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
                        gate_died(l);
                }
                return;
        }
        if (!l->was_ready && WIFEXITED(status) && WEXITSTATUS(status) >= BROKEN &&
            WEXITSTATUS(status) <= REFUSED)
                l->refusal = WEXITSTATUS(status); /* the child has logged why */
        if (l->phase != PHASE_STARTING && l->phase != PHASE_READY)
                return;
        l->failures = loop_now_ms() - l->started_ms >= LIVED_MS ? 0 : l->failures + 1;
        if (l->refusal == 0)
                log_say("restarting", "the %s ended (%s %d); starting all again, sandboxes live on",
                        name, WIFSIGNALED(status) ? "signal" : "status",
                        WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        notify("STATUS=restarting");
        clear(l, PHASE_CLEARING);
}

static void
child_stopped(struct launcher *l, enum graph_process process)
{
        uint64_t now = loop_now_ms();

        (void)kill(l->children.pids[process], SIGCONT);
        if (l->continued_ms != 0 && now - l->continued_ms < CONTINUED_MS)
                return;
        l->continued_ms = now;
        log_say("continued",
                "the %s was stopped by a signal, and was continued; to hold a part, stop this "
                "process (%ld) first",
                graph_process(process)->name, (long)getpid());
}

static void
reap(struct launcher *l)
{
        bool is_any = false;
        int status;
        pid_t pid;

        while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0)
                for (int p = 0; p < PROCESS_CHILDREN; p++) {
                        if (l->children.pids[p] != pid)
                                continue;
                        if (WIFSTOPPED(status)) {
                                child_stopped(l, (enum graph_process)p);
                        } else {
                                child_died(l, (enum graph_process)p, status);
                                is_any = true;
                        }
                }
        if (is_any && !children_any(&l->children))
                cleared(l);
}

static void
reload(struct launcher *l)
{
        struct error e;

        if (l->phase == PHASE_ENDING)
                return;
        if (load_files(l, &e) < 0) {
                log_error("reload-failed", &e); /* the old rules stay in force */
                return;
        }
        log_say("reloading",
                "the host's rules were read again; starting all again, sandboxes live on");
        l->failures = 0;
        if (l->phase == PHASE_STARTING || l->phase == PHASE_READY)
                clear(l, PHASE_CLEARING);
}

static void
stop(struct launcher *l)
{
        unsigned boxes = state_count_boxes(&l->state);

        if (l->phase == PHASE_ENDING) {
                children_signal(&l->children, SIGKILL); /* second request to stop */
                return;
        }
        if (boxes > 0)
                log_say("stopping",
                        "stopping; %u sandbox%s on, and the next `carrel serve` finds %s", boxes,
                        boxes == 1 ? " lives" : "es live", boxes == 1 ? "it" : "them");
        else
                log_say("stopping", "stopping; no sandbox lives");
        notify("STOPPING=1\nSTATUS=stopping");
        loop_timer_remove(&l->again);
        clear(l, PHASE_ENDING);
        end(l, 0);
}

static void
signal_ready(struct loop_watch *w, uint32_t events)
{
        struct launcher *l = (struct launcher *)((char *)w - offsetof(struct launcher, signals));
        struct signalfd_siginfo info;

        (void)events;
        while (read(w->fd, &info, sizeof info) == (ssize_t)sizeof info) {
                if (info.ssi_signo == SIGCHLD)
                        reap(l);
                else if (info.ssi_signo == SIGHUP)
                        reload(l);
                else
                        stop(l);
        }
}

static int
watch_signals(struct launcher *l, struct error *e)
{
        struct sigaction ignored = { .sa_handler = SIG_IGN }, standard = { .sa_handler = SIG_DFL };
        static const int heard[] = { SIGTERM, SIGINT, SIGHUP, SIGCHLD };
        sigset_t set;
        int fd;

        (void)sigemptyset(&set);
        for (size_t i = 0; i < sizeof heard / sizeof *heard; i++)
                (void)sigaddset(&set, heard[i]);
        (void)sigaction(SIGPIPE, &ignored, NULL);
        /* if SIGCHLD stayed ignored, waiting for children would fail */
        (void)sigaction(SIGCHLD, &standard, NULL);
        if (sigprocmask(SIG_SETMASK, &set, NULL) < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "blocking signals");
        fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
        if (fd < 0 || loop_watch_add(l->loop, &l->signals, fd, EPOLLIN, signal_ready) < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "hearing signals");
        return 0;
}

/* With fewer descriptors some process would fail to start, without a clear reason. */
static int
check_descriptors(struct error *e)
{
        struct rlimit files;

        if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_max >= FILES_LEAST)
                return 0;
        (void)fail(e, ERROR_QUOTA_EXCEEDED,
                   "a process may open %llu files here, and each of Carrel's needs %d",
                   (unsigned long long)files.rlim_max, FILES_LEAST);
        error_hint(e, "Raise the hard limit: `ulimit -Hn`, or LimitNOFILE= of the unit.");
        return -1;
}

/*
 * A maker refuses a directory of leases that other users may change, at each create. So the
 * launcher refuses to start.
 */
static int
check_leases(const char *directory, struct error *e)
{
        struct stat found;

        if (lstat(directory, &found) < 0 ||
            (S_ISDIR(found.st_mode) && found.st_uid == geteuid() && (found.st_mode & 077) == 0))
                return 0;
        (void)fail_at(e, ERROR_BACKEND_FAILED, NULL, "runtime_dir",
                      "the runtime directory %.200s does not belong to the daemon's user alone",
                      directory);
        error_hint(e, "Remove it, or: chown %lu %.150s && chmod 700 %.150s",
                   (unsigned long)geteuid(), directory, directory);
        return -1;
}

static int
get_ready(struct launcher *l, struct error *e)
{
        struct host_facts *facts = calloc(1, sizeof *facts);
        int result = facts ? host_facts_read(facts, e)
                           : fail(e, ERROR_NO_MEMORY, "no memory for the facts of this machine");

        if (facts && result == 0) {
                (void)snprintf(l->leases, sizeof l->leases, "%s", facts->runtime_dir);
                leave_group(facts);
        }
        free(facts);
        if (result < 0 || check_leases(l->leases, e) < 0 || check_descriptors(e) < 0 ||
            state_open(l->o->state, l->o->socket_mode, &l->state, e) < 0 || load_files(l, e) < 0)
                return -1;
        if (listen_everywhere(l, e) < 0 ||
            check_own_ports(l, l->host_ports, l->host_port_count, e) < 0 || watch_signals(l, e) < 0)
                return -1;
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "setting no_new_privs");
        collect_leases(l);
        return start_children(l, e);
}

static void
fini(struct launcher *l)
{
        end_probe(l);
        children_signal(&l->children, SIGKILL);
        children_wait(&l->children);
        if (l->signals.fd >= 0)
                (void)close(l->signals.fd);
        loop_free(l->loop);
        children_close(&l->children);
        secret_values_free(l->variables);
        listeners_fini(&l->listeners, &l->state);
        state_close(&l->state);
}

int
launcher_run(const struct launcher_options *options, int *ret_status, struct error *e)
{
        struct launcher l = { .o = options,
                              .state = { .path = options->state, .fd = -1, .lock = -1 },
                              .signals = { .fd = -1 },
                              .probe = { .fd = -1 },
                              .again = { .due_ms = LOOP_NEVER },
                              .hard = { .due_ms = LOOP_NEVER },
                              .gate_again = { .due_ms = LOOP_NEVER },
                              .children = { .gates = -1 } };
        int result;

        listeners_init(&l.listeners);
        notify_init();
        result = loop_new(&l.loop) < 0 ? fail(e, ERROR_NO_MEMORY, "no memory for waiting")
                                       : get_ready(&l, e);
        if (result == 0) {
                l.started_ms = loop_now_ms();
                begin_probe(&l);
                loop_run(l.loop);
                *ret_status = l.status;
        }
        fini(&l);
        return result;
}
