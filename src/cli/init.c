/*
 * cli/init.c - `carrel init`: writes a SANDBOX.md for the project in this directory.
 *
 * Room: cli (joining, program). Touches: fd; names of the project and of the host (reading only).
 * Knows which file indicates which tool, and what that tool needs. Reads no file of the project: a
 * name is enough, and the content is foreign text.
 * Theory: one row for each tool. It asks no questions and replaces no file; comments in the new
 * file explain each line.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/scoped.h"
#include "cli/commands.h"
#include "cli/finding_print.h"
#include "cli/host_tool.h"
#include "cli/options.h"
#include "prepare/host_file.h"
#include "spec/preset.h"
#include "spec/provider.h"
#include "text/json.h"

enum { NAMES_MAX = 6, ARENA_MAX = 1 << 20, TIMEOUT_MINUTES = 10, SLUG_MAX = 40 };

/*
 * In search order: a lock file comes before files that many tools read. A tool is skipped if
 * another of its `family` was found.
 */
static const struct tool {
        /* `first`: what to run next; NULL: nothing */
        const char *program, *family, *preset, *first;
        bool is_heavy; /* large package caches: needs a large private disk */
        const char *names[NAMES_MAX];
} tools[] = {
        { "pnpm",
          "node",
          "@npm",
          "pnpm install",
          true,
          { "pnpm-lock.yaml", "pnpm-workspace.yaml" } },
        { "npm",
          "node",
          "@npm",
          "npm install",
          true,
          { "package-lock.json", "npm-shrinkwrap.json", "package.json" } },
        { "uv", "python", "@pypi", "uv sync", true, { "uv.lock" } },
        { "pip",
          "python",
          "@pypi",
          "python3 -m venv .venv",
          true,
          { "requirements.txt", "pyproject.toml", "setup.py", "setup.cfg" } },
        { "cargo", "rust", "@crates", "cargo build", true, { "Cargo.toml" } },
        { "go", "go", "@go", "go build ./...", true, { "go.mod" } },
        { "mvn", "java", "@maven", "mvn package", true, { "pom.xml" } },
        { "make", "make", NULL, "make", false, { "Makefile", "makefile", "GNUmakefile" } },
};

enum { TOOLS = sizeof tools / sizeof *tools };

struct init {
        const char *dir;
        bool is_printed;
        const char *found[TOOLS]; /* the file name that indicated it, or NULL */
        /* a tool that sandboxes do not show by default; dir_count 0: none */
        struct host_tool outside[TOOLS];
        const char *first;
        char slug[SLUG_MAX + 1]; /* the directory's name in the form of an id */
};

static void
look(struct init *i, int dir)
{
        for (size_t t = 0; t < TOOLS; t++) {
                bool is_known = false;

                for (size_t before = 0; before < t; before++)
                        is_known = is_known || (i->found[before] &&
                                                strcmp(tools[before].family, tools[t].family) == 0);
                for (size_t n = 0; n < NAMES_MAX && tools[t].names[n] && !is_known && !i->found[t];
                     n++)
                        if (faccessat(dir, tools[t].names[n], F_OK, AT_SYMLINK_NOFOLLOW) == 0)
                                i->found[t] = tools[t].names[n];
                if (!i->found[t])
                        continue;
                i->first = i->first ? i->first : tools[t].first;
                if (!host_tool_find(tools[t].program, &i->outside[t]) ||
                    host_tool_is_shown(&i->outside[t]))
                        i->outside[t].dir_count = 0;
        }
}

/* Lower-case letters and digits; anything else becomes one dash between them. */
static void
choose_slug(struct init *i)
{
        char *whole = realpath(i->dir, NULL);
        const char *name = whole ? strrchr(whole, '/') + 1 : "";
        size_t len = 0;

        for (; *name != '\0' && len < SLUG_MAX; name++) {
                char c = *name >= 'A' && *name <= 'Z' ? (char)(*name | 0x20) : *name;

                if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
                        i->slug[len++] = c;
                else if (len > 0 && i->slug[len - 1] != '-')
                        i->slug[len++] = '-';
        }
        while (len > 0 && i->slug[len - 1] == '-')
                len--;
        i->slug[len] = '\0';
        if (len == 0)
                memcpy(i->slug, "project", sizeof "project");
        free(whole);
}

/* -- the text ---------------------------------------------------------------------------------- */

static void
write_network(const struct init *i, FILE *out)
{
        bool has_any = false;

        for (size_t t = 0; t < TOOLS; t++) {
                const struct egress_preset *preset;
                struct error e;

                if (!i->found[t] || !tools[t].preset ||
                    egress_preset_find(tools[t].preset, &preset, &e) < 0)
                        continue;
                (void)fprintf(
                        out, "%s    - \"%s\"%*s# ",
                        has_any ? ""
                                : "network:\n  egress:                      # hosts that commands "
                                  "may reach; every other name does not exist inside\n",
                        preset->name, (int)(23 - strlen(preset->name)), "");
                for (size_t h = 0; preset->hosts[h]; h++)
                        (void)fprintf(out, "%s%s", h > 0 ? ", " : "", preset->hosts[h]);
                (void)fputc('\n', out);
                has_any = true;
        }
        if (has_any)
                (void)fputs("    # - api.example.com        # one more host, ports 80 and 443; "
                            "presets: carrel docs presets\n",
                            out);
        else
                (void)fputs(
                        "network:\n  egress: []                   # no host may be reached; one, "
                        "at ports 80 and 443: [api.example.com]; presets: carrel docs presets\n",
                        out);
}

static void
write_quoted(FILE *out, const char *text)
{
        struct json_writer w;

        json_init(&w, false);
        json_text(&w, text);
        (void)fputs(w.is_broken ? "\"\"" : w.text, out);
        json_fini(&w);
}

static void
write_tools(const struct init *i, FILE *out)
{
        bool has_any = false;

        for (size_t t = 0; t < TOOLS; t++)
                for (size_t d = 0; d < i->outside[t].dir_count; d++) {
                        (void)fputs(has_any ? "      - "
                                            : "    tools:                     # directories of the "
                                              "host, read-only; their bin is in PATH\n      - ",
                                    out);
                        write_quoted(out, i->outside[t].dirs[d]);
                        (void)fprintf(out, "  # %s\n", tools[t].program);
                        has_any = true;
                }
}

static void
write_manifest(const struct init *i, FILE *out)
{
        bool is_heavy = false, has_any = false;

        (void)fputs("---\n# What commands in this project may see, use and reach. `carrel check` "
                    "checks this file; `carrel plan` shows what it means.\n# Every field: "
                    "docs/FIELDS.md of Carrel, or `carrel schema`.\n",
                    out);
        for (size_t t = 0; t < TOOLS; t++) {
                if (i->found[t])
                        (void)fprintf(out, "%s%s (%s)",
                                      has_any ? ", " : "# Made for: ", tools[t].program,
                                      i->found[t]);
                has_any = has_any || i->found[t];
                is_heavy = is_heavy || (i->found[t] && tools[t].is_heavy);
        }
        (void)fprintf(out,
                      "%sschema: sandbox/v1\nid: \"@local/%s\"\nversion: "
                      "1.0.0\nprovider: " PROVIDER_STANDARD
                      "\nconfig: {}\nlimits:\n  timeout_ms: %-16d # of one command, %d "
                      "minutes; then all its processes are killed\n"
                      "  # memory_mb: 4096            # of the whole sandbox; needs control groups "
                      "(carrel doctor)\n"
                      "mounts:\n  - {source: workspace, at: /workspace}    # this directory, "
                      "writable; nothing else of your files is there\n",
                      has_any ? "\n" : "", i->slug, TIMEOUT_MINUTES * 60000, TIMEOUT_MINUTES);
        write_network(i, out);
        (void)fputs("metadata:\n  carrel:\n    egress: {}                 # report every refused "
                    "name, also where no host is listed\n",
                    out);
        if (is_heavy)
                (void)fputs("    limits: {disk_mb: 4096}    # /tmp and the home inside, with "
                            "caches of packages; gone with the sandbox\n",
                            out);
        write_tools(i, out);
        (void)fputs("---\n", out);
}

/* -- all --------------------------------------------------------------------------------------- */

static int
write_file(const struct init *i, int dir, struct error *e)
{
        int fd = openat(dir, "SANDBOX.md", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                        0644);
        FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
        int sys = errno;
        bool is_written;

        if (fd < 0 && sys == EEXIST) {
                (void)fail_at(e, ERROR_FILE_EXISTS, "SANDBOX.md", NULL,
                              "%.200s has a SANDBOX.md, and it is left as it is", i->dir);
                error_hint(e, "Remove it first, or look at a new one with: carrel init --print");
                return -1;
        }
        if (!out) {
                if (fd >= 0)
                        (void)close(fd);
                return fail_sys(e, ERROR_FILE_UNREADABLE, sys, "writing SANDBOX.md in %.200s",
                                i->dir);
        }
        write_manifest(i, out);
        is_written = !ferror(out);
        if (fclose(out) != 0 || !is_written) {
                sys = errno;
                (void)unlinkat(dir, "SANDBOX.md", 0);
                return fail_sys(e, ERROR_FILE_UNREADABLE, sys, "writing SANDBOX.md in %.200s",
                                i->dir);
        }
        return 0;
}

/* Prints what to run next; first the command that permits a tool if the host's rules do not. */
static int
print_next(const struct init *i, struct error *e)
{
        static const struct host_ability none;
        struct arena arena;
        struct host_file host;
        bool has_any = false;

        arena_init(&arena, ARENA_MAX);
        if (host_file_load(&arena, NULL, &none, 0, NULL, &host, e) < 0) {
                arena_fini(&arena);
                return -1;
        }
        print_escaped(stdout, i->dir, false);
        (void)printf("/SANDBOX.md: written");
        for (size_t t = 0; t < TOOLS; t++) {
                if (i->found[t])
                        (void)printf("%s%s", has_any ? ", " : " for ", tools[t].program);
                has_any = has_any || i->found[t];
        }
        (void)printf("\n");
        for (size_t t = 0; t < TOOLS; t++)
                for (size_t d = 0; d < i->outside[t].dir_count; d++)
                        if (!host_path_is_below(&host.rules->tool_roots, i->outside[t].dirs[d])) {
                                (void)printf("next: carrel allow tool ");
                                print_escaped(stdout, i->outside[t].dirs[d], false);
                                (void)printf("    # %s lies outside what a sandbox shows\n",
                                             tools[t].program);
                        }
        (void)printf("next: carrel run -- %s\n", i->first ? i->first : "ls");
        arena_fini(&arena);
        return 0;
}

static int
missing(const char *dir, int sys, struct error *e)
{
        (void)fail_sys(e, ERROR_WORKSPACE_NOT_FOUND, sys, "opening the directory %.200s", dir);
        if (sys == ENOENT)
                error_hint(e, "Make it first: mkdir -p %.200s", dir);
        return -1;
}

static int
init(struct init *i, struct error *e)
{
        scoped_fd int dir = open(i->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        if (dir < 0)
                return missing(i->dir, errno, e);
        look(i, dir);
        choose_slug(i);
        if (i->is_printed) {
                write_manifest(i, stdout);
                return 0;
        }
        return write_file(i, dir, e) < 0 ? -1 : print_next(i, e);
}

static int
cmd_init(int argc, char **argv)
{
        static struct init i = { .dir = "." };
        struct words words;
        struct error e;

        if (options_read(&command_init, argc, argv, &i, &words, &e) < 0)
                return print_failure(NULL, &e, false);
        if (words.count > 0)
                i.dir = words.items[0];
        return init(&i, &e) < 0 ? print_failure(NULL, &e, false) : 0;
}

static const struct option options[] = {
        OPTION_FLAG(struct init, is_printed, "--print", "print the file instead of writing it"),
        OPTION_TEXT(struct init, dir, VALUE_DIRECTORY, "-w", "DIR", NULL),
        OPTION_END,
};

static const struct operand operands[] = {
        { "[DIR]", VALUE_DIRECTORY,
          "the project (default: this directory); an existing SANDBOX.md is not changed" },
        { NULL },
};

const struct command command_init = {
        .name = "init",
        .help = "Write a SANDBOX.md for the project in a directory: npm, pnpm, pip, uv, cargo, go, "
                "mvn, make.",
        .options = options,
        .operands = operands,
        .example = "carrel init --print",
        .run = cmd_init,
};
