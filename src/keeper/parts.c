/*
 * keeper/parts.c - answers of any length: lists, sent in parts.
 *
 * Room: keeper (joining). Touches: mem.
 * Theory: the lists requested over one connection take turns. In its turn a list writes one part,
 * when nothing is queued on the socket, and goes to the end of the queue. So a short answer waits
 * for one part at most, however many long lists are requested. Entries may change between two
 * parts: `cursor` is the number of the last one written, and numbers only grow.
 */
#include "keeper/keeper.h"
#include "keeper/sandbox.h"

enum { PART_LEN = 128 * 1024, PARTS_A_TURN = 4 };

static void
stand_in_line(struct call *c)
{
        calls_add(&c->connection->listing, c);
        peer_want(&c->connection->peer);
}

bool
parts_begin(struct call *c, struct record_writer *w)
{
        if (!c->has_turn && c->connection) {
                stand_in_line(c);
                return false;
        }
        c->has_turn = false;
        *w = reply_begin(c);
        return true;
}

bool
parts_add(struct call *c, struct record_writer *w, parts_write *write, const void *of,
          const void *item, uint64_t number)
{
        size_t before = w->len, mark = record_open(w, FIELD_ITEMS);

        write(w, of, item);
        record_close(w, mark);
        if (before == 0 || (!w->is_broken && w->len <= PART_LEN)) {
                c->cursor = number;
                return true;
        }
        w->len = before; /* it begins the next part */
        w->is_broken = 0;
        reply_send(c, w, REPLY_MORE, -1);
        if (c->connection)
                stand_in_line(c);
        return c->connection == NULL;
}

void
parts_turn(struct connection *connection)
{
        for (int i = 0;
             i < PARTS_A_TURN && peer_is_idle(&connection->peer) && connection->listing.first;
             i++) {
                struct call *c = calls_take(&connection->listing);

                if (c->is_cancelled) {
                        call_end(c);
                        continue;
                }
                c->has_turn = true;
                call_begin(c);
        }
        if (connection->listing.first)
                peer_want(&connection->peer);
}

void
parts_forget(struct connection *connection)
{
        for (struct call *c = calls_take(&connection->listing); c;
             c = calls_take(&connection->listing))
                call_end(c);
}
