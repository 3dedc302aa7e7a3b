/*
 * bridge/process/files.c - operations on files, as readFile and writeFile of the provider's
 * program.
 *
 * Room: bridge/process (program). Touches: fd, mem.
 * Theory: wire/file.h says what the box sends and expects. One request of an operation is open at a
 * time. A file of more than one message is written in parts, so it is not replaced in one step.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bridge/process/relay.h"
#include "text/utf8.h"
#include "wire/file.h"

enum { MODE_USUAL = 0644, HELD_MAX = 2 * BRIDGE_DATA_MAX };

void
files_end(struct task *t, int sys)
{
        if (sys != 0 && t->path)
                task_print(t, 1, t->path, strlen(t->path));
        task_end(t, CLD_EXITED, sys);
}

int
files_is_sendable(const char *path)
{
        return utf8_valid_len(path, strlen(path)) == strlen(path);
}

/* A relative path begins at the command's directory, if it has one. */
char *
files_path(const struct task *t, const char *path, size_t len)
{
        const char *cwd = t->words[t->argc + 1 + t->envc + 1];
        size_t room = (cwd ? strlen(cwd) : 0) + len + 2;
        char *joined = malloc(room);

        if (!joined)
                return NULL;
        joined[0] = '\0';
        if (len > 0 && path[0] != '/' && cwd && strcmp(cwd, "/") != 0) {
                (void)memccpy(joined, cwd, '\0', room);
                joined[strlen(cwd)] = '/';
                joined[strlen(cwd) + 1] = '\0';
        }
        return strncat(joined, path, len);
}

/* Begins the next request; 0: the operation has failed and ended. */
int
files_begin(struct task *t, struct json_writer *w, const char *kind)
{
        t->id = bridge_session_open(&t->relay->provider.session, 0);
        if (t->id == 0) {
                files_end(t, EAGAIN);
                return 0;
        }
        json_init(w, false);
        bridge_begin(w, kind, t->id);
        json_member_text(w, "path", t->path);
        return 1;
}

void
files_say(struct task *t, struct json_writer *w)
{
        bridge_end(w);
        provider_say(&t->relay->provider, w);
        json_fini(w);
}

/* -- read -------------------------------------------------------------------------------------- */

static void
ask_bytes(struct task *t)
{
        struct json_writer w;

        if (!files_begin(t, &w, "readFile"))
                return;
        json_member_int(&w, "offset", (int64_t)t->offset);
        json_member_int(&w, "length",
                        (int64_t)(t->left < BRIDGE_DATA_MAX ? t->left : BRIDGE_DATA_MAX));
        files_say(t, &w);
}

static void
hear_bytes(struct task *t, const struct node *result)
{
        const struct node *size = node_find(result, "size");
        struct file_info info = { .mode = MODE_USUAL, .kind = FILE_REGULAR };
        const void *bytes = NULL;
        struct arena arena;
        size_t len = 0;
        int is_wrong;

        arena_init(&arena, BRIDGE_ARENA_MAX);
        is_wrong = bridge_data_read(&arena, node_find(result, "data"), &bytes, &len) < 0 ||
                   len > t->left || !size || size->kind != NODE_INT || size->integer < 0;
        if (!is_wrong && !t->is_within) {
                info.size = (uint64_t)size->integer;
                task_print(t, 0, &info, sizeof info);
                t->is_within = 1;
        }
        if (!is_wrong && len > 0)
                task_print(t, 0, bytes, len);
        arena_fini(&arena);
        t->offset += len;
        t->left -= is_wrong ? 0 : len;
        if (is_wrong)
                files_end(t, EPROTO);
        else if (len == 0 || t->left == 0 || t->offset >= (uint64_t)size->integer)
                files_end(t, 0);
        else if (t->out[0].pending.len > HELD_MAX)
                files_end(t, EIO); /* the box takes what was asked for; this one does not */
        else
                ask_bytes(t);
}

/* -- write ------------------------------------------------------------------------------------- */

/* Sends the next part of the file that is being written. */
static void
put_part(struct task *t)
{
        size_t most = t->content.len < BRIDGE_DATA_MAX ? t->content.len : BRIDGE_DATA_MAX;
        size_t len = t->left < most ? (size_t)t->left : most;
        struct json_writer w;

        if (!files_begin(t, &w, "writeFile"))
                return;
        bridge_member_data(&w, "data", t->content.at + t->content.first, len);
        json_member_bool(&w, "append", t->is_within != 0);
        files_say(t, &w);
        bytes_drop(&t->content, len);
        t->left -= len;
        t->is_within = 1;
}

/* Reads the head of the next file. 1: a file begins; 0: more bytes are needed; -1: it has ended. */
static int
begin_file(struct task *t)
{
        const char *at = t->content.at + t->content.first;
        struct file_put put;
        int sys = 0;

        if (t->content.len < sizeof put)
                return 0;
        memcpy(&put, at, sizeof put);
        if (put.path_len > 0 && put.path_len <= FILE_PATH_MAX &&
            t->content.len < sizeof put + put.path_len)
                return 0;
        if (put.path_len > FILE_PATH_MAX)
                sys = EPROTO;
        if (put.path_len > 0 && sys == 0) {
                free(t->path);
                t->path = files_path(t, at + sizeof put, put.path_len);
                sys = !t->path ? ENOMEM : files_is_sendable(t->path) ? 0 : EILSEQ;
        }
        if (put.path_len == 0 || sys != 0) {
                files_end(t, sys);
                return -1;
        }
        bytes_drop(&t->content, sizeof put + put.path_len);
        t->left = put.len;
        t->is_within = 0;
        t->is_last = put.len == 0;
        return 1;
}

/* What to do with what was read so far. No request is open. */
static void
go_on(struct task *t)
{
        if (t->left == 0 && !t->is_last && begin_file(t) < 0)
                return;
        if (t->is_last || (t->left > 0 && t->content.len > 0)) {
                t->is_last = 0;
                put_part(t);
        } else if (t->has_input_ended) {
                files_end(t, ECANCELED);
        }
}

void
files_input(struct task *t)
{
        char *room = bytes_room(&t->content, BRIDGE_DATA_MAX);
        ssize_t got = room ? read(t->input, room, BRIDGE_DATA_MAX) : -1;

        if (got < 0 && room && (errno == EAGAIN || errno == EINTR))
                return;
        if (got > 0)
                t->content.len += (size_t)got;
        t->has_input_ended = got <= 0;
        /* while a part is on its way, no more than one other is read */
        (void)task_watch_input(t, t->content.len < HELD_MAX && got > 0);
        if (t->id == 0)
                go_on(t);
}

/* -- both -------------------------------------------------------------------------------------- */

void
files_send(struct task *t)
{
        const char *name = t->words[0];
        unsigned abilities = t->relay->provider.session.abilities;
        unsigned is_read = strcmp(name, "read") == 0 && t->argc == 4;

        task_say_started(t);
        if (t->argc > 1)
                t->path = files_path(t, t->words[1], strlen(t->words[1]));
        if (!is_read && strcmp(name, "write") != 0) {
                if ((abilities & 1u << BRIDGE_CAN_DIRECTORIES) == 0)
                        files_end(t, EOPNOTSUPP);
                else if (!t->path || !files_is_sendable(t->path))
                        files_end(t, EILSEQ);
                else
                        directories_send(t);
                return;
        }
        if ((abilities & 1u << BRIDGE_CAN_FILES) == 0) {
                files_end(t, EOPNOTSUPP);
                return;
        }
        if (!is_read) {
                task_begin_input(t);
                return;
        }
        t->offset = strtoull(t->words[2], NULL, 10);
        t->left = strtoull(t->words[3], NULL, 10);
        if (!t->path || !files_is_sendable(t->path))
                files_end(t, EILSEQ);
        else
                ask_bytes(t);
}

static int
errno_of(enum bridge_code code)
{
        return code == BRIDGE_CODE_NOT_FOUND     ? ENOENT
               : code == BRIDGE_CODE_EXISTS      ? EEXIST
               : code == BRIDGE_CODE_AUTH        ? EACCES
               : code == BRIDGE_CODE_INVALID     ? EINVAL
               : code == BRIDGE_CODE_UNSUPPORTED ? EOPNOTSUPP
                                                 : EIO;
}

void
files_heard(struct task *t, const struct bridge_message *m)
{
        t->id = 0;
        if (m->kind == BRIDGE_ERROR) {
                files_end(t, errno_of(m->code));
        } else if (strcmp(t->words[0], "read") == 0) {
                hear_bytes(t, m->result);
        } else if (strcmp(t->words[0], "write") != 0) {
                directories_heard(t, m->result);
        } else {
                if (!t->has_input_ended)
                        (void)task_watch_input(t, 1);
                go_on(t);
        }
}
