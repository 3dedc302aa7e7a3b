/*
 * plan/container.c - the sandbox as a container of an OCI runtime.
 *
 * Room: plan (deciding, pure). Touches: nothing.
 * Theory: the new root, its mounts, the network and the control groups are made by the same steps
 * as for our own namespaces, in a mount and a network namespace of the maker's child. The runtime
 * gets that root, makes the other namespaces, enters it, and starts pid 1 there without a
 * capability. So each step that only the inside can do is marked (STEP_BY_RUNTIME), and config.json
 * is written from the marked steps. For an ordinary user the maker's child is root of a user
 * namespace, and first in a pid namespace, of its own, and the container is in that user namespace;
 * pid 1 inside leaves it for one that has the id of the commands alone. Source: OCI runtime
 * specification 1.0.2, config.md and config-linux.md.
 */
#include <string.h>

#include "plan/builder.h"
#include "text/json.h"

#define UNIFIED "/sys/fs/cgroup"
#define HYBRID UNIFIED "/unified"
#define GUEST_WORD "guest" /* GUEST_INSIDE_WORD of guest/inside.h */

static const char *
directory(struct builder *b)
{
        return builder_text(b, "%s/oci-%s", b->facts->runtime_dir, b->request->id);
}

void
builder_runtime(struct builder *b)
{
        if (b->request->container)
                (void)builder_add(b, STEP_RUNTIME, directory(b),
                                  "what the runtime keeps of this container");
}

static bool
is_hybrid(const struct builder *b)
{
        return strncmp(b->facts->cgroup.unified, HYBRID, sizeof HYBRID - 1) == 0;
}

bool
builder_is_nested(const struct builder *b)
{
        return b->request->container && !b->facts->is_privileged;
}

static bool
is_marked(const struct builder *b, const struct step *s)
{
        switch (s->op) {
        case STEP_MAP_UID:
        case STEP_MAP_GID:
                return !builder_is_nested(b);
        case STEP_HOSTNAME:
        case STEP_PROC:
        case STEP_MQUEUE:
                return true;
        case STEP_MASK:
        case STEP_FREEZE:
                return strncmp(s->path, "/proc/", 6) == 0;
        default:
                return false;
        }
}

void
builder_container(struct builder *b)
{
        struct step *s;

        if (!b->request->container)
                return;
        for (size_t i = 0; i < b->count; i++)
                if (is_marked(b, &b->steps[i]))
                        b->steps[i].flags |= STEP_BY_RUNTIME;
        if (builder_is_nested(b)) {
                s = builder_add(b, STEP_OWN_IDS, "",
                                "its ids are in a namespace that owns nothing");
                s->number = builder_uid(b);
                s->flags |= STEP_BY_RUNTIME;
        }
        s = builder_add(b, STEP_CONTAINER, b->request->container,
                        "makes the other namespaces, enters the root and starts pid 1");
        s->text = directory(b);
        s->text_len = strlen(s->text);
        s->number = (is_hybrid(b) ? STEP_UNIFIED_ALONE : 0u) |
                    (builder_is_nested(b) ? STEP_NESTED : 0u);
        s->number2 = b->request->setup_id;
        builder_tasks_again(b);
}

/* -- config.json ------------------------------------------------------------------------------- */

static void
words(struct json_writer *w, const char *key, const char *const *items)
{
        json_key(w, key);
        json_open_list(w);
        for (; *items; items++)
                json_text(w, *items);
        json_close_list(w);
}

/* Those that the GUEST step of this name keeps: pid 1 has no right to add one. */
static void
write_capabilities(struct json_writer *w, const struct builder *b)
{
        static const char *const none[] = { NULL };
        static const char *const sets[] = { "bounding", "effective", "permitted" };

        json_key(w, "capabilities");
        json_open_map(w);
        for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
                json_key(w, sets[i]);
                json_open_list(w);
                for (size_t n = 0; n < b->count; n++)
                        if (b->steps[n].op == STEP_DROP_CAPS && !builder_is_nested(b))
                                builder_capabilities(w, b->steps[n].number);
                if (builder_is_nested(b))
                        json_text(w, "CAP_SETFCAP"); /* OWN_IDS maps root of this namespace */
                json_close_list(w);
        }
        words(w, "inheritable", none);
        words(w, "ambient", none);
        json_close_map(w);
}

static void
write_process(struct json_writer *w, struct builder *b)
{
        const char *const arguments[] = {
                PLAN_PROGRAM, GUEST_WORD,
                builder_is_nested(b) ? builder_text(b, "%u", builder_uid(b)) : NULL, NULL
        };
        static const char *const none[] = { NULL };
        int64_t uid = builder_is_nested(b) ? 0 : (int64_t)builder_uid(b);

        json_key(w, "process");
        json_open_map(w);
        json_member_bool(w, "terminal", false);
        json_key(w, "user");
        json_open_map(w);
        json_member_int(w, "uid", uid);
        json_member_int(w, "gid", uid);
        json_close_map(w);
        words(w, "args", arguments);
        words(w, "env", none);
        json_member_text(w, "cwd", "/");
        json_member_bool(w, "noNewPrivileges", true);
        write_capabilities(w, b);
        json_close_map(w);
}

static void
write_mount(struct json_writer *w, const char *at, const char *type, const char *source,
            const char *const *options)
{
        json_open_map(w);
        json_member_text(w, "destination", at);
        json_member_text(w, "type", type);
        json_member_text(w, "source", source);
        words(w, "options", options);
        json_close_map(w);
}

static bool
is_mounted_in_dev(const struct step *s)
{
        return (s->op == STEP_DEVICE || s->op == STEP_DEVPTS || s->op == STEP_PRIVATE) &&
               strncmp(s->path, "/dev/", 5) == 0;
}

/*
 * /dev is mounted over itself: a runtime that finds no such mount makes devices of its own. So is
 * each mount below it, because crun up to 1.8 leaves them out (runc does not, and refuses a bind
 * without them).
 */
static void
write_dev(struct json_writer *w, struct builder *b)
{
        static const char *const all[] = { "rbind", NULL }, *const one[] = { "bind", NULL };

        write_mount(w, "/dev", "bind", PLAN_STAND "/root/dev", all);
        for (size_t i = 0; i < b->count; i++)
                if (is_mounted_in_dev(&b->steps[i]))
                        write_mount(w, b->steps[i].path, "bind",
                                    builder_text(b, PLAN_STAND "/root%s", b->steps[i].path), one);
}

static void
write_mounts(struct json_writer *w, struct builder *b)
{
        static const char *const plain[] = { "nosuid", "nodev", "noexec", NULL };

        json_key(w, "mounts");
        json_open_list(w);
        write_dev(w, b);
        for (size_t i = 0; i < b->count; i++) {
                const struct step *s = &b->steps[i];

                if (s->op == STEP_PROC)
                        write_mount(w, s->path, "proc", "proc", plain);
                else if (s->op == STEP_MQUEUE)
                        write_mount(w, s->path, "mqueue", "mqueue", plain);
        }
        json_close_list(w);
}

static void
write_maps(struct json_writer *w, const struct builder *b, const char *key, enum step_op op)
{
        json_key(w, key);
        json_open_list(w);
        for (size_t i = 0; i < b->count; i++) {
                const struct step *s = &b->steps[i];

                if (s->op != op)
                        continue;
                json_open_map(w);
                json_member_int(w, "containerID", (int64_t)s->number);
                json_member_int(w, "hostID", (int64_t)s->number2);
                json_member_int(w, "size", (s->flags & STEP_RANGE) != 0 ? STEP_RANGE_IDS : 1);
                json_close_map(w);
        }
        json_close_list(w);
}

static void
write_paths(struct json_writer *w, const struct builder *b, const char *key, enum step_op op)
{
        json_key(w, key);
        json_open_list(w);
        for (size_t i = 0; i < b->count; i++)
                if (b->steps[i].op == op && (b->steps[i].flags & STEP_BY_RUNTIME) != 0)
                        json_text(w, b->steps[i].path);
        json_close_list(w);
}

/* Of the network there is no word: the container is born in the maker's child's. */
static void
write_linux(struct json_writer *w, struct builder *b)
{
        static const char *const kinds[] = { "mount", "pid", "ipc", "uts", "cgroup", "user" };
        size_t count = sizeof kinds / sizeof *kinds - (builder_is_nested(b) ? 1 : 0);
        const char *parent =
                b->facts->cgroup.unified + (is_hybrid(b) ? sizeof HYBRID - 1 : sizeof UNIFIED - 1);

        json_key(w, "linux");
        json_open_map(w);
        json_key(w, "namespaces");
        json_open_list(w);
        for (size_t i = 0; i < count; i++) {
                json_open_map(w);
                json_member_text(w, "type", kinds[i]);
                json_close_map(w);
        }
        json_close_list(w);
        if (!builder_is_nested(b)) {
                write_maps(w, b, "uidMappings", STEP_MAP_UID);
                write_maps(w, b, "gidMappings", STEP_MAP_GID);
        }
        if (b->facts->cgroup.unified[0] != '\0')
                json_member_text(w, "cgroupsPath",
                                 builder_text(b, "%s/carrel-%s/box", parent, b->request->id));
        write_paths(w, b, "maskedPaths", STEP_MASK);
        write_paths(w, b, "readonlyPaths", STEP_FREEZE);
        json_close_map(w);
}

/* For people: the files of the root are those of this image, mounted before the runtime starts. */
static void
write_image(struct json_writer *w, const struct builder *b)
{
        if (!b->request->rootfs)
                return;
        json_key(w, "annotations");
        json_open_map(w);
        json_member_text(w, "carrel.image", b->request->rootfs->ref);
        json_close_map(w);
}

static void
write_config(struct json_writer *w, struct builder *b)
{
        json_open_map(w);
        json_member_text(w, "ociVersion", "1.0.2");
        write_process(w, b);
        json_key(w, "root");
        json_open_map(w);
        json_member_text(w, "path", PLAN_STAND "/root");
        json_close_map(w);
        for (size_t i = 0; i < b->count; i++)
                if (b->steps[i].op == STEP_HOSTNAME)
                        json_member_text(w, "hostname", b->steps[i].text);
        write_mounts(w, b);
        write_linux(w, b);
        write_image(w, b);
        json_close_map(w);
}

void
builder_container_config(struct builder *b)
{
        struct json_writer w;

        if (!b->request->container)
                return;
        json_init(&w, true);
        write_config(&w, b);
        for (size_t i = 0; i < b->count && !w.is_broken; i++)
                if (b->steps[i].op == STEP_RUNTIME) {
                        const char *text = arena_copy(b->arena, w.text, w.len);

                        b->steps[i].text = text ? text : "";
                        b->steps[i].text_len = text ? w.len : 0;
                }
        if (w.is_broken)
                b->is_full = true;
        json_fini(&w);
}
