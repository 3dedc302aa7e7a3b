/*
 * secret/sources.c - asking the sources of values, in their order.
 *
 * Room: secret (acting). Touches: fd mem, the environment (taking variables out of it).
 * Knows the kinds of source. Knows nothing of manifests or of who may ask.
 */
#include "secret/sources.h"

#include <stdio.h>
#include <string.h>

enum { SENTENCE_ROOM = 400 };

/* -- the environment --------------------------------------------------------------------------- */

/* What stands before "=" stays, as the name its value is kept under; the value itself is gone from
 * there. */
static int
take_variable(char *item, struct secret_values **values, struct error *e)
{
        char *value = strchr(item, '=') + 1;
        size_t len = strlen(value);
        int result = 0;

        value[-1] = '\0';
        if (!*values)
                *values = secret_values_new();
        if (!*values)
                result = fail(e, ERROR_NO_MEMORY, "no memory for the values of secrets");
        else if (len > 0 && !secret_value_look(*values, item))
                result = secret_values_add(*values, item, value, len, "the environment", e);
        explicit_bzero(value, len);
        return result;
}

static bool
is_named(const struct host_sources *sources, const char *item)
{
        size_t len = strcspn(item, "=");

        for (size_t i = 0; item[len] == '=' && i < sources->count; i++)
                for (size_t v = 0; v < sources->items[i].variable_count; v++)
                        if (strncmp(sources->items[i].variables[v].name, item, len) == 0 &&
                            sources->items[i].variables[v].name[len] == '\0')
                                return true;
        return false;
}

int
secret_variables_take(const struct host_sources *sources, char **environment,
                      struct secret_values **values, struct error *e)
{
        char **keep = environment;
        int result = 0;

        for (char **at = environment; *at; at++) {
                if (!is_named(sources, *at))
                        *keep++ = *at;
                else if (take_variable(*at, values, e) < 0)
                        result = -1;
        }
        *keep = NULL;
        return result;
}

static int
environment_fetch(const struct host_source *source, const struct secret_values *variables,
                  const char *slug, struct secret_values *values, struct error *e)
{
        for (size_t i = 0; i < source->variable_count; i++) {
                const char *value =
                        strcmp(source->variables[i].slug, slug) == 0
                                ? secret_value_look(variables, source->variables[i].name)
                                : NULL;

                if (value)
                        return secret_values_add(values, slug, value, strlen(value),
                                                 "the environment", e) < 0
                                       ? -1
                                       : 1;
        }
        return 0;
}

/* -- a file ------------------------------------------------------------------------------------ */

static int
file_fetch(const char *path, const char *slug, struct secret_values *values, struct error *e)
{
        struct secret_values *lines;
        const char *value;
        int result = 0;

        if (secret_values_open(path, &lines, e) < 0)
                return -1;
        value = secret_value_look(lines, slug);
        if (value)
                result =
                        secret_values_add(values, slug, value, strlen(value), path, e) < 0 ? -1 : 1;
        secret_values_free(lines);
        return result;
}

/* -- all of them ------------------------------------------------------------------------------- */

static bool
is_asked(const struct host_source *source, const char *slug)
{
        return source->slugs.count == 0 || host_names_have(&source->slugs, slug);
}

static int
ask(const struct secret_sources *s, const struct host_source *source, const char *slug,
    struct secret_values *values, struct error *e)
{
        switch (source->kind) {
        case HOST_SOURCE_FILE:
                return file_fetch(source->path, slug, values, e);
        case HOST_SOURCE_ENVIRONMENT:
                return environment_fetch(source, s->variables, slug, values, e);
        case HOST_SOURCE_DIRECTORY:
                return secret_directory_fetch(source, slug, values, e);
        case HOST_SOURCE_COMMAND:
                return secret_command_fetch(source, slug, values, e);
        }
        return fail(e, ERROR_INTERNAL, "a source of no known kind");
}

static void
say_asked(char *text, size_t *at, const char *what, const char *name)
{
        int len = snprintf(text + *at, SENTENCE_ROOM - *at, "%s%s%s%.100s", *at > 0 ? ", " : "",
                           what, *name ? " " : "", name);

        *at = len < 0 || (size_t)len >= SENTENCE_ROOM - *at ? SENTENCE_ROOM - 1 : *at + (size_t)len;
}

static int
not_found(const struct secret_sources *s, const char *slug, struct error *e)
{
        static const char *const words[] = { "the file", "the environment", "the directory",
                                             "the command" };
        char text[SENTENCE_ROOM] = "";
        size_t at = 0;

        for (size_t i = 0; i < s->listed.count; i++)
                if (is_asked(&s->listed.items[i], slug))
                        say_asked(text, &at, words[s->listed.items[i].kind],
                                  s->listed.items[i].kind == HOST_SOURCE_COMMAND
                                          ? s->listed.items[i].argv.items[0]
                                  : s->listed.items[i].path ? s->listed.items[i].path
                                                            : "");
        if (s->file)
                say_asked(text, &at, words[HOST_SOURCE_FILE], s->file);
        (void)fail_at(e, ERROR_AUTH_UNRESOLVABLE, "", "not_found",
                      "the secret \"%.80s\" has no value: %s%s", slug,
                      at > 0 ? "asked " : "no source of secrets is configured", text);
        error_hint(e, "Put the value where one of these looks, or name a source under "
                      "secret_sources in the host file: docs/SECRETS.md.");
        return -1;
}

/* A source that cannot be asked: the code is that of secrets, whatever it fell over. */
static int
broken(const char *slug, struct error *e)
{
        if (e->code == ERROR_FILE_UNREADABLE) {
                e->code = ERROR_AUTH_UNRESOLVABLE;
                (void)snprintf(e->reason, sizeof e->reason, "not_found");
        }
        return error_wrap(e, "the secret \"%.80s\"", slug);
}

static int
fetch(const struct secret_sources *s, const char *slug, struct secret_values *values,
      struct error *e)
{
        int found = 0;

        if (!host_slug_check(slug))
                return not_found(s, slug, e); /* a slug becomes a file's name and a command's word:
                                                 only what cannot be another's */
        for (size_t i = 0; i < s->listed.count && found == 0; i++)
                if (is_asked(&s->listed.items[i], slug))
                        found = ask(s, &s->listed.items[i], slug, values, e);
        if (found == 0 && s->file)
                found = file_fetch(s->file, slug, values, e);
        if (found < 0)
                return broken(slug, e);
        return found > 0 ? 0 : not_found(s, slug, e);
}

int
secret_sources_fetch(const struct secret_sources *sources, const char *const *slugs, size_t count,
                     struct secret_values *values, size_t *ret_failed, struct error *e)
{
        for (size_t i = 0; i < count; i++) {
                *ret_failed = i;
                if (!secret_value_look(values, slugs[i]) && fetch(sources, slugs[i], values, e) < 0)
                        return -1;
        }
        return 0;
}
