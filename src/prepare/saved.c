/*
 * prepare/saved.c - whether a virtual machine boots, or begins as it was saved.
 *
 * Room: prepare (joining). Touches: fd (the images of a state directory), names of the host.
 * Theory: a saved machine is its kernel in the midst of running. It goes on only with the QEMU, the
 * devices and the disk that it was saved with. A file is known by its place, number, length and
 * time of change: one that was replaced has others.
 */
#include "prepare/saved.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scoped.h"
#include "image/saved.h"
#include "plan/machine.h"

enum { PATH_ROOM = 4096, TSC_PARTS = 100 /* how exactly its speed is measured */ };

/* Adds a line to `text`. NULL: it cannot be looked at. */
static const char *
add_file(struct arena *arena, const char *text, const char *path)
{
        struct stat st;

        if (!text || stat(path, &st) < 0)
                return NULL;
        return arena_format(arena, "%s%s %ju:%ju %jd %jd.%09ld\n", text, path, (uintmax_t)st.st_dev,
                            (uintmax_t)st.st_ino, (intmax_t)st.st_size, (intmax_t)st.st_mtim.tv_sec,
                            st.st_mtim.tv_nsec);
}

static const char *
add_lines(struct arena *arena, const char *text, const char *lines)
{
        char path[PATH_ROOM];

        while (text && *lines != '\0') {
                size_t len = strcspn(lines, "\n");

                if (len >= sizeof path)
                        return NULL;
                memcpy(path, lines, len);
                path[len] = '\0';
                text = add_file(arena, text, path);
                lines += len + (lines[len] == '\n');
        }
        return text;
}

struct choice {
        struct arena *arena;
        const struct prepare_host *host;
        const struct saved_request *request;
        const struct plan_machine **machine;
        struct sources *sources;
};

/* False: this machine always boots. */
static bool
make_key(const struct choice *c, struct digest *ret)
{
        const struct plan_machine *m = *c->machine;
        const char *text = plan_machine_identity(c->arena, c->request->spec, &c->host->facts, m);
        const char *disk;
        char hex[DIGEST_HEX];

        if (!text || !c->request->image || !c->host->volumes || !c->host->guest)
                return false;
        digest_hex(&c->request->image->held.record.id, hex);
        disk = arena_format(c->arena, "%s/images/disks/%s", c->host->volumes, hex);
        text = arena_format(c->arena, "%s\n%s\n", c->host->guest, text);
        text = disk ? add_file(c->arena, text, disk) : NULL;
        text = text ? add_file(c->arena, text, m->qemu) : NULL;
        text = text ? add_file(c->arena, text, m->kernel) : NULL;
        text = add_lines(c->arena, text, m->modules);
        text = m->network ? add_lines(c->arena, text, m->network) : text;
        if (text)
                digest_of(text, strlen(text), ret);
        return text != NULL;
}

/* It goes on counting with the speed that it was told. */
static bool
has_speed(uint32_t own, uint32_t saved)
{
        uint32_t more = own > saved ? own - saved : saved - own;

        return more <= own / TSC_PARTS;
}

static int
use(const struct choice *c, int fd, const char *path, enum plan_machine_start start,
    struct error *e)
{
        struct plan_machine *own = arena_new(c->arena, struct plan_machine);

        if (!own) {
                (void)close(fd);
                return fail(e, ERROR_NO_MEMORY, "no memory for a machine");
        }
        *own = **c->machine;
        own->start = start;
        own->saved = (int)sources_total(c->sources);
        *c->machine = own;
        return sources_add_layer(c->sources, fd, &(struct plan_source){ .host_path = path }, e);
}

static int
boot(const struct choice *c, const char *why, struct error *e)
{
        struct plan_machine *own = arena_new(c->arena, struct plan_machine);

        if (!own || !why)
                return fail(e, ERROR_NO_MEMORY, "no memory for a machine");
        *own = **c->machine;
        own->why = why;
        *c->machine = own;
        return 0;
}

/* With what to type. */
static const char *
none_fits(const struct choice *c)
{
        return arena_format(c->arena,
                            "none is saved for this image, size and host; to save one: carrel "
                            "image machine %s --memory %" PRIu64 "m",
                            c->request->spec->image, plan_machine_memory_mb(c->request->spec));
}

static int
use_asked(const struct choice *c, const struct digest *key, struct error *e)
{
        const struct prepare_saved *asked = c->request->asked;
        int fd = key ? fcntl(asked->fd, F_DUPFD_CLOEXEC, 0) : -1;
        int result = fd < 0 || !asked->is_new
                             ? 0
                             : image_saved_begin(fd, &c->request->image->held.record.id, key,
                                                 (*c->machine)->tsc_khz);

        if (fd >= 0 && result == 0)
                return use(c, fd, "a new file",
                           asked->is_new ? PLAN_MACHINE_SAVES : PLAN_MACHINE_WAKES, e);
        scoped_fd_close(&fd);
        return fail_at(e, ERROR_CAPABILITY_UNAVAILABLE, "provider", "machine_saved",
                       "this machine cannot be saved");
}

int
saved_choose(struct arena *arena, const struct prepare_host *host,
             const struct saved_request *request, const struct plan_machine **machine,
             struct sources *sources, struct error *e)
{
        const struct choice c = { arena, host, request, machine, sources };
        struct digest key;
        const char *path;
        uint32_t khz;
        int fd;
        bool has_key = make_key(&c, &key);

        if (request->asked)
                return use_asked(&c, has_key ? &key : NULL, e);
        if (!has_key)
                return boot(&c, "no place with saved machines is known here", e);
        if (!image_saved_open(host->volumes, &request->image->held.record.id, &key, arena, &fd,
                              &path, &khz))
                return boot(&c, none_fits(&c), e);
        if (has_speed((*machine)->tsc_khz, khz))
                return use(&c, fd, path, PLAN_MACHINE_WAKES, e);
        (void)close(fd);
        return boot(&c, "the processor's time stamp has another speed than when it was saved", e);
}
