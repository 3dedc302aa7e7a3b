/*
 * recorder/process.c - how a fork becomes a recorder.
 *
 * Room: recorder (joining). Touches: fd, signals, its own privileges.
 */
#include "recorder/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "seal/landlock.h"
#include "seal/seal.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

enum { FD_LAST = 1024 };

static int
take_descriptors(int socket, int log, int standard_count)
{
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        /* closed with all others below; after a failure this process ends */
        int at_socket = fcntl(socket, F_DUPFD_CLOEXEC, RECORDER_LOG + 1);
        int at_log = fcntl(log, F_DUPFD_CLOEXEC, RECORDER_LOG + 1);

        if (null < 0 || at_socket < 0 || at_log < 0)
                return -errno;
        for (int fd = 0; fd < standard_count; fd++)
                if (dup2(null, fd) < 0)
                        return -errno;
        if (dup3(at_socket, RECORDER_SOCKET, O_CLOEXEC) < 0 ||
            dup3(at_log, RECORDER_LOG, O_CLOEXEC) < 0)
                return -errno;
        if (syscall(SYS_close_range, RECORDER_LOG + 1, ~0u, 0) < 0)
                for (int other = RECORDER_LOG + 1; other < FD_LAST; other++)
                        (void)close(other);
        return 0;
}

int
recorder_become(int socket, int directory, bool keeps_errors, bool makes_directories,
                struct error *e)
{
        struct seal_place place = { LANDLOCK_READ_FILE | LANDLOCK_READ_DIR | LANDLOCK_WRITE_FILE |
                                            LANDLOCK_TRUNCATE | LANDLOCK_MAKE_REG |
                                            LANDLOCK_REMOVE_FILE |
                                            (makes_directories ? LANDLOCK_MAKE_DIR : 0),
                                    RECORDER_LOG };
        sigset_t all;

        (void)prctl(PR_SET_NAME, "carrel-recorder", 0, 0, 0);
        (void)setsid();
        (void)sigfillset(&all);
        (void)sigprocmask(SIG_SETMASK, &all, NULL);
        if (chdir("/") < 0 || take_descriptors(socket, directory, keeps_errors ? 2 : 3) < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "taking its descriptors");
        return seal_enter(SEAL_RECORDER, &place, 1, e);
}
