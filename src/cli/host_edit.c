/*
 * cli/host_edit.c - adds a value to a list in a host file.
 *
 * Room: cli (joining). Touches: mem.
 * Theory: the text is not rewritten. One line, or a few bytes, are inserted at a position from the
 * YAML reader. Then the whole text is read again and compared with the old values. If that fails
 * the edit is refused, never guessed. JSON is edited as YAML, which it is.
 */
#include "cli/host_edit.h"

#include <stdio.h>
#include <string.h>

#include "text/json.h"
#include "text/yaml.h"

static const struct text_limits limits = { 1024 * 1024, 32, 65536 };
static const char head[] = "# Rules of this host for Carrel: docs/HOST.md. `carrel check --host "
                           "FILE` checks this file.\n";

struct edit {
        struct arena *arena;
        const char *text;
        size_t len;
        const struct node *root;
        struct node value;
        const char *key, *quoted; /* the value as JSON, which is YAML too */
};

static const char *
quote(struct arena *arena, const char *value)
{
        struct json_writer w;
        const char *copy;

        json_init(&w, false);
        json_text(&w, value);
        copy = w.is_broken ? NULL : arena_copy(arena, w.text, w.len);
        json_fini(&w);
        return copy;
}

/* The start of a line; the end of the text past the last. */
static size_t
line_start(const struct edit *d, unsigned line)
{
        size_t at = 0;

        while (line > 1 && at < d->len) {
                const char *end = memchr(d->text + at, '\n', d->len - at);

                at = end ? (size_t)(end - d->text) + 1 : d->len;
                line--;
        }
        return at;
}

static size_t
place(const struct edit *d, unsigned line, unsigned column)
{
        size_t at = line_start(d, line) + column - 1;

        return at < d->len ? at : d->len;
}

static const char *
insert(const struct edit *d, size_t at, const char *piece)
{
        return arena_format(d->arena, "%.*s%s%s", (int)at, d->text, piece, d->text + at);
}

/* -- the places -------------------------------------------------------------------------------- */

/* Adds a new key: at the front within braces, else at the end. */
static const char *
add_key(const struct edit *d)
{
        bool ends_line = d->len == 0 || d->text[d->len - 1] == '\n';

        if (d->root && d->text[place(d, d->root->line, d->root->column)] == '{')
                return insert(d, place(d, d->root->line, d->root->column) + 1,
                              arena_format(d->arena, "\"%s\": [%s]%s", d->key, d->quoted,
                                           d->root->len > 0 ? ", " : ""));
        return arena_format(d->arena, "%s%s%s%s:\n  - %s\n", d->len == 0 ? head : "", d->text,
                            ends_line ? "" : "\n", d->key, d->quoted);
}

static const char *
add_item(const struct edit *d, const struct node *list)
{
        size_t at = place(d, list->line, list->column), start, end;
        const struct node *last = list->first;

        if (d->text[at] == '[')
                return insert(d, at + 1,
                              arena_format(d->arena, "%s%s", d->quoted, list->len > 0 ? ", " : ""));
        while (last && last->next)
                last = last->next;
        if (!last)
                return NULL;
        start = line_start(d, last->line);
        end = line_start(d, last->line + 1);
        at = start + strspn(d->text + start, " ");
        if (d->text[at] != '-')
                return NULL;
        return insert(d, end,
                      arena_format(d->arena, "%s%.*s- %s\n", d->text[end - 1] == '\n' ? "" : "\n",
                                   (int)(at - start), d->text + start, d->quoted));
}

/* -- before and after -------------------------------------------------------------------------- */

static bool
is_same(const struct node *left, const struct node *right)
{
        const struct node *l = left->first, *r = right->first;

        if (left->kind != right->kind || left->len != right->len)
                return false;
        if (left->kind != NODE_LIST && left->kind != NODE_MAP)
                return memcmp(left->text, right->text, left->len) == 0;
        for (; l && r; l = l->next, r = r->next)
                if ((l->key && strcmp(l->key, r->key) != 0) || !is_same(l, r))
                        return false;
        return !l && !r;
}

static bool
has_value(const struct node *list, const struct node *value)
{
        node_each(item, list) if (is_same(item, value)) return true;
        return false;
}

/* Is `after` the list `before` (NULL: none) plus the value, in any order? */
static bool
is_one_more(const struct node *before, const struct node *after, const struct node *value)
{
        size_t others = 0;

        if (!after || after->kind != NODE_LIST || !has_value(after, value) ||
            after->len != (before ? before->len : 0) + 1)
                return false;
        node_each(item, after)
        {
                bool is_old = false;

                for (const struct node *old = before ? before->first : NULL; old; old = old->next)
                        is_old = is_old || is_same(old, item);
                others += is_old;
        }
        return others + 1 == after->len;
}

static bool
is_kept(const struct edit *d, const struct node *after)
{
        const struct node *list = d->root ? node_find(d->root, d->key) : NULL;
        size_t before_len = d->root ? d->root->len : 0;

        if (after->kind != NODE_MAP || after->len != before_len + (list ? 0 : 1) ||
            !is_one_more(list, node_find(after, d->key), &d->value))
                return false;
        for (const struct node *old = d->root ? d->root->first : NULL; old; old = old->next)
                if (old != list &&
                    (!node_find(after, old->key) || !is_same(old, node_find(after, old->key))))
                        return false;
        return true;
}

static int
uneditable(const struct edit *d, struct error *e)
{
        (void)fail_at(e, ERROR_INVALID_ARGUMENT, d->key, "uneditable",
                      "this file cannot be changed without losing something of it");
        error_hint(e, "Add %.150s to the list %.40s by hand.", d->quoted, d->key);
        return -1;
}

int
host_edit_add(struct arena *arena, const char *text, size_t len, const char *key, const char *value,
              bool is_number, const char **ret, bool *ret_is_changed, struct error *e)
{
        struct edit d = { .arena = arena,
                          .text = text,
                          .len = len,
                          .key = key,
                          .quoted = is_number ? value : quote(arena, value),
                          .value = { .kind = is_number ? NODE_INT : NODE_STRING,
                                     .text = value,
                                     .len = strlen(value) } };
        const struct node *list, *after;
        const char *edited;
        struct error again;

        if (!d.quoted)
                return fail(e, ERROR_NO_MEMORY, "no memory for a host file");
        if (len > 0 && yaml_read(arena, text, len, 1, &limits, &d.root, e) < 0 &&
            strcmp(e->reason, "empty") != 0)
                return -1;
        list = d.root ? node_find(d.root, key) : NULL;
        *ret = text;
        *ret_is_changed = false;
        if (list && list->kind == NODE_LIST && has_value(list, &d.value))
                return 0;
        if ((d.root && d.root->kind != NODE_MAP) || (list && list->kind != NODE_LIST))
                return uneditable(&d, e);
        edited = list ? add_item(&d, list) : add_key(&d);
        if (!edited || yaml_read(arena, edited, strlen(edited), 1, &limits, &after, &again) < 0 ||
            !is_kept(&d, after))
                return arena_is_full(arena) ? fail(e, ERROR_NO_MEMORY, "no memory for a host file")
                                            : uneditable(&d, e);
        *ret = edited;
        *ret_is_changed = true;
        return 0;
}
