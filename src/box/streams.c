/*
 * box/streams.c - what an exec read and wrote, for the audit log.
 *
 * Room: box (program). Touches: files in memory.
 * Theory: the digests are always made, because the daemon's log always has them. Standard input is
 * seen only if it is to be kept, and not at a terminal: it may contain passwords. The files stay
 * until the keeper says that they are on the disk, so that a keeper that ends in between loses
 * none. Output of the box of `carrel run` goes past it, so there is nothing to see. Of a call that
 * changes files only what it writes is seen, and which files these are.
 */
#include "box/streams.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "box/journal.h"
#include "box/keeper.h"
#include "box/puts.h"
#include "box/state.h"

_Static_assert((int)WITNESS_SUM_LEN == (int)BOX_SUM_LEN, "the length of a digest");

void
streams_init(struct exec *x)
{
        for (size_t i = 0; i < BOX_STREAMS; i++)
                witness_init(&x->seen[i]);
        for (size_t i = 0; i < 2; i++)
                x->out[i].witness = &x->seen[i + 1];
}

void
streams_fini(struct exec *x)
{
        for (size_t i = 0; i < BOX_STREAMS; i++)
                witness_fini(&x->seen[i]);
        free(x->puts);
        x->puts = NULL;
}

unsigned
streams_is_told(const struct exec *x)
{
        return (x->flags & (BOX_EXEC_QUIET | BOX_EXEC_TOLD)) == (BOX_EXEC_QUIET | BOX_EXEC_TOLD);
}

unsigned
streams_is_held(const struct exec *x)
{
        return streams_is_told(x) && x->seen[0].fd >= 0;
}

/* Without memory its files are not known, and the audit log says nothing of them. */
static void
begin_puts(struct exec *x)
{
        x->puts = (x->flags & BOX_EXEC_NO_STDIN) == 0 ? calloc(1, sizeof *x->puts) : NULL;
        if (!x->puts)
                return;
        *x->puts = (struct puts){ .content = &x->seen[0], .list = &x->seen[1], .one = &x->seen[2] };
        for (size_t i = 0; i < 2; i++)
                x->out[i].witness = NULL; /* what its process prints is no part of the list */
        witness_begin(&x->seen[0], (x->flags & BOX_EXEC_KEEP_STREAMS) != 0);
        witness_begin(&x->seen[1], 1);
}

void
streams_input(struct exec *x, const void *bytes, size_t len)
{
        if (x->puts)
                puts_add(x->puts, bytes, len);
        else
                witness_add(&x->seen[0], bytes, len);
}

void
streams_begin(struct exec *x)
{
        unsigned keeps = (x->flags & BOX_EXEC_KEEP_STREAMS) != 0;

        if (streams_is_told(x))
                begin_puts(x);
        if ((x->flags & BOX_EXEC_QUIET) != 0 || x->box->one.is_on)
                return;
        if (keeps && (x->wire_flags & WIRE_EXEC_TTY) == 0)
                witness_begin(&x->seen[0], 1);
        witness_begin(&x->seen[1], keeps);
        witness_begin(&x->seen[2], keeps);
}

void
streams_end(struct exec *x)
{
        for (size_t i = 0; i < BOX_STREAMS; i++)
                witness_end(&x->seen[i]);
}

/* False: there is nothing to report. */
static int
describe(const struct exec *x, struct wire_box_streams *ret)
{
        memset(ret, 0, sizeof *ret);
        ret->exec = x->number;
        if (x->state != BOX_EXEC_ENDED || x->box->protocol < BOX_PROTOCOL_STREAMS)
                return 0;
        for (size_t i = 0; i < BOX_STREAMS; i++) {
                const struct witness *c = &x->seen[i];

                if (!c->is_on || (x->puts && i == 2))
                        continue;
                ret->known |= 1u << i;
                ret->of[i].bytes = c->bytes;
                ret->of[i].kept = c->kept;
                witness_sum(c, ret->of[i].sha256);
        }
        ret->sanitized = x->end.sanitized;
        return ret->known != 0;
}

void
streams_say(struct keeper *k, const struct exec *x)
{
        struct wire_box_streams said;
        int fds[BOX_STREAMS];
        size_t count = 0;

        if (!describe(x, &said))
                return;
        for (size_t i = 0; i < BOX_STREAMS; i++) {
                int fd = x->seen[i].fd >= 0 ? fcntl(x->seen[i].fd, F_DUPFD_CLOEXEC, 3) : -1;

                if (fd < 0)
                        continue;
                fds[count++] = fd;
                said.files |= 1u << i;
        }
        keeper_pass(k, WIRE_BOX_STREAMS, &said,
                    x->box->protocol < BOX_PROTOCOL_COUNTED ? BOX_STREAMS_FIRST : sizeof said, fds,
                    count);
}

void
streams_note(const struct exec *x, struct journal *j)
{
        struct wire_box_streams said;
        struct wire_box_listed room = { .exec = 0 };

        _Static_assert(sizeof said <= sizeof room, "the digests fit into an entry");
        if (!describe(x, &said))
                return;
        memcpy(&room, &said, sizeof said);
        (void)journal_append(j, WIRE_BOX_STREAMS, x->number, &room);
}

void
streams_tell(struct exec *x)
{
        if ((x->flags & BOX_EXEC_QUIET) == 0)
                streams_note(x, &x->box->journal);
        for (struct keeper *k = x->box->keepers; k; k = k->next)
                streams_say(k, x);
}

void
streams_kept(struct exec *x)
{
        streams_fini(x);
}
