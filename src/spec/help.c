/*
 * spec/help.c - the field tables as a page for people.
 *
 * Room: spec (deciding, pure). Touches: mem.
 * Theory: one line a field, in the order of the tables, its path in full. Nothing about a field is known here.
 */
#include "spec/help.h"

#include <stdio.h>
#include <string.h>

#include "spec/provider.h"
#include "spec/section.h"

enum { PAGE_MAX = 65536, PATH_MAX_LEN = 128 };

struct page {
        char *text;
        size_t used;
};

__attribute__((format(printf, 2, 3))) static void
say(struct page *page, const char *fmt, ...)
{
        va_list ap;
        int len;

        va_start(ap, fmt);
        len = vsnprintf(page->text + page->used, PAGE_MAX - page->used, fmt, ap);
        va_end(ap);
        if (len > 0)
                page->used = page->used + (size_t)len < PAGE_MAX ? page->used + (size_t)len : PAGE_MAX - 1;
}

static void
type_say(struct page *page, const struct field *row)
{
        if (row->kind == FIELD_CHOICE) {
                for (const char *const *choice = row->choices; *choice; choice++)
                        say(page, "%s`%s`", choice == row->choices ? "" : " or ", *choice);
        } else if (row->kind == FIELD_UINT) {
                say(page, "integer, %llu to %llu", (unsigned long long)row->min, (unsigned long long)row->max);
        } else if (row->kind == FIELD_LIST && row->max) {
                say(page, "list, at most %llu", (unsigned long long)row->max);
        } else {
                say(page, "%s", field_kind_words(row->kind));
        }
}

static void
row_say(struct page *page, const char *path, const struct field *row)
{
        say(page, "| `%s` | ", path);
        type_say(page, row);
        if (row->kind == FIELD_UINT && row->fallback != SPEC_UNSET && !(row->flags & FIELD_OLD))
                say(page, "; default %llu", (unsigned long long)row->fallback);
        say(page, " | %s%s", row->flags & FIELD_REQUIRED ? "Required. " : "", row->help);
        if (row->flags & FIELD_OLD)
                say(page, " Another spelling: write `%s`.", row->instead);
        if (row->camel)
                say(page, " In JSON `%s`.", row->camel);
        say(page, " |\n");
}

static void
set_say(struct page *page, const char *prefix, const struct field_set *set)
{
        for (size_t i = 0; i < set->count; i++) {
                const struct field *row = &set->rows[i];
                const struct field *inner = row->kind == FIELD_LIST ? row->item : row;
                char path[PATH_MAX_LEN], below[PATH_MAX_LEN];

                if (row->kind == FIELD_UNSUPPORTED)
                        continue;
                (void)snprintf(path, sizeof path, "%s%s", prefix, row->name);
                row_say(page, path, row);
                if (!inner || inner->kind != FIELD_MAP || !inner->members)
                        continue;
                (void)snprintf(below, sizeof below, "%.*s%s.", (int)(sizeof below - 8), path,
                               row->kind == FIELD_LIST ? "[]" : "");
                set_say(page, below, inner->members);
        }
}

static void
table_say(struct page *page, const char *title, const char *prefix, const struct field_set *set)
{
        say(page, "\n## %s\n\n| field | value | meaning |\n|---|---|---|\n", title);
        set_say(page, prefix, set);
}

const char *
spec_help_text(struct arena *arena)
{
        struct page page = { arena_alloc(arena, PAGE_MAX), 0 };

        if (!page.text)
                return NULL;
        say(&page, "# The fields of a sandbox block\n\nMade from the tables in `src/spec/` by `spec_help_text()`; a test "
                   "holds the two together.\n`carrel schema` prints the same as JSON Schema.\n");
        table_say(&page, "The block", "", &block_set);
        for (size_t i = 0; i < provider_count; i++) {
                say(&page, "\n### `config` of `%s`\n\n%s", providers[i].id, providers[i].help);
                say(&page, " Goes at: %s.\n", providers[i].destroy_on ? providers[i].destroy_on : "nothing, until told");
                if (!providers[i].config) {
                        say(&page, "\nAny map.\n");
                        continue;
                }
                say(&page, "\n| field | value | meaning |\n|---|---|---|\n");
                set_say(&page, "config.", providers[i].config);
        }
        table_say(&page, "Carrel's own words", "metadata.carrel.", &carrel_set);
        return page.text;
}
