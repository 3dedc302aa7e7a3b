/*
 * maker/first.c - the first process of a box, from its clone until it is pid 1, or the relay.
 *
 * Room: maker (program). Touches: everything a plan's BOX and GUEST steps name, nothing else.
 * Theory: it runs these steps on itself. Before it serves, it closes every descriptor that is not
 * for pid 1, and drops the plan: no path of the host stays inside.
 */
#include "maker/first.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest/guest.h"
#include "guest/harden.h"
#include "guest/inside.h"
#include "maker/box.h"
#include "maker/machine.h"
#include "maker/namespace.h"
#include "maker/prepared.h"
#include "plan/request.h"
#include "relay/relay.h"
#include "seal/seal.h"
#include "wire/box.h"
#include "wire/message.h"

enum { EXIT_BROKEN = 125, FD_LAST = 4096 };

static _Noreturn void
fail_inside(int control, uint32_t step, int result)
{
        struct wire_failed failed = { step, -result };

        (void)wire_send(control, WIRE_BOX_FAILED, &failed, sizeof failed, NULL, 0);
        _exit(EXIT_BROKEN);
}

static int
join_groups(const struct host *h)
{
        for (size_t i = 0; i < h->join_count; i++) {
                if (write(h->joins[i], "0", 1) != 1)
                        return -errno;
                (void)close(h->joins[i]);
        }
        return h->wants_cgroup_ns && unshare(CLONE_NEWCGROUP) < 0 ? -errno : 0;
}

static unsigned
landlock_abi(const struct plan_view *view)
{
        for (uint32_t i = 0; i < view->step_count; i++)
                if (view->steps[i].op == STEP_LANDLOCK)
                        return (unsigned)view->steps[i].number;
        return 0;
}

/* A container runtime will be started without a right outside of the new namespaces. */
static bool
is_nested(const struct host *h)
{
        return h->runtime_directory && (h->namespaces & CLONE_NEWUSER) != 0;
}

/*
 * Between the clone and the first step: drops the privileged maker's saved ids and its descriptor
 * of the keeper.
 */
static void
begin_inside(const struct host *h)
{
        (void)prctl(PR_SET_NAME, "carrel-init", 0, 0, 0);
        (void)close(MAKER_KEEPER);
        if (h->lease >= 0)
                (void)close(h->lease);
        if (h->oom >= 0)
                (void)close(h->oom);
        if (h->mapped[1] >= 0)
                (void)close(h->mapped[1]);
        prepared_close();
        /* otherwise root owns /proc/self, and no id map can be written */
        if (!h->runtime_directory || is_nested(h))
                (void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
        /* no group kills the runtime when nobody waits for it any more */
        if (is_nested(h))
                (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
}

static void
close_range_of(unsigned first, unsigned last)
{
        if (first > last || syscall(SYS_close_range, first, last, 0) == 0)
                return;
        for (unsigned fd = first; fd <= last && fd < FD_LAST; fd++)
                (void)close((int)fd);
}

static int
by_number(const void *a, const void *b)
{
        return *(const int *)a - *(const int *)b;
}

/*
 * Closes everything in pid 1 except its control socket, the stock of its wall or the sockets for
 * names, the private disk and the listener for executions. A negative number is none.
 */
static int
keep_only(int control, const struct namespace_sockets *sockets, int disk, int listener)
{
        int kept[sizeof sockets->stock / sizeof sockets->stock[0] + 2];
        size_t count = sockets->stock_count;
        unsigned from = MAKER_KEEPER + 1;

        if (dup2(control, MAKER_KEEPER) < 0 || fcntl(MAKER_KEEPER, F_SETFD, FD_CLOEXEC) < 0)
                _exit(EXIT_BROKEN);
        memcpy(kept, sockets->stock, count * sizeof *kept);
        kept[count++] = disk;
        kept[count++] = listener;
        qsort(kept, count, sizeof *kept, by_number);
        for (size_t i = 0; i < count; i++) {
                if (kept[i] < 0)
                        continue;
                close_range_of(from, (unsigned)kept[i] - 1);
                from = (unsigned)kept[i] + 1;
        }
        close_range_of(from, ~0u);
        return MAKER_KEEPER;
}

/*
 * Host paths must not be visible inside. The kernel drops the pages; to overwrite them it would
 * copy them first, for as long as pid 1 lives.
 */
static void
forget_plan(const struct host *h)
{
        if (madvise(h->packed, WIRE_BODY_MAX, MADV_DONTNEED) < 0)
                memset(h->packed, 0, h->packed_len);
}

/* Moves it above what else is kept or, where the limit of open files is low, below. */
static int
out_of_the_way(int take_fd, const struct box *box)
{
        int first = box->disk >= 0 ? box->disk + 1 : namespace_first_kept(&box->sockets),
            fd = fcntl(take_fd, F_DUPFD_CLOEXEC, first);

        if (fd < 0)
                fd = fcntl(take_fd, F_DUPFD_CLOEXEC, MAKER_KEEPER + 1);
        if (fd < 0)
                _exit(EXIT_BROKEN);
        return fd;
}

/* The GUEST steps from `first` on, packed by themselves: no path of the host goes inside. */
static void *
pack_guest_steps(const struct plan_view *view, uint32_t first, size_t *ret_len)
{
        size_t count = view->step_count - first;
        struct step *steps = calloc(count > 0 ? count : 1, sizeof *steps);
        void *bytes = NULL;

        for (uint32_t i = 0; steps && i < count; i++)
                steps[i] = plan_view_step(view, first + i);
        *ret_len = steps ? plan_pack_len(steps, count) : 0;
        if (*ret_len > 0)
                bytes = malloc(*ret_len);
        if (bytes)
                plan_pack(steps, count, 0, bytes);
        free(steps);
        return bytes;
}

/*
 * The relay's id: the one that the plan sets aside for the set-up of a container, which no command
 * has; with a machine, and for an ordinary user, the only one of the box's user namespace.
 */
static int
become_nobody(const struct host *h, uint32_t id)
{
        const struct step identity = { .op = STEP_IDENTITY,
                                       .number = PLAN_UID,
                                       .number2 = PLAN_GID };
        const struct sigaction ignored = { .sa_handler = SIG_IGN };

        if (is_nested(h)) /* it is every orphan's parent */
                return sigaction(SIGCHLD, &ignored, NULL) < 0 ? -errno : 0;
        if (!h->runtime_directory)
                return harden_step(&(struct harden){ -1, 0, { -1, false } }, &identity);
        if (id == 0)
                return -EINVAL;
        if (syscall(SYS_setgroups, 0, NULL) < 0 || syscall(SYS_setresgid, id, id, id) < 0 ||
            syscall(SYS_setresuid, id, id, id) < 0)
                return -errno;
        return 0;
}

/*
 * With a container runtime or a machine, pid 1 is inside it, and this process is its relay. What
 * follows the last BOX step is for the guest.
 */
static _Noreturn void
run_relay(const struct host *h, const struct box *box, int control, uint32_t first, bool is_living)
{
        struct relay_start start = { .stream = out_of_the_way(box->stream, box),
                                     .first_step = first,
                                     .alive = box->alive < 0 ? -1 : out_of_the_way(box->alive, box),
                                     .names = -1,
                                     .diag = -1,
                                     .ready_ms = h->runtime_directory ? 0 : MACHINE_READY_MS,
                                     .is_living = is_living };
        const char *step;
        int result;

        start.plan = pack_guest_steps(h->view, first, &start.plan_len);
        result = start.plan ? become_nobody(h, box->setup_id) : -ENOMEM;
        if (result < 0)
                fail_inside(control, first, result);
        (void)prctl(PR_SET_NAME, "carrel-relay", 0, 0, 0);
        start.control = keep_only(control, &box->sockets, start.stream, start.alive);
        forget_plan(h);
        if (box->sockets.has_names) {
                start.names = box->sockets.stock[0];
                start.diag = box->sockets.stock_count > 1 ? box->sockets.stock[1] : -1;
        } else {
                start.stock = box->sockets.stock;
                start.stock_count = box->sockets.stock_count;
        }
        result = seal_privileges(SEAL_RELAY, &step);
        if (result == 0)
                result = seal_world(SEAL_RELAY, NULL, 0, &step);
        if (result < 0)
                fail_inside(start.control, first, result);
        result = relay_serve(&start);
        if (result == -ECONNRESET || result == -ETIMEDOUT) /* as if that step had failed */
                fail_inside(start.control, first - 1, result);
        _exit(result < 0 ? EXIT_BROKEN : 0);
}

/* For rules for commands: the keeper sees what root inside has replaced. */
static void
pass_upper(struct box *box, int control, bool is_living)
{
        if (box->upper < 0)
                return;
        if (is_living)
                (void)wire_send(control, WIRE_UPPER, NULL, 0, &box->upper, 1);
        (void)close(box->upper);
        box->upper = -1;
}

_Noreturn void
first_run(const struct host *h, int control, bool is_living)
{
        struct box box = { .root = -1,
                           .workshop = -1,
                           .scratch = -1,
                           .image = h->image,
                           .watched = &h->watched,
                           .prepared = h->prepared,
                           .sources = h->sources,
                           .is_tree = h->is_tree,
                           .sockets = h->sockets,
                           .stand = h->runtime_directory ? PLAN_STAND : NULL,
                           .alive = -1,
                           .memory = -1,
                           .stream = -1,
                           .disk = -1,
                           .upper = -1 };
        struct harden harden = { -1, landlock_abi(h->view), { -1, false } };
        int result = 0;
        uint32_t i = h->done;

        box.sockets.control = control;
        box.sockets.mapped = h->mapped[0];
        begin_inside(h);
        result = join_groups(h);
        if (result < 0)
                fail_inside(control, i, result);
        for (; i < h->view->step_count; i++) {
                struct step s = plan_view_step(h->view, i);

                bool is_outside = step_phase_of(s.op) == STEP_PHASE_BOX;

                /* a machine does all that follows; of a container, what is for its pid 1 */
                if (box.stream >= 0 && !(h->runtime_directory && is_outside))
                        run_relay(h, &box, control, i, is_living);
                result = is_outside ? box_step(&box, &s) : harden_step(&harden, &s);
                if (result < 0)
                        fail_inside(control, i, result);
                pass_upper(&box, control, is_living);
        }
        if (harden.asked.listener >= 0)
                harden.asked.listener = out_of_the_way(harden.asked.listener, &box);
        control = keep_only(control, &box.sockets, box.disk, harden.asked.listener);
        forget_plan(h);
        if (is_living)
                (void)wire_send(control, WIRE_BOX_READY, NULL, 0, NULL, 0);
        if (box.sockets.has_names)
                guest_serve(control,
                            &(struct guest_names){
                                    box.sockets.stock[0],
                                    box.sockets.stock_count > 1 ? box.sockets.stock[1] : -1 },
                            box.disk, &harden.asked, NULL, 0);
        guest_serve(control, NULL, box.disk, &harden.asked, box.sockets.stock,
                    box.sockets.stock_count);
}
