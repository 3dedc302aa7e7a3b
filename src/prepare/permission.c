/*
 * prepare/permission.c - node's permission model inside the sandbox.
 *
 * Room: prepare (joining). Touches: the directories of programs (reading only).
 * Theory: the sandbox stays what it is; node takes more away from the script that it runs. The
 * grants belong to one invocation: the script's own, or what the mounts say. Node's version is read
 * where it runs, because PATH inside decides which one that is.
 */
#include "prepare/permission.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plan/request.h"
#include "prepare/environment.h"

enum { LEAST_MAJOR = 20, PATH_ROOM = 4096, FIXED_WORDS = 4, GRANTS_MAX = 256 };

/* Chooses the option by node's version: 20 has it as an experiment, 22.13 and 23.5 without. From
 * 25 on, the network needs a grant too; the sandbox's own list decides about it. */
static const char starter[] =
        "unset NODE_OPTIONS NODE_REPL_EXTERNAL_MODULE; v=$(node --version 2>/dev/null) || { echo "
        "'carrel: node-permission: there is no node in PATH' >&2; exit 127; }; m=${v#v}; "
        "n=${m#*.}; m=${m%%.*}; n=${n%%.*}; if [ \"$m\" -gt 23 ] || { [ \"$m\" -eq 23 ] && [ "
        "\"$n\" -ge 5 ]; } || { [ \"$m\" -eq 22 ] && [ \"$n\" -ge 13 ]; }; then p=--permission; "
        "elif [ \"$m\" -ge 20 ]; then p='--experimental-permission --no-warnings'; else echo "
        "\"carrel: node-permission: node $v is too old: 20 or later is needed\" >&2; exit 126; fi; "
        "if [ \"$m\" -ge 25 ]; then p=\"$p --allow-net\"; fi; exec node $p \"$@\"";

static const struct {
        const char *word, *option;
} abilities[] = {
        { "child_process", "--allow-child-process" },
        { "worker", "--allow-worker" },
        { "addons", "--allow-addons" },
        { "wasi", "--allow-wasi" },
};

struct words {
        struct arena *arena;
        const char **items;
        size_t count, room;
};

/* -- the grants of config ---------------------------------------------------------------------- */

static const struct node *
tools_of(const struct permission *p)
{
        const struct node *config = p->spec->config;

        return config && config->kind == NODE_MAP ? node_find(config, "tools") : NULL;
}

static const char *
option_of(const char *word)
{
        for (size_t i = 0; i < sizeof abilities / sizeof *abilities; i++)
                if (strcmp(abilities[i].word, word) == 0)
                        return abilities[i].option;
        return NULL;
}

static int
wrong(const struct node *at, const char *tool, const char *what, struct error *e)
{
        (void)fail_at(e, ERROR_CONFIG_INVALID, "config/tools", "type", "%.100s: %s", tool, what);
        e->line = at->line;
        e->column = at->column;
        error_hint(e, "For example: config: {tools: {tools/report.mjs: {read: [/workspace], write: "
                      "[/tmp], allow: [child_process]}}}");
        return -1;
}

/* In a grant node reads "*" as any text, and old versions "," as the start of another path. */
static bool
is_plain(const char *path)
{
        return strpbrk(path, ",*") == NULL;
}

static int
check_mounts(const struct spec *spec, struct error *e)
{
        for (size_t i = 0; i < spec->mount_count; i++)
                if (!is_plain(spec->mounts[i].at))
                        return fail_at(e, ERROR_MOUNT_INVALID, "mounts", "charset",
                                       "node cannot grant a path with \",\" or \"*\": %.200s",
                                       spec->mounts[i].at);
        return 0;
}

static int
check_grants(const struct node *tool, struct error *e)
{
        if (tool->kind != NODE_MAP)
                return wrong(tool, tool->key, "its grants are a map", e);
        if (!is_plain(tool->key))
                return wrong(tool, tool->key, "its name has no \",\" and no \"*\"", e);
        node_each(grant, tool)
        {
                bool is_allow = strcmp(grant->key, "allow") == 0;

                if (!is_allow && strcmp(grant->key, "read") != 0 &&
                    strcmp(grant->key, "write") != 0)
                        return wrong(grant, tool->key, "its grants are read, write and allow", e);
                if (grant->kind != NODE_LIST || grant->len > GRANTS_MAX / 4)
                        return wrong(grant, tool->key, "each grant is a list of at most 64", e);
                node_each(item, grant)
                {
                        if (item->kind != NODE_STRING ||
                            (is_allow ? option_of(item->text) == NULL
                                      : item->text[0] != '/' || !is_plain(item->text)))
                                return wrong(item, tool->key,
                                             is_allow ? "allow lists child_process, worker, addons "
                                                        "or wasi"
                                                      : "read and write list absolute paths, "
                                                        "without \",\" or \"*\"",
                                             e);
                }
        }
        return 0;
}

/* -- the interpreter --------------------------------------------------------------------------- */

static bool
is_in_path(const struct permission *p, struct arena *arena)
{
        const char *path = environment_path(arena, p->spec, NULL, true);

        while (*path != '\0') {
                size_t len = strcspn(path, ":");
                char file[PATH_ROOM];

                (void)snprintf(file, sizeof file, "%.*s/%s", (int)len, path, p->interpreter);
                if (access(file, X_OK) == 0)
                        return true;
                path += len + (path[len] == ':');
        }
        return false;
}

static int
check_version(const struct permission *p, const struct runtimes *found, struct error *e)
{
        const struct runtime *newest = p->runtime;
        struct arena arena;
        bool is_there;

        for (size_t i = 0; i < found->count && !newest; i++)
                if (strcmp(found->items[i].family, p->interpreter) == 0)
                        newest = &found->items[i];
        arena_init(&arena, 1 << 20);
        is_there = newest || is_in_path(p, &arena);
        arena_fini(&arena);
        if (!is_there) {
                (void)fail_at(e, ERROR_CAPABILITY_UNAVAILABLE, "provider", "missing",
                              "the provider %.64s needs %s, and this machine does not have it",
                              p->spec->provider, p->interpreter);
                error_hint(e, "Install it, or list its directory in metadata.carrel.tools: "
                              "apt-get install nodejs");
                return -1;
        }
        if (!newest || newest->version[0] == '\0' ||
            strtoul(newest->version, NULL, 10) >= LEAST_MAJOR)
                return 0;
        (void)fail_at(e, ERROR_CAPABILITY_UNAVAILABLE, "provider", "too_old",
                      "the provider %.64s needs %s %d or later, and this machine has %.32s",
                      p->spec->provider, p->interpreter, LEAST_MAJOR, newest->version);
        error_hint(e, "Install a newer one below a directory of tool_roots, and list it in "
                      "metadata.carrel.tools.");
        return -1;
}

int
permission_check(const struct permission *p, const struct runtimes *found, struct error *e)
{
        const struct node *tools = tools_of(p);

        if (!p->interpreter)
                return 0;
        if (check_mounts(p->spec, e) < 0)
                return -1;
        if (tools && tools->kind != NODE_MAP)
                return wrong(tools, "tools", "this is a map from scripts to grants", e);
        for (const struct node *tool = tools ? tools->first : NULL; tool; tool = tool->next)
                if (check_grants(tool, e) < 0)
                        return -1;
        return check_version(p, found, e);
}

/* -- the words --------------------------------------------------------------------------------- */

static void
add(struct words *w, const char *word)
{
        if (word && w->count < w->room)
                w->items[w->count++] = word;
        else
                w->room = 0; /* no memory: add nothing more, and say so at the end */
}

/* A directory means all below it. A second form of one path ends node with an assertion. */
static void
grant_path(struct words *w, const char *option, const char *path)
{
        add(w, arena_format(w->arena, "%s=%s", option, path));
}

static void
grant_tool(struct words *w, const struct node *tool, const char *script)
{
        grant_path(w, "--allow-fs-read", script);
        node_each(grant, tool)
        {
                node_each(item, grant)
                {
                        if (strcmp(grant->key, "allow") == 0)
                                add(w, option_of(item->text));
                        else
                                grant_path(w,
                                           strcmp(grant->key, "read") == 0 ? "--allow-fs-read"
                                                                           : "--allow-fs-write",
                                           item->text);
                }
        }
}

/* Also the private places: they are new for each sandbox. */
static void
grant_mounts(struct words *w, const struct spec *spec)
{
        static const char *const private[] = { PLAN_HOME, "/tmp" };

        for (size_t i = 0; i < sizeof private / sizeof *private; i++) {
                grant_path(w, "--allow-fs-read", private[i]);
                grant_path(w, "--allow-fs-write", private[i]);
        }
        for (size_t i = 0; i < spec->mount_count; i++) {
                grant_path(w, "--allow-fs-read", spec->mounts[i].at);
                if (!spec->mounts[i].is_read_only)
                        grant_path(w, "--allow-fs-write", spec->mounts[i].at);
        }
}

static int
refuse(struct error *e, const struct permission *p, const char *reason, const char *what,
       const char *word)
{
        (void)fail_at(e, ERROR_POLICY_DENIED, "provider", reason, "the provider %.64s %s: %.100s",
                      p->spec->provider, what, word);
        error_hint(e,
                   "For example: carrel run -- node tools/report.mjs. What a script may do is in "
                   "config.tools of SANDBOX.md.");
        return -1;
}

static int
grant(struct words *w, const struct permission *p, const struct wire_command *c, struct error *e)
{
        const struct node *tools = tools_of(p), *tool;
        const char *script = c->head.argc > 1 ? c->argv[1] : "";

        if (strcmp(c->argv[0], p->interpreter) != 0)
                return refuse(e, p, "not_interpreter", "only runs node SCRIPT", c->argv[0]);
        if (script[0] == '\0' || (script[0] == '-' && (strcmp(script, "-e") != 0 || tools)))
                return refuse(e, p, "options", "takes no options before the script", script);
        tool = tools ? node_find(tools, script) : NULL;
        if (tools && !tool)
                return refuse(e, p, "no_grants", "has no grants for this script", script);
        if (tool)
                grant_tool(w, tool,
                           script[0] == '/' ? script
                                            : arena_format(w->arena, "%s/%s",
                                                           c->cwd ? c->cwd : p->cwd, script));
        else
                grant_mounts(w, p->spec);
        return 0;
}

int
permission_words(struct arena *arena, const struct permission *p, struct wire_command *command,
                 struct error *e)
{
        size_t room =
                FIXED_WORDS + GRANTS_MAX + 2 * (p->spec->mount_count + 2) + command->head.argc;
        struct words w = { .arena = arena };

        if (!p->interpreter || (command->head.flags & WIRE_EXEC_BUILTIN) != 0)
                return 0;
        w.items = arena_array(arena, const char *, room + 1);
        w.room = w.items ? room : 0;
        add(&w, PLAN_SHELL);
        add(&w, "-c");
        add(&w, starter);
        add(&w, p->interpreter);
        if (grant(&w, p, command, e) < 0)
                return -1;
        for (uint32_t i = 1; i < command->head.argc; i++)
                add(&w, command->argv[i]);
        if (w.room == 0)
                return fail(e, ERROR_NO_MEMORY, "no memory for the words of a command");
        command->argv = w.items;
        command->head.argc = (uint32_t)w.count;
        return 0;
}
