/*
 * codec/file_put.c - a file of a batch, from JSON.
 *
 * Room: codec (deciding). Touches: mem.
 */
#include "codec/file_put.h"

#include <stdio.h>
#include <string.h>

#include "codec/codec.h"
#include "codec/encode.h"

static int
member_error(struct error *e, int index, const char *name, const char *message)
{
        char at[64];

        (void)snprintf(at, sizeof at, "files/%d%s%s", index, name[0] ? "/" : "", name);
        return fail_at(e, ERROR_INVALID_ARGUMENT, at, "value", "%s", message);
}

static int
check_members(const struct node *file, int index, struct error *e)
{
        static const char *const known[] = { "path", "content", "encoding", "mode" };

        if (file->kind != NODE_MAP)
                return member_error(e, index, "", "an entry of files is an object");
        node_each(n, file)
        {
                size_t i = 0;

                while (i < sizeof known / sizeof *known && strcmp(known[i], n->key) != 0)
                        i++;
                if (i == sizeof known / sizeof *known) {
                        (void)member_error(e, index, n->key,
                                           "a file has path, content, encoding and mode");
                        (void)snprintf(e->reason, sizeof e->reason, "unknown_field");
                        return -1;
                }
        }
        return 0;
}

static bool
is_mode(const struct node *n)
{
        return !n || n->kind == NODE_NULL ||
               (n->kind == NODE_INT && n->integer >= 0 && n->integer <= 07777);
}

int
codec_read_file(struct arena *arena, const struct node *file, int index, struct codec_file *ret,
                struct error *e)
{
        const struct node *path = node_find(file, "path"), *content = node_find(file, "content"),
                          *mode = node_find(file, "mode");
        int is_base64, has_mode = mode && mode->kind == NODE_INT;
        size_t len;
        void *raw;

        if (check_members(file, index, e) < 0)
                return -1;
        if (!path || path->kind != NODE_STRING || path->len == 0 || path->len > FILE_PATH_MAX)
                return member_error(e, index, "path", "path is a string of 1 to 4095 bytes");
        if (!content || content->kind != NODE_STRING)
                return member_error(e, index, "content", "content is a string");
        if (codec_encoding(file, &is_base64, e) < 0)
                return member_error(e, index, "encoding", "encoding is base64, or left out");
        if (!is_mode(mode))
                return member_error(e, index, "mode", "mode is permission bits, 0 to 4095");
        *ret = (struct codec_file){ .path = path->text, .bytes = content->text };
        len = content->len;
        if (is_base64) {
                if (!(raw = arena_alloc(arena, len + 1)))
                        return fail(e, ERROR_NO_MEMORY, "there is no memory left for this request");
                if (base64_read(content->text, content->len, raw, &len) < 0)
                        return member_error(e, index, "content", "content is not base64");
                ret->bytes = raw;
        }
        ret->put = (struct file_put){ .len = len,
                                      .path_len = (uint32_t)path->len,
                                      .mode = has_mode ? (uint32_t)mode->integer & 0777 : 0,
                                      .flags = has_mode ? FILE_PUT_MODE : 0 };
        return 0;
}
