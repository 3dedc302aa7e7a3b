/*
 * keeper/op_volume.c - volumes: create, list, remove.
 *
 * Room: keeper (joining). Touches: the state directory, through room volume.
 * Theory: the directory is named after the caller's owner, so no call can reach another owner's
 * volume. A maker's lock marks a volume that a live box uses. A volume is not removed either while
 * a sandbox that is pending or failed names it. A removed volume is erased in parts, between other
 * work.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "keeper/op.h"
#include "keeper/sandbox.h"
#include "volume/volume.h"

/*
 * COUNTED_MAX: entries of all volumes together. COUNTED_OTHERS: the same for owners other than the
 * daemon's own user (2 ms). ERASED_MAX: entries between other work, for all owners (5 ms, and the
 * end of what was begun).
 */
enum { COUNTED_MAX = 20000, COUNTED_OTHERS = 2000, ERASED_MAX = 40, ERASE_PAUSE_MS = 5 };

/* -- erasing ----------------------------------------------------------------------------------- */

/*
 * All removed volumes of one owner. Only the first in the list has a timer: erasing takes one share
 * of the keeper's time, and the owners take turns in it.
 */
struct erasing {
        struct loop_timer timer; /* first */
        struct erasing *next;
        struct keeper *keeper;
        struct volume_sweep sweep;
        char place[VOLUME_PATH_MAX];
};

static void
erasing_free(struct erasing *s)
{
        volume_sweep_fini(&s->sweep);
        loop_timer_remove(&s->timer);
        free(s);
}

static void erase_some(struct loop_timer *t);

/* If a timer cannot be set, the owner's next removal, or the next keeper, erases the rest. */
static void
erase_next(struct keeper *k)
{
        while (k->erasing && loop_timer_set(k->loop, &k->erasing->timer,
                                            loop_now_ms() + ERASE_PAUSE_MS, erase_some) < 0) {
                struct erasing *s = k->erasing;

                k->erasing = s->next;
                erasing_free(s);
        }
}

static void
erase_last(struct keeper *k, struct erasing *s)
{
        struct erasing **at = &k->erasing;

        while (*at)
                at = &(*at)->next;
        s->next = NULL;
        *at = s;
}

static void
erase_some(struct loop_timer *t)
{
        struct erasing *s = (struct erasing *)(void *)t;
        struct keeper *k = s->keeper;

        k->erasing = s->next;
        if (volume_sweep(&s->sweep, s->place, ERASED_MAX) == 1)
                erase_last(k, s);
        else
                erasing_free(s);
        erase_next(k);
}

/*
 * If this owner's volumes are being erased already, that erases this one too. If erasing cannot
 * start, the owner's next removal or the next keeper does it.
 */
static void
erase_removed(struct keeper *k, const char *place)
{
        struct erasing *s = k->erasing;

        while (s && strcmp(s->place, place) != 0)
                s = s->next;
        s = s ? NULL : calloc(1, sizeof *s);
        if (!s)
                return;
        s->keeper = k;
        s->timer.due_ms = LOOP_NEVER;
        volume_sweep_init(&s->sweep);
        memcpy(s->place, place, strlen(place) + 1);
        erase_last(k, s);
        if (k->erasing == s) /* lint: it is in the keeper's list */
                erase_next(k);
}

/*
 * Erases what a keeper that ended has left, and private directories without a sandbox, for example
 * after a reboot.
 */
void
volumes_erase_left(struct keeper *k)
{
        char path[VOLUME_PATH_MAX];
        int len = snprintf(path, sizeof path, "%s/private", k->host.volumes), place;
        struct dirent *entry;
        DIR *list;

        if (len > 0 && (size_t)len < sizeof path)
                erase_removed(k, path);
        len = snprintf(path, sizeof path, "%s/volumes", k->host.volumes);
        list = len > 0 && (size_t)len < sizeof path ? opendir(path) : NULL;
        while (list && (entry = readdir(list)) != NULL) {
                place = snprintf(path + len, sizeof path - (size_t)len, "/%s", entry->d_name);
                if (entry->d_name[0] != '.' && place > 0 &&
                    (size_t)len + (size_t)place < sizeof path)
                        erase_removed(k, path);
        }
        if (list)
                (void)closedir(list);
}

/* -- operations -------------------------------------------------------------------------------- */

/*
 * Counting is not divided into parts. So other owners get a lower bound than the daemon's own user,
 * which delays only itself.
 */
static uint64_t
counted(const struct call *c)
{
        return strcmp(c->caller.owner, c->keeper->owner) == 0 ? COUNTED_MAX : COUNTED_OTHERS;
}

static void
write_volume(struct record_writer *w, const struct volume_info *info)
{
        record_text(w, FIELD_NAME, info->name);
        record_uint(w, FIELD_SIZE, info->bytes);
        record_uint(w, FIELD_FILE_COUNT, info->files);
        record_bool(w, FIELD_PARTIAL, info->is_partial);
        record_uint(w, FIELD_USED_AT, info->used_ms);
        if (info->users > 0)
                record_text(w, FIELD_USED_BY, info->user);
}

static int
add_item(void *ctx, const struct volume_info *info)
{
        struct record_writer *w = ctx;
        size_t mark = record_open(w, FIELD_ITEMS);

        write_volume(w, info);
        record_close(w, mark);
        return 0;
}

enum call_state
op_volume_list(struct call *c, struct error *e)
{
        char place[VOLUME_PATH_MAX];
        struct record_writer w;
        int result;

        if (volume_directory(c->keeper->host.volumes, c->caller.owner, place, e) < 0)
                return CALL_FAILED;
        w = reply_begin(c);
        result = volume_list(place, counted(c), add_item, &w);
        if (result < 0)
                return volume_fail("", result, NULL, e), CALL_FAILED;
        reply_send(c, &w, 0, -1);
        return CALL_DONE;
}

struct wanted {
        const char *name;
        struct volume_info info;
};

static int
find_one(void *ctx, const struct volume_info *info)
{
        struct wanted *wanted = ctx;

        if (strcmp(info->name, wanted->name) == 0)
                wanted->info = *info;
        return 0;
}

enum call_state
op_volume_create(struct call *c, struct error *e)
{
        struct wanted wanted = { .name = record_get_text(&c->record, FIELD_NAME, "") };
        uint64_t most = prepare_limits(&c->keeper->host, c->caller.uid).volumes;
        char place[VOLUME_PATH_MAX];
        struct record_writer w;
        bool is_new;
        int result;

        if (volume_directory(c->keeper->host.volumes, c->caller.owner, place, e) < 0)
                return CALL_FAILED;
        result = volume_create(place, wanted.name, most, &is_new);
        if (result == 0)
                result = volume_list(place, counted(c), find_one, &wanted);
        if (result < 0)
                return volume_fail(wanted.name, result, NULL, e), CALL_FAILED;
        w = reply_begin(c);
        write_volume(&w, &wanted.info);
        reply_send(c, &w, 0, -1);
        return CALL_DONE;
}

static bool
names_volume(const struct spec *spec, const char *name)
{
        if (spec->carrel.home && strcmp(spec->carrel.home, name) == 0)
                return true;
        for (size_t i = 0; i < spec->mount_count; i++)
                if (spec->mounts[i].volume && strcmp(spec->mounts[i].volume, name) == 0)
                        return true;
        return false;
}

/*
 * Finds a sandbox of the caller that needs the volume at its next start. One whose manifest is no
 * longer permitted does not start, so it does not count.
 */
static const struct sandbox *
find_user(const struct call *c, const char *name)
{
        struct error ignored;

        for (struct sandbox *s = c->keeper->first; s; s = s->next)
                if (sandbox_belongs(s, &c->caller) && sandbox_judge(s, &ignored) == 0 &&
                    names_volume(s->prepared->spec, name))
                        return s;
        return NULL;
}

enum call_state
op_volume_remove(struct call *c, struct error *e)
{
        const char *name = record_get_text(&c->record, FIELD_NAME, "");
        const struct sandbox *user = find_user(c, name);
        char place[VOLUME_PATH_MAX], id[VOLUME_ID_LEN + 1] = "";
        struct record_writer w;
        int result;

        if (user)
                return volume_fail(name, -EBUSY, user->id, e), CALL_FAILED;
        if (volume_directory(c->keeper->host.volumes, c->caller.owner, place, e) < 0)
                return CALL_FAILED;
        result = volume_remove(place, name, id);
        if (result < 0 && result != -ENOENT)
                return volume_fail(name, result, id, e), CALL_FAILED;
        if (result == 0)
                erase_removed(c->keeper, place);
        w = reply_begin(c);
        record_bool(&w, FIELD_EXISTED, result == 0);
        reply_send(c, &w, 0, -1);
        return CALL_DONE;
}
