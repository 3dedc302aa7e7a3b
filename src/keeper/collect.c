/*
 * keeper/collect.c - at the start: finds every box again, or collects what it left.
 *
 * Room: keeper (joining). Touches: fd, the directories below STATE/boxes.
 * Theory (N8): a directory and a row with the same name belong together. Both: the keeper connects
 * to the box, or buries it if no process answers. A row alone: its box was never created, or was
 * lost. A row of a lost sandbox, and a box that answers: it was not lost. A directory alone: its
 * box is asked to end, and the directory is removed. Nothing with another name is touched.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/scoped.h"
#include "keeper/sandbox.h"

/*
 * Time for the processes of a killed sandbox to end. One collection then serves all lost meanwhile.
 */
enum { COLLECT_MS = 100 };

static struct sandbox *
find(const struct keeper *k, const char *id)
{
        struct sandbox *s = k->first;

        while (s && strcmp(s->id, id) != 0)
                s = s->next;
        return s;
}

/*
 * An earlier version of the daemon records a sandbox as lost if a later one started its box, and
 * leaves the box. If the box answers, its sandbox was not lost. False: it stays failed.
 */
static bool
revive(struct sandbox *s)
{
        struct error ignored;

        return s->may_live && sandbox_judge(s, &ignored) == 0;
}

static int
collect_one(struct keeper *k, const char *id, struct error *e)
{
        struct sandbox *s = find(k, id);
        bool is_ours = s && (s->state != SANDBOX_FAILED || revive(s));
        int result = is_ours && s->box ? 0 : box_attach(k, id, is_ours ? s : NULL, e);

        if (result <= 0)
                return result;
        if (is_ours && s->row.status == STORE_MADE)
                return box_bury(s, e);
        /* no sandbox has it, or its creation was interrupted before it had an effect */
        box_remove_directory(k, id);
        return 0;
}

static void
tell_spawner(struct loop_timer *t)
{
        struct keeper *k = (struct keeper *)(void *)((char *)t - offsetof(struct keeper, collect));
        const char *directory = k->host.facts.runtime_dir;

        (void)peer_send(&k->spawner, WIRE_COLLECT, directory, strlen(directory) + 1, NULL, 0);
}

void
box_collect_groups(struct keeper *k)
{
        if (k->collect.index == 0)
                (void)loop_timer_set(k->loop, &k->collect, loop_now_ms() + COLLECT_MS,
                                     tell_spawner);
}

int
box_collect(struct keeper *k, struct error *e)
{
        DIR *directory = NULL;
        int result = 0;
        int fd = openat(k->boxes_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        directory = fd >= 0 ? fdopendir(fd) : NULL;
        if (!directory)
                return fail_sys(e, ERROR_STATE_UNUSABLE, errno,
                                "reading the directory of the boxes");
        for (struct dirent *entry = readdir(directory); entry && result == 0;
             entry = readdir(directory))
                if (strlen(entry->d_name) == SANDBOX_ID_LEN - 1 &&
                    strspn(entry->d_name, "0123456789abcdef") == SANDBOX_ID_LEN - 1)
                        result = collect_one(k, entry->d_name, e);
        (void)closedir(directory);
        if (result < 0)
                return -1; /* a failed start is better than treating a live box as dead */
        for (struct sandbox *s = k->first, *next; s; s = next) {
                next = s->next;
                /* its box was created, and even its directory is gone */
                if (s->row.status == STORE_MADE && !s->box && box_bury(s, e) < 0)
                        return -1;
        }
        for (struct sandbox *s = k->first, *next; s; s = next) {
                struct error ignored;

                next = s->next;
                if (!s->row.owner && (!s->box || s->state == SANDBOX_FAILED))
                        (void)sandbox_stop(s, "lost", &ignored);
                else
                        deadline_arm(s);
        }
        return 0;
}
