/*
 * plan/mounts.c - the manifest's mounts, the host's tools, and the protected names in them.
 *
 * Room: plan (deciding, pure). Touches: nothing.
 * Theory: an outer mount comes before the mounts beneath it. A read-only mount is an overlay,
 * through which a host socket cannot be reached. An overlay would not show what is mounted beneath
 * the source, so such a source is bound with everything beneath it, as a writable mount is. In a
 * bind, host sockets are hidden. Protected names are bound read-only over themselves and their
 * parents are pinned, so that none can be renamed (B15).
 */
#include <stdlib.h>
#include <string.h>

#include "plan/builder.h"

static const struct plan_source *
source_of(const struct builder *b, const struct plan_mount *m)
{
        return &b->request->sources[m->source];
}

static bool
wants_overlay(const struct builder *b, const struct plan_mount *m)
{
        return m->is_read_only && source_of(b, m)->is_directory &&
               source_of(b, m)->submount_count == 0 && builder_has(b, SWITCH_OVERLAY) &&
               builder_has(b, SWITCH_READ_ONLY);
}

/* -- HOST -------------------------------------------------------------------------------------- */

static void
plan_tree(struct builder *b, const struct plan_mount *m)
{
        const struct plan_source *source = source_of(b, m);
        struct step *s =
                builder_add(b, STEP_TREE, m->at,
                            "ids outside and inside are mapped, so files keep their owner");

        s->source = m->source;
        s->number = m->is_tool ? PLAN_NO_ID : source->owner_uid;
        s->number2 = m->is_tool ? PLAN_NO_ID : source->owner_gid;
        s->flags |= STEP_RECURSIVE;
}

static char
guard_mode(const struct builder *b, const struct plan_protect *p)
{
        switch (p->state) {
        case PROTECT_ABSENT:
                return b->spec->carrel.is_strict ? 's' : 'm';
        case PROTECT_MAY_BE_MADE:
                return b->spec->carrel.is_strict ? 's' : 't';
        case PROTECT_CONTENT:
                return 'c';
        case PROTECT_CONFIG:
                return 'g';
        default:
                return 0;
        }
}

/* One list per source: a letter, a path, a NUL for each entry. */
static void
plan_guard(struct builder *b, int source)
{
        const struct plan_source *from = &b->request->sources[source];
        struct step *s;
        size_t len = 0;
        char *list, *at;

        for (size_t i = 0; i < from->protect_count; i++)
                if (guard_mode(b, &from->protect[i]) != 0)
                        len += strlen(from->protect[i].path) + 2;
        if (len == 0)
                return;
        list = at = arena_alloc(b->arena, len);
        if (!list) {
                b->is_full = true;
                return;
        }
        for (size_t i = 0; i < from->protect_count; i++) {
                const struct plan_protect *p = &from->protect[i];

                if (guard_mode(b, p) == 0)
                        continue;
                *at++ = guard_mode(b, p);
                memcpy(at, p->path, strlen(p->path) + 1);
                at += strlen(p->path) + 1;
        }
        s = builder_add(b, STEP_GUARD, from->host_path, "names that programs of the host act on");
        s->source = source;
        s->text = list;
        s->text_len = len - 1; /* the step itself adds the last NUL */
}

/* Only for a directory: a command may create a repository in it. */
static void
plan_survey(struct builder *b, int source)
{
        const struct plan_source *from = &b->request->sources[source];
        struct step *s;

        if (!from->is_directory)
                return;
        s = builder_add(b, STEP_SURVEY, from->host_path,
                        "repositories and names below the top that programs of the host act on");
        s->source = source;
        if (from->leads_len == 0)
                return;
        s->text = from->leads;
        s->text_len = from->leads_len - 1; /* the step itself adds the last NUL */
}

static bool
is_protecting(const struct builder *b, const struct plan_mount *m)
{
        return !m->is_read_only && !source_of(b, m)->volume && builder_has(b, SWITCH_PROTECT);
}

/* Host programs do not use volumes, so no name in a volume is protected. */
static void
plan_volume(struct builder *b, const struct plan_mount *m)
{
        const struct plan_source *source = source_of(b, m);
        struct step *s = builder_add(b, STEP_VOLUME, source->volume_place,
                                     "what is written there stays for the owner's next sandbox; "
                                     "made if it is not there");

        s->source = m->source;
        s->text = source->volume;
        s->text_len = strlen(s->text);
        s->number = source->volumes_max;
        s->number2 = strtoull(b->request->id, NULL, 16);
}

void
builder_sources(struct builder *b)
{
        for (size_t i = 0; i < 2 && builder_has(b, SWITCH_PROTECT); i++)
                if (b->request->keeping[i])
                        (void)builder_add(b, STEP_KEEPING, b->request->keeping[i],
                                          i == 0 ? "what is moved out of a mount goes there"
                                                 : "or there, where that cannot be used");
        for (size_t i = 0; i < b->request->mount_count; i++) {
                const struct plan_mount *m = &b->request->mounts[i];
                const struct plan_source *source = source_of(b, m);

                if (source->volume)
                        plan_volume(b, m);
                if (is_protecting(b, m) && source->protect_count > 0)
                        plan_guard(b, m->source);
                if (is_protecting(b, m))
                        plan_survey(b, m->source);
                if (b->facts->is_privileged)
                        plan_tree(b, m);
        }
}

/* -- BOX --------------------------------------------------------------------------------------- */

static void
plan_parents(struct builder *b, const char *at)
{
        for (const char *slash = strchr(at + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
                struct step *s =
                        builder_add(b, STEP_DIR, builder_text(b, "%.*s", (int)(slash - at), at),
                                    "leads to a mount");

                s->number = 0755;
                s->flags |= STEP_OPTIONAL;
        }
}

static void
plan_target(struct builder *b, const struct plan_mount *m)
{
        struct step *s;

        plan_parents(b, m->at);
        if (source_of(b, m)->is_directory) {
                s = builder_add(b, STEP_DIR, m->at, "place of a mount");
                s->number = 0755;
        } else {
                s = builder_add(b, STEP_FILE, m->at, "place of a mount");
                s->number = 0644;
        }
        s->flags |= STEP_OPTIONAL;
}

/* A step's source, the path to open it again, and the inode it must have. */
static void
plan_from(struct builder *b, struct step *s, const struct plan_mount *m)
{
        const struct plan_source *source = source_of(b, m);

        s->source = m->source;
        s->text = source->host_path;
        s->text_len = strlen(s->text);
        s->number = source->device;
        s->number2 = source->inode;
        s->flags |= STEP_RECURSIVE | (source->is_directory ? STEP_DIRECTORY : 0u) |
                    (source->volume ? STEP_HELD : 0u);
}

static void
plan_overlay(struct builder *b, const struct plan_mount *m)
{
        plan_from(b,
                  builder_add(b, STEP_OVERLAY, m->at,
                              m->is_tool ? "metadata.carrel.tools" : "mounts: read-only"),
                  m);
}

static void
plan_bind(struct builder *b, const struct plan_mount *m)
{
        struct step *s =
                builder_add(b, STEP_BIND, m->at, m->is_tool ? "metadata.carrel.tools" : "mounts");

        plan_from(b, s, m);
        if (m->is_read_only && builder_has(b, SWITCH_READ_ONLY))
                s->flags |= STEP_READ_ONLY;
        s->flags |= (builder_has(b, SWITCH_NOSUID) ? 0u : STEP_SUID) |
                    (builder_has(b, SWITCH_NODEV) ? 0u : STEP_DEV);
}

static void
hide_sockets(struct builder *b, const struct plan_mount *m)
{
        const struct plan_source *source = source_of(b, m);

        if (wants_overlay(b, m))
                return;
        for (size_t i = 0; i < source->socket_count && builder_has(b, SWITCH_OVERLAY); i++)
                builder_add(b, STEP_MASK, builder_text(b, "%s/%s", m->at, source->sockets[i]),
                            "a socket of the host")
                        ->flags |= STEP_OPTIONAL;
}

static bool
has_pin(const struct builder *b, const char *path)
{
        for (size_t i = 0; i < b->count; i++)
                if (b->steps[i].op == STEP_PIN && strcmp(b->steps[i].path, path) == 0)
                        return true;
        return false;
}

static void
pin_parents(struct builder *b, const struct plan_mount *m, const char *relative)
{
        for (const char *slash = strchr(relative, '/'); slash; slash = strchr(slash + 1, '/')) {
                const char *path =
                        builder_text(b, "%s/%.*s", m->at, (int)(slash - relative), relative);

                if (!has_pin(b, path))
                        (void)builder_add(b, STEP_PIN, path, "the way to a protected name");
        }
}

/* Not optional: without its cover the box is not made. */
static void
hide_directory(struct builder *b, const struct plan_mount *m)
{
        const struct plan_source *source = source_of(b, m);

        if (!source->hidden || !builder_has(b, SWITCH_MASK))
                return;
        if (!m->is_read_only)
                pin_parents(b, m, source->hidden);
        builder_add(b, STEP_MASK, builder_text(b, "%s/%s", m->at, source->hidden),
                    "Carrel's own files: the audit log, its keys, the daemon's token")
                ->flags |= STEP_DIRECTORY;
}

static void
protect(struct builder *b, const struct plan_mount *m)
{
        const struct plan_source *source = source_of(b, m);

        for (size_t i = 0; is_protecting(b, m) && i < source->protect_count; i++) {
                const struct plan_protect *p = &source->protect[i];

                if (p->state != PROTECT_FILE && p->state != PROTECT_DIRECTORY &&
                    p->state != PROTECT_CONFIG)
                        continue;
                pin_parents(b, m, p->path);
                if (p->state == PROTECT_CONFIG)
                        continue;
                (void)builder_add(b, STEP_FREEZE, builder_text(b, "%s/%s", m->at, p->path), p->why);
        }
}

static int
by_path(const void *left, const void *right)
{
        const struct plan_mount *const *l = left, *const *r = right;

        return strcmp((*l)->at, (*r)->at);
}

const struct plan_mount **
builder_sorted_mounts(struct builder *b)
{
        size_t count = b->request->mount_count;
        const struct plan_mount **sorted =
                arena_array(b->arena, const struct plan_mount *, count + 1);

        if (!sorted) {
                b->is_full = true;
                return NULL;
        }
        for (size_t i = 0; i < count; i++)
                sorted[i] = &b->request->mounts[i];
        qsort(sorted, count, sizeof(*sorted), by_path);
        return sorted;
}

void
builder_mounts(struct builder *b)
{
        const struct plan_mount **sorted = builder_sorted_mounts(b);

        for (size_t i = 0; sorted && i < b->request->mount_count; i++) {
                plan_target(b, sorted[i]);
                if (wants_overlay(b, sorted[i]))
                        plan_overlay(b, sorted[i]);
                else
                        plan_bind(b, sorted[i]);
                hide_sockets(b, sorted[i]);
                hide_directory(b, sorted[i]);
                protect(b, sorted[i]);
        }
}
