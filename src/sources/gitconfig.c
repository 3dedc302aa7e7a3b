/*
 * sources/gitconfig.c - /etc/gitconfig of a sandbox: the committer's identity, from the caller's
 * own git configuration.
 *
 * Room: sources (joining). Touches: files of the caller's home (reading only).
 * Theory: a commit made inside must have the caller as its author. The host's git is not run,
 * because its configuration may run programs. The files are read in git's order and the last value
 * wins; only three keys are taken.
 */
#include "sources/gitconfig.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "git/config.h"
#include "ref/file.h"

enum { PATH_ROOM = 4096, DEPTH_MAX = 4, FILES_MAX = 32 };

/*
 * The command's own configuration overrides these. Files of a mount may belong to another user, and
 * files inside are the command's own, so every directory is safe. A worktree whose directory is not
 * mounted must not be removed by gc. Owner ids differ inside: with the host's index git would treat
 * every file as changed, and `git reset --hard` would write them all, protected ones too.
 */
#define OWN                                                                                      \
        "[safe]\n\tdirectory = *\n[core]\n\tcheckStat = minimal\n[gc]\n\tworktreePruneExpire = " \
        "never\n"

static const char *const keys[] = { "user.name", "user.email", "init.defaultbranch" };
static const char *const lines[] = { "[user]\n\tname = ", "[user]\n\temail = ",
                                     "[init]\n\tdefaultBranch = " };
enum { KEY_MAX = sizeof keys / sizeof *keys, KEY_USERS = 2 };

struct reading {
        struct arena *arena;
        const struct gitconfig_request *r;
        unsigned files;
        bool is_unsure; /* a condition was not understood, and the identity depends on it */
        bool is_full;
        const char *values[KEY_MAX];
};

static void read_file(struct reading *g, const char *path, unsigned depth, bool is_sure);

/* The path to which `path`, written in the file `from`, refers. */
static bool
resolve(const struct reading *g, const char *from, const char *path, char ret[PATH_ROOM])
{
        const char *slash = strrchr(from, '/');
        int len;

        if (strncmp(path, "~/", 2) == 0)
                len = snprintf(ret, PATH_ROOM, "%s/%s", g->r->home, path + 2);
        else if (path[0] == '/')
                len = snprintf(ret, PATH_ROOM, "%s", path);
        else
                len = snprintf(ret, PATH_ROOM, "%.*s/%s", slash ? (int)(slash - from) : 0, from,
                               path);
        return path[0] != '\0' && len < PATH_ROOM;
}

enum answer { NO, YES, UNKNOWN };

/* The condition between "includeif." and ".path". Only directory patterns are understood. */
static enum answer
holds(const struct reading *g, const char *condition, size_t len)
{
        char pattern[GIT_KEY_ROOM], whole[PATH_ROOM];
        size_t end;

        if (len <= 7 || len - 7 >= sizeof pattern || strncmp(condition, "gitdir:", 7) != 0)
                return UNKNOWN;
        memcpy(pattern, condition + 7, len - 7);
        pattern[len - 7] = '\0';
        end = strlen(pattern);
        if (pattern[strcspn(pattern, "*?[\\")] != '\0' || pattern[end - 1] != '/' ||
            (pattern[0] != '/' && strncmp(pattern, "~/", 2) != 0) ||
            !resolve(g, "/", pattern, whole))
                return UNKNOWN;
        end = strlen(whole) - 1;
        if (!g->r->workspace)
                return NO;
        return strncmp(g->r->workspace, whole, end) == 0 &&
                               (g->r->workspace[end] == '/' || g->r->workspace[end] == '\0')
                       ? YES
                       : NO;
}

static void
follow(struct reading *g, const char *from, const struct git_entry *entry, unsigned depth,
       bool is_sure)
{
        size_t len = strlen(entry->key);
        enum answer answer = YES;
        char path[PATH_ROOM];

        if (strncmp(entry->key, "includeif.", 10) == 0 && len > 15 &&
            strcmp(entry->key + len - 5, ".path") == 0)
                answer = holds(g, entry->key + 10, len - 15);
        else if (strcmp(entry->key, "include.path") != 0)
                return;
        if (answer != NO && depth < DEPTH_MAX && resolve(g, from, entry->value, path))
                read_file(g, path, depth + 1, is_sure && answer == YES);
}

/* A value that is not one line of printable text is not a name. */
static bool
is_printable(const char *text)
{
        for (const char *at = text; *at != '\0'; at++)
                if ((unsigned char)*at < 0x20 || *at == 0x7f)
                        return false;
        return text[0] != '\0';
}

static void
take(struct reading *g, const struct git_entry *entry, bool is_sure)
{
        for (size_t i = 0; i < KEY_MAX; i++) {
                if (strcmp(entry->key, keys[i]) != 0 || !entry->has_value ||
                    !is_printable(entry->value))
                        continue;
                if (!is_sure) {
                        g->is_unsure |= i < KEY_USERS;
                        continue;
                }
                g->values[i] = arena_text(g->arena, entry->value);
                g->is_full |= !g->values[i];
        }
}

static void
read_file(struct reading *g, const char *path, unsigned depth, bool is_sure)
{
        const char *bytes = NULL;
        struct git_config c;
        struct git_entry entry;
        struct error ignored;
        size_t len = 0;
        int got;

        if (g->files++ >= FILES_MAX ||
            ref_file_read(g->arena, path, GIT_CONFIG_MAX, NULL, &bytes, &len, &ignored) < 0)
                return;
        git_config_open(&c, bytes, len);
        while ((got = git_config_next(&c, &entry)) > 0)
                continue;
        if (got < 0)
                return;
        git_config_open(&c, bytes, len);
        while (git_config_next(&c, &entry) > 0) {
                take(g, &entry, is_sure);
                follow(g, path, &entry, depth, is_sure);
        }
}

/* In quotes, in git's syntax. */
static const char *
with_line(struct arena *arena, const char *text, const char *line, const char *value)
{
        char quoted[2 * GIT_VALUE_ROOM];
        size_t len = 0;

        for (; *value != '\0'; value++) {
                if (*value == '"' || *value == '\\')
                        quoted[len++] = '\\';
                quoted[len++] = *value;
        }
        quoted[len] = '\0';
        return arena_format(arena, "%s%s\"%s\"\n", text, line, quoted);
}

int
gitconfig_make(struct arena *arena, const struct gitconfig_request *r, const char **ret,
               struct error *e)
{
        struct reading g = { .arena = arena, .r = r };
        const char *text = OWN;
        char path[PATH_ROOM];

        if (r->home && r->home[0] == '/') {
                int len = r->xdg && r->xdg[0] == '/'
                                  ? snprintf(path, sizeof path, "%s/git/config", r->xdg)
                                  : snprintf(path, sizeof path, "%s/.config/git/config", r->home);

                if (len < PATH_ROOM)
                        read_file(&g, path, 0, true);
                if (snprintf(path, sizeof path, "%s/.gitconfig", r->home) < PATH_ROOM)
                        read_file(&g, path, 0, true);
        }
        for (size_t i = 0; text && i < KEY_MAX; i++)
                if (g.values[i] && !(g.is_unsure && i < KEY_USERS))
                        text = with_line(arena, text, lines[i], g.values[i]);
        if (!text || g.is_full)
                return fail(e, ERROR_NO_MEMORY, "no memory for git's configuration");
        *ret = text;
        return 0;
}
