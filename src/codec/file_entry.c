/*
 * codec/file_entry.c - an entry of a directory as JSON.
 *
 * Room: codec (deciding, pure). Touches: nothing.
 */
#include "codec/file_entry.h"

#include "api/file_error.h"
#include "codec/encode.h"
#include "text/utf8.h"

static int
is_text(const char *bytes, size_t len)
{
        return utf8_valid_len(bytes, len) == len;
}

void
codec_write_file(struct json_writer *w, const struct file_listed *l, int is_base64)
{
        const struct file_entry *e = &l->entry;
        /*
         * A name that is not valid text is sent as base64, so that a client can use it in a request
         * (B20).
         */
        int encodes =
                is_base64 || !is_text(l->path, e->path_len) || !is_text(l->target, e->target_len);

        json_open_map(w);
        encode_member(w, "path", l->path, e->path_len, encodes);
        json_member_text(w, "kind", file_kind_name(e->kind));
        json_key(w, "size");
        json_uint(w, e->size);
        json_member_int(w, "mode", e->mode);
        json_member_int(w, "modified_at_ms", e->mtime_ns / 1000000);
        if (e->kind == FILE_LINK)
                encode_member(w, "target", l->target, e->target_len, encodes);
        if (e->sys != 0)
                json_member_text(w, "error", error_wire_name(file_error_code(e->sys)));
        if (encodes)
                json_member_text(w, "encoding", "base64");
        json_close_map(w);
}
