/*
 * bridge/process/directories.c - operations on directories and names, as requests to the provider's
 * program.
 *
 * Room: bridge/process (program). Touches: mem.
 * Theory: wire/file.h says what the box sends and expects. A listing comes in parts, sorted by
 * name: each part begins behind the last name, so a program that repeats itself is noticed. One
 * level of a directory is listed, not more.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bridge/process/relay.h"
#include "wire/file.h"

enum { NAME_LEN_MAX = 255, MODE_MAX = 07777, HELD_MAX = 2 * BRIDGE_DATA_MAX, MS_IN_NS = 1000000 };

static const struct kind {
        const char *word;
        uint32_t kind;
} kinds[] = { { "file", FILE_REGULAR },
              { "directory", FILE_DIRECTORY },
              { "link", FILE_LINK },
              { "fifo", FILE_FIFO },
              { "socket", FILE_SOCKET } };

/* -- entries ----------------------------------------------------------------------------------- */

static uint64_t
number_of(const struct node *entry, const char *member)
{
        const struct node *n = node_find(entry, member);

        return n && n->kind == NODE_INT && n->integer > 0 ? (uint64_t)n->integer : 0;
}

/* A text of 1 to `most` bytes without a NUL, or NULL. */
static const char *
text_of(const struct node *entry, const char *member, size_t most)
{
        const struct node *n = node_find(entry, member);

        return n && n->kind == NODE_STRING && n->len > 0 && n->len <= most &&
                               strlen(n->text) == n->len
                       ? n->text
                       : NULL;
}

/* 0, or EPROTO. */
static int
print_entry(struct task *t, const struct node *entry, const char *path)
{
        uint64_t mtime_ms = number_of(entry, "mtime_ms");
        struct file_entry e = { .size = number_of(entry, "size"),
                                .mtime_ns = mtime_ms <= INT64_MAX / MS_IN_NS
                                                    ? (int64_t)mtime_ms * MS_IN_NS
                                                    : INT64_MAX,
                                .mode = (uint32_t)number_of(entry, "mode") & MODE_MAX,
                                .path_len = (uint32_t)strlen(path) };
        const struct node *type = node_find(entry, "type");
        const char *target = text_of(entry, "target", FILE_PATH_MAX);

        for (size_t i = 0; type && i < sizeof kinds / sizeof *kinds; i++)
                if (node_is_text(type, kinds[i].word))
                        e.kind = kinds[i].kind;
        if (e.kind == 0)
                return EPROTO;
        e.target_len = e.kind == FILE_LINK && target ? (uint32_t)strlen(target) : 0;
        task_print(t, 0, &e, sizeof e);
        task_print(t, 0, path, e.path_len);
        if (e.target_len > 0)
                task_print(t, 0, target, e.target_len);
        return 0;
}

/* The listing ends here. For `page`, the place where the next one begins: in hexadecimal digits. */
static void
print_more(struct task *t)
{
        bool is_page = strcmp(t->words[0], "page") == 0;
        struct file_entry e = { .kind = FILE_MORE,
                                .path_len = is_page ? 2 * (uint32_t)strlen(t->after) : 0 };
        static const char digits[] = "0123456789abcdef";

        task_print(t, 0, &e, sizeof e);
        for (const char *at = t->after; is_page && *at != '\0'; at++)
                task_print(t, 0, (char[]){ digits[(unsigned char)*at >> 4], digits[*at & 15] }, 2);
}

/* -- requests ---------------------------------------------------------------------------------- */

static void
ask_list(struct task *t)
{
        struct json_writer w;

        if (!files_begin(t, &w, "list"))
                return;
        json_member_text(&w, "after", t->after);
        files_say(t, &w);
}

static int
digit_of(char c)
{
        return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The name that `hex` means, in memory of its own; NULL: it is none, or no memory. */
static char *
name_of(const char *hex)
{
        size_t len = strlen(hex);
        char *name = len % 2 == 0 && len <= 2 * NAME_LEN_MAX ? calloc(1, len / 2 + 1) : NULL;

        for (size_t i = 0; name && i < len; i += 2) {
                int high = digit_of(hex[i]), low = digit_of(hex[i + 1]);

                if (high < 0 || low < 0) {
                        free(name);
                        return NULL;
                }
                name[i / 2] = (char)(high << 4 | low);
        }
        return name;
}

static void
list(struct task *t)
{
        free(t->after);
        t->after = name_of(strcmp(t->words[0], "page") == 0 ? t->words[4] : "");
        t->left = strtoull(t->words[3], NULL, 10);
        if (!t->after || strcmp(t->words[2], "0") == 0)
                files_end(t, EINVAL);
        else if (strcmp(t->words[2], "1") != 0)
                files_end(t, EOPNOTSUPP);
        else
                ask_list(t);
}

static void
move(struct task *t)
{
        char *target = files_path(t, t->words[2], strlen(t->words[2]));
        struct json_writer w;

        if (!target || !files_is_sendable(target)) {
                files_end(t, target ? EILSEQ : ENOMEM);
        } else if (files_begin(t, &w, "rename")) {
                json_member_text(&w, "target", target);
                files_say(t, &w);
        }
        free(target);
}

static void
make(struct task *t)
{
        struct json_writer w;

        if (!files_begin(t, &w, "makeDirectory"))
                return;
        json_member_int(&w, "mode", strtol(t->words[2], NULL, 10));
        json_member_bool(&w, "parents", strcmp(t->words[3], "1") == 0);
        files_say(t, &w);
}

static void
take_away(struct task *t)
{
        struct json_writer w;

        if (!files_begin(t, &w, "remove"))
                return;
        json_member_bool(&w, "recursive", strcmp(t->words[2], "1") == 0);
        files_say(t, &w);
}

static void
look_at(struct task *t)
{
        struct json_writer w;

        if (files_begin(t, &w, "stat"))
                files_say(t, &w);
}

static const struct operation {
        const char *name;
        uint32_t argc;
        void (*send)(struct task *t);
} operations[] = { { "list", 4, list },  { "page", 5, list }, { "stat", 2, look_at },
                   { "mkdir", 4, make }, { "move", 3, move }, { "remove", 3, take_away } };

void
directories_send(struct task *t)
{
        for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
                if (strcmp(operations[i].name, t->words[0]) == 0 && operations[i].argc == t->argc) {
                        operations[i].send(t);
                        return;
                }
        files_end(t, EOPNOTSUPP);
}

/* -- answers ----------------------------------------------------------------------------------- */

/* 1: the listing has ended with this part. */
static int
print_part(struct task *t, const struct node *entries)
{
        node_each(entry, entries)
        {
                const char *name =
                        entry->kind == NODE_MAP ? text_of(entry, "name", NAME_LEN_MAX) : NULL;
                char *kept;

                if (!name || strchr(name, '/') || strcmp(name, t->after) <= 0)
                        return files_end(t, EPROTO), 1;
                if (t->left == 0) {
                        print_more(t);
                        return files_end(t, 0), 1;
                }
                if (print_entry(t, entry, name) != 0)
                        return files_end(t, EPROTO), 1;
                kept = strdup(name);
                if (!kept)
                        return files_end(t, ENOMEM), 1;
                free(t->after);
                t->after = kept;
                t->left--;
        }
        return 0;
}

static void
hear_list(struct task *t, const struct node *result)
{
        const struct node *entries = node_find(result, "entries"),
                          *more = node_find(result, "more");

        if (!entries || entries->kind != NODE_LIST || !more || more->kind != NODE_BOOL ||
            (more->boolean && entries->len == 0))
                files_end(t, EPROTO);
        else if (print_part(t, entries))
                return;
        else if (!more->boolean)
                files_end(t, 0);
        else if (t->out[0].pending.len > HELD_MAX)
                files_end(t, EIO); /* the box takes what was asked for; this one does not */
        else
                ask_list(t);
}

void
directories_heard(struct task *t, const struct node *result)
{
        const struct node *entry = node_find(result, "entry");

        if (strcmp(t->words[0], "list") == 0 || strcmp(t->words[0], "page") == 0)
                hear_list(t, result);
        else if (strcmp(t->words[0], "stat") != 0)
                files_end(t, 0);
        else if (!entry || entry->kind != NODE_MAP)
                files_end(t, EPROTO);
        else
                files_end(t, print_entry(t, entry, t->words[1]));
}
