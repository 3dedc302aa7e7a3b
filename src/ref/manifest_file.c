/*
 * ref/manifest_file.c - opens the manifest that was named, or finds the one of a workspace.
 *
 * Room: ref (acting). Touches: what ref/file.h touches.
 * Knows names of manifests. Knows nothing of what is in them, except whether a parent declares a
 * sandbox.
 */
#include "ref/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scoped.h"
#include "spec/provider.h"

enum { ABOVE_ROOM = 3 * 32 }; /* so many directories above, at most */

static bool
ends_with(const char *text, const char *tail)
{
        size_t len = strlen(text), tail_len = strlen(tail);

        return len >= tail_len && strcmp(text + len - tail_len, tail) == 0;
}

int
ref_manifest_open(struct arena *arena, const char *path, struct ref_reads *reads,
                  struct ref_manifest_file *ret, struct error *e)
{
        const char *slash = strrchr(path, '/');
        const char *base = slash ? slash + 1 : path;

        *ret = (struct ref_manifest_file){ .name = path,
                                           .kind = MANIFEST_STANDALONE,
                                           .syntax = MANIFEST_YAML };
        if (strcmp(base, "WORKSPACE.md") == 0)
                ret->kind = MANIFEST_PARENT;
        else if (ends_with(base, ".json") || ends_with(base, ".yaml") || ends_with(base, ".yml"))
                ret->kind = MANIFEST_BLOCK;
        if (ends_with(base, ".json"))
                ret->syntax = MANIFEST_JSON;
        return ref_file_read(arena, path, REF_FILE_MAX, reads, &ret->bytes, &ret->len, e);
}

int
ref_workspace_refuse(const char *workspace, int sys, struct error *e)
{
        (void)fail_sys(e, ERROR_WORKSPACE_NOT_FOUND, sys,
                       "the workspace \"%.200s\" cannot be opened", workspace);
        if (sys == EACCES)
                error_hint(e, "Run as a user who may enter it. Its owner and mode: ls -ld %.200s",
                           workspace);
        else if (sys == ENOTDIR)
                error_hint(e, "Pass the directory with -w DIR; a manifest is named with -f FILE.");
        return -1;
}

/* "..", "../..": the nearest directory above this one that has a SANDBOX.md and is this user's. */
static bool
find_above(char *ret, size_t room)
{
        struct stat file, at;
        char name[PATH_MAX];

        for (size_t len = 0; len + 4 < room; len = strlen(ret)) {
                (void)snprintf(ret + len, room - len, "%s..", len > 0 ? "/" : "");
                (void)snprintf(name, sizeof name, "%s/SANDBOX.md", ret);
                if (stat(ret, &at) < 0)
                        return false;
                if (at.st_uid == geteuid() && lstat(name, &file) == 0 && S_ISREG(file.st_mode))
                        return true;
        }
        return false;
}

static int
not_configured(struct error *e, const char *workspace)
{
        bool is_here = strcmp(workspace, ".") == 0;
        char above[ABOVE_ROOM];

        (void)fail(e, ERROR_NOT_CONFIGURED, "no sandbox is declared in \"%.200s\"", workspace);
        if (is_here && find_above(above, sizeof above)) {
                error_hint(e,
                           "%s has a SANDBOX.md: add -w %s to use it. Or `carrel init` writes one "
                           "here.",
                           above, above);
                return -1;
        }
        error_hint(e,
                   "`carrel init%s%.200s` writes a SANDBOX.md. The shortest one, by "
                   "hand:\n---\nschema: sandbox/v1\nprovider: " PROVIDER_STANDARD "\nconfig: {}\n"
                   "mounts:\n  - {source: workspace, at: /workspace}\n---",
                   is_here ? "" : " ", is_here ? "" : workspace);
        return -1;
}

/* Does this parent declare a sandbox? One that cannot be read counts as declaring: its error is to
 * be seen. */
static bool
parent_declares(const struct ref_manifest_file *file)
{
        struct arena scratch;
        struct findings findings;
        struct manifest m;
        struct error e;
        bool is_declared;

        arena_init(&scratch, 16u << 20);
        findings_init(&findings, &scratch);
        is_declared = manifest_read(&scratch, file->bytes, file->len, file->kind, file->syntax, &m,
                                    &findings, &e) < 0 ||
                      m.form != MANIFEST_NONE;
        arena_fini(&scratch);
        return is_declared;
}

int
ref_manifest_find(struct arena *arena, const char *workspace, struct ref_reads *reads,
                  struct ref_manifest_file *ret, struct error *e)
{
        static const struct {
                const char *name;
                enum manifest_kind kind;
        } names[] = {
                { "SANDBOX.md", MANIFEST_STANDALONE },
                { "WORKSPACE.md", MANIFEST_PARENT },
        };
        scoped_fd int dir = open(workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);

        if (dir < 0)
                return ref_workspace_refuse(workspace, errno, e);
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
                *ret = (struct ref_manifest_file){ .kind = names[i].kind, .syntax = MANIFEST_YAML };
                ret->name = arena_format(arena, "%s/%s", workspace, names[i].name);
                if (!ret->name)
                        return fail(e, ERROR_NO_MEMORY, "no memory to look for a manifest");
                if (ref_file_read_beneath(arena, dir, names[i].name, REF_FILE_MAX, reads,
                                          &ret->bytes, &ret->len, e) < 0) {
                        if (e->code == ERROR_FILE_UNREADABLE && e->sys == ENOENT)
                                continue;
                        if (e->code == ERROR_REF_UNRESOLVABLE)
                                error_hint(e, "A manifest is a file of the workspace. To use one "
                                              "outside of it, name it: -f FILE");
                        return -1;
                }
                if (ret->kind != MANIFEST_PARENT || parent_declares(ret))
                        return 0;
        }
        return not_configured(e, workspace);
}
