/*
 * keeper/journal.c - reads what a box recorded for the time after its end.
 *
 * Room: keeper (joining). Touches: fd, the journals below STATE/boxes.
 * Theory: the box appends each entry in one write and removes a torn one. If the machine crashed
 * before that, the torn entry is the last one, and the box had not reported it yet.
 */
#include "keeper/journal.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/scoped.h"

static int
open_journal(int boxes, const char *id)
{
        scoped_fd int directory =
                openat(boxes, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        return directory < 0 ? -1
                             : openat(directory, "journal",
                                      O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

int
journal_used(int boxes, const char *id, struct wire_box_used *ret)
{
        scoped_fd int fd = open_journal(boxes, id);
        struct box_journal entry;
        int found = 0;

        while (fd >= 0 && read(fd, &entry, sizeof entry) == (ssize_t)sizeof entry) {
                if (entry.kind != WIRE_BOX_USED)
                        continue;
                memcpy(ret, &entry.listed, sizeof *ret);
                found = 1;
        }
        return found;
}

int
journal_read(int boxes, const char *id, const struct journal_reader *reader, void *context,
             struct wire_box_gone *ret)
{
        scoped_fd int fd = open_journal(boxes, id);
        struct box_journal entry;
        int found = 0;

        while (fd >= 0 && read(fd, &entry, sizeof entry) == (ssize_t)sizeof entry) {
                if ((entry.kind == WIRE_BOX_STARTED || entry.kind == WIRE_BOX_FINISHED) &&
                    entry.listed.exec != 0)
                        reader->learn(context, &entry.listed);
                if (entry.kind == WIRE_BOX_STREAMS && reader->streams) {
                        struct wire_box_streams said;

                        memcpy(&said, &entry.listed, sizeof said);
                        reader->streams(context, &said);
                }
                if (entry.kind != WIRE_BOX_GONE)
                        continue;
                *ret = (struct wire_box_gone){ .cause = entry.listed.state,
                                               .failed = { entry.listed.failed.exec,
                                                           entry.listed.failed.sys } };
                found = 1;
        }
        return found;
}
