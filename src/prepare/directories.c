/*
 * prepare/directories.c - opens the directories of the host that a sandbox shows, and judges
 * whether the caller may have them.
 *
 * Room: prepare (joining). Touches: fd, the host directories that mounts name (reading only).
 * Theory: sources/sources.c opens and examines. Here is decided whose they may be: a daemon that is
 * root acts for callers who are not.
 */
#include "prepare/prepare.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scoped.h"
#include "prepare/reach.h"
#include "volume/volume.h"

enum { PATH_ROOM = 4096 };

static bool
is_permitted(const struct prepare_host *host, const struct prepare_request *request,
             const char *path, uint32_t owner)
{
        return request->caller_uid == PREPARE_UID_ANY || request->caller_uid == host->facts.uid ||
               request->caller_uid == owner || host_path_is_below(&host->rules->mount_roots, path);
}

static int
refuse_place(const char *path, const char *where, const char *what, struct error *e)
{
        (void)fail_at(
                e, ERROR_MOUNT_DENIED, where, "not_owned",
                "%s %.200s is not there, or not yours, and the host's mount_roots do not hold it",
                what, path);
        error_hint(e, "Use a directory that you own, or have the operator list one under "
                      "mount_roots in the host file.");
        return -1;
}

/*
 * Hides whether a path exists: the error would show a caller what is in directories that it may not
 * read.
 */
static bool
is_told(const struct prepare_host *host, const struct prepare_request *request)
{
        const char *path = request->workspace;

        return is_permitted(host, request, path, UINT32_MAX) &&
               (request->caller_uid == PREPARE_UID_ANY || !strstr(path, "/.."));
}

/* By handle: the object that is judged is the one that was opened, with links resolved. */
static int
open_workspace(const struct prepare_host *host, const struct prepare_request *request,
               struct prepared *p, struct error *e)
{
        char link[64], path[PATH_ROOM];
        scoped_fd int fd = -1;
        struct stat st;
        ssize_t len;

        if (!request->workspace)
                return 0;
        if (request->workspace[0] != '/')
                return fail_at(e, ERROR_INVALID_ARGUMENT, "workspace", "relative",
                               "a workspace is an absolute path, and this is %.200s",
                               request->workspace);
        fd = open(request->workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &st) < 0)
                return is_told(host, request)
                               ? fail_sys(e, ERROR_WORKSPACE_NOT_FOUND, errno,
                                          "opening the workspace %.200s", request->workspace)
                               : refuse_place(request->workspace, "workspace", "the workspace", e);
        (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        len = readlink(link, path, sizeof path);
        if (len <= 0 || (size_t)len == sizeof path)
                return fail(e, ERROR_WORKSPACE_NOT_FOUND,
                            "the path of the workspace %.200s cannot be read back",
                            request->workspace);
        p->workspace = arena_copy(p->plans, path, (size_t)len);
        if (!p->workspace)
                return fail(e, ERROR_NO_MEMORY, "no memory for a path");
        return is_permitted(host, request, p->workspace, st.st_uid)
                       ? 0
                       : refuse_place(request->workspace, "workspace", "the workspace", e);
}

/* Notes what the box must see empty beneath this source. */
static void
hide(const struct prepare_host *host, struct plan_source *source)
{
        const struct spec_names mounted = { &source->host_path, 1 };
        const char *rest;

        if (!host->hidden || !host_path_is_below(&mounted, host->hidden))
                return;
        rest = host->hidden + strlen(source->host_path);
        rest += strspn(rest, "/");
        if (rest[0] != '\0')
                source->hidden = rest;
}

/*
 * A process that can read the daemon's token or write its records controls the daemon, and the
 * audit log holds its keys. So neither a part of such a state nor a directory that contains it is
 * shown inside, unless the box sees it empty.
 */
static int
check_state(const struct prepare_host *host, const struct plan_source *source, struct error *e)
{
        const struct spec_names state = { &host->state, 1 }, mounted = { &source->host_path, 1 };

        if (source->hidden)
                return 0;
        if (!host->state || (!host_path_is_below(&state, source->host_path) &&
                             !host_path_is_below(&mounted, host->state)))
                return 0;
        (void)fail_at(e, ERROR_MOUNT_DENIED, "mounts", "holds_state",
                      "the mount source %.200s would show Carrel's own files in %.200s",
                      source->host_path, host->state);
        error_hint(e, "Mount a directory below it (a workspace: -w DIR). Or move Carrel's files to "
                      "another "
                      "directory, and name it: CARREL_STATE=DIR, or carrel serve --state DIR.");
        return -1;
}

/* Relative paths start at the workspace. */
static int
join_reads(const struct prepare_host *host, const struct prepare_request *request,
           struct prepared *p, struct spec_names *ret, struct error *e)
{
        const char **items =
                arena_array(p->plans, const char *, request->read_count + host->reads.count + 1);

        *ret = (struct spec_names){ items, 0 };
        for (size_t i = 0; items && i < host->reads.count; i++)
                items[ret->count++] = host->reads.items[i];
        for (size_t i = 0; items && i < request->read_count; i++) {
                const char *path = request->reads[i];

                if (path[0] != '/' && !p->workspace)
                        continue;
                items[ret->count] =
                        path[0] == '/' ? path : arena_format(p->plans, "%s/%s", p->workspace, path);
                if (!items[ret->count++])
                        return fail(e, ERROR_NO_MEMORY, "no memory for a path");
        }
        return items ? 0 : fail(e, ERROR_NO_MEMORY, "no memory for paths");
}

bool
prepare_is_for_other(const struct prepare_host *host, const struct prepare_request *request)
{
        return request->caller_uid != PREPARE_UID_ANY && request->caller_uid != host->facts.uid;
}

static int
refuse_tool(const char *path, size_t index, struct error *e)
{
        (void)fail_at(e, ERROR_MOUNT_DENIED, "", "closed",
                      "the tool %.200s is not there, or closed to you", path);
        (void)snprintf(e->path, sizeof e->path, "metadata/carrel/tools/%zu", index);
        error_hint(e, "Name a directory that you can list yourself: each directory on the way to "
                      "it must be open to others (chmod go+x), and itself too (chmod go+rx).");
        return -1;
}

/*
 * As root this process may read every directory, but it shows a caller nothing from a directory
 * that this caller may not read.
 */
static int
check_tools(const struct prepare_host *host, const struct prepare_request *request,
            const struct prepared *p, struct error *e)
{
        size_t index = 0;

        for (size_t i = 0; prepare_is_for_other(host, request) && i < p->sources->count; i++) {
                const struct plan_source *source = &p->sources->items[i];

                if (!p->sources->mounts[i].is_tool)
                        continue;
                if (!reach_may_open(source->host_path, source->device, source->inode,
                                    request->caller_uid))
                        return refuse_tool(p->sources->mounts[i].at, index, e);
                index++;
        }
        return 0;
}

/* A box that is prepared before its owner is known could bring one owner's volume to another. */
static int
find_volumes(const struct prepare_host *host, const struct prepare_request *request,
             const struct prepared *p, struct sources_volumes *ret, struct error *e)
{
        const struct spec *spec = p->spec;
        bool wants_one = spec->carrel.home != NULL;
        char place[VOLUME_PATH_MAX];

        *ret = (struct sources_volumes){ NULL, prepare_limits(host, request->caller_uid).volumes };
        for (size_t i = 0; i < spec->mount_count; i++)
                wants_one |= spec->mounts[i].volume != NULL;
        if (!wants_one || (request->owner && !host->volumes))
                return 0;
        if (!request->owner)
                return fail_at(e, ERROR_MOUNT_DENIED, "mounts", "no_owner",
                               "a box that stands ready has no owner yet, so it has no volumes");
        if (volume_directory(host->volumes, request->owner, place, e) < 0)
                return -1;
        ret->place = arena_text(p->plans, place);
        return ret->place ? 0 : fail(e, ERROR_NO_MEMORY, "no memory for a path");
}

/*
 * Why a tool cannot be opened. The reason is hidden if it would show a caller what is in
 * directories that it may not read.
 */
static int
open_sources(const struct prepare_host *host, const struct prepare_request *request,
             struct prepared *p, struct error *e)
{
        static const char tools[] = "metadata/carrel/tools/";
        struct sources_volumes volumes;
        struct spec_names reads;
        size_t index;

        if (join_reads(host, request, p, &reads, e) < 0 ||
            find_volumes(host, request, p, &volumes, e) < 0)
                return -1;
        if (sources_open(p->plans, p->spec, p->rules, p->workspace, &reads, &volumes,
                         host->facts.is_privileged, p->sources, e) == 0)
                return check_tools(host, request, p, e);
        if (!prepare_is_for_other(host, request) || strncmp(e->path, tools, strlen(tools)) != 0 ||
            (e->code != ERROR_MOUNT_UNRESOLVABLE && e->code != ERROR_MOUNT_DENIED))
                return -1;
        index = strtoul(e->path + strlen(tools), NULL, 10);
        return index < p->spec->carrel.tools.count
                       ? refuse_tool(p->spec->carrel.tools.items[index], index, e)
                       : -1;
}

/*
 * A privileged box acts as each source's owner. A caller must not get that right over another
 * user's files by naming them as its workspace.
 */
static int
check_sources(const struct prepare_host *host, const struct prepare_request *request,
              struct prepared *p, struct error *e)
{
        const struct spec_names within = { &p->workspace, p->workspace ? 1 : 0 };

        if (p->sources->common >= 0)
                findings_warn(&p->findings, "worktree", "mounts", 0, 0,
                              "the workspace is a linked worktree, so its repository %.300s is "
                              "mounted as well, writable, at %.300s",
                              p->sources->items[p->sources->common].host_path,
                              p->sources->mounts[p->sources->common].at);
        for (size_t i = 0; i < p->sources->count; i++) {
                struct plan_source *source = &p->sources->items[i];

                if (source->volume)
                        continue;
                hide(host, source);
                if (check_state(host, source, e) < 0)
                        return -1;
                if (((int)i == p->sources->common ||
                     host_path_is_below(&within, source->host_path)) &&
                    !is_permitted(host, request, source->host_path, source->owner_uid))
                        return refuse_place(source->host_path, "mounts", "the mount source", e);
        }
        return 0;
}

int
prepare_directories(const struct prepare_host *host, const struct prepare_request *request,
                    struct prepared *p, struct error *e)
{
        return open_workspace(host, request, p, e) < 0 || open_sources(host, request, p, e) < 0
                       ? -1
                       : check_sources(host, request, p, e);
}
