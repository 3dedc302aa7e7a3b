/*
 * cli/host_tool.c - finds where a host program really lies.
 *
 * Room: cli (joining). Touches: names of the host (reading only), the environment (PATH, HOME).
 * Theory: a version manager puts a small program (shim) before the real one. Inside a sandbox the
 * shim finds neither its own home nor its settings, so the real program's directory is used. The
 * table says where each manager keeps it. No program is executed to find out.
 */
#include "cli/host_tool.h"

#include <dirent.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "outcome/lookup.h"
#include "text/nearest.h"

/*
 * Relative to the directory before `shims`: the programs of each version. The newest version that
 * has the program is used.
 */
static const struct {
        const char *shims, *real;
} managers[] = {
        { "/.cargo/bin", "/.rustup/toolchains/*/bin" },
        { "/.pyenv/shims", "/.pyenv/versions/*/bin" },
        { "/.rbenv/shims", "/.rbenv/versions/*/bin" },
        { "/.nodenv/shims", "/.nodenv/versions/*/bin" },
        { "/.goenv/shims", "/.goenv/versions/*/bin" },
        { "/.asdf/shims", "/.asdf/installs/*/*/bin" },
        { "/.local/share/mise/shims", "/.local/share/mise/installs/*/*/bin" },
        { "/.volta/bin", "/.volta/tools/image/*/*/bin" },
};

/* Directories that hold more than programs: never mounted whole. */
static const char *const private_parents[] = { "/.local", "/.cargo", "/.config", "/.npm" };

static bool
ends_with(const char *text, size_t len, const char *end)
{
        size_t end_len = strlen(end);

        return len >= end_len && strncmp(text + len - end_len, end, end_len) == 0;
}

/*
 * "/home/a/.pyenv/versions/3.12.1/bin/python" for the shim "/home/a/.pyenv/shims/python"; false if
 * it is not a shim, or has no program.
 */
static bool
look_behind(const char *program, char ret[PATH_MAX])
{
        const char *slash = strrchr(program, '/');
        size_t len = (size_t)(slash - program);
        const char *newest = NULL;
        char pattern[2 * PATH_MAX];
        glob_t found;

        for (size_t i = 0; i < sizeof managers / sizeof *managers; i++) {
                size_t shims = strlen(managers[i].shims);

                if (!ends_with(program, len, managers[i].shims))
                        continue;
                (void)snprintf(pattern, sizeof pattern, "%.*s%s%s", (int)(len - shims), program,
                               managers[i].real, slash);
                if (glob(pattern, 0, NULL, &found) != 0)
                        return false;
                for (size_t f = 0; f < found.gl_pathc; f++)
                        if (access(found.gl_pathv[f], X_OK) == 0 &&
                            (!newest || strverscmp(found.gl_pathv[f], newest) > 0))
                                newest = found.gl_pathv[f];
                (void)snprintf(ret, PATH_MAX, "%s", newest ? newest : "");
                globfree(&found);
                return newest != NULL;
        }
        return false;
}

/*
 * The directory to mount for a program: the parent of its bin, or the bin itself if more than
 * programs lies beside it.
 */
static void
directory_of(const char *program, char ret[PATH_MAX])
{
        const char *home = getenv("HOME");
        size_t len = (size_t)(strrchr(program, '/') - program),
               up = ends_with(program, len, "/bin") ? len - 4 : len;
        bool is_home = home && strlen(home) == up && strncmp(home, program, up) == 0;

        for (size_t i = 0; i < sizeof private_parents / sizeof *private_parents; i++)
                if (is_home || up <= 1 || ends_with(program, up, private_parents[i]))
                        up = len;
        (void)snprintf(ret, PATH_MAX, "%.*s", (int)(up > 0 ? up : 1), program);
}

static void
add(struct host_tool *tool, const char *program)
{
        char dir[PATH_MAX];

        directory_of(program, dir);
        for (size_t i = 0; i < tool->dir_count; i++)
                if (host_path_is_below(&(struct spec_names){ &(const char *){ tool->dirs[i] }, 1 },
                                       dir))
                        return;
        if (tool->dir_count < HOST_TOOL_DIRS_MAX)
                memcpy(tool->dirs[tool->dir_count++], dir, sizeof dir);
}

/* The directory of the name, and that of a link's target. */
static void
find_directories(struct host_tool *tool)
{
        const char *program = tool->program; /* lint: host_tool_find() has written it */
        char behind[PATH_MAX];
        char *real;

        tool->dir_count = 0;
        if (look_behind(program, behind))
                program = behind;
        real = realpath(program, NULL);
        if (real && strcmp(strrchr(real, '/'), strrchr(program, '/')) == 0)
                program = real; /* PATH inside has this directory, and the name is the same */
        add(tool, program);
        if (real)
                add(tool, real);
        free(real);
}

bool
host_tool_find(const char *name, struct host_tool *ret)
{
        const char *path = getenv("PATH");
        struct stat st;

        for (; path && *path != '\0'; path += strcspn(path, ":"), path += *path == ':') {
                (void)snprintf(ret->program, sizeof ret->program, "%.*s/%s",
                               (int)strcspn(path, ":"), path, name);
                if (path[0] != '/' || access(ret->program, X_OK) < 0 ||
                    stat(ret->program, &st) < 0 || !S_ISREG(st.st_mode))
                        continue;
                find_directories(ret);
                return true;
        }
        return false;
}

bool
host_tool_is_shown(const struct host_tool *tool)
{
        static const char *const shown[] = { "/usr", "/bin", "/sbin", "/nix/store", "/gnu/store" };

        for (size_t i = 0; i < tool->dir_count; i++)
                if (!host_path_is_below(&(struct spec_names){ shown, sizeof shown / sizeof *shown },
                                        tool->dirs[i]))
                        return false;
        return true;
}

static void
write_hint(const struct host_tool *tool, const struct host_rules *rules, struct error *e)
{
        char allow[sizeof e->hint] = "", tools[sizeof e->hint] = "";

        for (size_t i = 0; i < tool->dir_count; i++) {
                const char *dir = tool->dirs[i];
                size_t used = strlen(tools);

                (void)snprintf(tools + used, sizeof tools - used, "%s\"%s\"", i > 0 ? ", " : "",
                               dir);
                used = strlen(allow);
                if (rules && !host_path_is_below(&rules->tool_roots, dir))
                        (void)snprintf(allow + used, sizeof allow - used, " %s", dir);
        }
        if (allow[0] != '\0')
                error_hint(e,
                           "The host has %.60s. Bring it in, read-only: run %.30s tool%s, and add "
                           "to SANDBOX.md metadata: {carrel: {tools: [%s]}}",
                           tool->program, rules->allow ? rules->allow : "carrel allow", allow,
                           tools);
        else
                error_hint(e,
                           "The host has %.60s. Bring it in, read-only: metadata: {carrel: {tools: "
                           "[%s]}}",
                           tool->program, tools);
}

/*
 * A program with a similar name in the directories that every sandbox shows. NULL: none. The text
 * is valid until the next call.
 */
static const char *
similar_program(const char *name)
{
        static const char *const dirs[] = { "/usr/bin", "/usr/local/bin", "/bin" };
        static char found[NEAREST_WORD_MAX + 1];
        struct nearest n = nearest_begin(name);
        size_t edits = NEAREST_FAR;

        for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++) {
                DIR *dir = opendir(dirs[i]);
                const struct dirent *entry;

                while (dir && (entry = readdir(dir)) != NULL)
                        if (strlen(entry->d_name) < sizeof found && strlen(entry->d_name) > 2 &&
                            nearest_try(&n, entry->d_name, found) &&
                            nearest_edits(name, entry->d_name) < edits) {
                                edits = nearest_edits(name, entry->d_name);
                                (void)snprintf(found, sizeof found, "%s", entry->d_name);
                        }
                if (dir)
                        (void)closedir(dir);
        }
        return edits < NEAREST_FAR ? found : NULL;
}

void
host_tool_hint(const char *name, const struct host_rules *rules, struct error *e)
{
        const char *similar;
        struct host_tool tool;

        if (e->code != ERROR_COMMAND_NOT_FOUND)
                return;
        if (strpbrk(name, " \t") && access(name, F_OK) < 0) {
                error_hint(e,
                           "This looks like a line for a shell. Run: carrel run -- sh -c '%.150s'",
                           name);
        } else if (strchr(name, '/') == NULL) {
                if (host_tool_find(name, &tool)) {
                        if (host_tool_is_shown(&tool))
                                error_hint(e,
                                           "It is %.100s, and PATH inside does not name that "
                                           "directory. Run: carrel run -- %.100s",
                                           tool.program, tool.program);
                        else
                                write_hint(&tool, rules, e);
                } else if (!lookup_is_known(name) && (similar = similar_program(name)) != NULL) {
                        error_hint(e, "Did you mean %s?", similar);
                }
        } else if (name[0] == '/' && strlen(name) < sizeof tool.program &&
                   access(name, X_OK) == 0) {
                (void)snprintf(tool.program, sizeof tool.program, "%s", name);
                find_directories(&tool);
                write_hint(&tool, rules, e);
        } else if (name[0] != '/' && access(name, F_OK) == 0) {
                error_hint(e, "This directory has it, and the sandbox does not: `carrel plan` "
                              "shows which directories are mounted, and where.");
        }
}
