/*
 * maker/watched.c - a sandbox's private directory on a disk, and the watch over its size.
 *
 * Room: maker (program). Touches: fd, directories of the state directory, clock, /proc (reading).
 * Theory: a name that is moved during a count may be seen twice; npm renames each package that it
 * unpacks. So a count of several looks must be over the limit twice in a row; a count that is done
 * in a single look applies at once. If the disk has as much free space as when the last count
 * began, hardly anything can have been written: an idle sandbox costs one statvfs(2) for each look.
 *
 * A payload can hide files from the count: in a directory that it closed to its own user, very
 * deep, moved about, or deleted and still open. It cannot hide them from the disk. So once the disk
 * has lost more than the limit since the start, the watch opens closed directories, adds open files
 * that have no name, and ends the box if something still cannot be counted. Nothing of this happens
 * before, since programs of the host use the disk too.
 */
#include "maker/watched.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include "clock/clock.h"
#include "maker/unnamed.h"
#include "volume/volume.h"

enum { STIR_BYTES = 1 << 20 };

void
watched_init(struct watched *w)
{
        *w = (struct watched){ .place = { .dir = -1, .top = -1 },
                               .tally = { .at = -1 },
                               .due_ms = UINT64_MAX,
                               .bytes = UINT64_MAX };
}

static uint64_t
free_bytes(const struct watched *w)
{
        struct statvfs fs;

        return fstatvfs(w->place.top, &fs) < 0 ? 0 : (uint64_t)fs.f_bfree * fs.f_frsize;
}

int
watched_open(struct watched *w, const char *directory, uint64_t id, uint64_t mb, uint32_t uid,
             uint32_t gid)
{
        struct volume_sweep sweep;
        int result;

        volume_sweep_init(&sweep);
        (void)volume_sweep(&sweep, directory, WATCHED_SWEEP);
        volume_sweep_fini(&sweep);
        result = private_open(directory, id, uid, gid, &w->place);
        if (result < 0)
                return result;
        tally_init(&w->tally, w->place.top);
        w->directory = directory;
        w->limit = mb << 20;
        w->start_free = free_bytes(w);
        w->due_ms = clock_boot_ms() + WATCHED_LOOK_MS;
        return 0;
}

/* Has anything been written since the last count began, as far as free space shows it? */
static bool
is_stirred(struct watched *w, uint64_t now, uint64_t left)
{
        if (w->counted_ms > 0 && left + STIR_BYTES > w->free &&
            now - w->counted_ms < WATCHED_REST_MS)
                return false;
        w->free = left;
        w->counted_ms = now;
        return true;
}

static uint64_t
count_unnamed(const struct watched *w)
{
        struct stat st;

        return w->view && fstat(w->place.top, &st) == 0 ? unnamed_bytes(w->view, w->box, st.st_dev)
                                                        : 0;
}

void
watched_look(struct watched *w)
{
        uint64_t now = clock_boot_ms(), left = free_bytes(w), bytes = 0;
        bool was_counting = w->is_counting, is_over,
             is_suspect = w->start_free > left && w->start_free - left > w->limit;

        if (now < w->due_ms)
                return;
        w->due_ms = now + WATCHED_LOOK_MS;
        if (!was_counting && !w->was_over && !is_stirred(w, now, left))
                return;
        w->tally.opens_up = is_suspect;
        w->is_counting = tally_look(&w->tally, WATCHED_ENTRIES, &bytes) == 0;
        if (is_suspect && bytes <= w->limit && !w->is_counting)
                bytes += count_unnamed(w);
        if (!w->is_counting)
                w->bytes = bytes;
        is_over = bytes > w->limit;
        if (is_over && w->is_counting) { /* the rest can only add to it */
                tally_fini(&w->tally);
                w->is_counting = false;
                was_counting = true;
        }
        if (is_suspect)
                w->is_over |=
                        w->tally.breaks > WATCHED_BREAKS || (!w->is_counting && w->tally.has_gaps);
        if (!w->is_counting) {
                w->is_over |= is_over && (!was_counting || w->was_over);
                w->was_over = is_over;
        }
        if (w->is_over)
                w->due_ms = UINT64_MAX;
}

void
watched_close(struct watched *w)
{
        tally_fini(&w->tally);
        private_close(&w->place);
        w->due_ms = UINT64_MAX;
}
