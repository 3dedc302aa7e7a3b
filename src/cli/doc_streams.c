/*
 * cli/doc_streams.c - which streams a recorded run leaves in the audit log.
 *
 * Room: cli (joining). Touches: processes, the files of a log that doc_log.c made.
 * Theory: the log is searched for words that the command line does not hold: a shell puts each
 * together from two halves. What is only kept as a digest, or encoded, does not count.
 */
#include "cli/doc_streams.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/scoped.h"

enum { FILES_OPEN_MAX = 8, STREAMS = 5, MARKS = STREAMS + 1 };

const char *const doc_stream_names[STREAMS] = { "stdout", "stderr", "network", "file_writes",
                                                "exec" };

static const char script[] =
        "m=$1; printf '%s-%s\\n' out \"$m\"; printf '%s-%s\\n' err \"$m\" >&2; "
        "/bin/true exec-\"$m\"; : > /tmp/file-\"$m\"; getent hosts net-\"$m\".invalid; "
        "[ -z \"$4\" ] || bash -c 'exec 3<>/dev/tcp/\"$1$2\"/\"$3\" && "
        "printf \"HEAD / HTTP/1.1\\r\\nHost: $1$2\\r\\n\\r\\n\" >&3 && read -t 3 x <&3' "
        "bash \"$2\" \"$3\" \"$4\"; exit 0";

/* nftw() has no argument for its caller. */
static struct searching {
        char marks[MARKS][300];
        bool found[MARKS];
} searching;

static void
search(const char *bytes, size_t len)
{
        for (size_t i = 0; i < MARKS; i++)
                if (searching.marks[i][0] != '\0' &&
                    memmem(bytes, len, searching.marks[i], strlen(searching.marks[i])))
                        searching.found[i] = true;
}

static int
search_file(const char *path, const struct stat *st, int kind, struct FTW *at)
{
        scoped_fd int fd = kind == FTW_F && st->st_size > 0
                                   ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
                                   : -1;
        void *bytes;

        (void)at;
        if (fd < 0)
                return 0;
        bytes = mmap(NULL, (size_t)st->st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes == MAP_FAILED)
                return 0;
        search(bytes, (size_t)st->st_size);
        (void)munmap(bytes, (size_t)st->st_size);
        return 0;
}

/* The first host that is a whole name, or NULL. */
static const struct spec_egress *
a_host(const struct spec *spec)
{
        for (size_t i = 0; i < spec->egress_count; i++)
                if (!spec->egress[i].is_wildcard && spec->egress[i].port_count > 0 &&
                    strlen(spec->egress[i].host) > 1)
                        return &spec->egress[i];
        return NULL;
}

int
doc_streams_try(struct arena *arena, const struct doc_probe *probe, const struct spec *spec,
                struct doc_streams *ret, struct error *e)
{
        static const char *const kinds[STREAMS] = { "out", "err", "net", "file", "exec" };
        const struct spec_egress *host = a_host(spec);
        const char *name = host ? host->host : "";
        const char *half = arena_copy(arena, name, strlen(name) / 2);
        const char *port = host ? arena_format(arena, "%u", host->ports[0]) : "";
        const char *const command[] = {
                "/bin/sh", "-c", script, "sh", "7391", half, name + strlen(name) / 2, port, NULL
        };
        struct doc_probed done;

        memset(&searching, 0, sizeof searching);
        for (size_t i = 0; i < STREAMS; i++)
                (void)snprintf(searching.marks[i], sizeof searching.marks[i], "%s-7391", kinds[i]);
        (void)snprintf(searching.marks[STREAMS], sizeof searching.marks[STREAMS], "%s", name);
        if (doc_probe_run(arena, probe, command, &done, e) < 0)
                return -1;
        (void)nftw(probe->state, search_file, FILES_OPEN_MAX, FTW_PHYS | FTW_MOUNT);
        for (size_t i = 0; i < STREAMS; i++)
                ret->has[i] = searching.found[i] &&
                              (strcmp(kinds[i], "net") != 0 || !host || searching.found[STREAMS]);
        return 0;
}
