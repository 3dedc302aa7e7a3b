/*
 * keeper/put_list.c - the list of files that a call wrote, for the audit log.
 *
 * Room: keeper (joining). Touches: a file in memory.
 * Theory: the box made the list from the caller's bytes. So a path is anything, and a list that
 * ends in the middle of a file is one without its end.
 */
#include "keeper/put_list.h"

#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "recorder/words.h"
#include "text/utf8.h"
#include "wire/box.h"
#include "wire/file.h"

enum { FILE_ROOM = 192 /* bytes of an entry for each file, without its path */ };

static bool
read_at(int fd, void *bytes, size_t len, uint64_t *at)
{
        ssize_t got = fd >= 0 ? pread(fd, bytes, len, (off_t)*at) : -1;

        *at += len;
        return got >= 0 && (size_t)got == len;
}

static void
write_file(struct json_writer *w, const struct wire_box_put *put, const char *path,
           const unsigned char sum[BOX_SUM_LEN])
{
        json_open_map(w);
        json_key(w, "path");
        json_bytes(w, path, put->path_len);
        if (utf8_valid_len(path, put->path_len) != put->path_len ||
            memchr(path, '\0', put->path_len))
                json_member_bool(w, "exact", false); /* the path has other bytes */
        if ((put->flags & FILE_PUT_MODE) != 0)
                json_member_int(w, "mode", put->mode);
        json_key(w, "bytes");
        json_uint(w, put->bytes);
        recorder_write_sum(w, "sha256", sum);
        json_close_map(w);
}

void
put_list_write(int fd, bool is_whole, struct json_writer *w)
{
        struct wire_box_put put = { .path_len = 0 };
        char path[FILE_PATH_MAX];
        unsigned char sum[BOX_SUM_LEN];
        uint64_t at = 0, more = 0;
        size_t shown = 0;
        bool is_complete = false;

        json_key(w, "files");
        json_open_list(w);
        while (read_at(fd, &put, sizeof put, &at) && !is_complete) {
                is_complete = put.path_len == 0;
                if (is_complete || put.path_len > sizeof path ||
                    !read_at(fd, path, put.path_len, &at) || !read_at(fd, sum, sizeof sum, &at))
                        break;
                shown += put.path_len + FILE_ROOM;
                if (shown <= PUT_LIST_SHOWN)
                        write_file(w, &put, path, sum);
                else
                        more++;
        }
        json_close_list(w);
        if (more > 0) {
                json_key(w, "more");
                json_uint(w, more);
        }
        if (is_whole)
                json_member_bool(w, "complete", is_complete);
}
