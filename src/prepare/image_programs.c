/*
 * prepare/image_programs.c - what a name is in a sandbox on an image.
 *
 * Room: prepare (joining). Touches: fd (the layers of the image, for reading).
 * Theory: over the host's programs a program is a file that commands cannot write, and here too.
 * The root of an agent is read-only except for mounts and private places, so what they do not cover
 * is the image for as long as the sandbox lives. Root may replace every file: before the first
 * command the image says what a name is, and after it only where nothing lies above the image.
 */
#include "prepare/image_programs.h"

#include <stdlib.h>
#include <string.h>

#include "base/switches.h"
#include "plan/request.h"
#include "spec/provider.h"

_Static_assert((int)HOST_PROGRAM_PATH >= (int)IMAGE_VIEW_PATH, "a path of a view fits");

/* Steps of a plan put something else there (plan/root.c); the directories are also writable. */
static const char *const replaced[] = {
        "/dev",           "/proc",      "/sys",          "/run",
        "/tmp",           "/var/tmp",   PLAN_HOME,       "/etc/hosts",
        "/etc/passwd",    "/etc/group", "/etc/hostname", "/etc/resolv.conf",
        "/etc/gitconfig",
};

struct image_names {
        struct image_view view;
        struct host_tree tree;
        bool is_written; /* anything could lie above the image */
};

static enum host_found
find(void *context, const char *path, char real[HOST_PROGRAM_PATH], struct stat *ret)
{
        struct image_names *names = context;

        if (names->is_written)
                return HOST_UNKNOWN;
        switch (image_view_find(&names->view, path, real, ret)) {
        case IMAGE_FOUND:
                return HOST_FOUND;
        case IMAGE_ABSENT:
                return HOST_ABSENT;
        default:
                return HOST_UNKNOWN;
        }
}

static void
each(void *context, const char *path, void (*visit)(void *of, const char *name), void *of)
{
        struct image_names *names = context;

        image_view_each(&names->view, path, visit, of);
}

static void
close_names(void *context)
{
        struct image_names *names = context;

        image_view_close(&names->view);
}

#ifdef CARREL_TEST_SWITCHES
/* "covers", "written": lets a test see what happens without them. */
static bool
is_off(const char *part)
{
        const char *off = getenv("CARREL_TEST_IMAGE_PROGRAMS_OFF");

        return off && strcmp(off, part) == 0;
}
#else
static bool
is_off(const char *part)
{
        (void)part;
        return false;
}
#endif

static bool
cover(struct image_view *view, const struct spec *spec)
{
        bool is_done = true;

        if (is_off("covers"))
                return true;
        for (size_t i = 0; i < sizeof replaced / sizeof *replaced; i++)
                is_done = is_done && image_view_cover(view, replaced[i]);
        for (size_t i = 0; i < spec->mount_count; i++)
                is_done = is_done && image_view_cover(view, spec->mounts[i].at);
        return is_done;
}

int
image_programs_view(struct arena *arena, const char *state, const struct image_record *record,
                    const struct spec *spec, struct image_view *ret, struct error *e)
{
        int result = image_view_open(arena, state, record, ret, e);

        if (result == 0 && !cover(ret, spec))
                result = fail(e, ERROR_NO_MEMORY, "no memory for the files of an image");
        if (result < 0)
                image_view_close(ret);
        return result;
}

int
image_programs_open(struct arena *arena, const char *state, const struct image_record *record,
                    const struct spec *spec, const struct prepare_command *c, const char *path,
                    struct host_programs *programs, struct error *e)
{
        struct image_names *names = arena_new(arena, struct image_names);

        if (!names)
                return fail(e, ERROR_NO_MEMORY, "no memory for the programs of an image");
        if (image_programs_view(arena, state, record, spec, &names->view, e) < 0)
                return -1;
        if (spec_is_root(spec) && !is_off("written")) {
                names->is_written = !c->is_first && !c->upper;
                if (c->upper && image_view_upper(&names->view, *c->upper) < 0)
                        names->is_written = true;
        }
        names->tree = (struct host_tree){ find, each, close_names, names };
        host_programs_inside(programs, &names->tree, path);
        return 0;
}

const char *
image_programs_path(const struct image_record *record)
{
        const char *path = NULL;

        for (size_t i = 0; i < record->environment.count; i++)
                if (strncmp(record->environment.items[i], "PATH=", 5) == 0)
                        path = record->environment.items[i] + 5;
        return path;
}
