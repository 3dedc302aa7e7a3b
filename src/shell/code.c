/*
 * shell/code.c - programs that are named in the code of an interpreter: python -c, perl -e, awk,
 * sed.
 *
 * Room: shell (deciding). Touches: mem.
 * Theory: a language is not read. If code has a word that starts programs, each word in it that is
 * the name of a program counts as run for what is denied, and for nothing else. Code can hide a
 * name: this is against mistakes.
 */
#include <string.h>

#include "shell/reader.h"

enum { NAMED_MAX = 32, NAME_LONGEST = 64 };

/* Words that start programs in one of the languages; each begins with the languages' letters. */
static const struct language {
        const char *program;           /* the begin of its name: python3.11 */
        const char *letters, *eval[2]; /* options before code */
        const char *starts[8];
} languages[] = {
        { "python",
          "c",
          { NULL },
          { "system", "popen", "Popen", "subprocess", "exec", "spawn", "pty" } },
        { "perl", "eE", { NULL }, { "system", "exec", "popen", "open", "qx", "`" } },
        { "ruby", "e", { NULL }, { "system", "exec", "spawn", "popen", "%x", "`", "Open3" } },
        { "node", "ep", { "--eval", "--print" }, { "child_process", "exec", "spawn" } },
        { "bun", "e", { "--eval", "--print" }, { "child_process", "exec", "spawn", "$`" } },
        { "php", "rBRE", { "--run" }, { "system", "exec", "passthru", "popen", "proc_open", "`" } },
        { "lua", "e", { NULL }, { "execute", "popen" } },
        { "Rscript", "e", { NULL }, { "system", "shell" } },
};

static const char *const awks[] = { "awk", "gawk", "mawk", "nawk", "original-awk" };

/* -- what code says ---------------------------------------------------------------------------- */

static bool
is_part(char c, bool has_paths)
{
        return reader_is_alnum(c) || (c != '\0' && strchr("_-+.", c)) || (c == '/' && has_paths);
}

/* Notes each word that is the name of a program. `has_paths`: a slash belongs to a word. */
static void
name_programs(struct reader *r, const char *code, bool has_paths)
{
        for (size_t count = 0; *code && count < NAMED_MAX;) {
                size_t len = 0;
                const char *word, *name;

                while (*code && !is_part(*code, has_paths))
                        code++;
                while (is_part(code[len], has_paths))
                        len++;
                word = len > 0 && len <= NAME_LONGEST ? arena_copy(r->memory, code, len) : NULL;
                name = word ? r->facts->find(r->facts->context, word) : NULL;
                if (name) {
                        reader_named(r, name, word);
                        count++;
                }
                code += len;
        }
}

static bool
has_start(const struct language *l, const char *code)
{
        for (size_t i = 0; i < sizeof l->starts / sizeof *l->starts && l->starts[i]; i++)
                if (strstr(code, l->starts[i]))
                        return true;
        return false;
}

static void
read_code(struct reader *r, const struct language *l, const char *code)
{
        if (code && has_start(l, code))
                name_programs(r, code, true);
}

/* -- interpreters ------------------------------------------------------------------------------ */

static void
read_interpreter(struct reader *r, const struct language *l, const struct words *w)
{
        for (size_t i = 1; i < w->count; i++) {
                const char *word = w->items[i], *next = i + 1 < w->count ? w->items[i + 1] : NULL;
                const char *letter;

                if (!word || word[0] != '-')
                        continue;
                for (size_t k = 0; k < sizeof l->eval / sizeof *l->eval && l->eval[k]; k++) {
                        size_t len = strlen(l->eval[k]);

                        if (strncmp(word, l->eval[k], len) == 0 && word[len] == '=')
                                read_code(r, l, word + len + 1);
                        else if (strcmp(word, l->eval[k]) == 0)
                                read_code(r, l, next);
                }
                letter = word[1] == '-' ? NULL : strpbrk(word + 1, l->letters);
                if (letter && letter[1])
                        read_code(r, l, letter + 1);
                else if (letter)
                        read_code(r, l, next);
        }
}

/* -- awk and sed ------------------------------------------------------------------------------- */

/* Behind the delimiter `at[0]`: the next one that is not escaped, or NULL. */
static const char *
next_part(const char *at, char delimiter)
{
        for (at++; *at && *at != delimiter; at++)
                if (*at == '\\' && at[1])
                        at++;
        return *at ? at : NULL;
}

/* Is a `/` here the begin of a regular expression, and no division? */
static bool
is_regex(const char *code, const char *at)
{
        while (at > code && strchr(" \t", at[-1]))
                at--;
        return at == code || (!reader_is_alnum(at[-1]) && !strchr("_)]$\"", at[-1]));
}

/* system(), or a pipe outside of strings and regular expressions. */
static bool
runs_in_awk(const char *code)
{
        if (strstr(code, "system"))
                return true;
        for (const char *at = code; *at; at++) {
                if (*at == '"' || (*at == '/' && is_regex(code, at))) {
                        at = next_part(at, *at);
                        if (!at)
                                return false;
                } else if (*at == '|' && at[1] == '|') {
                        at++;
                } else if (*at == '|') {
                        return true;
                }
        }
        return false;
}

static void
read_awk(struct reader *r, const struct words *w)
{
        for (size_t i = 1; i < w->count; i++)
                if (w->items[i] && runs_in_awk(w->items[i]))
                        name_programs(r, w->items[i], true);
}

/* Behind the bracket expression at `at`, where a delimiter is a character as others. */
static const char *
skip_bracket(const char *at)
{
        at += at[1] == '^' ? 2 : 1;
        for (at += *at == ']'; *at && *at != ']'; at += *at != '\0')
                if (*at == '[' && at[1] && strchr(":.=", at[1]))
                        at += 1 + strcspn(at + 1, "]");
        return at;
}

/* The same as next_part(), behind a regular expression. `has_brackets`: as sed reads it. */
static const char *
next_regex(const char *at, char delimiter, bool has_brackets)
{
        for (at++; *at && *at != delimiter; at++) {
                if (*at == '\\' && at[1])
                        at++;
                else if (*at == '[' && has_brackets)
                        at = skip_bracket(at);
                if (!*at)
                        break;
        }
        return *at ? at : NULL;
}

/* s/REGEX/COMMAND/e: at its end; *ret: it runs what it made. NULL: it is not complete. */
static const char *
skip_substitution(const char *at, bool has_brackets, bool *ret)
{
        const char *end = at[1] ? next_regex(at + 1, at[1], has_brackets) : NULL;
        size_t flags;

        end = end ? next_part(end, at[1]) : NULL;
        flags = end ? strspn(end + 1, "gpiImM0123456789e") : 0;
        *ret = *at == 's' && end && memchr(end + 1, 'e', flags);
        return end ? end + flags : NULL;
}

/* The command e, or a flag e. Commands with a text or a label end with their line. */
static bool
runs_in_sed(const char *script, bool has_brackets)
{
        bool runs = false;

        for (const char *at = script; at && *at; at++) {
                if (*at == 'e')
                        return true;
                if (*at == 's' || *at == 'y')
                        at = skip_substitution(at, has_brackets && *at == 's', &runs);
                else if (*at == '/')
                        at = next_regex(at, '/', has_brackets);
                else if (*at == '\\' && at[1])
                        at = next_regex(at + 1, at[1], has_brackets);
                else if (strchr("aicrRwW#:btT", *at))
                        at += strcspn(at, strchr(":btT", *at) ? ";}\n" : "\n");
                if (runs)
                        return true;
                if (!at || !*at)
                        break;
        }
        return false;
}

/* Not each sed knows brackets there, so both readings count. */
static void
read_script(struct reader *r, const char *script)
{
        if (script && (runs_in_sed(script, true) || runs_in_sed(script, false)))
                name_programs(r, script, false);
}

/* A script follows -e; without one, the first word is it. */
static void
read_sed(struct reader *r, const struct words *w)
{
        const char *first = NULL;
        bool has_option = false;

        for (size_t i = 1; i < w->count; i++) {
                const char *word = w->items[i], *letter;

                if (!word || word[0] != '-') {
                        first = first ? first : word;
                        continue;
                }
                /* the long option may be cut short */
                letter = word[1] == '-' ? strncmp(word, "--e", 3) == 0 ? strchr(word, '=') : NULL
                                        : strchr(word, 'e');
                if (letter && letter[1])
                        read_script(r, letter + 1);
                else if ((letter || strncmp(word, "--e", 3) == 0) && i + 1 < w->count)
                        read_script(r, w->items[++i]);
                else if (!letter)
                        continue;
                has_option = true;
        }
        if (!has_option)
                read_script(r, first);
}

void
reader_code(struct reader *r, const char *program, const struct words *w)
{
        for (size_t i = 0; i < sizeof languages / sizeof *languages; i++)
                if (strncmp(program, languages[i].program, strlen(languages[i].program)) == 0)
                        read_interpreter(r, &languages[i], w);
        for (size_t i = 0; i < sizeof awks / sizeof *awks; i++)
                if (strcmp(program, awks[i]) == 0)
                        read_awk(r, w);
        if (strcmp(program, "sed") == 0)
                read_sed(r, w);
}
