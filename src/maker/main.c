/*
 * maker/main.c - carrel-init, outside of the box.
 *
 * Room: maker (program). Touches: everything a plan's steps name, nothing else.
 * Theory: one small static program without libraries. `carrel run` starts it (or the spawner forks
 * it) with one socket as descriptor 3. It receives a packed plan, runs the HOST steps, starts the
 * box's first process, and waits. That process (maker/first.c) becomes pid 1 without an exec: its
 * memory has never held more than the plan. The maker parses no text
 * (maker/config.c lets a child judge one) and decides nothing; it exits on an unknown message.
 *
 *     waiting --WIRE_MAKE--> making --spawned--> watching --box gone--> cleaning --> out
 *                               | a step fails: undo --> out     | WIRE_KILL or the socket closes:
 * kill the box
 *
 * P1: when the maker is gone, so is everything its steps made. It undoes them on every way out. If
 * it is killed, its lease lets the next start undo them, and its box ends because the keeper closes
 * the guest's socket.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock/clock.h"
#include "guest/inside.h"
#include "maker/booted.h"
#include "maker/first.h"
#include "maker/guard.h"
#include "maker/host.h"
#include "maker/kernel.h"
#include "maker/lease.h"
#include "maker/limit.h"
#include "maker/prepared.h"
#include "maker/spawner.h"
#include "maker/survey.h"
#include "maker/tap.h"
#include "maker/tree.h"
#include "maker/usage.h"
#include "wire/box.h"
#include "wire/message.h"

enum { KEEPER = MAKER_KEEPER, EXIT_BROKEN = 125, GUARD_PAUSE_MS = 10, GUARD_LOOK_MS = 50 };

static _Alignas(4096) unsigned char packed[WIRE_BODY_MAX];
/* started by a spawner: a keeper remains, which is notified of readiness and receives the group */
static unsigned is_living;
/* the command of `carrel gate` stays in the caller's session, and so does the guest that starts it
 */
static unsigned keeps_session;

#ifndef CLONE_INTO_CGROUP
#define CLONE_INTO_CGROUP 0x200000000ULL
#endif

struct clone_arguments {
        uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid,
                set_tid_size, cgroup;
};

/* Without clone3 (older kernels, container profiles) a write joins the v2 group. */
static int
join_unified(const struct host *h)
{
        int fd = openat(h->unified, "cgroup.procs", O_WRONLY | O_CLOEXEC);
        int result;

        if (fd < 0)
                return -errno;
        result = write(fd, "0", 1) == 1 ? 0 : -errno;
        (void)close(fd);
        return result;
}

/* Creates a child with these namespaces, in the v2 group if there is one. */
static long
clone_into_group(const struct host *h, uint64_t flags)
{
        struct clone_arguments arguments = {
                .flags = flags | (h->unified >= 0 ? CLONE_INTO_CGROUP : 0u),
                .exit_signal = SIGCHLD,
                .cgroup = h->unified >= 0 ? (uint64_t)h->unified : 0u
        };
        long pid = answer(syscall(SYS_clone3, &arguments, sizeof arguments));
        int result;

        if (pid != -ENOSYS)
                return pid;
        pid = answer(syscall(SYS_clone, (long)flags | SIGCHLD, NULL, NULL, NULL, NULL));
        if (pid == 0 && h->unified >= 0 && (result = join_unified(h)) < 0)
                _exit(-result);
        return pid;
}

/*
 * The reserved ids become the effective ones: a process that creates a user namespace with them may
 * write its maps itself.
 */
static int
become_box(const struct host *h)
{
        if (syscall(SYS_setgroups, 0, NULL) < 0 || syscall(SYS_setresgid, -1, h->box_gid, -1) < 0 ||
            syscall(SYS_setresuid, -1, h->box_uid, -1) < 0)
                return -errno;
        return 0;
}

/*
 * Borrowed ids may not write to root's group, and the kernel checks them: one capability is raised
 * again for the clone. All of them if the ids stay borrowed.
 */
static void
take_up(unsigned mask)
{
        struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
        struct __user_cap_data_struct data[2];

        if (syscall(SYS_capget, &head, data) < 0)
                return; /* then the clone fails and reports it */
        data[0].effective |= data[0].permitted & mask;
        data[1].effective |= mask == ~0u ? data[1].permitted : 0;
        (void)syscall(SYS_capset, &head, data);
}

/*
 * Returns to the maker's ids. If the kernel has no memory for that, no box is started, and the
 * steps are undone with root's capabilities instead.
 */
static long
become_root(long pid)
{
        int result = syscall(SYS_setresuid, -1, 0, -1) < 0 || syscall(SYS_setresgid, -1, 0, -1) < 0
                             ? -errno
                             : 0;

        if (result == 0)
                return pid;
        take_up(~0u);
        if (pid > 0) {
                (void)kill((pid_t)pid, SIGKILL);
                (void)waitpid((pid_t)pid, NULL, 0);
        }
        return pid < 0 ? pid : result;
}

static long
spawn_as_box(const struct host *h)
{
        int result = become_box(h);
        long pid = result;

        if (result == 0) {
                if (h->unified >= 0)
                        take_up(1u << CAP_DAC_OVERRIDE);
                /* without a user namespace of its own, the box has root's capabilities until it
                 * becomes the relay */
                if (h->runtime_directory)
                        take_up(~0u);
                pid = clone_into_group(h, h->namespaces);
        }
        return pid == 0 ? 0 : become_root(pid);
}

static pid_t
spawn_plain(const struct host *h)
{
        if (geteuid() != 0 || h->box_uid == 0)
                return (pid_t)clone_into_group(h, h->namespaces);
        return (pid_t)spawn_as_box(h);
}

/* A range of ids is mapped by this process; the box waits for it. */
static int
map_range(const struct host *h, pid_t pid)
{
        int result = tree_write_map(pid, "uid_map", 0, h->box_uid, STEP_RANGE_IDS);

        if (result == 0)
                result = tree_write_map(pid, "gid_map", 0, h->box_gid, STEP_RANGE_IDS);
        if (result == 0 && write(h->mapped[1], "m", 1) != 1)
                result = -errno;
        if (result == 0)
                return 0;
        (void)kill(pid, SIGKILL);
        (void)waitpid(pid, NULL, 0);
        return result;
}

static pid_t
spawn(struct host *h)
{
        bool maps_range = h->has_range && !h->runtime_directory; /* otherwise the runtime does */
        pid_t pid;

        if (maps_range && pipe2(h->mapped, O_CLOEXEC) < 0)
                return -errno;
        pid = spawn_plain(h);
        if (pid > 0 && maps_range) {
                int result = map_range(h, pid);

                pid = result < 0 ? result : pid;
        }
        for (size_t i = 0; i < 2 && pid != 0 && h->mapped[i] >= 0; i++) {
                (void)close(h->mapped[i]);
                h->mapped[i] = -1;
        }
        return pid;
}

static void
fail_outside(uint32_t step, int result)
{
        struct wire_failed failed = { step, -result };

        (void)wire_send(KEEPER, WIRE_MAKE_FAILED, &failed, sizeof failed, NULL, 0);
}

static void
tell_kept(const struct wire_kept *news)
{
        (void)wire_send(KEEPER, WIRE_KEPT, news, sizeof *news, NULL, 0);
}

static int
do_host_steps(struct host *h, uint32_t *ret_failed)
{
        while (h->done < h->view->step_count) {
                struct step s = plan_view_step(h->view, h->done);
                int result;

                if (step_phase_of(s.op) != STEP_PHASE_HOST)
                        return 0;
                *ret_failed = h->done;
                result = host_step(h, &s);
                if (result < 0)
                        return result;
        }
        return 0;
}

/* Timeout for poll(2); -1: no timeout. */
static int
left_ms(uint64_t until)
{
        uint64_t now = until == UINT64_MAX ? 0 : clock_boot_ms();

        return until == UINT64_MAX     ? -1
               : now >= until          ? 0
               : until - now > INT_MAX ? INT_MAX
                                       : (int)(until - now);
}

static uint64_t
first_of(uint64_t one, uint64_t two, uint64_t three)
{
        uint64_t first = one < two ? one : two;

        return first < three ? first : three;
}

/*
 * Usage is read only for a box of one command; in a long-lived box each command has a group, or a
 * reaper, that counts it.
 */
static void
end_box(pid_t pid, struct usage *ret)
{
        if (!is_living)
                usage_look(pid, ret);
        (void)kill(pid, SIGKILL);
}

/*
 * Time of the next look at guarded names; UINT64_MAX if only a change of their directory causes
 * one.
 */
static uint64_t
first_look(const struct guard *guard)
{
        return guard->count > 0 && guard->inotify < 0 ? clock_boot_ms() + GUARD_LOOK_MS
                                                      : UINT64_MAX;
}

/*
 * Looks at guarded names when their directory has changed, and once more GUARD_PAUSE_MS later,
 * without listening in between, so that a payload cannot keep the maker busy. Without inotify it
 * looks every GUARD_LOOK_MS. It does the same for a configuration, because inotify does not report
 * every kind of write.
 */
static int
is_polled(const struct guard *guard)
{
        return guard->inotify < 0 ? guard->count > 0 : guard->is_busy && guard->config_count > 0;
}

static void
look(struct guard *guard, struct pollfd *changed, uint64_t *due)
{
        uint64_t now = clock_boot_ms();
        int is_due = now >= *due;

        if (!is_due && (changed->revents & POLLIN) == 0)
                return;
        guard_sweep(guard);
        changed->fd = is_due ? guard->inotify : -1;
        *due = is_due && !is_polled(guard) ? UINT64_MAX
                                           : now + (is_due ? GUARD_LOOK_MS : GUARD_PAUSE_MS);
}

static unsigned must_end; /* a kill was requested, or the keeper has gone */
static struct survey survey;
static const struct host *made; /* whose box is watched; NULL: none yet */

/* What the private places hold on a disk: the last count of a directory, or the image now. */
static void
answer_stored(void)
{
        struct wire_stored answer = { made ? made->watched.bytes : UINT64_MAX };
        struct statvfs fs;

        if (made && made->watched.place.top < 0 && made->image >= 0 &&
            fstatvfs(made->image, &fs) == 0)
                answer.bytes = (uint64_t)(fs.f_blocks - fs.f_bfree) * fs.f_frsize;
        (void)wire_send(KEEPER, WIRE_STORED, &answer, sizeof answer, NULL, 0);
}

static void
answer_limit(const void *wanted, size_t len)
{
        struct wire_limited answer;

        limit_serve(made->view, wanted, len, &answer);
        (void)wire_send(KEEPER, WIRE_LIMITED, &answer, sizeof answer, NULL, 0);
}

/*
 * Reads all messages of the box about commands: a name that was seen before them is judged by them.
 */
static void
hear_orders(struct guard *guard)
{
        bool is_busy = guard->is_busy, was_busy = is_busy;
        /* the plan is not overwritten */
        static _Alignas(8) unsigned char body[WIRE_LIMIT_MAX];
        struct wire_busy order;
        struct wire_message m;
        int got;

        while (!must_end && (got = wire_receive(KEEPER, 0, &m, body, sizeof body)) != -EAGAIN) {
                memcpy(&order, body, sizeof order);
                if (got > 0 && m.kind == WIRE_BUSY && m.len == sizeof order)
                        was_busy |= is_busy = order.number != 0;
                else if (got > 0 && m.kind == WIRE_STORED && m.len == 0)
                        answer_stored();
                else if (got > 0 && m.kind == WIRE_LIMIT && made)
                        answer_limit(body, m.len);
                else
                        must_end = 1;
                if (got > 0 && is_busy && m.kind == WIRE_BUSY)
                        survey_mark(&survey, &(struct timespec){ .tv_sec = order.sec,
                                                                 .tv_nsec = order.nsec });
                if (got > 0)
                        wire_message_close(&m);
        }
        guard->is_busy = was_busy;
        if (!was_busy || is_busy)
                return;
        guard_rest(guard);
        survey_rest(&survey);
}

/* True: this look found that it holds too much. */
static bool
look_at_disk(struct watched *w)
{
        bool was_over = w->is_over;

        if (left_ms(w->due_ms) == 0)
                watched_look(w);
        return w->is_over && !was_over;
}

/*
 * Waits until the box is gone. Kills it on request, when the keeper has gone, when a v1 group is
 * out of memory, when it has lived for `last_ms`, when its private directory holds too much, or
 * when a guarded name cannot be moved. The keeper of one command enforces its limits, but may be
 * stopped itself, for example by a terminal. SIGCHLD is read from a signal descriptor, which needs
 * no newer system call than the box itself.
 */
static int
watch(pid_t pid, struct host *h, struct guard *guard, unsigned *ret_is_oom, struct usage *ret_usage)
{
        uint64_t now = clock_boot_ms(), until = h->last_ms == 0 || h->last_ms > UINT64_MAX - now
                                                        ? UINT64_MAX
                                                        : now + h->last_ms;
        uint64_t due = first_look(guard);
        struct signalfd_siginfo info;
        int status = 0;
        sigset_t child;
        struct pollfd fds[4] = { { KEEPER, POLLIN, 0 },
                                 { -1, POLLIN, 0 },
                                 { h->oom, POLLIN, 0 },
                                 { guard->inotify, POLLIN, 0 } };

        (void)sigemptyset(&child);
        (void)sigaddset(&child, SIGCHLD);
        made = h;
        h->watched.view = h->view;
        h->watched.box = pid;
        fds[1].fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
        if (fds[1].fd < 0)
                (void)kill(pid, SIGKILL); /* no order could be received: no box without a watch */
        while (waitpid(pid, &status, fds[1].fd >= 0 ? WNOHANG : 0) == 0) {
                if (due == UINT64_MAX && is_polled(guard))
                        due = clock_boot_ms() + GUARD_LOOK_MS;
                if (poll(fds, 4,
                         clock_slice_ms(left_ms(first_of(
                                 until, due,
                                 first_of(survey.due_ms, h->watched.due_ms, UINT64_MAX))))) < 0 &&
                    errno != EINTR)
                        (void)kill(pid, SIGKILL);
                look(guard, &fds[3], &due);
                if (left_ms(survey.due_ms) == 0)
                        survey_look(&survey, guard->is_busy);
                if (guard->must_kill || survey.must_kill)
                        (void)kill(pid, SIGKILL);
                if (look_at_disk(&h->watched))
                        end_box(pid, ret_usage);
                if (left_ms(until) == 0) {
                        end_box(pid, ret_usage);
                        until = UINT64_MAX;
                }
                while ((fds[1].revents & POLLIN) != 0 && read(fds[1].fd, &info, sizeof info) > 0)
                        continue;
                if ((fds[2].revents & POLLIN) != 0) {
                        *ret_is_oom = 1;
                        end_box(pid, ret_usage);
                        fds[2].fd = -1;
                }
                if ((fds[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0)
                        hear_orders(guard);
                if (!must_end || fds[0].fd < 0)
                        continue;
                end_box(pid, ret_usage);
                fds[0].fd = -1;
        }
        if (fds[1].fd >= 0)
                (void)close(fds[1].fd);
        return status;
}

/* Sends the counters, and the box's v2 group if it has one, to the keeper. */
static void
tell_spawned(const struct host *h, pid_t pid)
{
        struct wire_spawned spawned = { .pid = pid };
        int fds[HOST_WATCHES_MAX + 1], parent = -1;

        /* a command cannot join a group from within a container, whose own is beside the relay's,
         * or from within a machine */
        if (is_living && h->unified >= 0 && h->runtime_directory)
                parent = openat(h->unified, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (parent >= 0)
                spawned.group = WIRE_GROUP_WHOLE;
        else if (is_living && h->unified >= 0 && !h->runtime_directory)
                spawned.group = h->has_relay ? WIRE_GROUP_MACHINE : WIRE_GROUP_COMMANDS;
        memcpy(fds, h->watches, h->watch_count * sizeof *fds);
        fds[h->watch_count] = parent >= 0 ? parent : h->unified;
        (void)wire_send(KEEPER, WIRE_SPAWNED, &spawned, sizeof spawned, fds,
                        h->watch_count + (spawned.group != WIRE_GROUP_NONE));
        if (parent >= 0)
                (void)close(parent);
}

static int
make(struct wire_message *m)
{
        struct plan_view view;
        static struct guard guard;
        struct host host;
        struct wire_box_ended ended = { 0 };
        uint32_t failed = UINT32_MAX;
        struct usage usage = { 0, 0 };
        unsigned is_oom = 0;
        pid_t pid;
        int result = plan_unpack(packed, m->len, &view);

        if (result < 0 || m->fd_count != (size_t)view.source_count + 1) {
                fail_outside(failed, -EPROTO);
                return EXIT_BROKEN;
        }
        host_init(&host, &view, m->fds[0], m->fds + 1);
        host.packed = packed;
        host.packed_len = m->len;
        host.looks_at_leases = !is_living; /* the keeper of a living box does it */
        guard_begin(&guard, &view, host.sources, is_living);
        guard.report = tell_kept;
        guard.refresh = hear_orders;
        survey_begin(&survey, &view, host.sources, is_living);
        survey.report = tell_kept;
        result = do_host_steps(&host, &failed);
        if (result == 0 && is_living)
                result = prepared_take(&view, &host.prepared);
        pid = result < 0 ? result : spawn(&host);
        if (pid == 0)
                first_run(&host, m->fds[0], is_living);
        if (pid < 0) {
                host_fini(&host);
                fail_outside(failed, pid);
                return EXIT_BROKEN;
        }
        if (keeps_session)
                (void)setsid();
        wire_message_close(m);
        tell_spawned(&host, pid);
        tap_let_go(&host.sockets);
        if (host.prepared >= 0)
                (void)close(host.prepared); /* the box has it */
        else
                prepared_build(&view);
        host.prepared = -1;
        prepared_close();
        ended.wait_status = watch(pid, &host, &guard, &is_oom, &usage);
        guard_end(&guard);
        survey_end(&survey);
        host_count(&host, &ended);
        ended.memory_peak = usage.peak_bytes;
        if (ended.cpu_ns == 0 && usage.cpu_ns > 0)
                ended.cpu_ns = usage.cpu_ns;
        ended.has_usage |= usage.peak_bytes > 0;
        if (is_oom && ended.oom_kills == 0)
                ended.oom_kills = 1;
        ended.is_over_disk = host.watched.is_over;
        host_fini(&host);
        (void)wire_send(KEEPER, WIRE_BOX_ENDED, &ended, sizeof ended, NULL, 0);
        return 0;
}

static int
make_living(struct wire_message *m)
{
        is_living = 1;
        return make(m);
}

/* The descriptor after "--bridge-fd"; -1: none. Only the launcher starts a spawner. */
static int
bridge_of(int argc, char **argv)
{
        int fd = argc == 4 && strcmp(argv[2], "--bridge-fd") == 0 ? (int)strtol(argv[3], NULL, 10)
                                                                  : -1;

        return fd > KEEPER && fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 ? fd : -1;
}

/*
 * With one argument, a directory of leases: collects what killed makers left, before a new plan
 * counts on it. With the word `spawner`: starts boxes for a keeper until the socket closes. With
 * the word `guest`: pid 1 of a container.
 */
int
main(int argc, char **argv)
{
        struct sigaction standard = { .sa_handler = SIG_DFL };
        const struct wire_box_begin *begin;
        struct wire_message m;
        sigset_t all;

        (void)sigfillset(&all);
        (void)sigprocmask(SIG_SETMASK, &all, NULL); /* the keeper handles a terminal's Ctrl-C */
        /* if SIGCHLD stayed ignored, no child could be waited for */
        (void)sigaction(SIGCHLD, &standard, NULL);
        /* started by descriptor, its name would be that number */
        (void)prctl(PR_SET_NAME, "carrel-maker", 0, 0, 0);
        if (argc == 2 && strcmp(argv[1], GUEST_INSIDE_WORD) == 0)
                guest_inside();
        if (argc == 3 && strcmp(argv[1], GUEST_INSIDE_WORD) == 0)
                guest_take_ids(argv[2]);
        if (argc >= 2 && strcmp(argv[1], PLAN_MACHINE_WORD) == 0)
                booted_inside(argc > 2 ? argv[2] : NULL);
        if (argc >= 2)
                (void)setsid();
        if (argc >= 2 && strcmp(argv[1], "spawner") == 0)
                return spawner_serve(&(struct spawner){ packed, sizeof packed, make_living,
                                                        bridge_of(argc, argv) });
        if (argc > 2)
                return EXIT_BROKEN;
        if (argc == 2)
                return lease_collect(argv[1]) < 0 ? EXIT_BROKEN : 0;
        if (wire_receive(KEEPER, 1, &m, packed, sizeof packed) <= 0)
                return EXIT_BROKEN;
        begin = (const void *)packed;
        keeps_session = m.kind == WIRE_BOX_BEGIN && m.len > sizeof *begin &&
                        (begin->flags & BOX_BEGIN_NET_ONLY) != 0;
        if (!keeps_session)
                (void)setsid();  /* neither this process nor pid 1 has the caller's terminal */
        if (m.kind == WIRE_MAKE) /* the caller is the box: test/rig/guest_rig.c */
                return make(&m);
        if (m.kind != WIRE_BOX_BEGIN)
                return EXIT_BROKEN;
        is_living = m.len > sizeof *begin && (begin->flags & BOX_BEGIN_TIED) != 0;
        return spawner_one(&(struct spawner){ packed, sizeof packed, make, -1 }, &m);
}
