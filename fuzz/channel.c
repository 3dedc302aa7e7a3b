/*
 * fuzz/channel.c - any bytes as a channel, in either direction, cut anywhere.
 *
 * Beyond not crashing: however a stream is cut, the same pieces come out up to the same end; no
 * piece lies outside what was fed or is longer than a frame; offsets never go back; after a
 * malformed frame nothing is given.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wire/channel.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* What a whole reading came to: its result, and a sum over all that was given. */
struct sum {
        int result;
        uint64_t bytes, kinds, mix, next[2];
};

static void
must(int holds)
{
        if (!holds)
                abort();
}

static void
add(struct sum *s, const struct channel_piece *p, const unsigned char *fed, size_t fed_len)
{
        const unsigned char *bytes = p->bytes;
        int is_bulk =
                p->kind == CHANNEL_STDOUT || p->kind == CHANNEL_STDERR || p->kind == CHANNEL_STDIN;

        must(p->len <= CHANNEL_FRAME_MAX);
        if (is_bulk) {
                must(bytes >= fed && bytes + p->len <= fed + fed_len);
        } else {
                must(p->len <= CHANNEL_FIXED_MAX && (uintptr_t)bytes % 8 == 0);
                s->kinds = s->kinds * 31 + p->kind;
        }
        if (p->kind == CHANNEL_STDOUT || p->kind == CHANNEL_STDERR) {
                must(p->offset >= s->next[p->kind == CHANNEL_STDERR]);
                s->next[p->kind == CHANNEL_STDERR] = p->offset + p->len;
        }
        for (size_t i = 0; i < p->len; i++)
                s->mix = s->mix * 1099511628211u + bytes[i];
        s->bytes += p->len;
}

static struct sum
read_in_steps(const uint8_t *data, size_t len, size_t step, enum channel_side side)
{
        struct channel_reader r;
        struct sum s = { 0 };
        unsigned char *copy =
                malloc(len); /* of exactly its length: a sanitizer sees one too many */

        must(copy != NULL);
        memcpy(copy, data, len);
        channel_reader_init(&r, side);
        for (size_t at = 0; at < len && s.result >= 0; at += step) {
                size_t n = len - at < step ? len - at : step, left = n;
                const unsigned char *bytes = copy + at;
                struct channel_piece p;

                while ((s.result = channel_reader_next(&r, &bytes, &left, &p)) > 0)
                        add(&s, &p, copy + at, n);
                must(s.result < 0 || left == 0);
        }
        free(copy);
        if (s.result < 0) {
                struct channel_piece p;
                const unsigned char *none = data;
                size_t left = 0;

                must(!channel_reader_is_between(&r));
                must(channel_reader_next(&r, &none, &left, &p) < 0);
        }
        return s;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
        enum channel_side side;
        struct sum whole, cut;
        size_t step;

        if (len < 3)
                return 0;
        side = data[0] % 2 == 0 ? CHANNEL_FROM_BOX : CHANNEL_TO_BOX;
        step = (size_t)data[1] % 40 + 1;
        whole = read_in_steps(data + 2, len - 2, len, side);
        cut = read_in_steps(data + 2, len - 2, step, side);
        must(whole.result == cut.result && whole.bytes == cut.bytes && whole.kinds == cut.kinds &&
             whole.mix == cut.mix);
        must(whole.next[0] == cut.next[0] && whole.next[1] == cut.next[1]);
        return 0;
}
