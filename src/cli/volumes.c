/*
 * cli/volumes.c - the caller's volumes in a state directory.
 *
 * Room: cli (joining). Touches: the state directory through room volume, or a daemon; host files.
 * Theory: volumes need no daemon: `carrel run` has them too. If a daemon answers, it is asked. A
 * volume in use is protected by a lock of its sandbox's maker, whichever program started the
 * sandbox.
 */
#include "cli/volumes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/state.h"
#include "prepare/host.h"
#include "prepare/host_file.h"

enum { ARENA_MAX = 64 << 20, ITEMS_MAX = 4096 };

/* volumes_max of the host files that `carrel run` would read. */
static int
read_bound(struct volumes *v, struct error *e)
{
        struct host_facts none = { .uid = geteuid() };
        struct host_ability real = prepare_planned_ability(&none, false);
        struct ref_reads reads = { .count = 0 };
        struct host_file file;

        if (host_file_load(&v->arena, NULL, &real, HOST_FILE_BOUND, &reads, &file, e) < 0)
                return -1;
        v->most = file.rules->limits.volumes;
        return 0;
}

static int
say(const struct carrel_error *said, struct error *e)
{
        *e = (struct error){ .code = error_code_find(said->code), .sys = said->sys };
        if (e->code == ERROR_NONE)
                e->code = ERROR_PROTOCOL;
        (void)snprintf(e->path, sizeof e->path, "%s", said->path);
        (void)snprintf(e->reason, sizeof e->reason, "%s", said->reason);
        (void)snprintf(e->message, sizeof e->message, "%s", said->message);
        (void)snprintf(e->hint, sizeof e->hint, "%s", said->hint);
        return -1;
}

int
volumes_open(struct volumes *v, const char *state, struct error *e)
{
        struct carrel_error said;
        char owner[16];

        *v = (struct volumes){ .most = VOLUME_NO_BOUND };
        arena_init(&v->arena, ARENA_MAX);
        (void)snprintf(owner, sizeof owner, "uid:%u", (unsigned)geteuid());
        if (state_choose(&v->arena, state, &v->state, e) < 0 ||
            volume_directory(v->state, owner, v->place, e) < 0)
                return -1;
        if (carrel_open(v->state, &v->c, &said) == 0)
                return 0;
        v->c = NULL;
        return strcmp(said.reason, "not_running") == 0 ? read_bound(v, e) : say(&said, e);
}

void
volumes_close(struct volumes *v)
{
        free(v->items);
        v->items = NULL;
        carrel_close(v->c);
        v->c = NULL;
        arena_fini(&v->arena);
}

int
volumes_create(struct volumes *v, const char *name, struct error *e)
{
        struct carrel_volume *made;
        struct carrel_error said;
        bool is_new;
        int result;

        if (v->c) {
                if (carrel_volume_create(v->c, name, &made, &said) < 0)
                        return say(&said, e);
                carrel_free(made);
                return 0;
        }
        result = volume_create(v->place, name, v->most, &is_new);
        return result < 0 ? volume_fail(name, result, NULL, e) : 0;
}

int
volumes_remove(struct volumes *v, const char *name, struct error *e)
{
        char user[VOLUME_ID_LEN + 1] = "";
        struct carrel_error said;
        int result, existed;

        if (v->c) {
                if (carrel_volume_remove(v->c, name, &existed, &said) < 0)
                        return say(&said, e);
                return existed ? 0 : volume_fail(name, -ENOENT, NULL, e);
        }
        result = volume_remove(v->place, name, user);
        return result < 0 ? volume_fail(name, result, user, e) : 0;
}

static int
add(void *ctx, const struct volume_info *info)
{
        struct volumes *v = ctx;
        struct volume_info *items =
                v->count < ITEMS_MAX ? realloc(v->items, (v->count + 1) * sizeof *items) : NULL;

        if (!items)
                return -ENOMEM;
        v->items = items;
        v->items[v->count++] = *info;
        return 0;
}

static int
by_name(const void *left, const void *right)
{
        const struct volume_info *l = left, *r = right;

        return strcmp(l->name, r->name);
}

static int
list_of_daemon(struct volumes *v, struct error *e)
{
        struct carrel_volumes *all;
        struct carrel_error said;
        int result = 0;

        if (carrel_volume_list(v->c, &all, &said) < 0)
                return say(&said, e);
        for (size_t i = 0; i < all->count && result == 0; i++) {
                const struct carrel_volume *from = &all->items[i];
                struct volume_info info = { .bytes = from->size,
                                            .files = from->file_count,
                                            .is_partial = from->is_partial,
                                            .used_ms = from->used_at_ms,
                                            .users = from->used_by != NULL };

                (void)snprintf(info.name, sizeof info.name, "%s", from->name);
                (void)snprintf(info.user, sizeof info.user, "%s",
                               from->used_by ? from->used_by : "");
                result = add(v, &info);
        }
        carrel_free(all);
        return result < 0 ? fail(e, ERROR_NO_MEMORY, "no memory for a list of volumes") : 0;
}

int
volumes_list(struct volumes *v, struct error *e)
{
        int result = v->c ? list_of_daemon(v, e) : volume_list(v->place, UINT64_MAX, add, v);

        if (v->count > 0)
                qsort(v->items, v->count, sizeof *v->items, by_name);
        return result < 0 && !v->c ? volume_fail("", result, NULL, e) : result;
}

int
volumes_sweep(struct volumes *v, struct error *e)
{
        struct volume_sweep sweep;
        int result;

        if (v->c)
                return 0; /* the daemon erases, between other work */
        volume_sweep_init(&sweep);
        result = volume_sweep(&sweep, v->place, UINT64_MAX);

        return result < 0 ? volume_fail("", result, NULL, e) : 0;
}
