/*
 * cli/audit_call.c - recorded calls that change files, for `carrel audit replay`.
 *
 * Room: cli (joining). Touches: files in memory, the audit log.
 * Theory: the start of a call has the words of its function (wire/file.h), and the end of one that
 * writes has a list of its files, whose contents are one content, with a newline between two. So
 * the input that the function had can be written again.
 */
#include "cli/audit_call.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "audit/content.h"
#include "base/scoped.h"
#include "base/write_all.h"
#include "wire/file.h"

enum { PLACE_ROOM = 2 * PATH_MAX };

static bool
writes(const struct recording *r)
{
        return strcmp(r->operation, "file.write") == 0;
}

static bool
says_no(const struct node *map, const char *key)
{
        const char *text = recording_text(map, key);

        return text && strcmp(text, "false") == 0;
}

static uint64_t
number_of(const struct node *map, const char *key)
{
        const struct node *n = node_find(map, key);

        return n && n->kind == NODE_INT ? (uint64_t)n->integer : 0;
}

/* The sandbox also refuses files that were not announced before it writes any. */
bool
audit_call_changed_nothing(const struct recording *r)
{
        return r->operation && writes(r) &&
               (says_no(r->ended, "complete") || number_of(r->ended, "exit_code") == EKEYREJECTED);
}

/* -- can it be made again? --------------------------------------------------------------------- */

static const char *
why_not_files(const struct recording *r)
{
        const struct node *content = recording_stream(r, "stdin"),
                          *files = node_find(r->ended, "files");

        if (!files || files->kind != NODE_LIST || !recording_says(r->ended, "complete"))
                return "a call wrote files in its sandbox, and what it wrote was not recorded";
        if (node_find(r->ended, "more"))
                return "a call wrote more files in its sandbox than its record names";
        if (!recording_text(content, "sha256"))
                return "a call wrote files in its sandbox, and their content was not kept";
        if (recording_says(content, "truncated"))
                return "a call wrote more than 8 MiB in its sandbox, and only the beginning was "
                       "kept";
        if (node_find(content, "redacted"))
                return "a call wrote files in its sandbox, and something was redacted in them";
        node_each(file, files)
        {
                const char *path = recording_text(file, "path");

                if (!path || says_no(file, "exact") || strstr(path, "[redacted:"))
                        return "a call wrote a file in its sandbox whose path is not completely "
                               "recorded";
        }
        return NULL;
}

const char *
audit_call_why_not(const struct recording *r)
{
        const char *outcome = recording_text(r->ended, "outcome");

        if (!outcome || strcmp(outcome, "exited") != 0)
                return "a call that changes files in its sandbox was cut off";
        return writes(r) ? why_not_files(r) : NULL;
}

/* -- its input --------------------------------------------------------------------------------- */

static int
disagree(struct error *e)
{
        return fail_at(e, ERROR_AUDIT_BROKEN, NULL, "content.tampered",
                       "the list of files of a call and their content do not agree");
}

static int
write_file(int fd, const struct node *file, const char *bytes, size_t len, struct error *e)
{
        const struct node *mode = node_find(file, "mode");
        const char *path = recording_text(file, "path");
        struct file_put put = { .len = len,
                                .path_len = (uint32_t)strlen(path),
                                .mode = mode ? (uint32_t)mode->integer : 0,
                                .flags = mode ? FILE_PUT_MODE : 0 };

        return write_all(fd, &put, sizeof put) < 0 || write_all(fd, path, put.path_len) < 0 ||
                               write_all(fd, bytes, len) < 0
                       ? fail_sys(e, ERROR_BACKEND_FAILED, errno, "writing a file in memory")
                       : 0;
}

static int
write_files(int fd, const struct recording *r, const struct buffer *content, struct error *e)
{
        const struct file_put end = { .path_len = 0 };
        const struct node *files = node_find(r->ended, "files");
        size_t at = 0;

        node_each(file, files)
        {
                uint64_t len = number_of(file, "bytes");

                if (file != files->first)
                        at++; /* the newline */
                if (at > content->len || len > content->len - at)
                        return disagree(e);
                if (write_file(fd, file, content->len > 0 ? content->bytes + at : "", len, e) < 0)
                        return -1;
                at += len;
        }
        if (at != content->len)
                return disagree(e);
        return write_all(fd, &end, sizeof end) < 0
                       ? fail_sys(e, ERROR_BACKEND_FAILED, errno, "writing a file in memory")
                       : 0;
}

int
audit_call_open_input(const struct audit_log *log, const struct recording *r, struct error *e)
{
        scoped_fd int fd = memfd_create("files", MFD_CLOEXEC);
        struct buffer content = { 0 };
        int result =
                fd < 0 ? fail_sys(e, ERROR_BACKEND_FAILED, errno, "creating a file in memory") : 0;

        if (result == 0 && writes(r))
                result = audit_content_read(
                        log, recording_text(recording_stream(r, "stdin"), "sha256"), &content, e);
        if (result == 0 && writes(r))
                result = write_files(fd, r, &content, e);
        if (result == 0 && lseek(fd, 0, SEEK_SET) < 0)
                result = fail_sys(e, ERROR_BACKEND_FAILED, errno, "reading a file in memory");
        buffer_fini(&content);
        return result < 0 ? -1 : fd_take(&fd);
}

/* -- what it changed --------------------------------------------------------------------------- */

/* The path as rows have it. false: it goes up, or is too long. */
static bool
place(const struct recording *r, const char *path, char ret[PLACE_ROOM])
{
        const char *cwd = recording_text(r->started, "cwd");
        char joined[PLACE_ROOM], *save = NULL;
        size_t at = 0;
        int len = path[0] == '/' ? snprintf(joined, sizeof joined, "%s", path)
                                 : snprintf(joined, sizeof joined, "%s/%s", cwd ? cwd : "", path);

        if (len < 0 || (size_t)len >= sizeof joined)
                return false;
        ret[0] = '\0';
        for (const char *name = strtok_r(joined, "/", &save); name;
             name = strtok_r(NULL, "/", &save)) {
                if (strcmp(name, "..") == 0)
                        return false;
                if (strcmp(name, ".") != 0)
                        at += (size_t)snprintf(ret + at, PLACE_ROOM - at, "/%s", name);
        }
        return true;
}

/* Is `path` the place, or below it? */
static bool
is_below(const char *path, const char *place)
{
        size_t len = strlen(place);

        return strncmp(path, place, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

static const char *
word_of(const struct recording *r, size_t which)
{
        const struct node *argv = node_find(r->started, "argv");
        size_t i = 0;

        node_each(word, argv)
        {
                if (i++ == which)
                        return word->text;
        }
        return "";
}

enum touch { NOTHING, OTHERWISE, EXPLAINED };

/* A directory that was not there, on the way to a place? */
static bool
is_made_for(const struct node *row, const char *path, const char *place)
{
        const char *kind = recording_text(row, "kind"), *event = recording_text(row, "event");

        return kind && strcmp(kind, "directory") == 0 && strcmp(event, "added") == 0 &&
               is_below(place, path);
}

/* A file that the call wrote: with this content? A write makes missing directories, too. */
static enum touch
touch_of_write(const struct recording *r, const struct node *row, const char *path)
{
        const char *sha256 = recording_text(row, "sha256");
        enum touch found = NOTHING;
        char at[PLACE_ROOM];

        node_each(file, node_find(r->ended, "files"))
        {
                const char *written = recording_text(file, "sha256");

                if (!place(r, recording_text(file, "path"), at))
                        continue;
                if (is_made_for(row, path, at))
                        return EXPLAINED;
                if (strcmp(at, path) != 0)
                        continue;
                found = sha256 && written && strcmp(sha256, written) == 0 ? EXPLAINED : OTHERWISE;
        }
        return found;
}

static enum touch
touch_of(const struct recording *r, const struct node *row)
{
        const char *path = recording_text(row, "path"), *event = recording_text(row, "event");
        char from[PLACE_ROOM], to[PLACE_ROOM];
        bool is_removed = event && strcmp(event, "removed") == 0;

        if (!path || !event)
                return NOTHING;
        if (writes(r))
                return touch_of_write(r, row, path);
        if (!place(r, word_of(r, 1), from))
                return NOTHING;
        if (strcmp(r->operation, "file.mkdir") == 0)
                return is_made_for(row, path, from) ? EXPLAINED : NOTHING;
        if (is_below(path, from))
                return is_removed ? EXPLAINED : OTHERWISE;
        return strcmp(r->operation, "file.move") == 0 && place(r, word_of(r, 2), to) &&
                               is_below(path, to)
                       ? EXPLAINED
                       : NOTHING;
}

/* The last call before the row that touched the name decides. */
bool
audit_call_explains(const struct recordings *all, const struct node *row, uint64_t seq)
{
        for (size_t i = all->count; i-- > 0;) {
                const struct recording *r = &all->of[i];
                enum touch touch = r->operation && r->start < seq ? touch_of(r, row) : NOTHING;

                if (touch != NOTHING)
                        return touch == EXPLAINED;
        }
        return false;
}
