/*
 * plan/rootfs.c - an image as the root: its layers below, a private directory above.
 *
 * Room: plan (deciding, pure). Touches: nothing.
 * Theory: the layers are read-only mounts beside the new root, which no path inside reaches. An
 * overlay of them is the root. What is written goes to an upper directory: on the private disk of
 * `user: root`, who may install files; in memory for an agent, whose root becomes read-only at the
 * end, as over the host's programs, and has only the places of mounts there. Nothing of the host's
 * /usr or /etc is bound.
 */
#include <string.h>

#include "plan/builder.h"

size_t
builder_first_layer(const struct builder *b)
{
        const struct plan_rootfs *r = b->request->rootfs;

        return b->request->source_count - (r ? r->layer_count + r->has_record : 0);
}

/* -- HOST -------------------------------------------------------------------------------------- */

static void
plan_layer(struct builder *b, size_t source, bool is_record)
{
        const struct plan_rootfs *r = b->request->rootfs;
        bool is_mapped = b->request->has_range && !is_record;
        struct step *s = builder_add(b, STEP_LAYER, b->request->sources[source].host_path,
                                     is_record ? "the image is not forgotten while it is used"
                                               : "not removed while the sandbox uses it");

        s->source = (int)source;
        s->number = is_mapped ? r->owner : PLAN_NO_ID;
        s->number2 = is_mapped ? r->owner_g : PLAN_NO_ID;
        s->flags |= is_record ? 0u : STEP_DIRECTORY;
}

/* Its record is held, and the disk is opened by the maker if the box has another id. */
static void
plan_machine_disk(struct builder *b)
{
        struct step *s;

        plan_layer(b, builder_first_layer(b), true);
        if (!b->facts->is_privileged)
                return;
        s = builder_add(b, STEP_TREE, "/disk", "the store of images is closed to the box");
        s->source = (int)b->request->source_count - 1;
        s->number = s->number2 = PLAN_NO_ID;
}

void
builder_layers(struct builder *b)
{
        if (b->request->machine) {
                plan_machine_disk(b);
                return;
        }
        for (size_t i = builder_first_layer(b); i < b->request->source_count; i++)
                plan_layer(b, i, b->request->rootfs->has_record && i == builder_first_layer(b));
}

/* -- BOX --------------------------------------------------------------------------------------- */

static void
set_text(struct step *s, const char *text)
{
        s->text = text;
        s->text_len = strlen(text);
}

void
builder_rootfs(struct builder *b)
{
        const struct plan_rootfs *r = b->request->rootfs;
        size_t first = builder_first_layer(b) + r->has_record;
        struct step *s;

        builder_scratch(b);
        if (b->request->machine) {
                s = builder_add(b, STEP_LOWER, "", "the image's disk, read-only");
                set_text(s, PLAN_MACHINE_DISK);
                s->flags |= STEP_DIRECTORY;
        }
        for (size_t i = 0; i < r->layer_count && !b->request->machine; i++) {
                s = builder_add(b, STEP_LOWER, "", "a layer of the image, read-only");
                set_text(s, b->request->sources[first + i].host_path);
                s->source = (int)(first + i);
                s->flags |= STEP_DIRECTORY | STEP_HELD;
        }
        s = builder_add(b, STEP_ROOTFS, "/", "the image's files, not the host's");
        set_text(s, r->ref);
        s->number = r->layer_count;
        s->flags |= b->plan->is_on_image && builder_uid(b) == 0 ? STEP_ON_IMAGE : 0u;
        s->flags |= builder_uid(b) == 0 ? STEP_OWNED : 0u;
}
