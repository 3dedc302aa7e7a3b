/*
 * cli/image_pull.c - fetches an image from a registry, with skopeo.
 *
 * Room: cli (joining, program). Touches: processes (one child), fd, the images of a state
 * directory.
 * Theory: skopeo speaks to registries and knows their passwords; nothing that it writes is
 * believed. It fills a directory, and the import checks every digest of that, as of any other
 * source.
 */
#include "cli/image_pull.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/scoped.h"
#include "volume/erase.h"

#define TRANSPORT "docker://"

enum { WORDS_MAX = 16, NOT_STARTED = 255, LINE_BYTES = 400 };

/* -- what is asked ----------------------------------------------------------------------------- */

int
image_pull_name(const char *asked, const char **ret, struct error *e)
{
        const char *name = asked;

        if (strncmp(name, TRANSPORT, strlen(TRANSPORT)) == 0)
                name += strlen(TRANSPORT);
        *ret = name;
        if (image_name_is_valid(name))
                return 0;
        (void)fail_at(e, ERROR_INVALID_ARGUMENT, NULL, "name", "%.200s is no name of an image",
                      asked);
        error_hint(e, "For example: carrel image pull python:3.12. A file or directory is "
                      "imported: carrel image import SOURCE NAME.");
        return -1;
}

static int
find_skopeo(const char **ret, struct error *e)
{
        static const char *const places[] = { "/usr/local/bin/skopeo", "/usr/bin/skopeo",
                                              "/bin/skopeo" };

        for (size_t i = 0; i < sizeof places / sizeof *places; i++)
                if (access(places[i], X_OK) == 0) {
                        *ret = places[i];
                        return 0;
                }
        (void)fail_at(e, ERROR_CAPABILITY_UNAVAILABLE, NULL, "skopeo",
                      "skopeo, which speaks to registries, is not installed");
        error_hint(e, "On Debian and Ubuntu: sudo apt-get install skopeo. Without it: `docker "
                      "save NAME >image.tar` on another machine, and carrel image import "
                      "image.tar here.");
        return -1;
}

/* -- the child --------------------------------------------------------------------------------- */

struct call {
        const char *words[WORDS_MAX];
        char from[IMAGE_NAME_MAX + sizeof TRANSPORT];
};

static void
write_words(struct call *c, const struct image_pull *asked, const char *name, const char *skopeo)
{
        size_t count = 0;

        (void)snprintf(c->from, sizeof c->from, TRANSPORT "%s", name);
        if (asked->policy) {
                c->words[count++] = "carrel";
                c->words[count++] = "gate";
                c->words[count++] = "--policy";
                c->words[count++] = asked->policy;
                c->words[count++] = "--";
        }
        c->words[count++] = skopeo;
        c->words[count++] = "copy";
        c->words[count++] = "--override-os=linux";
        if (asked->is_plain)
                c->words[count++] = "--src-tls-verify=false";
        c->words[count++] = c->from;
        c->words[count++] = "oci:image:latest";
        c->words[count] = NULL;
}

static _Noreturn void
be_skopeo(const struct call *c, bool is_gated, int dir, int complaints, bool is_shown)
{
        const char *program = is_gated ? "/proc/self/exe" : c->words[0];
        int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
        int progress = is_shown ? STDERR_FILENO : nowhere;

        (void)prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
        if (nowhere < 0 || fchdir(dir) < 0 || dup2(nowhere, STDIN_FILENO) < 0 ||
            dup2(progress, STDOUT_FILENO) < 0 || dup2(complaints, STDERR_FILENO) < 0)
                _exit(NOT_STARTED);
        (void)execv(program, (char *const *)(uintptr_t)c->words);
        _exit(NOT_STARTED);
}

/* A line of skopeo's log: `time="..." level=fatal msg="text"`; text of a stranger. */
static void
keep_line(char *line, char out[LINE_BYTES])
{
        char *text = strstr(line, "level=fatal msg=\"");
        size_t len = 0;

        if (strstr(out, "level=fatal"))
                return; /* what follows are hints */
        for (text = text ? text : line; *text && len < LINE_BYTES - 1; text++)
                if (*text != '\\') /* before quotes */
                        out[len++] = *text >= ' ' && *text < 0x7f ? *text : '?';
        out[len] = '\0';
}

/* Reads until the child has ended: the line that says why, or the last one. */
static void
hear_why(int complaints, char out[LINE_BYTES])
{
        FILE *lines = fdopen(complaints, "r");
        char *line = NULL;
        size_t room = 0;

        out[0] = '\0';
        while (lines && getline(&line, &room, lines) > 0) {
                line[strcspn(line, "\n")] = '\0';
                keep_line(line, out);
        }
        free(line);
        if (lines)
                (void)fclose(lines);
}

static int
say_failed(const struct image_pull *asked, const char *name, int status, const char *line,
           struct error *e)
{
        static const char begin[] = "level=fatal msg=\"";
        bool is_fatal = strncmp(line, begin, sizeof begin - 1) == 0;
        int len;

        if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_STARTED)
                return fail(e, ERROR_BACKEND_FAILED, "skopeo could not be started");
        line += is_fatal ? sizeof begin - 1 : 0;
        len = (int)strlen(line);
        if (is_fatal && len > 0 && line[len - 1] == '"')
                len--;
        (void)fail(e, ERROR_IMAGE_PULL_FAILED, "%s could not be pulled%s%.*s", name,
                   line[0] ? ": " : "", len, line);
        if (asked->policy)
                error_hint(e, "Does the policy list the hosts of the registry, also those that it "
                              "redirects to? `carrel gate explain HOST --policy FILE` says so.");
        return -1;
}

static int
run_skopeo(const struct call *c, const struct image_pull *asked, const char *name, int dir,
           struct error *e)
{
        scoped_fd int heard = -1, said = -1;
        char line[LINE_BYTES] = "";
        int ends[2], status;
        pid_t pid;

        if (pipe2(ends, O_CLOEXEC) < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "creating a pipe");
        heard = ends[0];
        said = ends[1];
        pid = fork();
        if (pid == 0)
                be_skopeo(c, asked->policy != NULL, dir, said, asked->is_shown);
        if (pid < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "starting skopeo");
        scoped_fd_close(&said);
        hear_why(fd_take(&heard), line);
        while (waitpid(pid, &status, 0) < 0)
                if (errno != EINTR)
                        return fail_sys(e, ERROR_BACKEND_FAILED, errno, "waiting for skopeo");
        return WIFEXITED(status) && WEXITSTATUS(status) == 0
                       ? 0
                       : say_failed(asked, name, status, line, e);
}

/* -- the whole --------------------------------------------------------------------------------- */

int
image_pull(const struct image_store *s, const struct image_pull *asked, char out[IMAGE_PULL_ROOM],
           struct error *e)
{
        scoped_fd int dir = -1;
        const char *name, *skopeo = NULL;
        struct call call;
        int result;

        out[0] = '\0';
        if (image_pull_name(asked->name, &name, e) < 0 || find_skopeo(&skopeo, e) < 0)
                return -1;
        (void)snprintf(out, IMAGE_PULL_ROOM, "pull.%ld", (long)getpid());
        result = erase_all(s->making, out);
        if (result < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, -result, "erasing what another left");
        if (mkdirat(s->making, out, 0700) < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "making a directory");
        dir = openat(s->making, out, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (dir < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "opening a directory");
        write_words(&call, asked, name, skopeo);
        return run_skopeo(&call, asked, name, dir, e);
}
