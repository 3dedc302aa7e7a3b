/*
 * cli/cp.c - `carrel cp`: copies files and directories into a sandbox and out of it.
 *
 * Room: cli (joining, program). Touches: fd (standard streams), clock; files by cp_in.c and
 * cp_out.c; libcarrel does the rest.
 */
#include "cli/cp.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/finding_print.h"
#include "clock/clock.h"

enum { SHOW_EVERY_MS = 200 };

int
cp_wrong(struct copying *c, int sys, const char *what, const char *path)
{
        struct error e;

        cp_progress_end(c);
        (void)fail_sys(&e, sys == ENOSPC ? ERROR_STORAGE_FULL : ERROR_FILE_UNREADABLE, sys,
                       "%s %.300s", what, path);
        error_hint(&e, "This is about a path here, not in the sandbox.");
        return ask_wrong(&c->ask, &e);
}

int
cp_failed(struct copying *c, const struct carrel_error *e)
{
        cp_progress_end(c);
        return ask_failed(&c->ask, NULL, e);
}

void
cp_progress(struct copying *c, uint64_t bytes)
{
        uint64_t now;

        c->bytes += bytes;
        if (!c->shows_progress)
                return;
        now = clock_boot_ms();
        if (now - c->shown_ms < SHOW_EVERY_MS)
                return;
        c->shown_ms = now;
        (void)fprintf(stderr, "\r%" PRIu64 " file%s, %" PRIu64 " MiB ", c->files,
                      c->files == 1 ? "" : "s", c->bytes >> 20);
        (void)fflush(stderr);
}

void
cp_progress_end(struct copying *c)
{
        if (c->shows_progress && c->shown_ms > 0)
                (void)fprintf(stderr, "\r%60s\r", "");
        c->shown_ms = 0;
}

void
cp_leave_out(struct copying *c, const char *path, const char *why)
{
        cp_progress_end(c);
        c->left_out++;
        (void)fputs("carrel: left out: ", stderr);
        print_escaped(stderr, path, false);
        (void)fprintf(stderr, ": %s\n", why);
}

int
cp_join(char *out, const char *a, const char *b)
{
        size_t len = strlen(a);
        int used;

        while (len > 1 && a[len - 1] == '/')
                len--;
        if (len == 0 || (len == 1 && a[0] == '.'))
                used = snprintf(out, CP_PATH_MAX, "%s", *b != '\0' ? b : ".");
        else if (*b == '\0')
                used = snprintf(out, CP_PATH_MAX, "%.*s", (int)len, a);
        else
                used = snprintf(out, CP_PATH_MAX, "%.*s%s%s", (int)len, a,
                                a[len - 1] == '/' ? "" : "/", b);
        return used < 0 || used >= CP_PATH_MAX ? -1 : 0;
}

void
cp_base(char *out, const char *path, const char *fallback)
{
        size_t end = strlen(path), start;

        while (end > 0 && path[end - 1] == '/')
                end--;
        for (start = end; start > 0 && path[start - 1] != '/';)
                start--;
        (void)snprintf(out, CP_PATH_MAX, "%.*s", (int)(end - start), path + start);
        if (*out == '\0' || strcmp(out, ".") == 0 || strcmp(out, "..") == 0)
                (void)snprintf(out, CP_PATH_MAX, "%s", fallback);
}

/* -- the command ------------------------------------------------------------------------------- */

/* The colon after an id; a local path that contains one is written ./a:b. */
static const char *
colon_of(const char *word)
{
        const char *colon = strchr(word, ':'), *slash = strchr(word, '/');

        return colon && colon > word && (!slash || colon < slash) && word[0] != '.' ? colon : NULL;
}

static int
read_words(struct copying *c, bool *ret_is_in, char *id, size_t id_room, struct error *e)
{
        const char *from = colon_of(c->ask.words[0]), *to = colon_of(c->ask.words[1]);
        const char *word = from ? c->ask.words[0] : c->ask.words[1], *colon = from ? from : to;

        if (!from == !to) {
                (void)fail(e, ERROR_INVALID_ARGUMENT,
                           from ? "both paths are in a sandbox" : "neither path is in a sandbox");
                error_hint(e, "One of the two is ID:PATH. A path here that holds a colon is "
                              "written ./a:b.");
                return -1;
        }
        if ((size_t)(colon - word) >= id_room)
                return fail(e, ERROR_INVALID_ARGUMENT, "an id has at most %zu bytes", id_room - 1);
        memcpy(id, word, (size_t)(colon - word));
        id[colon - word] = '\0';
        c->id = id;
        c->inside = colon + 1;
        c->here = from ? c->ask.words[1] : c->ask.words[0];
        *ret_is_in = !from;
        return 0;
}

static int
print_sum(const struct copying *c)
{
        struct json_writer w;

        if (!c->ask.is_json)
                return 0;
        json_init(&w, true);
        json_open_map(&w);
        json_member_int(&w, "files", (int64_t)c->files);
        json_member_int(&w, "bytes", (int64_t)c->bytes);
        json_member_int(&w, "left_out", (int64_t)c->left_out);
        json_close_map(&w);
        return json_print(&w, stdout);
}

static int
cmd_cp(int argc, char **argv)
{
        struct copying c = { .id = NULL };
        struct error e;
        char id[128];
        bool is_in = false;
        int status;

        if (ask_parse(&c.ask, &command_cp, argc, argv, &c, &e) < 0 ||
            read_words(&c, &is_in, id, sizeof id, &e) < 0)
                return ask_wrong(&c.ask, &e);
        if (c.ask.is_json && !is_in && strcmp(c.here, "-") == 0) {
                (void)fail(&e, ERROR_INVALID_ARGUMENT,
                           "standard output cannot hold the file and a JSON object");
                return ask_wrong(&c.ask, &e);
        }
        c.shows_progress = !c.is_quiet && !c.ask.is_json && isatty(STDERR_FILENO);
        status = ask_open(&c.ask);
        if (status != 0)
                return status;
        status = is_in ? copy_in(&c) : copy_out(&c);
        cp_progress_end(&c);
        if (status == 0)
                status = print_sum(&c);
        return ask_close(&c.ask, status);
}

static const struct option options[] = {
        OPTION_FLAG(struct copying, is_quiet, "-q", "show no progress"),
        OPTION_FLAG(struct copying, is_recursive, "-r",
                    "accepted for compatibility: directories are always copied recursively"),
        ASK_OPTIONS(struct copying, ask),
        OPTION_END,
};

static const struct operand operands[] = {
        { "FROM", VALUE_PATHS,
          "FROM or TO is ID:PATH; the other a path here, or - for standard input and output" },
        { "TO", VALUE_PATHS },
        { NULL },
};

const struct command command_cp = {
        .name = "cp",
        .help = "Copy files and directories into a sandbox and out of it.",
        .options = options,
        .operands = operands,
        .needs = "two paths, one of them ID:PATH",
        .example = "carrel cp README.md demo:notes.md",
        .run = cmd_cp,
};
