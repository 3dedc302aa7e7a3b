/*
 * keeper/answer_denied.c - writes refused connections into answers: one refusal, and those of one
 * command.
 *
 * Room: keeper (joining). Touches: nothing.
 * Theory: boxstate/refusals.h says which refusals of a command are listed, and why no more.
 */
#include "egress/admit.h"
#include "keeper/sandbox.h"

void
answer_denied_words(const struct wire_wall_denied *d, struct denied_words *ret)
{
        enum denial reason = d->reason > DENIAL_NONE && d->reason < DENIAL_MAX
                                     ? (enum denial)d->reason
                                     : DENIAL_FAILED;

        ret->reason = denial_name(reason);
        (void)wall_state_address_text(d, ret->address);
        (void)denial_text(reason, d->host[0] != '\0' ? d->host : ret->address, d->port, d->other,
                          ret->message, sizeof ret->message);
}

static void
write_denied(struct record_writer *w, const struct wire_wall_denied *d, uint64_t count)
{
        struct denied_words words;

        answer_denied_words(d, &words);
        record_text(w, FIELD_REASON, words.reason);
        record_text(w, FIELD_HOST, d->host);
        if (d->port != 0)
                record_uint(w, FIELD_PORT, d->port);
        if (words.address[0] != '\0')
                record_text(w, FIELD_ADDRESS, words.address);
        if (d->other[0] != '\0')
                record_text(w, FIELD_SAID, d->other);
        record_uint(w, FIELD_COUNT, count);
        record_text(w, FIELD_MESSAGE, words.message);
}

void
answer_denied(struct record_writer *w, const struct wire_box_denied *denied)
{
        if (denied->exec != 0)
                record_uint(w, FIELD_EXEC, denied->exec);
        write_denied(w, &denied->d, denied->d.count);
}

void
answer_denied_to(struct record_writer *w, const struct box *b, uint32_t exec)
{
        const struct refused *of = refusals_find(&b->refusals, exec);

        for (size_t i = 0; of && i < of->count; i++) {
                size_t mark = record_open(w, FIELD_DENIED);

                write_denied(w, &of->items[i].d, of->items[i].count);
                record_close(w, mark);
        }
        if (of && of->more > 0)
                record_uint(w, FIELD_DENIED_MORE, of->more);
}

void
answer_denied_more(struct record_writer *w, const struct box *b)
{
        uint64_t listed = 0;

        for (size_t i = 0; i < b->denial_count; i++)
                listed += b->denials[i].d.count;
        if (b->refusals.total > listed)
                record_uint(w, FIELD_DENIED_MORE, b->refusals.total - listed);
}
