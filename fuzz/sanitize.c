/*
 * fuzz/sanitize.c - what a command prints (text/sanitize.h): in pieces as at once, and nothing that
 * should be removed stays.
 *
 * The first byte chooses the kinds, the second the length of a piece.
 */
#include <assert.h>
#include <string.h>

#include "text/sanitize.h"
#include "text/utf8.h"

static void
run(unsigned kinds, const char *in, size_t len, size_t piece, struct buffer *out)
{
        struct sanitize s;

        sanitize_init(&s, kinds);
        for (size_t at = 0; at < len; at += piece)
                assert(sanitize_write(&s, in + at, len - at < piece ? len - at : piece, false,
                                      out) == 0);
        assert(sanitize_write(&s, NULL, 0, true, out) == 0);
        assert(sanitize_held(&s) == 0);
        sanitize_fini(&s);
}

static void
check(const struct buffer *out)
{
        uint32_t point;

        for (size_t at = 0; at < out->len;) {
                unsigned char c = (unsigned char)out->bytes[at];

                at += utf8_next(out->bytes + at, out->len - at, &point);
                assert(c >= 0x20 || c == '\n' || c == '\t' ||
                       (c == '\r' && at < out->len && out->bytes[at] == '\n'));
                assert(c != 0x7f && (point < 0x80 || point >= 0xa0));
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
        struct buffer whole = { 0 }, cut = { 0 };
        const char *in = (const char *)data + 2;

        if (len <= 2)
                return 0;
        run(data[0] & SANITIZE_ALL, in, len - 2, len - 2, &whole);
        run(data[0] & SANITIZE_ALL, in, len - 2, data[1] % 64u + 1, &cut);
        assert(whole.len == cut.len &&
               (cut.len == 0 || memcmp(whole.bytes, cut.bytes, cut.len) == 0));
        if ((data[0] & SANITIZE_control) != 0)
                check(&whole);
        buffer_fini(&whole);
        buffer_fini(&cut);
        return 0;
}
