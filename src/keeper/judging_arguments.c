/*
 * keeper/judging_arguments.c - the arguments of an operation as validators see them.
 *
 * Room: keeper (joining). Touches: mem.
 * Theory: the bytes of files do not pass through the keeper, unless a rule names `content`. The
 * caller of file.write announces size and path of each file; the sandbox writes these and no others
 * (guest/write.c). A call that has the content is the input of the sandbox itself: what was judged
 * is sent, by the keeper.
 */
#include "keeper/judging_arguments.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "text/utf8.h"
#include "wire/file.h"

/* Which parameters of an operation are arguments of the tool. */
static const uint16_t arguments[] = { FIELD_LANGUAGE, FIELD_SOURCE,   FIELD_PATH,
                                      FIELD_TARGET,   FIELD_MODE,     FIELD_RECURSIVE,
                                      FIELD_PORT,     FIELD_DURATION, FIELD_EGRESS };

static bool
is_argument(const struct operation *o, uint16_t tag)
{
        if (o->method && strcmp(o->method, "PATCH") == 0) /* all that it changes */
                return tag != FIELD_ID;
        for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++)
                if (arguments[i] == tag)
                        return true;
        return false;
}

static bool
has_files(const struct call *c)
{
        return (c->op->flags & OPERATION_FILES) != 0;
}

bool
judging_has_arguments(const struct call *c)
{
        struct record_entry entry;

        if (has_files(c))
                return record_find(&c->record, FIELD_WRITES, &entry) > 0 ||
                       record_find(&c->record, FIELD_INPUT, &entry) > 0;
        for (size_t i = 0; i < c->op->param_count; i++)
                if (is_argument(c->op, c->op->params[i].tag))
                        return true;
        return false;
}

/* -- values ------------------------------------------------------------------------------------ */

static struct node *
add(struct arena *arena, struct node *to, const char *key, enum node_kind kind)
{
        struct node *n = arena_new(arena, struct node);
        const struct node **at = &to->first;

        if (!n)
                return NULL;
        n->kind = kind;
        n->key = key;
        while (*at)
                at = (const struct node **)&(*at)->next;
        *at = n;
        to->len++;
        return n;
}

static void
set_number(struct arena *arena, struct node *n, uint64_t value)
{
        const char *text = arena_format(arena, "%" PRIu64, value);

        n->kind = value <= INT64_MAX ? NODE_INT : NODE_FLOAT;
        n->integer = value <= INT64_MAX ? (int64_t)value : 0;
        n->real = (double)value;
        n->text = text ? text : "";
        n->len = strlen(n->text);
}

static void
set_text(struct node *n, const char *text)
{
        n->text = text;
        n->len = strlen(text);
}

static void
set_entry(struct arena *arena, struct node *n, const struct record_entry *entry)
{
        if (entry->type == RECORD_UINT) {
                set_number(arena, n, *(const uint64_t *)entry->value);
        } else if (entry->type == RECORD_BOOL) {
                n->kind = NODE_BOOL;
                n->boolean = *(const uint64_t *)entry->value != 0;
                set_text(n, n->boolean ? "true" : "false");
        } else {
                set_text(n, entry->value);
        }
}

/* A list that has no entry is an empty list: nothing is allowed any more. */
static bool
add_parameter(struct arena *arena, struct node *map, const struct call *c,
              const struct api_param *param)
{
        const char *name = api_field(param->tag)->name;
        struct node *to = map;
        struct record_entry entry;
        size_t at = 0;

        if ((param->flags & PARAM_REPEATED) != 0 && !(to = add(arena, map, name, NODE_LIST)))
                return false;
        while (record_next(&c->record, &at, &entry) > 0) {
                struct node *n = NULL;

                if (entry.tag != param->tag)
                        continue;
                n = add(arena, to, to == map ? name : NULL, NODE_STRING);
                if (!n)
                        return false;
                set_entry(arena, n, &entry);
        }
        return true;
}

/* -- file.write -------------------------------------------------------------------------------- */

/* "12 /workspace/a" */
static int
add_file(struct arena *arena, struct node *list, const char *written, struct error *e)
{
        char *end = NULL;
        unsigned long long size = strtoull(written, &end, 10);
        struct node *map, *path, *bytes;

        if (*written < '0' || *written > '9' || *end != ' ' || end[1] == '\0')
                return fail_at(e, ERROR_INVALID_ARGUMENT, "writes", "value",
                               "a file is announced by its size and its path");
        map = add(arena, list, NULL, NODE_MAP);
        path = map ? add(arena, map, "path", NODE_STRING) : NULL;
        bytes = path ? add(arena, map, "size", NODE_INT) : NULL;
        if (!bytes)
                return fail(e, ERROR_NO_MEMORY, "no memory to judge a call");
        set_text(path, end + 1);
        set_number(arena, bytes, size);
        return 0;
}

static bool
is_text(const char *bytes, size_t len)
{
        return !memchr(bytes, '\0', len) && utf8_valid_len(bytes, len) == len;
}

static int
not_judged(const char *reason, const char *sentence, struct error *e)
{
        (void)fail_at(e, ERROR_POLICY_DENIED, "commands/validators", reason, "%s", sentence);
        error_hint(e, "Nothing was written.");
        return -1;
}

/* One file of the input of a write. */
static int
add_given(struct arena *arena, struct node *list, const struct file_put *put, const char *path,
          const char *content, struct error *e)
{
        const char *copy[2] = { arena_copy(arena, path, put->path_len),
                                arena_copy(arena, content, put->len) };
        struct node *map, *texts[2], *bytes;

        if (!is_text(path, put->path_len))
                return not_judged("content_path", "a rule judges the path, which is no text", e);
        if (!is_text(content, put->len))
                return not_judged("content_binary",
                                  "a rule judges the content of each file, and this one is no "
                                  "text: it has bytes that are not UTF-8, or a NUL",
                                  e);
        map = add(arena, list, NULL, NODE_MAP);
        texts[0] = map ? add(arena, map, "path", NODE_STRING) : NULL;
        bytes = texts[0] ? add(arena, map, "size", NODE_INT) : NULL;
        texts[1] = bytes ? add(arena, map, "content", NODE_STRING) : NULL;
        if (!texts[1] || !copy[0] || !copy[1])
                return fail(e, ERROR_NO_MEMORY, "no memory to judge a call");
        set_text(texts[0], copy[0]);
        set_text(texts[1], copy[1]);
        set_number(arena, bytes, put->len);
        return 0;
}

/* Nothing that was not judged may follow: its last struct ends it. */
static int
add_input(struct arena *arena, struct node *list, const char *input, size_t len, struct error *e)
{
        struct file_put put = { .path_len = 1 };
        size_t at = 0;

        list->kind = NODE_LIST;
        while (put.path_len > 0) {
                if (len - at < sizeof put)
                        break;
                memcpy(&put, input + at, sizeof put);
                at += sizeof put;
                if (put.path_len == 0 && at == len)
                        return 0;
                if (put.path_len == 0 || put.path_len > len - at ||
                    put.len > len - at - put.path_len)
                        break;
                if (add_given(arena, list, &put, input + at, input + at + put.path_len, e) < 0)
                        return -1;
                at += put.path_len + put.len;
        }
        return fail_at(e, ERROR_INVALID_ARGUMENT, "input", "value",
                       "the files of a write are malformed");
}

static int
add_files(struct arena *arena, struct node *list, const struct call *c, struct error *e)
{
        struct record_entry entry;
        size_t at = 0;

        if (record_find(&c->record, FIELD_INPUT, &entry) > 0)
                return add_input(arena, list, entry.value, entry.len, e);
        list->kind = NODE_LIST;
        while (record_next(&c->record, &at, &entry) > 0)
                if (entry.tag == FIELD_WRITES && add_file(arena, list, entry.value, e) < 0)
                        return -1;
        return 0;
}

uint64_t
judging_announced_len(const struct call *c)
{
        uint64_t len = sizeof(struct file_put);
        struct record_entry entry;
        size_t at = 0;

        while (record_next(&c->record, &at, &entry) > 0)
                if (entry.tag == FIELD_WRITES) {
                        char *end = NULL;
                        uint64_t size = strtoull(entry.value, &end, 10);

                        size = size < UINT32_MAX ? size : UINT32_MAX;
                        len += sizeof(struct file_put) + size + strlen(end) - (*end == ' ');
                }
        return len;
}

int
judging_arguments(struct arena *arena, const struct call *c, const struct node **ret,
                  struct error *e)
{
        struct node *map = arena_new(arena, struct node);

        if (!map)
                return fail(e, ERROR_NO_MEMORY, "no memory to judge a call");
        map->kind = NODE_MAP;
        *ret = map;
        if (has_files(c))
                return add_files(arena, map, c, e);
        for (size_t i = 0; i < c->op->param_count; i++)
                if (is_argument(c->op, c->op->params[i].tag) &&
                    !add_parameter(arena, map, c, &c->op->params[i]))
                        return fail(e, ERROR_NO_MEMORY, "no memory to judge a call");
        return 0;
}
