/*
 * cli/override.c - options that set a value of the manifest for one sandbox.
 *
 * Room: cli (joining, program). Touches: nothing.
 * Theory: an option becomes the text of an override, and the manifest with it is judged as any
 * other. An override's node has no line. So a refusal without a line, at a path below an option's
 * path, is about that option.
 */
#include "cli/override.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/value.h"

enum kind { KIND_SIZE, KIND_TASKS, KIND_TEXT };

static const struct row {
        const char *option, *path;
        enum kind kind;
} rows[] = {
        { "--memory", "limits/memory_mb", KIND_SIZE },
        { "--disk", "metadata/carrel/limits/disk_mb", KIND_SIZE },
        { "--pids", "metadata/carrel/limits/pids", KIND_TASKS },
        { "--allow", "network/egress", KIND_TEXT },
        { "-v", "mounts", KIND_TEXT },
};

static const struct row *
find_row(const char *option, size_t len)
{
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                if (strlen(rows[i].option) == len && strncmp(rows[i].option, option, len) == 0)
                        return &rows[i];
        return NULL;
}

int
override_add(struct override_set *set, const char *command, const char *option, const char *value,
             struct error *e)
{
        const struct row *row = find_row(option, strlen(option));
        struct value_place at = { command, option };
        uint64_t number = 0;
        size_t room = sizeof set->text - set->used;
        int len;

        if (!row)
                return fail(e, ERROR_INTERNAL, "%.32s sets nothing", option);
        if ((row->kind == KIND_SIZE && value_size_read(at, value, &number, e) < 0) ||
            (row->kind == KIND_TASKS && value_number_read(VALUE_TASKS, at, value, &number, e) < 0))
                return -1;
        if (row->kind == KIND_TEXT)
                len = snprintf(set->text + set->used, room, "%s=%s", row->path, value);
        else
                len = snprintf(set->text + set->used, room, "%s=%" PRIu64, row->path, number);
        if (set->count == MANIFEST_OVERRIDES_MAX || len < 0 || (size_t)len >= room)
                return fail_at(e, ERROR_INVALID_ARGUMENT, option, NULL,
                               "there are too many options like %s", option);
        set->items[set->count] = set->text + set->used;
        set->options[set->count++] = row->option;
        set->used += (size_t)len + 1;
        return 0;
}

bool
override_explain(const struct override_set *set, const char *path, unsigned line, char *message,
                 size_t room)
{
        for (size_t i = 0; i < set->count && line == 0; i++) {
                const struct row *row = find_row(set->options[i], strlen(set->options[i]));
                size_t len, name, had = strlen(message);

                if (!row) /* each has a row; only an analyzer doubts it */
                        continue;
                len = strlen(row->path);
                name = strlen(row->option) + 2;
                if (strncmp(path, row->path, len) != 0 || (path[len] != '\0' && path[len] != '/'))
                        continue;
                if (had + name + 1 > room)
                        had = room - name - 1;
                memmove(message + name, message, had);
                message[name + had] = '\0';
                memcpy(message, row->option, name - 2);
                memcpy(message + name - 2, ": ", 2);
                return true;
        }
        return false;
}
