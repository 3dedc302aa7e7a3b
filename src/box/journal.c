/*
 * box/journal.c - what a box keeps for later keepers.
 *
 * Room: box (program). Touches: fd, two files of the state directory.
 * Theory: entries are written, but not synced. They only need to survive this process: the end of
 * the machine is the end of the sandbox too.
 */
#include "box/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NAME "journal"
#define NEW_NAME "journal.new"

static int
open_as(struct journal *j, int directory, const char *name, uint32_t protocol)
{
        int result;

        *j = (struct journal){ .directory = directory,
                               .fd = openat(directory, name,
                                            O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
                                            0600) };
        if (j->fd < 0)
                return -errno;
        result = journal_append(j, 0, protocol, NULL);
        if (result < 0)
                journal_close(j);
        return result;
}

int
journal_open(struct journal *j, int directory, uint32_t protocol)
{
        return open_as(j, directory, NAME, protocol);
}

void
journal_close(struct journal *j)
{
        if (j->fd >= 0)
                (void)close(j->fd);
        j->fd = -1;
}

int
journal_append(struct journal *j, uint32_t kind, uint32_t exec,
               const struct wire_box_listed *listed)
{
        struct box_journal entry;
        ssize_t written;

        if (j->fd < 0)
                return -EBADF;
        memset(&entry, 0, sizeof entry); /* padding too, so that no stack content is written
                                          * to the file */
        entry.kind = kind;
        entry.exec = exec;
        if (listed)
                entry.listed = *listed;
        written = pwrite(j->fd, &entry, sizeof entry, (off_t)j->len);
        if (written == (ssize_t)sizeof entry) {
                j->len += sizeof entry;
                return 0;
        }
        if (written > 0 && ftruncate(j->fd, (off_t)j->len) < 0)
                return -errno;
        return written < 0 ? -errno : -ENOSPC;
}

int
journal_begin_anew(const struct journal *j, struct journal *ret, uint32_t protocol)
{
        return open_as(ret, j->directory, NEW_NAME, protocol);
}

int
journal_end_anew(struct journal *j, struct journal *take_anew)
{
        if (renameat(j->directory, NEW_NAME, j->directory, NAME) < 0) {
                int result = -errno;

                journal_close(take_anew);
                return result;
        }
        journal_close(j);
        *j = *take_anew;
        return 0;
}
