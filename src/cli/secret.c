/*
 * cli/secret.c - which process asks the sources of secrets for `carrel run`.
 *
 * Room: cli (joining, program). Touches: processes, fd, the host file (in the process left behind).
 */
#include "cli/secret.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/scoped.h"
#include "daemon/fetcher.h"
#include "prepare/host_file.h"

extern char **environ;

enum { ARENA_MAX = 16 << 20 };

static struct {
        int fd;
        pid_t pid;
} asker = { -1, 0 };

/* Runs in the process that asks. It does not judge the host file, which is the operator's own. */
static int
load(void *ctx, struct secret_sources *ret, struct error *e)
{
        static const struct host_ability nothing;
        static struct arena arena;
        struct secret_values *variables = NULL;
        struct host_file file;

        arena_init(&arena, ARENA_MAX);
        if (host_file_load(&arena, ctx, &nothing, 0, NULL, &file, e) < 0 ||
            secret_variables_take(&file.rules->sources, environ, &variables, e) < 0)
                return -1;
        *ret = (struct secret_sources){ file.rules->sources, file.rules->secrets_file, variables };
        return 0;
}

int
secret_asker_start(const char *host_file, struct error *e)
{
        /* absolute, because the asking process has another working directory */
        static char path[PATH_MAX];
        int pair[2], result;

        if (geteuid() != 0 || (host_file ? !realpath(host_file, path) : !host_file_has_default()))
                return 0; /* this process reports the missing file when it reads it */
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "making a pair of sockets");
        result = fetcher_start(load, host_file ? path : NULL, pair[1], &asker.pid, e);
        (void)close(pair[1]);
        if (result < 0)
                (void)close(pair[0]);
        else
                asker.fd = pair[0];
        return result;
}

static int
fetch(void *ctx, const char *const *slugs, size_t count, struct secret_values *values,
      size_t *ret_failed, struct error *e)
{
        (void)ctx;
        return fetcher_ask(asker.fd, slugs, count, values, ret_failed, e);
}

const struct prepare_source *
secret_asker(void)
{
        static const struct prepare_source source = { fetch, NULL };

        return asker.fd >= 0 ? &source : NULL;
}

void
secret_asker_end(void)
{
        scoped_fd_close(&asker.fd);
        if (asker.pid > 0)
                while (waitpid(asker.pid, NULL, 0) < 0 && errno == EINTR)
                        continue;
        asker.pid = 0;
}
