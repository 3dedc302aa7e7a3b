/*
 * keeper/collect.c - at the start: every box is found again, or what it left is collected.
 *
 * Room: keeper (joining). Touches: fd, the directories below STATE/boxes.
 * Theory (N8): a directory and a row belong together by their name. Both: its box is connected to, or, where nobody answers, buried. A row alone: it was
 * never made, or was lost. A directory alone: its box is asked to end, and it goes. Nothing with another name is touched.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/scoped.h"
#include "keeper/sandbox.h"

enum { COLLECT_MS = 100 /* for the processes of a killed sandbox to end, and for others to be lost as well */ };

static struct sandbox *
find(const struct keeper *k, const char *id)
{
        struct sandbox *s = k->first;

        while (s && strcmp(s->id, id) != 0)
                s = s->next;
        return s;
}

static int
collect_one(struct keeper *k, const char *id, struct error *e)
{
        struct sandbox *s = find(k, id);
        bool is_ours = s && s->state != SANDBOX_FAILED;
        int result = is_ours && s->box ? 0 : box_attach(k, id, is_ours ? s : NULL, e);

        if (result <= 0)
                return result;
        if (is_ours && s->row.status == STORE_MADE)
                return box_bury(s, e);
        box_remove_directory(k, id);                   /* nobody's, or its making was cut off before it could matter */
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
                (void)loop_timer_set(k->loop, &k->collect, loop_now_ms() + COLLECT_MS, tell_spawner);
}

int
box_collect(struct keeper *k, struct error *e)
{
        DIR *directory = NULL;
        int result = 0;
        int fd = openat(k->boxes_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        directory = fd >= 0 ? fdopendir(fd) : NULL;
        if (!directory)
                return fail_sys(e, ERROR_STATE_UNUSABLE, errno, "reading the directory of the boxes");
        for (struct dirent *entry = readdir(directory); entry && result == 0; entry = readdir(directory))
                if (strlen(entry->d_name) == SANDBOX_ID_LEN - 1 && strspn(entry->d_name, "0123456789abcdef") == SANDBOX_ID_LEN - 1)
                        result = collect_one(k, entry->d_name, e);
        (void)closedir(directory);
        if (result < 0)
                return -1;                             /* to be started again is better than to take the living for dead */
        for (struct sandbox *s = k->first, *next; s; s = next) {
                next = s->next;
                if (s->row.status == STORE_MADE && !s->box && box_bury(s, e) < 0)      /* made once, and not even its directory is there */
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
