/*
 * box/puts.c - which files a call writes, as its input passes.
 *
 * Room: box (program). Touches: files in memory.
 * Theory: the call's own process judges its input; here it is only read along. Both end at the same
 * place: what that process refuses, this list does not have, or has without its end.
 *
 *     head --24 bytes--> path --path_len--> bytes --len--> head
 *       \--path_len 0, or malformed--> over
 */
#include "box/puts.h"

#include <string.h>

_Static_assert((int)WITNESS_SUM_LEN == (int)BOX_SUM_LEN, "the length of a digest");

static void
begin_file(struct puts *p)
{
        const struct file_put *put = &p->head.put;
        struct wire_box_put listed = {
                .bytes = put->len, .mode = put->mode, .flags = put->flags, .path_len = put->path_len
        };

        if (put->path_len > FILE_PATH_MAX || (put->flags & ~(uint32_t)FILE_PUT_MODE) != 0 ||
            put->pad != 0 || (put->path_len > 0 && p->count == FILE_BATCH_MAX)) {
                p->is_over = 1;
                return; /* the call ends, and nothing was changed */
        }
        p->is_over = put->path_len == 0;
        witness_add(p->list, &listed, sizeof listed);
        if (p->is_over)
                return;
        if (p->count++ > 0)
                witness_add(p->content, "\n", 1);
        p->path_left = put->path_len;
        p->bytes_left = put->len;
        witness_init(p->one);
        witness_begin(p->one, 0);
}

static void
end_file(struct puts *p)
{
        unsigned char sum[WITNESS_SUM_LEN];

        witness_sum(p->one, sum);
        witness_add(p->list, sum, sizeof sum);
        p->head_got = 0;
}

static size_t
add_head(struct puts *p, const unsigned char *bytes, size_t len)
{
        size_t part = sizeof p->head - p->head_got;

        part = len < part ? len : part;
        memcpy(p->head.bytes + p->head_got, bytes, part);
        p->head_got += part;
        if (p->head_got == sizeof p->head)
                begin_file(p);
        return part;
}

static size_t
add_path(struct puts *p, const unsigned char *bytes, size_t len)
{
        size_t part = len < p->path_left ? len : p->path_left;

        witness_add(p->list, bytes, part);
        p->path_left -= (uint32_t)part;
        return part;
}

static size_t
add_bytes(struct puts *p, const unsigned char *bytes, size_t len)
{
        size_t part = len < p->bytes_left ? len : (size_t)p->bytes_left;

        witness_add(p->content, bytes, part);
        witness_add(p->one, bytes, part);
        p->bytes_left -= part;
        return part;
}

void
puts_add(struct puts *p, const unsigned char *bytes, size_t len)
{
        while (len > 0 && !p->is_over) {
                size_t part;

                if (p->head_got < sizeof p->head)
                        part = add_head(p, bytes, len);
                else if (p->path_left > 0)
                        part = add_path(p, bytes, len);
                else
                        part = add_bytes(p, bytes, len);
                if (!p->is_over && p->head_got == sizeof p->head && p->path_left == 0 &&
                    p->bytes_left == 0)
                        end_file(p);
                bytes += part;
                len -= part;
        }
}
