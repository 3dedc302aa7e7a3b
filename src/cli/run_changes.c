/*
 * cli/run_changes.c - which files a command changed, as entries of the audit log of `carrel run
 * --audit`.
 *
 * Room: cli (joining, program). Touches: fd, the files below the writable mounts, which it reads;
 * the recorder's socket.
 */
#include "cli/run_changes.h"

#include <fcntl.h>
#include <unistd.h>

#include "changes/look.h"
#include "clock/clock.h"

/* One run has one command at a time. */
static struct {
        struct changes *changes;
        struct changes_root roots[CHANGES_ROOTS_MAX];
        const char *volumes[CHANGES_ROOTS_MAX]; /* NULL: not a volume */
        size_t count;
        uint64_t since_ms;
        int (*record)(const char *action, struct json_writer *output, struct error *e);
} now;

static int
record_rows(void *ctx, bool is_by, const struct json_writer *rows, struct error *e)
{
        struct json_writer output;

        (void)ctx;
        (void)is_by;
        json_init(&output, false);
        json_open_map(&output);
        json_key(&output, "events");
        json_raw(&output, rows->text, rows->len);
        json_close_map(&output);
        return now.record("file.changed", &output, e);
}

static struct changes_look
look_of(void)
{
        return (struct changes_look){ .roots = now.roots,
                                      .root_count = now.count,
                                      .rows_max = CHANGES_ROWS_MAX,
                                      .since_ms = now.since_ms,
                                      .part = record_rows };
}

/* The maker creates a missing one later. */
static void
open_volumes(void)
{
        for (size_t i = 0; i < now.count; i++)
                if (now.volumes[i] && now.roots[i].fd < 0)
                        now.roots[i].fd =
                                open(now.volumes[i], O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static void
add_roots(const struct sources *s)
{
        for (size_t i = 0; i < s->count && now.count < CHANGES_ROOTS_MAX; i++) {
                const struct plan_mount *m = &s->mounts[i];
                const struct plan_source *source = &s->items[m->source];

                if (m->is_read_only)
                        continue;
                now.volumes[now.count] = source->volume ? source->host_path : NULL;
                now.roots[now.count++] = (struct changes_root){
                        source->volume ? -1 : fcntl(s->fds[m->source], F_DUPFD_CLOEXEC, 3), m->at,
                        source->hidden
                };
        }
}

void
run_changes_begin(const struct run_way *w)
{
        struct changes_look look;
        struct changes_result found;
        struct error ignored;

        if (w->p.sources)
                add_roots(w->p.sources);
        open_volumes();
        now.since_ms = clock_wall_ms();
        now.changes = changes_new();
        look = look_of();
        if (now.changes)
                (void)changes_begin(now.changes, &look, &found, &ignored);
}

static void
close_all(void)
{
        changes_free(now.changes);
        now.changes = NULL;
        for (size_t i = 0; i < now.count; i++)
                if (now.roots[i].fd >= 0)
                        (void)close(now.roots[i].fd);
        now.count = 0;
}

int
run_changes_end(int (*record)(const char *action, struct json_writer *output, struct error *e),
                struct error *e)
{
        struct changes_look look;
        struct changes_result found = { .has_no_base = true };
        struct json_writer output;
        int result = 0;

        now.record = record;
        open_volumes();
        look = look_of();
        if (now.changes)
                result = changes_look(now.changes, &look, &found, e);
        if (result == 0 && !changes_result_is_whole(&found)) {
                json_init(&output, false);
                json_open_map(&output);
                changes_result_write(&output, &found);
                json_close_map(&output);
                result = record("file.changed", &output, e);
        }
        close_all();
        return result;
}
