/*
 * spec/help.c - the field tables as reference text.
 *
 * Room: spec (deciding, pure). Touches: mem.
 * Theory: one line for each field, in the order of the tables, with its full path. This file knows
 * no single field.
 */
#include "spec/help.h"

#include <stdio.h>
#include <string.h>

#include "spec/provider.h"
#include "spec/section.h"

enum { PAGE_MAX = 65536, PATH_MAX_LEN = 128, VALUE_MAX = 512, MEANING_MAX = 1024 };

struct page {
        char *text;
        size_t used;
        bool has_table;
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
                page->used = page->used + (size_t)len < PAGE_MAX ? page->used + (size_t)len
                                                                 : PAGE_MAX - 1;
}

/* The row that is being built for the caller. */
struct visit {
        spec_help_visit *call;
        void *ctx;
};

static void add(char *text, size_t size, const char *fmt, ...)
        __attribute__((format(printf, 3, 4)));

static void
add(char *text, size_t size, const char *fmt, ...)
{
        size_t used = strlen(text);
        va_list ap;

        va_start(ap, fmt);
        (void)vsnprintf(text + used, size - used, fmt, ap);
        va_end(ap);
}

static void
value_make(char *text, size_t size, const struct field *row)
{
        if (row->kind == FIELD_CHOICE) {
                for (const char *const *choice = row->choices; *choice; choice++)
                        add(text, size, "%s`%s`", choice == row->choices ? "" : " or ", *choice);
        } else if (row->kind == FIELD_UINT) {
                add(text, size, "integer, %llu to %llu", (unsigned long long)row->min,
                    (unsigned long long)row->max);
        } else if (row->kind == FIELD_LIST && row->max) {
                add(text, size, "list, at most %llu", (unsigned long long)row->max);
        } else {
                add(text, size, "%s", field_kind_words(row->kind));
        }
        if (row->unwritten)
                add(text, size, "; default: %s", row->unwritten);
        else if (row->kind == FIELD_UINT && row->fallback != SPEC_UNSET &&
                 !(row->flags & FIELD_OLD))
                add(text, size, "; default %llu", (unsigned long long)row->fallback);
}

static void
row_visit(const struct visit *v, const char *path, const struct field *row)
{
        char value[VALUE_MAX] = "", meaning[MEANING_MAX] = "";
        struct spec_help_row out = { .path = path, .value = value, .meaning = meaning };

        value_make(value, sizeof value, row);
        add(meaning, sizeof meaning, "%s%s", row->flags & FIELD_REQUIRED ? "Required. " : "",
            row->help);
        if (row->flags & FIELD_OLD)
                add(meaning, sizeof meaning, " Another spelling: write `%s`.", row->instead);
        if (row->camel)
                add(meaning, sizeof meaning, " In JSON `%s`.", row->camel);
        v->call(v->ctx, &out);
}

static void
set_visit(const struct visit *v, const char *prefix, const struct field_set *set)
{
        for (size_t i = 0; i < set->count; i++) {
                const struct field *row = &set->rows[i];
                const struct field *inner = row->kind == FIELD_LIST ? row->item : row;
                char path[PATH_MAX_LEN], below[PATH_MAX_LEN];

                if (row->kind == FIELD_UNSUPPORTED)
                        continue;
                (void)snprintf(path, sizeof path, "%s%s", prefix, row->name);
                row_visit(v, path, row);
                if (!inner || inner->kind != FIELD_MAP || !inner->members)
                        continue;
                (void)snprintf(below, sizeof below, "%.*s%s.", (int)(sizeof below - 8), path,
                               row->kind == FIELD_LIST ? "[]" : "");
                set_visit(v, below, inner->members);
        }
}

static void
title_visit(const struct visit *v, const char *title, bool is_part, const char *intro)
{
        struct spec_help_row out = { .title = title, .is_part = is_part, .meaning = intro };

        v->call(v->ctx, &out);
}

static void
provider_visit(const struct visit *v, size_t i)
{
        char title[PATH_MAX_LEN], intro[MEANING_MAX];

        (void)snprintf(title, sizeof title, "`config` of `%s`", providers[i].id);
        (void)snprintf(intro, sizeof intro, "%s%s Destroyed: %s.%s",
                       providers[i].engine != PROVIDER_ENGINE_NONE
                               ? ""
                               : "Not implemented in this version: such a manifest is checked, and "
                                 "not run. ",
                       providers[i].help,
                       providers[i].destroy_on ? providers[i].destroy_on : "only on request",
                       providers[i].config ? "" : "\n\nAny map.");
        title_visit(v, title, true, intro);
        if (providers[i].config)
                set_visit(v, "config.", providers[i].config);
}

void
spec_help_rows(spec_help_visit *call, void *ctx)
{
        struct visit v = { call, ctx };

        title_visit(&v, "The block", false, "");
        set_visit(&v, "", &block_set);
        for (size_t i = 0; i < provider_count; i++)
                provider_visit(&v, i);
        title_visit(&v, "Carrel's own words", false, "");
        set_visit(&v, "metadata.carrel.", &carrel_set);
}

void
spec_help_set_rows(const struct field_set *set, spec_help_visit *call, void *ctx)
{
        set_visit(&(struct visit){ call, ctx }, "", set);
}

static void
page_row(void *ctx, const struct spec_help_row *row)
{
        struct page *page = ctx;

        if (row->title) {
                say(page, "\n%s %s\n", row->is_part ? "###" : "##", row->title);
                if (*row->meaning)
                        say(page, "\n%s\n", row->meaning);
                page->has_table = false;
                return;
        }
        if (!page->has_table)
                say(page, "\n| field | value | meaning |\n|---|---|---|\n");
        page->has_table = true;
        say(page, "| `%s` | %s | %s |\n", row->path, row->value, row->meaning);
}

const char *
spec_help_text(struct arena *arena)
{
        struct page page = { arena_alloc(arena, PAGE_MAX), 0, false };

        if (!page.text)
                return NULL;
        say(&page, "# The fields of a sandbox block\n\nMade from the tables in `src/spec/` by "
                   "`spec_help_text()`; a test "
                   "holds the two together.\n`carrel schema` prints the same as JSON Schema.\n");
        spec_help_rows(page_row, &page);
        return page.text;
}
