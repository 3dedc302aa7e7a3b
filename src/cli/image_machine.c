/*
 * cli/image_machine.c - boots the virtual machine of an image once, and saves it.
 *
 * Room: cli (joining). Touches: processes, fd; what `carrel run` touches.
 *
 *     a file without a name --> carrel run: boots, is saved there --> carrel run: begins with it
 *        --> the file gets its name
 *
 * Theory: it is saved by the same path, with the same walls around QEMU, as every sandbox has. The
 * manifest is this file's own, so nobody else chooses what is in the machine. One that does not
 * start is not kept.
 */
#include "cli/image_machine.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/scoped.h"
#include "cli/run.h"
#include "image/saved.h"
#include "prepare/saved.h"

enum { NOT_FOUND = 127, NOT_STARTED = 125 };

static _Noreturn void
become_run(const struct image_machine *asked, int manifest, const struct prepare_saved *saved)
{
        static char run[] = "run", command[] = "true";
        char path[32], *argv[] = { run, command, NULL }, *words[] = { command, NULL };
        struct prepare_options o = { .file = path,
                                     .workspace = "/",
                                     .host_file = asked->host,
                                     .command = words,
                                     .command_count = 1,
                                     .saved = saved };
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);

        (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", manifest);
        if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
            setenv("CARREL_STATE", asked->state, 1) < 0)
                _exit(NOT_STARTED);
        _exit(run_command(&o, 2, argv));
}

/* An image need not have `true`. */
static int
run_once(const struct image_machine *asked, int manifest, const struct prepare_saved *saved,
         struct error *e)
{
        int status;
        pid_t pid;

        (void)fflush(NULL);
        pid = fork();
        if (pid == 0)
                become_run(asked, manifest, saved);
        if (pid < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "starting a sandbox");
        while (waitpid(pid, &status, 0) < 0)
                if (errno != EINTR)
                        return fail_sys(e, ERROR_BACKEND_FAILED, errno, "waiting for a sandbox");
        if (WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == NOT_FOUND))
                return 0;
        return fail(e, ERROR_BACKEND_FAILED,
                    saved->is_new ? "the machine was not saved, for the reason above"
                                  : "the machine was saved, but no sandbox starts with it");
}

int
image_machine_save(const struct image_store *s, const struct image_machine *asked,
                   uint64_t *ret_bytes, struct error *e)
{
        scoped_fd int manifest = memfd_create("carrel-machine", MFD_CLOEXEC);
        scoped_fd int file = -1, reading = -1;
        char path[32];

        if (manifest < 0 || dprintf(manifest,
                                    "---\nschema: sandbox/v1\nprovider: %s\nconfig: {image: "
                                    "\"%s\"}\nlimits: {memory_mb: %" PRIu64 "}\n---\n",
                                    provider_of_machines(), asked->name, asked->memory_mb) < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "writing a manifest");
        if (image_saved_new(s, &file, e) < 0)
                return -1;
        /* QEMU gets the second one when the image's own program is to run */
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", file);
        reading = open(path, O_RDONLY | O_CLOEXEC);
        if (reading < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "opening a file to read it");
        if (run_once(asked, manifest, &(struct prepare_saved){ file, true }, e) < 0 ||
            run_once(asked, manifest, &(struct prepare_saved){ reading, false }, e) < 0)
                return -1;
        return image_saved_keep(s, file, ret_bytes, e);
}
