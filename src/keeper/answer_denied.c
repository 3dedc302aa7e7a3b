/*
 * keeper/answer_denied.c - what callers are told of what was refused: one denial, and those of one command.
 *
 * Room: keeper (joining). Touches: nothing.
 * Theory: whoever reads a command's result is a model with little room: the same thing refused again is one line with how often, and of many things the first
 * few are told, because what comes later is mostly what the first ones led to.
 */
#include <arpa/inet.h>
#include <string.h>

#include "egress/admit.h"
#include "keeper/sandbox.h"

enum { TEXT_ROOM = 1200, ADDRESS_ROOM = 46, TOLD_MAX = 8 };

static void
address_text(const struct wire_wall_denied *d, char ret[ADDRESS_ROOM])
{
        if (d->family == 0 || !inet_ntop(d->family == 4 ? AF_INET : AF_INET6, d->address + (d->family == 4 ? 12 : 0), ret, ADDRESS_ROOM))
                ret[0] = '\0';
}

static void
write_denied(struct record_writer *w, const struct wire_wall_denied *d, uint64_t count)
{
        enum denial reason = d->reason > DENIAL_NONE && d->reason < DENIAL_MAX ? (enum denial)d->reason : DENIAL_FAILED;
        char text[TEXT_ROOM], address[ADDRESS_ROOM];

        address_text(d, address);
        (void)denial_text(reason, d->host[0] != '\0' ? d->host : address, d->port, d->other, text, sizeof text);
        record_text(w, FIELD_REASON, denial_name(reason));
        record_text(w, FIELD_HOST, d->host);
        if (d->port != 0)
                record_uint(w, FIELD_PORT, d->port);
        if (address[0] != '\0')
                record_text(w, FIELD_ADDRESS, address);
        if (d->other[0] != '\0')
                record_text(w, FIELD_SAID, d->other);
        record_uint(w, FIELD_COUNT, count);
        record_text(w, FIELD_MESSAGE, text);
}

void
answer_denied(struct record_writer *w, const struct wire_box_denied *denied)
{
        if (denied->exec != 0)
                record_uint(w, FIELD_EXEC, denied->exec);
        write_denied(w, &denied->d, denied->d.count);
}

/* -- of one command ------------------------------------------------------------------------------------------------------------------ */

static bool
is_same(const struct wire_wall_denied *a, const struct wire_wall_denied *b)
{
        return a->reason == b->reason && a->port == b->port && strcmp(a->host, b->host) == 0 && strcmp(a->other, b->other) == 0 &&
               (a->host[0] != '\0' || memcmp(a->address, b->address, sizeof a->address) == 0);
}

/* Is this the first of its kind? */
static bool
is_first(const struct box *b, size_t at, uint32_t exec)
{
        for (size_t i = 0; i < at; i++)
                if (b->denials[i].exec == exec && is_same(&b->denials[i].d, &b->denials[at].d))
                        return false;
        return true;
}

static uint64_t
count_same(const struct box *b, size_t from, uint32_t exec)
{
        uint64_t count = 0;

        for (size_t i = from; i < b->denial_count; i++)
                if (b->denials[i].exec == exec && is_same(&b->denials[i].d, &b->denials[from].d))
                        count += b->denials[i].d.count;
        return count;
}

void
answer_denied_to(struct record_writer *w, const struct box *b, uint32_t exec)
{
        uint64_t told = 0;

        for (size_t i = 0; i < b->denial_count; i++) {
                size_t mark;

                if (b->denials[i].exec != exec || !is_first(b, i, exec) || ++told > TOLD_MAX)
                        continue;
                mark = record_open(w, FIELD_DENIED);
                write_denied(w, &b->denials[i].d, count_same(b, i, exec));
                record_close(w, mark);
        }
        if (told > TOLD_MAX)
                record_uint(w, FIELD_DENIED_MORE, told - TOLD_MAX);
}
