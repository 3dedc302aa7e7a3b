/*
 * plan/share.c - which steps make the part of a root that sandboxes with such a plan have in
 * common.
 *
 * Room: plan (deciding, pure). Touches: nothing.
 * Theory: the new root is one tmpfs, read-only at the end, and nearly all of it is the same each
 * time: links, directories, files of /etc, binds of the host, devices. A spawner may execute these
 * steps once, keep the mounts, and give each box a clone of them (maker/prepared.h): one call in
 * place of some hundreds. Only steps that write to the root itself are marked, with the places of
 * mounts that lie in it. Only as root: another user cannot clone mounts for a box. An
 * image's root has an upper directory of the sandbox's own, and needs few steps.
 */
#include <string.h>

#include "base/below.h"
#include "plan/builder.h"

/* Does the place of a mount lie in a private place or in another mount, and not in the root? */
static bool
is_elsewhere(const struct builder *b, const char *path)
{
        for (size_t i = 0; i < b->count; i++)
                if (b->steps[i].op == STEP_PRIVATE && path_below(path, b->steps[i].path))
                        return true;
        for (size_t i = 0; i < b->request->mount_count; i++)
                if (path_below(path, b->request->mounts[i].at) &&
                    strcmp(path, b->request->mounts[i].at) != 0)
                        return true;
        return false;
}

static bool
is_common(const struct builder *b, const struct step *s)
{
        switch (s->op) {
        case STEP_ROOT:
        case STEP_LINK:
        case STEP_DEVICE:
        case STEP_PRIVATE:
                return true;
        case STEP_BIND:
                return s->source == STEP_NO_SOURCE;
        case STEP_DIR:
        case STEP_FILE:
                return (s->flags & STEP_OPTIONAL) == 0 || !is_elsewhere(b, s->path);
        default:
                return false;
        }
}

void
builder_share(struct builder *b)
{
        if (!b->facts->is_privileged || b->request->switched_off != 0 || b->request->rootfs)
                return;
        for (size_t i = 0; i < b->count; i++)
                if (is_common(b, &b->steps[i]))
                        b->steps[i].flags |= STEP_SHARED;
}
