/*
 * guest/inside.c - the guest as the first program of a container.
 *
 * Room: guest (program). Touches: its own descriptors, credentials and limits.
 * Theory: the runtime made the namespaces, and this process has no capability. The same GUEST steps
 * as in our own namespaces follow: limits, Landlock, the filter. A step of another kind is refused,
 * and so is a capability that the runtime left (guest/harden.c).
 */
#include "guest/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "guest/command.h"
#include "guest/guest.h"
#include "guest/harden.h"
#include "guest/transport.h"
#include "plan/pack.h"

enum { BROKEN = 125, STREAM = 3 };

static _Noreturn void
fail(struct transport *t, uint32_t step, int result)
{
        const struct wire_failed failed = { step, -result };

        (void)transport_say(t, WIRE_BOX_FAILED, &failed, sizeof failed);
        _exit(BROKEN);
}

/* Standard streams of the runtime must not stay open: a command would hold them. */
static int
take_stream(void)
{
        int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
        int stream = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STREAM + 1);

        if (nothing < 0 || stream < 0)
                return -errno;
        for (int fd = 0; fd < STREAM; fd++)
                if (dup2(nothing, fd) < 0)
                        return -errno;
        if (dup3(stream, STREAM, O_CLOEXEC) < 0)
                return -errno;
        command_close_from(STREAM + 1);
        return 0;
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
        if (take_stream() < 0 || transport_open(STREAM, guest_transport_fds(), &t, &control) < 0 ||
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
