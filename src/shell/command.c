/*
 * shell/command.c - the words of a simple command: a builtin of the shell, a program, or a program
 * that runs the command in its arguments.
 *
 * Room: shell (deciding). Touches: mem.
 * Theory: a carrier (env, xargs, sh -c) is recognised by the file that it is, not by how it is
 * written. Its options are a table; one that is not in it is a doubt, because the words after it
 * could be its value or the program. A program that runs others in ways that are not read is listed
 * and is a doubt.
 */
#include <stdio.h>
#include <string.h>

#include "shell/reader.h"

enum { SHORT_MAX = 32 };

/* -- variables --------------------------------------------------------------------------------- */

/* Variables that change what programs print, not what they run. */
static bool
is_harmless(const char *name, size_t len)
{
        static const char *const harmless[] = { "LANG",    "LANGUAGE", "TZ",       "TERM",
                                                "COLUMNS", "LINES",    "NO_COLOR", "FORCE_COLOR",
                                                "CI",      "CLICOLOR", "DEBUG",    "VERBOSE" };

        if (len > 3 && memcmp(name, "LC_", 3) == 0)
                return true;
        for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
                if (strlen(harmless[i]) == len && memcmp(harmless[i], name, len) == 0)
                        return true;
        return false;
}

/* A variable of the text itself. Programs read names in capitals, and those of proxies. */
static bool
is_own(const char *name, size_t len)
{
        for (size_t i = 0; i < len; i++)
                if (!((name[i] >= 'a' && name[i] <= 'z') || name[i] == '_' ||
                      (name[i] >= '0' && name[i] <= '9')))
                        return false;
        return len < 6 || memcmp(name + len - 6, "_proxy", 6) != 0;
}

void
reader_assignment(struct reader *r, const char *name, size_t len, bool is_exported)
{
        if (!is_harmless(name, len) && (is_exported || !is_own(name, len)))
                reader_doubt(r, SHELL_ENVIRONMENT, name, len);
}

bool
shell_variable_runs(const char *name)
{
        static const char *const families[] = { "LD_", "BASH_FUNC_", "GIT_", "DYLD_" };
        static const char *const names[] = { "BASH_ENV",
                                             "ENV",
                                             "SHELLOPTS",
                                             "BASHOPTS",
                                             "PS4",
                                             "IFS",
                                             "CDPATH",
                                             "GCONV_PATH",
                                             "PAGER",
                                             "MANPAGER",
                                             "EDITOR",
                                             "VISUAL",
                                             "BROWSER",
                                             "LESSOPEN",
                                             "LESSCLOSE",
                                             "PYTHONPATH",
                                             "PYTHONSTARTUP",
                                             "PYTHONHOME",
                                             "NODE_OPTIONS",
                                             "NODE_PATH",
                                             "PERL5OPT",
                                             "PERL5LIB",
                                             "PERL5DB",
                                             "RUBYOPT",
                                             "RUBYLIB",
                                             "PROMPT_COMMAND",
                                             "JAVA_TOOL_OPTIONS",
                                             "GLIBC_TUNABLES",
                                             "MAKEFLAGS",
                                             "SHELL" };

        for (size_t i = 0; i < sizeof families / sizeof *families; i++)
                if (strncmp(name, families[i], strlen(families[i])) == 0)
                        return true;
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
                if (strcmp(name, names[i]) == 0)
                        return true;
        return false;
}

/* -- builtins ---------------------------------------------------------------------------------- */

enum builtin {
        BUILTIN_NONE,
        BUILTIN_CONTROL, /* changes nothing outside of the text */
        BUILTIN_MOVES,   /* cd */
        BUILTIN_SET,     /* set: options of the shell */
        BUILTIN_WAITS,   /* wait: -p assigns, and evaluates the name */
        BUILTIN_PROGRAM, /* judged like the program of that name */
        BUILTIN_EVALUATES /* the same; an option evaluates a word */,
        BUILTIN_DOUBT
};

static const struct {
        const char *name;
        enum builtin kind;
} builtins[] = {
        { ":", BUILTIN_CONTROL },        { "break", BUILTIN_CONTROL },
        { "continue", BUILTIN_CONTROL }, { "exit", BUILTIN_CONTROL },
        { "return", BUILTIN_CONTROL },   { "shift", BUILTIN_CONTROL },
        { "times", BUILTIN_CONTROL },    { "wait", BUILTIN_WAITS },
        { "cd", BUILTIN_MOVES },         { "set", BUILTIN_SET },
        { "[", BUILTIN_EVALUATES },      { "test", BUILTIN_EVALUATES },
        { "printf", BUILTIN_EVALUATES }, { "echo", BUILTIN_PROGRAM },
        { "false", BUILTIN_PROGRAM },    { "kill", BUILTIN_PROGRAM },
        { "pwd", BUILTIN_PROGRAM },      { "true", BUILTIN_PROGRAM },
        { ".", BUILTIN_DOUBT },          { "alias", BUILTIN_DOUBT },
        { "bind", BUILTIN_DOUBT },       { "caller", BUILTIN_DOUBT },
        { "bg", BUILTIN_DOUBT },         { "compgen", BUILTIN_DOUBT },
        { "complete", BUILTIN_DOUBT },   { "compopt", BUILTIN_DOUBT },
        { "coproc", BUILTIN_DOUBT },     { "declare", BUILTIN_DOUBT },
        { "dirs", BUILTIN_DOUBT },       { "disown", BUILTIN_DOUBT },
        { "enable", BUILTIN_DOUBT },     { "eval", BUILTIN_DOUBT },
        { "export", BUILTIN_DOUBT },     { "fc", BUILTIN_DOUBT },
        { "fg", BUILTIN_DOUBT },         { "getopts", BUILTIN_DOUBT },
        { "hash", BUILTIN_DOUBT },       { "history", BUILTIN_DOUBT },
        { "jobs", BUILTIN_DOUBT },       { "let", BUILTIN_DOUBT },
        { "logout", BUILTIN_DOUBT },     { "mapfile", BUILTIN_DOUBT },
        { "popd", BUILTIN_DOUBT },       { "pushd", BUILTIN_DOUBT },
        { "read", BUILTIN_DOUBT },       { "readarray", BUILTIN_DOUBT },
        { "readonly", BUILTIN_DOUBT },   { "shopt", BUILTIN_DOUBT },
        { "source", BUILTIN_DOUBT },     { "suspend", BUILTIN_DOUBT },
        { "trap", BUILTIN_DOUBT },       { "type", BUILTIN_DOUBT },
        { "typeset", BUILTIN_DOUBT },    { "ulimit", BUILTIN_DOUBT },
        { "umask", BUILTIN_DOUBT },      { "unalias", BUILTIN_DOUBT },
        { "unset", BUILTIN_DOUBT },
};

static enum builtin
find_builtin(const char *name)
{
        for (size_t i = 0; i < sizeof builtins / sizeof *builtins; i++)
                if (strcmp(builtins[i].name, name) == 0)
                        return builtins[i].kind;
        return BUILTIN_NONE;
}

/* -e, -u, -x, -f and their opposites: an error ends the text, names are not expanded. */
static bool
is_plain_set(const struct words *w)
{
        for (size_t i = 1; i < w->count; i++) {
                const char *word = w->items[i];

                if (!word || (word[0] != '-' && word[0] != '+') || word[1] == '\0' ||
                    word[1 + strspn(word + 1, "eufxC")] != '\0')
                        return false;
        }
        return w->count > 1;
}

/* Do all words have known values, none of which is the option `-v` or `-R`? */
static bool
evaluates_nothing(const struct words *w)
{
        for (size_t i = 1; i < w->count; i++)
                if (!w->items[i] || strncmp(w->items[i], "-v", 2) == 0 ||
                    strcmp(w->items[i], "-R") == 0)
                        return false;
        return true;
}

/* -p NAME assigns: NAME may be PATH, or an array's element, whose index is evaluated. */
static bool
waits_only(const struct words *w)
{
        for (size_t i = 1; i < w->count; i++)
                if (!w->items[i] || (w->items[i][0] == '-' && strchr(w->items[i], 'p')))
                        return false;
        return true;
}

static void
doubt_word(struct reader *r, enum shell_doubt doubt, const char *word)
{
        reader_doubt(r, doubt, word ? word : "", word ? strlen(word) : 0);
}

/* -- carriers ---------------------------------------------------------------------------------- */

struct carrier {
        const char *name;
        /* short options without and with a value; long ones, each between blanks, with "=" for a
         * value */
        const char *flags, *valued, *longs;
        size_t operands; /* words before the command */
        void (*read)(struct reader *r, const struct carrier *c, const struct words *w);
};

/* The word behind the options; w->count: there is none. -1: an option that is not known. */
static long
skip_options(struct reader *r, const struct carrier *c, const struct words *w)
{
        size_t i = 1;

        for (; i < w->count && w->items[i] && w->items[i][0] == '-'; i++) {
                const char *word = w->items[i];
                size_t len = strspn(word + 1, c->flags);
                char name[SHORT_MAX + 4];

                if (strcmp(word, "--") == 0)
                        return (long)i + 1;
                if (word[1] == '-' && strcspn(word, "=") < SHORT_MAX) {
                        (void)snprintf(name, sizeof name, " %.*s ",
                                       (int)(strcspn(word, "=") + (strchr(word, '=') != NULL)),
                                       word);
                        if (strstr(c->longs, name))
                                continue;
                } else if (word[1] != '\0' && word[1 + len] == '\0') {
                        continue;
                } else if (word[1] != '\0' && strchr(c->valued, word[1 + len])) {
                        i += word[2 + len] == '\0'; /* its value is the next word */
                        continue;
                }
                doubt_word(r, SHELL_OPTION, word);
                return -1;
        }
        return (long)(i < w->count ? i : w->count);
}

static bool
has_unknown(const struct words *w, size_t end)
{
        for (size_t i = 1; i < end && i < w->count; i++)
                if (!w->items[i])
                        return true;
        return false;
}

/* A program starts this command, not the shell, so builtins have no meaning there. */
static void
read_outside(struct reader *r, const struct words *w)
{
        bool was_in_shell = r->in_shell;

        r->in_shell = false;
        reader_words(r, w);
        r->in_shell = was_in_shell;
}

/* A command follows: without one, the carrier is an ordinary program. */
static void
carry(struct reader *r, const struct carrier *c, const struct words *w, size_t at)
{
        struct words rest;

        at += c->operands;
        if (has_unknown(w, at) || (at >= w->count && w->has_more)) {
                doubt_word(r, SHELL_EXPANSION, w->items[0]);
                return;
        }
        reader_program(r, c->name, w, at < w->count);
        if (at >= w->count)
                return;
        rest = words_after(w, at);
        if (strcmp(c->name, "time") == 0)
                reader_words(r, &rest); /* a reserved word in some shells */
        else
                read_outside(r, &rest);
}

static void
read_plain_carrier(struct reader *r, const struct carrier *c, const struct words *w)
{
        long at = skip_options(r, c, w);

        if (at > 0)
                carry(r, c, w, (size_t)at);
}

static void
read_env(struct reader *r, const struct carrier *c, const struct words *w)
{
        long at = skip_options(r, c, w);
        const char *equals;

        if (at < 0)
                return;
        for (; (size_t)at < w->count && w->items[at]; at++) {
                equals = strchr(w->items[at], '=');
                if (!equals)
                        break;
                reader_assignment(r, w->items[at], (size_t)(equals - w->items[at]), true);
        }
        for (long i = 1; i < at; i++)
                if (w->items[i] && w->items[i][0] == '-' &&
                    (strchr(w->items[i], 'C') || strncmp(w->items[i], "--chdir", 7) == 0))
                        r->reading->has_moved = true;
        carry(r, c, w, (size_t)at);
}

/* xargs gives its command further words, and replaces a mark in those it has. */
static void
read_xargs(struct reader *r, const struct carrier *c, const struct words *w)
{
        static const char *const echo[] = { "echo" };
        long at = skip_options(r, c, w);
        struct words rest;
        const char **items;

        for (long i = 1; i < at; i++)
                /* together with other options its mark is not found below */
                if (w->items[i] && w->items[i][0] == '-' && w->items[i][1] != '-' &&
                    strchr(w->items[i], 'I') && w->items[i][1] != 'I')
                        doubt_word(r, SHELL_OPTION, w->items[i]);
        if (at > 0 && has_unknown(w, (size_t)at))
                doubt_word(r, SHELL_EXPANSION, w->items[0]);
        if (at < 0)
                return;
        reader_program(r, c->name, w, true);
        rest = (size_t)at < w->count ? words_after(w, (size_t)at) : (struct words){ echo, 1, true };
        rest.has_more = true;
        for (long i = 1; i < at; i++) {
                if (!w->items[i] || (strncmp(w->items[i], "-I", 2) != 0))
                        continue;
                items = arena_array(r->memory, const char *, rest.count + 1);
                for (size_t k = 0; items && k < rest.count; k++) {
                        const char *mark = w->items[i][2] ? w->items[i] + 2 : w->items[i + 1];

                        items[k] = rest.items[k] && mark && !strstr(rest.items[k], mark)
                                           ? rest.items[k]
                                           : NULL;
                }
                if (items)
                        rest.items = items;
        }
        read_outside(r, &rest);
}

/*
 * sh -c TEXT. Without -c it runs a file, or its input. A login shell (-l) reads profiles before
 * TEXT, which are not judged: docs/POLICY.md says so.
 */
static void
read_shell(struct reader *r, const struct carrier *c, const struct words *w)
{
        bool has_text = false;
        size_t i = 1;

        for (; i < w->count && w->items[i] && w->items[i][0] == '-' && w->items[i][1] != '\0';
             i++) {
                if (strcmp(c->name, "bash") == 0 && strcmp(w->items[i], "--login") == 0)
                        continue;
                if (w->items[i][1 + strspn(w->items[i] + 1, "ceuflx")] != '\0') {
                        doubt_word(r, SHELL_OPTION, w->items[i]);
                        return;
                }
                has_text = has_text || strchr(w->items[i], 'c');
        }
        reader_program(r, c->name, w, has_text);
        if (!has_text) {
                /* its input has the shell's name, whatever link was called */
                doubt_word(r, SHELL_SCRIPT, i < w->count ? w->items[i] : c->name);
                return;
        }
        if (i >= w->count || !w->items[i]) {
                doubt_word(r, SHELL_EXPANSION, w->items[0]);
                return;
        }
        r->depth++;
        reader_text(r, w->items[i], strlen(w->items[i]));
        r->depth--;
}

/* find: each -exec is a command of its own, in which {} is replaced. */
static size_t
read_exec(struct reader *r, const struct words *w, size_t from)
{
        const char **items = arena_array(r->memory, const char *, w->count + 1);
        struct words rest = { items, 0, false };

        for (; items && from < w->count; from++) {
                const char *word = w->items[from];

                if (word && (strcmp(word, ";") == 0 || strcmp(word, "+") == 0))
                        break;
                items[rest.count++] = word && !strstr(word, "{}") ? word : NULL;
        }
        if (rest.count > 0 && items[0])
                read_outside(r, &rest);
        else
                doubt_word(r, SHELL_EXPANSION, w->items[0]);
        return from;
}

static void
read_find(struct reader *r, const struct carrier *c, const struct words *w)
{
        static const char *const rm[] = { "rm" };
        struct words removes = { rm, 1, true };

        reader_program(r, c->name, w, false);
        for (size_t i = 1; i < w->count; i++) {
                const char *word = w->items[i];

                if (!word)
                        continue; /* a quoted or expanded path; an option in it is not seen */
                if (strcmp(word, "-exec") == 0 || strcmp(word, "-execdir") == 0 ||
                    strcmp(word, "-ok") == 0 || strcmp(word, "-okdir") == 0)
                        i = read_exec(r, w, i + 1);
                else if (strcmp(word, "-delete") == 0)
                        read_outside(r, &removes);
                else if (strncmp(word, "-fprint", 7) == 0 || strcmp(word, "-fls") == 0)
                        doubt_word(r, SHELL_WRITES, i + 1 < w->count ? w->items[i + 1] : word);
        }
        if (has_unknown(w, w->count) || w->has_more)
                doubt_word(r, SHELL_EXPANSION, w->items[0]);
}

/* command, builtin and exec choose how the name is found; -v and -V of command run nothing. */
static void
read_command(struct reader *r, const struct carrier *c, const struct words *w)
{
        struct words rest;
        long at;

        if (strcmp(c->name, "command") == 0 && w->count > 1 && w->items[1] &&
            (strcmp(w->items[1], "-v") == 0 || strcmp(w->items[1], "-V") == 0))
                return;
        at = skip_options(r, c, w);
        if (at < 0 || (size_t)at >= w->count)
                return;
        rest = words_after(w, (size_t)at);
        if (strcmp(c->name, "exec") == 0)
                read_outside(r, &rest);
        else
                reader_words(r, &rest);
}

static const struct carrier carriers[] = {
        { "env", "i0v", "uC", " --ignore-environment --null --unset= --chdir= ", 0, read_env },
        { "nohup", "", "", "", 0, read_plain_carrier },
        { "setsid", "cfw", "", " --ctty --fork --wait ", 0, read_plain_carrier },
        { "nice", "", "n", " --adjustment= ", 0, read_plain_carrier },
        { "ionice", "t", "cn", " --class= --classdata= --ignore ", 0, read_plain_carrier },
        { "timeout", "v", "ks",
          " --foreground --preserve-status --verbose --kill-after= --signal= ", 1,
          read_plain_carrier },
        { "time", "pv", "", " --portability --verbose ", 0, read_plain_carrier },
        { "stdbuf", "", "ioe", " --input= --output= --error= ", 0, read_plain_carrier },
        { "busybox", "", "", "", 0, read_plain_carrier },
        { "toybox", "", "", "", 0, read_plain_carrier },
        { "xargs", "0rtx", "nLPsdEaI",
          " --null --no-run-if-empty --verbose --exit --max-args= --max-lines= --max-procs= "
          "--max-chars= --delimiter= --arg-file= ",
          0, read_xargs },
        { "find", "", "", "", 0, read_find },
        { "sh", "", "", "", 0, read_shell },
        { "bash", "", "", "", 0, read_shell },
        { "dash", "", "", "", 0, read_shell },
        { "ash", "", "", "", 0, read_shell },
        { "rbash", "", "", "", 0, read_shell },
};

/* They exist in the shell alone, whatever lies in PATH. */
static const struct carrier shell_carriers[] = {
        { "command", "p", "", "", 0, read_command },
        { "builtin", "", "", "", 0, read_command },
        { "exec", "", "", "", 0, read_command },
};

static bool
read_carrier(struct reader *r, const struct carrier *table, size_t count, const char *name,
             const struct words *w)
{
        for (size_t i = 0; i < count; i++) {
                if (strcmp(table[i].name, name) != 0)
                        continue;
                table[i].read(r, &table[i], w);
                return true;
        }
        return false;
}

/* -- a command --------------------------------------------------------------------------------- */

/* Without a word it is the home; "-" is where the shell was before. */
static void
read_cd(struct reader *r, const struct words *w)
{
        const char *last = w->count > 1 ? w->items[w->count - 1] : NULL;

        r->reading->has_moved = true;
        reader_file(r, last && last[0] != '-' && !w->has_more ? last : NULL);
}

static bool
read_builtin(struct reader *r, const struct words *w)
{
        switch (find_builtin(w->items[0])) {
        case BUILTIN_CONTROL:
                return true;
        case BUILTIN_MOVES:
                read_cd(r, w);
                return true;
        case BUILTIN_SET:
                if (!is_plain_set(w))
                        doubt_word(r, SHELL_BUILTIN, w->items[0]);
                return true;
        case BUILTIN_WAITS:
                if (!waits_only(w))
                        doubt_word(r, SHELL_EVALUATES, w->items[0]);
                return true;
        case BUILTIN_DOUBT:
                doubt_word(r, SHELL_BUILTIN, w->items[0]);
                return true;
        case BUILTIN_EVALUATES:
                if (!evaluates_nothing(w))
                        doubt_word(r, SHELL_EVALUATES, w->items[0]);
                return false;
        case BUILTIN_PROGRAM:
        case BUILTIN_NONE:
                break;
        }
        return false;
}

static void
read_program(struct reader *r, const struct words *w)
{
        const char *word = w->items[0];
        bool is_relative = strchr(word, '/') && word[0] != '/';
        const char *name = is_relative && r->reading->has_moved
                                   ? NULL
                                   : r->facts->find(r->facts->context, word);

        if (!name)
                doubt_word(r, SHELL_UNKNOWN, word);
        else if (!read_carrier(r, carriers, sizeof carriers / sizeof *carriers, name, w)) {
                reader_program(r, name, w, false);
                reader_options(r, name, w);
                reader_code(r, name, w);
        }
}

void
reader_words(struct reader *r, const struct words *w)
{
        if (++r->depth > SHELL_DEPTH_MAX)
                doubt_word(r, SHELL_LIMIT, w->items[0]);
        else if (!w->items[0])
                doubt_word(r, SHELL_EXPANSION, NULL);
        else if (!r->in_shell ||
                 (!read_builtin(r, w) &&
                  !read_carrier(r, shell_carriers, sizeof shell_carriers / sizeof *shell_carriers,
                                w->items[0], w)))
                read_program(r, w);
        r->depth--;
}
