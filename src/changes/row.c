/*
 * changes/row.c - one row of a list of changed files.
 *
 * Room: changes (joining). Touches: mem.
 */
#include "changes/row.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "text/utf8.h"

enum { TEXT_MAX = 64 * 1024 };

static const char *
kind_of(uint32_t mode)
{
        switch (mode & S_IFMT) {
        case S_IFREG:
                return "file";
        case S_IFDIR:
                return "directory";
        case S_IFLNK:
                return "link";
        case S_IFIFO:
                return "fifo";
        case S_IFSOCK:
                return "socket";
        case S_IFBLK:
                return "block";
        default:
                return "character";
        }
}

int
changes_row_is_file(const struct changes_row *row)
{
        return S_ISREG(row->mode) && strcmp(row->event, "removed") != 0;
}

static bool
is_plain(const char *text)
{
        size_t len = strlen(text);

        for (const char *c = text; *c != '\0'; c++)
                if ((unsigned char)*c < 0x20 || *c == 0x7f)
                        return false;
        return utf8_valid_len(text, len) == len;
}

/* A name that is no text would else be shown as another one. */
static void
write_name(struct json_writer *w, const char *key, const char *text)
{
        struct buffer quoted = { 0 };
        int result = 0;

        if (is_plain(text)) {
                json_member_text(w, key, text);
                return;
        }
        result |= buffer_add(&quoted, "$'", 2, TEXT_MAX);
        for (const char *c = text; *c != '\0'; c++) {
                char one[8];
                int len = (unsigned char)*c < 0x20 || (unsigned char)*c > 0x7e || *c == '\'' ||
                                          *c == '\\'
                                  ? snprintf(one, sizeof one, "\\x%02x", (unsigned char)*c)
                                  : snprintf(one, sizeof one, "%c", *c);

                result |= buffer_add(&quoted, one, (size_t)len, TEXT_MAX);
        }
        result |= buffer_add(&quoted, "'", 1, TEXT_MAX);
        if (result < 0)
                w->is_broken = true;
        else
                json_member_text(w, key, quoted.bytes);
        buffer_fini(&quoted);
}

static void
write_path(struct json_writer *w, const struct changes_row *row)
{
        struct buffer whole = { 0 };
        const char *slash = row->path[0] == '\0' || row->at[strlen(row->at) - 1] == '/' ? "" : "/";

        if (buffer_add(&whole, row->at, strlen(row->at), TEXT_MAX) < 0 ||
            buffer_add(&whole, slash, strlen(slash), TEXT_MAX) < 0 ||
            buffer_add(&whole, row->path, strlen(row->path), TEXT_MAX) < 0)
                w->is_broken = true;
        else
                write_name(w, "path", whole.bytes);
        buffer_fini(&whole);
}

void
changes_row_write(struct json_writer *w, const struct changes_row *row)
{
        char mode[16];

        json_open_map(w);
        json_member_text(w, "event", row->event);
        write_path(w, row);
        json_member_text(w, "kind", kind_of(row->mode));
        if (strcmp(row->event, "removed") != 0) {
                (void)snprintf(mode, sizeof mode, "%04o", (unsigned)(row->mode & 07777));
                json_member_text(w, "mode", mode);
        }
        if (changes_row_is_file(row)) {
                json_key(w, "bytes");
                json_uint(w, row->bytes);
        }
        if (row->sha256)
                json_member_text(w, "sha256", row->sha256);
        if (row->target)
                write_name(w, "target", row->target);
        if (row->error)
                json_member_text(w, "error", row->error);
        json_close_map(w);
}
