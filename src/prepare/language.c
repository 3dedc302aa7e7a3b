/*
 * prepare/language.c - code in a language: the table of interpreters and their words.
 *
 * Room: prepare (joining). Touches: nothing.
 * Theory: an interpreter is started by its name, so PATH and the template of the sandbox choose
 * it. The first row of a language whose interpreter is inside is used.
 */
#include "prepare/language.h"

#include <stdio.h>
#include <string.h>

#include "text/nearest.h"

enum { WAYS_MAX = 3, ALIASES_MAX = 4, NAME_SHOWN = 40, LIST_MAX = 200 };

struct way {
        const char *family; /* of prepare/runtime.h; NULL: every sandbox has it */
        const char *least;  /* oldest version that can do this; NULL: any */
        /* its parser of options reads the code too: a space goes before a first hyphen or plus */
        bool reads_hyphen;
        const char *words[LANGUAGE_WORDS_MAX - 1]; /* before the code; NULL after the last */
};

struct language {
        const char *name;
        const char *aliases[ALIASES_MAX + 1]; /* also ends of file names */
        struct way ways[WAYS_MAX];            /* ends with one without words */
};

static const struct language languages[] = {
        { "javascript",
          { "js", "node", "mjs", "cjs" },
          { { "node", NULL, true, { "node", "-e" } },
            { "bun", NULL, true, { "bun", "-e" } },
            { "deno", NULL, true, { "deno", "eval" } } } },
        { "typescript",
          { "ts", "mts" },
          { { "node",
              "22.13",
              true,
              { "node", "--experimental-strip-types", "--disable-warning=ExperimentalWarning",
                "--input-type=module-typescript", "-e" } },
            { "bun", NULL, true, { "bun", "-e" } },
            { "deno", NULL, true, { "deno", "eval", "--ext=ts" } } } },
        { "python",
          { "python3", "py" },
          { { "python", NULL, false, { "python3", "-c" } },
            { "pypy", NULL, false, { "pypy3", "-c" } } } },
        { "shell", { "sh" }, { { NULL, NULL, true, { "sh", "-c" } } } },
        { "bash", { NULL }, { { "bash", NULL, true, { "bash", "-c" } } } },
        { "zsh", { NULL }, { { "zsh", NULL, true, { "zsh", "-c" } } } },
        { "fish", { NULL }, { { "fish", NULL, false, { "fish", "-c" } } } },
        { "ruby", { "rb" }, { { "ruby", NULL, false, { "ruby", "-e" } } } },
        { "perl", { "pl" }, { { "perl", NULL, false, { "perl", "-e" } } } },
        { "php", { NULL }, { { "php", NULL, false, { "php", "-r" } } } },
        { "lua",
          { NULL },
          { { "lua", NULL, false, { "lua", "-e" } },
            { "luajit", NULL, false, { "luajit", "-e" } } } },
        { "julia", { "jl" }, { { "julia", NULL, false, { "julia", "-e" } } } },
};

enum { LANGUAGES = sizeof languages / sizeof *languages };

static bool
is_named(const struct language *l, const char *name)
{
        if (strcmp(l->name, name) == 0)
                return true;
        for (size_t i = 0; l->aliases[i]; i++)
                if (strcmp(l->aliases[i], name) == 0)
                        return true;
        return false;
}

static const struct language *
find(const char *name)
{
        for (size_t i = 0; i < LANGUAGES; i++)
                if (is_named(&languages[i], name))
                        return &languages[i];
        return NULL;
}

static bool
can_run(const struct way *w, const struct runtime *r)
{
        return strcmp(r->family, w->family) == 0 &&
               (!w->least || runtime_version_compare(r->version, w->least) >= 0);
}

/* The template of a sandbox hides the host's other interpreters of its family. */
static bool
is_inside(const struct way *w, const struct language_place *place)
{
        if (!w->family)
                return true;
        if (place->is_image)
                return false;
        if (place->chosen && strcmp(place->chosen->family, w->family) == 0)
                return can_run(w, place->chosen);
        for (size_t i = 0; i < place->found->count; i++)
                if (!place->found->items[i].prefix && can_run(w, &place->found->items[i]))
                        return true;
        return false;
}

static const struct way *
find_way(const struct language *l, const struct language_place *place)
{
        for (size_t i = 0; i < WAYS_MAX && l->ways[i].words[0]; i++)
                if (is_inside(&l->ways[i], place))
                        return &l->ways[i];
        return NULL;
}

/* Writes "javascript, python, shell": the languages that the sandbox has. */
static void
write_list(const struct language_place *place, char out[LIST_MAX])
{
        size_t used = 0;

        out[0] = '\0';
        for (size_t i = 0; i < LANGUAGES; i++) {
                int len = find_way(&languages[i], place)
                                  ? snprintf(out + used, LIST_MAX - used, "%s%s",
                                             used > 0 ? ", " : "", languages[i].name)
                                  : 0;

                if (len > 0)
                        used += (size_t)len;
        }
}

bool
language_uses(const char *language, const char *family)
{
        for (size_t i = 0; i < LANGUAGES; i++)
                for (size_t w = 0; (!language || is_named(&languages[i], language)) && w < WAYS_MAX;
                     w++)
                        if (languages[i].ways[w].family &&
                            strcmp(languages[i].ways[w].family, family) == 0)
                                return true;
        return false;
}

static const char *
name_of(const char *name, size_t len)
{
        for (size_t i = 0; i < LANGUAGES; i++) {
                const struct language *l = &languages[i];

                if (strlen(l->name) == len && strncmp(l->name, name, len) == 0)
                        return l->name;
                for (size_t a = 0; l->aliases[a]; a++)
                        if (strlen(l->aliases[a]) == len && strncmp(l->aliases[a], name, len) == 0)
                                return l->name;
        }
        return NULL;
}

/* "#!/usr/bin/python3 -u" and "#!/usr/bin/env python3" name python3. */
static const char *
of_first_line(const char *code)
{
        static const char blank[] = " \t", ends[] = " \t\r\n";
        const char *at = code + 2 + strspn(code + 2, blank), *name;
        size_t len;

        for (int i = 0; i < 2; i++) {
                len = strcspn(at, ends);
                name = at + len;
                while (name > at && name[-1] != '/')
                        name--;
                len -= (size_t)(name - at);
                if (len != 3 || strncmp(name, "env", 3) != 0)
                        return name_of(name, len);
                at = name + len + strspn(name + len, blank);
        }
        return NULL;
}

const char *
language_of_file(const char *name, const char *code)
{
        const char *dot = name ? strrchr(name, '.') : NULL;
        const char *language = dot && !strchr(dot, '/') ? name_of(dot + 1, strlen(dot + 1)) : NULL;

        return language ? language : strncmp(code, "#!", 2) == 0 ? of_first_line(code) : NULL;
}

static int
refuse(const struct language *l, const char *asked, const struct language_place *place,
       struct error *e)
{
        struct nearest near = nearest_begin(asked);
        char list[LIST_MAX];

        for (size_t i = 0; !l && i < LANGUAGES; i++)
                (void)nearest_try(&near, languages[i].name, languages[i].name);
        write_list(place, list);
        if (l)
                (void)fail_at(e, ERROR_RUNTIME_UNKNOWN, "language", "missing",
                              "the sandbox has no interpreter for %s", l->name);
        else
                (void)fail_at(e, ERROR_INVALID_ARGUMENT, "language", "unknown_language",
                              "Carrel does not know the language \"%.*s\"", NAME_SHOWN, asked);
        if (l && l->ways[0].least)
                error_hint(e, "It needs %s %s or newer. The sandbox has %s.", l->ways[0].family,
                           l->ways[0].least, list);
        else
                error_hint(e, "%s%s%sThe sandbox has %s.", near.found ? "Did you mean " : "",
                           near.found ? near.found : "", near.found ? "? " : "", list);
        return -1;
}

int
language_words(const char *language, const char *code, const struct language_place *place,
               char room[LANGUAGE_CODE_ROOM], const char *words[LANGUAGE_WORDS_MAX],
               size_t *ret_count, struct error *e)
{
        const struct language *l = find(language);
        const struct way *w = l ? find_way(l, place) : NULL;
        size_t count = 0;

        if (l && !w && (place->is_image || (place->has_tools && !l->ways[0].least)))
                w = &l->ways[0];
        if (!w)
                return refuse(l, language, place, e);
        if (strlen(code) > LANGUAGE_CODE_MAX) {
                (void)fail_at(e, ERROR_REQUEST_TOO_LARGE, "code", "too_long",
                              "the code is longer than %d bytes", LANGUAGE_CODE_MAX);
                return error_hint(e, "Write it to a file of the sandbox, and run that file."), -1;
        }
        while (count < LANGUAGE_WORDS_MAX - 1 && w->words[count]) {
                words[count] = w->words[count];
                count++;
        }
        words[count++] = code;
        if (w->reads_hyphen && (code[0] == '-' || code[0] == '+')) {
                (void)snprintf(room, LANGUAGE_CODE_ROOM, " %s", code);
                words[count - 1] = room;
        }
        *ret_count = count;
        return 0;
}
