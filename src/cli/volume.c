/*
 * cli/volume.c - `carrel volume create|ls|rm|prune`: directories that outlive sandboxes.
 *
 * Room: cli (joining, program). Touches: fd (standard streams); the rest is cli/volumes.h's.
 */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "cli/ask.h"
#include "cli/commands.h"
#include "cli/finding_print.h"
#include "cli/options.h"
#include "cli/size_text.h"
#include "cli/value.h"
#include "cli/volumes.h"

enum { WORDS_MAX = 64, PRUNED_MAX = 4096 };

struct asked {
        const char *state;
        struct words words;
        bool is_json, is_forced, is_quiet;
        struct volumes v;
};

static int
failed(const struct asked *a, const struct error *e)
{
        return print_failure(NULL, e, a->is_json);
}

/* With a "+" if there is more than was counted. */
static const char *
volume_size(const struct volume_info *info, char out[SIZE_TEXT + 1])
{
        size_t len;

        (void)size_text(info->bytes, out);
        len = strlen(out);
        if (info->is_partial)
                (void)snprintf(out + len, SIZE_TEXT + 1 - len, "+");
        return out;
}

/* -- create and ls ----------------------------------------------------------------------------- */

static int
volume_make(struct asked *a)
{
        struct json_writer w;
        struct error e;

        for (size_t i = 1; i < a->words.count; i++)
                if (volumes_create(&a->v, a->words.items[i], &e) < 0)
                        return failed(a, &e);
        for (size_t i = 1; i < a->words.count && !a->is_json; i++)
                (void)puts(a->words.items[i]);
        if (!a->is_json)
                return 0;
        json_init(&w, true);
        json_open_map(&w);
        json_key(&w, "created");
        json_open_list(&w);
        for (size_t i = 1; i < a->words.count; i++)
                json_text(&w, a->words.items[i]);
        json_close_list(&w);
        json_close_map(&w);
        return json_print(&w, stdout);
}

static void
json_volume(struct json_writer *w, const struct volume_info *info)
{
        json_open_map(w);
        json_member_text(w, "name", info->name);
        json_key(w, "size");
        json_uint(w, info->bytes);
        json_key(w, "file_count");
        json_uint(w, info->files);
        json_member_bool(w, "partial", info->is_partial);
        json_key(w, "used_at_ms");
        json_uint(w, info->used_ms);
        if (info->users > 0)
                json_member_text(w, "used_by", info->user);
        json_close_map(w);
}

static const char *const heads[] = { "NAME", "SIZE", "FILES", "LAST USED", "USED BY" };

static void
print_row(struct table *t, FILE *out, const void *item)
{
        const struct volume_info *info = item;
        char size[SIZE_TEXT + 1], files[SIZE_TEXT], age[SPAN_TEXT];
        const char *cells[] = { info->name, volume_size(info, size), files,
                                info->users > 0 ? "now" : span_text(span_since(info->used_ms), age),
                                info->users > 0 ? info->user : "-" };

        (void)snprintf(files, sizeof files, "%" PRIu64, info->files);
        table_row(t, out, cells, 5);
}

static int
print_json(const struct volumes *v)
{
        struct json_writer w;

        json_init(&w, true);
        json_open_map(&w);
        json_key(&w, "items");
        json_open_list(&w);
        for (size_t i = 0; i < v->count; i++)
                json_volume(&w, &v->items[i]);
        json_close_list(&w);
        json_close_map(&w);
        return json_print(&w, stdout);
}

static int
volume_ls(struct asked *a)
{
        struct error e;

        if (volumes_list(&a->v, &e) < 0)
                return failed(a, &e);
        if (a->is_json)
                return print_json(&a->v);
        for (size_t i = 0; i < a->v.count && a->is_quiet; i++)
                (void)puts(a->v.items[i].name);
        if (!a->is_quiet)
                list_print(
                        &(struct list){ a->v.items, a->v.count, sizeof *a->v.items,
                                        "No volumes. To create one: carrel volume create NAME, or "
                                        "carrel run -v NAME:PATH",
                                        heads, 5, print_row });
        return 0;
}

/* -- rm and prune ------------------------------------------------------------------------------ */

/* Erases removed volumes before the result is printed, so that their space is free. */
static int
print_removed(struct asked *a, const char *const *names, size_t count, uint64_t bytes)
{
        struct json_writer w;
        struct error e;

        for (size_t i = 0; i < count && !a->is_json; i++)
                (void)puts(names[i]);
        if (volumes_sweep(&a->v, &e) < 0)
                return failed(a, &e);
        if (!a->is_json)
                return 0;
        json_init(&w, true);
        json_open_map(&w);
        json_key(&w, "removed");
        json_open_list(&w);
        for (size_t i = 0; i < count; i++)
                json_text(&w, names[i]);
        json_close_list(&w);
        if (bytes != UINT64_MAX) {
                json_key(&w, "size");
                json_uint(&w, bytes);
        }
        json_close_map(&w);
        return json_print(&w, stdout);
}

static int
volume_rm(struct asked *a)
{
        struct error e;
        size_t i = 1;

        while (i < a->words.count && volumes_remove(&a->v, a->words.items[i], &e) == 0)
                i++;
        if (i == a->words.count)
                return print_removed(a, (const char *const *)a->words.items + 1, a->words.count - 1,
                                     UINT64_MAX);
        if (i > 1 && !a->is_json)
                (void)print_removed(a, (const char *const *)a->words.items + 1, i - 1, UINT64_MAX);
        return failed(a, &e);
}

/* Returns 0 for yes, else the exit status. */
static int
ask_whether(const struct asked *a, size_t count, const struct volume_info *all)
{
        char line[16] = "";
        struct error e;

        if (!isatty(STDIN_FILENO) || a->is_json) {
                (void)fail(&e, ERROR_INVALID_ARGUMENT,
                           "volume prune asks before it removes %zu volume%s, and standard input "
                           "is not a terminal",
                           count, count == 1 ? "" : "s");
                error_hint(&e, "To remove them without asking: carrel volume prune --force");
                return failed(a, &e);
        }
        (void)fprintf(stderr,
                      "These volumes are not in use. They would be removed with their content:\n");
        for (size_t i = 0; i < a->v.count; i++) {
                char size[SIZE_TEXT + 1];

                if (all[i].users == 0)
                        (void)fprintf(stderr, "  %s  %s\n", all[i].name,
                                      volume_size(&all[i], size));
        }
        (void)fprintf(stderr, "Remove them? [y/N] ");
        if (fgets(line, sizeof line, stdin) && tolower((unsigned char)line[0]) == 'y')
                return 0;
        (void)fprintf(stderr, "Nothing was removed.\n");
        return 1;
}

static int
volume_prune(struct asked *a)
{
        static const char *names[PRUNED_MAX];
        uint64_t bytes = 0;
        size_t unused = 0, count = 0;
        struct error e;
        int status;

        if (volumes_list(&a->v, &e) < 0)
                return failed(a, &e);
        for (size_t i = 0; i < a->v.count; i++)
                unused += a->v.items[i].users == 0;
        status = unused > 0 && !a->is_forced ? ask_whether(a, unused, a->v.items) : 0;
        if (status != 0)
                return status;
        for (size_t i = 0; i < a->v.count && count < PRUNED_MAX; i++) {
                if (a->v.items[i].users > 0)
                        continue;
                if (volumes_remove(&a->v, a->v.items[i].name, &e) == 0) {
                        names[count++] = a->v.items[i].name;
                        bytes += a->v.items[i].bytes;
                } else if (e.code != ERROR_VOLUME_IN_USE && e.code != ERROR_VOLUME_NOT_FOUND) {
                        return failed(a, &e);
                }
        }
        status = print_removed(a, names, count, bytes);
        if (!a->is_json && status == 0) {
                char size[SIZE_TEXT + 1];

                (void)fprintf(stderr, "carrel: %zu volume%s removed, %s\n", count,
                              count == 1 ? "" : "s", size_text(bytes, size));
        }
        return status;
}

/* -- the command ------------------------------------------------------------------------------- */

static const struct action {
        const char *name;
        bool has_names;
        int (*run)(struct asked *a);
} actions[] = {
        { "create", true, volume_make },
        { "ls", false, volume_ls },
        { "rm", true, volume_rm },
        { "prune", false, volume_prune },
};

static const struct action *
find_action(struct asked *a, struct error *e)
{
        for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
                const struct action *action = &actions[i];

                if (a->words.count == 0 || strcmp(a->words.items[0], action->name) != 0)
                        continue;
                if (action->has_names ? a->words.count > 1 : a->words.count == 1)
                        return action;
                (void)fail(e, ERROR_INVALID_ARGUMENT,
                           action->has_names ? "volume %s needs the name of a volume"
                                             : "volume %s takes nothing more",
                           action->name);
                error_hint(
                        e,
                        "For example: carrel volume %s%s. `carrel volume --help` shows the rest.",
                        action->name, action->has_names ? " npm-cache" : "");
                return NULL;
        }
        if (a->words.count > 0) {
                (void)value_word_check(VALUE_VOLUME_ACTION, (struct value_place){ "volume", NULL },
                                       a->words.items[0], e);
        } else {
                (void)fail(e, ERROR_INVALID_ARGUMENT,
                           "volume needs to know what to do: create, ls, rm or prune");
                error_hint(e,
                           "For example: carrel volume ls. `carrel volume --help` shows the rest.");
        }
        return NULL;
}

static int
cmd_volume(int argc, char **argv)
{
        static struct asked a;
        const struct action *action;
        struct error e;
        int status;

        if (options_read(&command_volume, argc, argv, &a, &a.words, &e) < 0)
                return failed(&a, &e);
        action = find_action(&a, &e);
        if (!action)
                return failed(&a, &e);
        status = volumes_open(&a.v, a.state, &e) < 0 ? failed(&a, &e) : action->run(&a);
        volumes_close(&a.v);
        return status;
}

static const struct option options[] = {
        OPTION_FLAG(struct asked, is_forced, "--force", "prune without asking"),
        OPTION_FLAG(struct asked, is_forced, "-f", NULL),
        OPTION_FLAG(struct asked, is_quiet, "-q", "ls: names only"),
        OPTION_TEXT(struct asked, state, VALUE_DIRECTORY, "--state", "DIR",
                    "the state directory (default: CARREL_STATE, /var/lib/carrel as root, else "
                    "~/.local/state/carrel)"),
        OPTION_FLAG(struct asked, is_json, "--json", JSON_DOC),
        OPTION_END,
};

static const struct operand operands[] = {
        { "create NAME...", VALUE_TEXT,
          "create a volume; an existing one is not changed (`carrel run -v NAME:PATH` creates it "
          "too)",
          true },
        { "ls", VALUE_TEXT, "list name, size, last use, and a sandbox that uses it", true },
        { "rm NAME...", VALUE_VOLUME,
          "remove volumes with their content; refused while a sandbox uses one", true },
        { "prune", VALUE_TEXT, "remove all volumes that are not in use; asks first", true },
        { NULL },
};

const struct command command_volume = {
        .name = "volume",
        .help = "Create, list and remove volumes: directories that outlive sandboxes, for homes "
                "and caches.",
        .options = options,
        .operands = operands,
        .words_max = WORDS_MAX,
        .example = "carrel volume ls",
        .run = cmd_volume,
};
