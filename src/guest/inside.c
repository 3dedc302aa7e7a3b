/*
 * guest/inside.c - the guest as the first program of a container.
 *
 * Room: guest (program). Touches: its own descriptors, credentials and limits.
 * Theory: the runtime made the namespaces, and this process has no capability. The same GUEST steps
 * as in our own namespaces follow: limits, Landlock, the filter. A step of another kind is refused,
 * and so is a capability that the runtime left (guest/harden.c). Where the container has no user
 * namespace of its own, this process makes one first, and begins anew in it: what /proc shows of
 * pid 1 then belongs to no id of the commands.
 */
#include "guest/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "guest/guest.h"
#include "guest/harden.h"
#include "guest/transport.h"
#include "plan/pack.h"
#include "plan/request.h"

enum { BROKEN = 125 };

static _Noreturn void
fail(struct transport *t, uint32_t step, int result)
{
        const struct wire_failed failed = { step, -result };

        (void)transport_say(t, WIRE_BOX_FAILED, &failed, sizeof failed);
        _exit(BROKEN);
}

static void
apply(struct transport *t, const struct plan_view *view, struct harden *harden)
{
        for (uint32_t i = 0; i < view->step_count; i++) {
                struct step s = plan_view_step(view, i);

                if (s.op == STEP_LANDLOCK)
                        harden->landlock_abi = (unsigned)s.number;
        }
        for (uint32_t i = 0; i < view->step_count; i++) {
                struct step s = plan_view_step(view, i);
                int result =
                        step_phase_of(s.op) == STEP_PHASE_GUEST ? harden_step(harden, &s) : -EPROTO;

                if (result < 0)
                        fail(t, i, result);
        }
}

/* -- ids of its own ---------------------------------------------------------------------------- */

static void
write_own(const char *path, const char *text)
{
        int fd = open(path, O_WRONLY | O_CLOEXEC);

        if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) || close(fd) < 0)
                _exit(BROKEN);
}

void
guest_take_ids(const char *id)
{
        const struct step drop = { .op = STEP_DROP_CAPS };
        struct harden harden = { -1, 0, { -1, false } };
        char name[] = PLAN_PROGRAM, word[] = GUEST_INSIDE_WORD, map[48];
        char *const arguments[] = { name, word, NULL }, *const none[] = { NULL };
        unsigned long number = strtoul(id, NULL, 10);

        (void)snprintf(map, sizeof map, "%lu 0 1\n", number);
        if (unshare(CLONE_NEWUSER) < 0)
                _exit(BROKEN);
        write_own("/proc/self/setgroups", "deny");
        write_own("/proc/self/uid_map", map);
        write_own("/proc/self/gid_map", map);
        /* root keeps them for the step of that name */
        if (geteuid() == number && (number == 0 || harden_step(&harden, &drop) == 0))
                (void)execve(name, arguments, none);
        _exit(BROKEN);
}

/* -- the guest --------------------------------------------------------------------------------- */

void
guest_inside(void)
{
        struct harden harden = { -1, 0, { -1, false } };
        struct transport *t;
        struct plan_view view;
        void *plan;
        size_t len;
        int control, result;

        (void)prctl(PR_SET_NAME, "carrel-init", 0, 0, 0);
        if (transport_take(STDIN_FILENO) < 0 ||
            transport_open(TRANSPORT_STREAM, guest_transport_fds(), &t, &control) < 0 ||
            transport_receive_plan(t, &plan, &len) < 0)
                _exit(BROKEN);
        result = getpid() != 1 ? -EPERM : plan_unpack(plan, len, &view) < 0 ? -EPROTO : 0;
        if (result < 0)
                fail(t, UINT32_MAX, result);
        apply(t, &view, &harden);
        if (transport_say(t, WIRE_BOX_READY, NULL, 0) < 0)
                _exit(BROKEN);
        guest_serve_stream(t, control, &harden.asked);
}
