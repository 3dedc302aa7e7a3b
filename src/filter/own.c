/*
 * filter/own.c - the filters of Carrel's own processes.
 *
 * Room: filter (words). Touches: its own process.
 */
#include "filter/own.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/sanitized.h"
#include "filter/filter_box.h"
#include "filter/filter_bridge.h"
#include "filter/filter_door.h"
#include "filter/filter_gate.h"
#include "filter/filter_judge.h"
#include "filter/filter_keeper.h"
#include "filter/filter_look.h"
#include "filter/filter_recorder.h"
#include "filter/filter_relay.h"
#include "filter/filter_stand_in.h"
#include "filter/filter_unpack.h"

#ifndef SECCOMP_FILTER_FLAG_LOG
#define SECCOMP_FILTER_FLAG_LOG (1UL << 1)
#endif

#define PROGRAM(steps)                                                \
        {                                                             \
                (unsigned short)(sizeof(steps) / sizeof((steps)[0])), \
                        (struct sock_filter *)(uintptr_t)(steps)      \
        }

int
filter_enter(enum filter_own who)
{
        const struct sock_fprog programs[FILTER_OWN_MAX] = {
                [FILTER_KEEPER] = PROGRAM(filter_keeper_steps),
                [FILTER_DOOR] = PROGRAM(filter_door_steps),
                [FILTER_BOX] = PROGRAM(filter_box_steps),
                [FILTER_GATE] = PROGRAM(filter_gate_steps),
                [FILTER_JUDGE] = PROGRAM(filter_judge_steps),
                [FILTER_RECORDER] = PROGRAM(filter_recorder_steps),
                [FILTER_UNPACK] = PROGRAM(filter_unpack_steps),
                [FILTER_RELAY] = PROGRAM(filter_relay_steps),
                [FILTER_LOOK] = PROGRAM(filter_look_steps),
                [FILTER_BRIDGE] = PROGRAM(filter_bridge_steps),
                [FILTER_STAND_IN] = PROGRAM(filter_stand_in_steps),
        };

        if (IS_SANITIZED)
                return 0;
        if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_LOG,
                    &programs[who]) == 0)
                return 0;
        if (errno != EINVAL)
                return -errno;
        /* before Linux 4.14 refused calls are not logged */
        return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &programs[who]) == 0 ? 0 : -errno;
}
