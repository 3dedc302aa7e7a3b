/*
 * sources/beneath.c - finds what is beneath a mount source.
 *
 * Room: sources (joining). Touches: two files of /proc.
 * Theory: the kernel lists every mount and every bound socket, so a search costs the same for a
 * huge tree as for an empty one. Mount paths are octal-escaped there (blank, tab, line end,
 * backslash); socket paths extend to the end of the line.
 */
#include "sources/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/below.h"
#include "base/scoped.h"

enum { FOUND_MAX = 64, PROC_FILE_MAX = 4 << 20, FIELD_MOUNT_POINT = 4, FIELD_SOCKET_PATH = 7 };

static const char *
field(const char *line, int index, size_t *ret_len)
{
        for (; index > 0; index--) {
                line += strcspn(line, " \n");
                while (*line == ' ')
                        line++;
        }
        *ret_len = strcspn(line, " \n");
        return line;
}

/* Decodes "\040" and similar, up to the largest byte; any other text is taken literally. */
static bool
is_escape(const char *text, size_t len)
{
        return len > 3 && text[0] == '\\' && text[1] >= '0' && text[1] <= '3' && text[2] >= '0' &&
               text[2] <= '7' && text[3] >= '0' && text[3] <= '7';
}

static char *
unescape(struct arena *arena, const char *text, size_t len)
{
        char *out = arena_copy(arena, text, len);
        size_t used = 0;

        for (size_t i = 0; out && i < len; i++) {
                if (is_escape(text + i, len - i)) {
                        out[used++] = (char)((text[i + 1] - '0') << 6 | (text[i + 2] - '0') << 3 |
                                             (text[i + 3] - '0'));
                        i += 3;
                } else {
                        out[used++] = text[i];
                }
        }
        if (out)
                out[used] = '\0';
        return out;
}

static const char *
next_line(const char *line)
{
        const char *end = line ? strchr(line, '\n') : NULL;

        return end ? end + 1 : NULL;
}

size_t
beneath_mounts(struct arena *arena, const char *mountinfo, const char *root, const char **ret,
               size_t room)
{
        size_t count = 0;

        for (const char *line = mountinfo; line && *line != '\0' && count < room;
             line = next_line(line)) {
                size_t len;
                const char *point = field(line, FIELD_MOUNT_POINT, &len);
                const char *path = unescape(arena, point, len);
                const char *below = path ? path_below(path, root) : NULL;

                if (below && *below != '\0')
                        ret[count++] = below;
        }
        return count;
}

size_t
beneath_sockets(struct arena *arena, const char *net_unix, const char *root, const char **ret,
                size_t room)
{
        size_t count = 0;

        for (const char *line = next_line(net_unix); line && *line != '\0' && count < room;
             line = next_line(line)) {
                size_t len;
                const char *at = field(line, FIELD_SOCKET_PATH, &len);
                const char *path = *at == '/' ? arena_copy(arena, at, strcspn(at, "\n")) : NULL;
                const char *below = path ? path_below(path, root) : NULL;

                if (below && *below != '\0')
                        ret[count++] = below;
        }
        return count;
}

static int
read_all(const char *path, char **ret, struct error *e)
{
        scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
        size_t used = 0, room = 16384;
        char *text = fd < 0 ? NULL : malloc(room);

        if (fd < 0)
                return fail_sys(e, ERROR_MOUNT_UNRESOLVABLE, errno, "reading %s", path);
        while (text && used < PROC_FILE_MAX) {
                ssize_t got = read(fd, text + used, room - used - 1);
                char *grown;

                if (got <= 0) {
                        text[used] = '\0';
                        *ret = text;
                        return 0;
                }
                used += (size_t)got;
                if (room - used < 4096) {
                        grown = realloc(text, room *= 2);
                        if (!grown)
                                break;
                        text = grown;
                }
        }
        free(text);
        return fail(e, ERROR_NO_MEMORY, "no memory for %s", path);
}

static int
find(struct arena *arena, const char *file, const char *root,
     size_t (*parse)(struct arena *, const char *, const char *, const char **, size_t),
     const char *const **ret, size_t *ret_count, struct error *e)
{
        const char **found = arena_array(arena, const char *, FOUND_MAX + 1);
        char *text = NULL;

        if (!found || read_all(file, &text, e) < 0)
                return found ? -1 : fail(e, ERROR_NO_MEMORY, "no memory to look beneath a mount");
        *ret_count = parse(arena, text, root, found, FOUND_MAX + 1);
        free(text);
        *ret = found;
        if (*ret_count > FOUND_MAX)
                return fail(e, ERROR_QUOTA_EXCEEDED,
                            "more than %d mounts or sockets lie beneath %.200s", FOUND_MAX, root);
        return arena_is_full(arena) ? fail(e, ERROR_NO_MEMORY, "no memory to look beneath a mount")
                                    : 0;
}

int
beneath_look(struct arena *arena, struct plan_source *source, struct error *e)
{
        if (!source->is_directory)
                return 0;
        if (find(arena, "/proc/self/mountinfo", source->host_path, beneath_mounts,
                 &source->submounts, &source->submount_count, e) < 0)
                return -1;
        if (access("/proc/net/unix", R_OK) < 0)
                return 0;
        return find(arena, "/proc/net/unix", source->host_path, beneath_sockets, &source->sockets,
                    &source->socket_count, e);
}
