/*
 * cli/value.c - the values of options, one row for each kind.
 *
 * Room: cli (joining, program). Touches: nothing.
 */
#include "cli/value.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "cli/commands.h"
#include "text/nearest.h"

enum { HOUR_MS = 3600000, DAY_MS = 24 * HOUR_MS };

static const struct kind {
        const char *noun, *allowed, *example;
        /* its bounds; for a duration in milliseconds */
        struct number {
                uint64_t min, max;
        } number;
        const char *words[9]; /* the allowed words, or some of them; the last is NULL */
} kinds[VALUE_COUNT] = {
        [VALUE_DURATION] = { "duration",
                             "a number and its unit, as 1500ms, 30s, 5m or 2h; without one, "
                             "seconds",
                             "30s",
                             { NUMBER_DURATION_MS },
                             { NULL } },
        [VALUE_PORT] = { "port",
                         "the port inside, from 1 to 65535; `carrel url` prints where it is "
                         "reached",
                         "3000",
                         { NUMBER_PORT },
                         { NULL } },
        [VALUE_HOST_PORT] = { "port",
                              "a port of this machine's loopback, from 1 to 65535",
                              "5432",
                              { NUMBER_PORT },
                              { NULL } },
        [VALUE_REMOTE_PORT] = { "port",
                                "a port of the destination, from 1 to 65535",
                                "api.example.com:443",
                                { NUMBER_PORT },
                                { NULL } },
        [VALUE_EXEC] = { "number of an exec",
                         "what `carrel ps ID` shows: 1, 2 and so on",
                         "1",
                         { NUMBER_EXEC },
                         { NULL } },
        [VALUE_OFFSET] = { "offset",
                           "a number of bytes from 0 on",
                           "4096",
                           { NUMBER_BYTES },
                           { NULL } },
        [VALUE_ENTRIES] = { "number of entries",
                            "a number of entries from 0 on",
                            "20",
                            { NUMBER_BYTES },
                            { NULL } },
        [VALUE_SIGNAL] = { "signal",
                           "a name or a number, as TERM, INT, HUP or 15; without it the whole "
                           "process tree is killed",
                           "TERM",
                           { NUMBER_SIGNAL },
                           { "TERM", "INT", "HUP", "KILL" } },
        [VALUE_POOL] = { "number of sandboxes",
                         "a number from 0 to 256",
                         "4",
                         { NUMBER_POOL },
                         { NULL } },
        [VALUE_DOC_STARTS] = { "number of starts",
                               "a number from 1 to 10000",
                               "100",
                               { 1, 10000 },
                               { NULL } },
        [VALUE_CONNECTIONS] = { "number of connections",
                                "a number of connections at once",
                                "64",
                                { NUMBER_CONNECTIONS },
                                { NULL } },
        [VALUE_CAP_BYTES] = { "number of bytes",
                              "a number of bytes",
                              "1000000",
                              { NUMBER_CAP_BYTES },
                              { NULL } },
        [VALUE_SHELL] = { "shell",
                          "bash, zsh or fish",
                          "bash",
                          { 0, 0 },
                          { "bash", "zsh", "fish" } },
        [VALUE_MODE] = { "mode of a socket",
                         "an octal mode such as 0600 or 0660, with the owner's rights and no "
                         "execute bits",
                         "0660",
                         { 0, 0 },
                         { "0600", "0660" } },
        [VALUE_VARIABLE] = { "variable",
                             "NAME=value; the name has letters, digits and _",
                             "LANG=C",
                             { 0, 0 },
                             { NULL } },
        [VALUE_STAGE] = { "stage",
                          "parse, validate, resolve or authorise",
                          "validate",
                          { 0, 0 },
                          { "parse", "validate", "resolve", "authorise" } },
        [VALUE_TOOL_NAMES] = { "set of names",
                               "mastra or plain",
                               "plain",
                               { 0, 0 },
                               { "mastra", "plain" } },
        [VALUE_INSTRUCTIONS] = { "way to get instructions",
                                 "resolve or placeholder",
                                 "resolve",
                                 { 0, 0 },
                                 { "resolve", "placeholder" } },
        [VALUE_SCOPE] = { "scope",
                          "all; read: get and list only; approve: answers requests for approval",
                          "read",
                          { 0, 0 },
                          { "all", "read", "approve" } },
        [VALUE_SIZE] = { "size",
                         "a number and its unit, as 512m or 2g; without one, MiB",
                         "2g",
                         { 1, 1u << 30 },
                         { NULL } },
        [VALUE_TASKS] = { "number of processes",
                          "a number from 1 to 4194304",
                          "500",
                          { 1, 4194304 },
                          { NULL } },
        [VALUE_CPU] = { "share of the processors",
                        "a number of processors, as 2 or 0.5, or of thousandths of one, as 500m",
                        "0.5",
                        { 10, 4096000 },
                        { NULL } },
        [VALUE_KEY_ACTION] = { "action",
                               "new, ls, or rm and the id of a token",
                               "ls",
                               { 0, 0 },
                               { "new", "ls", "rm" } },
        [VALUE_VOLUME_ACTION] = { "action",
                                  "create, ls, rm or prune",
                                  "ls",
                                  { 0, 0 },
                                  { "create", "ls", "rm", "prune" } },
        [VALUE_IMAGE_ACTION] = { "action",
                                 "import, pull, ls, show, disk, machine, rm or prune",
                                 "ls",
                                 { 0, 0 },
                                 { "import", "pull", "ls", "show", "disk", "machine", "rm",
                                   "prune" } },
        [VALUE_AUDIT_ACTION] = { "action",
                                 "verify, tail, show, replay, export, checkpoint, rotate or "
                                 "prune",
                                 "verify",
                                 { 0, 0 },
                                 { "verify", "tail", "show", "replay", "export", "checkpoint",
                                   "rotate", "prune" } },
        [VALUE_AGE] = { "age", "a number of days, as 30d", "30d", { 1, 36500 }, { NULL } },
        [VALUE_AUDIT_FORM] = { "form",
                               "jsonl, agentskit or agentgovernance",
                               "jsonl",
                               { 0, 0 },
                               { "jsonl", "agentskit", "agentgovernance" } },
        [VALUE_DOC_ACTION] = { "action",
                               "generate, verify, check, review or admit",
                               "check",
                               { 0, 0 },
                               { "generate", "verify", "check", "review", "admit" } },
        [VALUE_DOC_PROFILE] = { "profile",
                                "production or draft",
                                "draft",
                                { 0, 0 },
                                { "production", "draft" } },
        [VALUE_DOC_FORMAT] = { "form",
                               "yaml, json or jsonld",
                               "yaml",
                               { 0, 0 },
                               { "yaml", "json", "jsonld" } },
        [VALUE_RISK] = { "risk",
                         "low, medium or high",
                         "medium",
                         { 0, 0 },
                         { "low", "medium", "high" } },
};

/* " (1 to 65535)"; "" if it is not a number. */
static const char *
bounds_of(enum value_kind kind, char *out, size_t room)
{
        const struct number *n = &kinds[kind].number;

        if (kind == VALUE_DURATION)
                (void)snprintf(out, room, " (%" PRIu64 "ms to %" PRIu64 "h)", n->min,
                               n->max / HOUR_MS);
        else
                (void)snprintf(out, n->max > 0 ? room : 1, " (%" PRIu64 " to %" PRIu64 "%s)",
                               n->min, n->max,
                               kind == VALUE_SIZE  ? " MiB"
                               : kind == VALUE_CPU ? " thousandths"
                                                   : "");
        return out;
}

int
value_wrong(enum value_kind kind, struct value_place at, const char *text, struct error *e)
{
        const struct command *c = command_find(at.command);
        const struct kind *k = &kinds[kind];
        struct nearest n = nearest_begin(text);
        char bounds[64];

        for (size_t i = 0; k->words[i]; i++)
                (void)nearest_try(&n, k->words[i], k->words[i]);
        (void)fail_at(e, ERROR_INVALID_ARGUMENT, at.option, NULL, "%s: invalid %s \"%.64s\"%s",
                      at.option ? at.option : at.command, k->noun, text,
                      bounds_of(kind, bounds, sizeof bounds));
        if (n.found)
                error_hint(e, "Did you mean %s? It is %s. `carrel %s --help` shows all.", n.found,
                           k->allowed, at.command);
        else if (at.option)
                error_hint(e, "It is %s. For example: %s %s. `carrel %s --help` shows all.",
                           k->allowed, at.option, k->example, at.command);
        else
                error_hint(e, "It is %s. For example: %s. `carrel %s --help` shows all.",
                           k->allowed, c ? c->example : k->example, at.command);
        return -1;
}

int
value_duration_read(struct value_place at, const char *text, uint64_t *ret_ms, struct error *e)
{
        static const struct {
                const char *unit;
                uint64_t ms;
        } units[] = { { "", 1000 }, { "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", HOUR_MS } };
        char *end;
        uint64_t number;

        if (!text)
                return 0;
        errno = 0;
        number = strtoull(text, &end, 10);
        for (size_t i = 0; i < sizeof units / sizeof *units; i++)
                if (text[0] >= '0' && text[0] <= '9' && errno == 0 &&
                    strcmp(end, units[i].unit) == 0 && number > 0 &&
                    number <= kinds[VALUE_DURATION].number.max / units[i].ms) {
                        *ret_ms = number * units[i].ms;
                        return 0;
                }
        return value_wrong(VALUE_DURATION, at, text, e);
}

int
value_size_read(struct value_place at, const char *text, uint64_t *ret_mib, struct error *e)
{
        static const struct {
                const char *unit;
                uint64_t mib;
        } units[] = { { "", 1 }, { "m", 1 }, { "M", 1 }, { "g", 1024 }, { "G", 1024 } };
        const struct number *bounds = &kinds[VALUE_SIZE].number;
        char *end;
        uint64_t number;

        errno = 0;
        number = strtoull(text, &end, 10);
        for (size_t i = 0; i < sizeof units / sizeof *units; i++)
                if (text[0] >= '0' && text[0] <= '9' && errno == 0 &&
                    strcmp(end, units[i].unit) == 0 && number >= bounds->min &&
                    number <= bounds->max / units[i].mib) {
                        *ret_mib = number * units[i].mib;
                        return 0;
                }
        return value_wrong(VALUE_SIZE, at, text, e);
}

static int
cpu_read(struct value_place at, const char *text, uint64_t *ret_millicores, struct error *e)
{
        const struct number *bounds = &kinds[VALUE_CPU].number;
        size_t places = 0;
        char *end;
        uint64_t number, unit, rest = 0;

        errno = 0;
        number = strtoull(text, &end, 10);
        unit = strcmp(end, "m") == 0 ? 1 : 1000;
        if (*end == '.')
                while (end[1 + places] >= '0' && end[1 + places] <= '9' && places < 3)
                        rest = rest * 10 + (uint64_t)(end[1 + places++] - '0');
        if (places > 0)
                end += 1 + places;
        for (; places > 0 && places < 3; places++)
                rest *= 10;
        if (text[0] < '0' || text[0] > '9' || errno != 0 || (*end != '\0' && unit != 1) ||
            number > (bounds->max - rest) / unit || number * unit + rest < bounds->min)
                return value_wrong(VALUE_CPU, at, text, e);
        *ret_millicores = number * unit + rest;
        return 0;
}

int
value_number_read(enum value_kind kind, struct value_place at, const char *text, uint64_t *ret,
                  struct error *e)
{
        uint64_t number;
        char *end;

        if (!text)
                return 0;
        errno = 0;
        number = strtoull(text, &end, 10);
        if (text[0] < '0' || text[0] > '9' || errno != 0 || *end != '\0' ||
            number < kinds[kind].number.min || number > kinds[kind].number.max)
                return value_wrong(kind, at, text, e);
        *ret = number;
        return 0;
}

int
value_word_check(enum value_kind kind, struct value_place at, const char *text, struct error *e)
{
        if (!text)
                return 0;
        for (size_t i = 0; kinds[kind].words[i]; i++)
                if (strcmp(kinds[kind].words[i], text) == 0)
                        return 0;
        return value_wrong(kind, at, text, e);
}

/* Is it NAME=value? */
static int
variable_check(struct value_place at, const char *text, struct error *e)
{
        size_t len = strcspn(text, "=");
        int is_name =
                len > 0 && text[len] == '=' && (text[0] < '0' || text[0] > '9') &&
                strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") ==
                        len;

        char name[65];

        if (is_name)
                return 0;
        (void)snprintf(name, sizeof name, "%.*s", (int)(len < sizeof name ? len : sizeof name),
                       text); /* what follows the = may be a secret */
        (void)value_wrong(VALUE_VARIABLE, at, name, e);
        if (text[len] == '\0' && len > 0 && len < sizeof name &&
            strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") ==
                    len &&
            strspn(text, "0123456789") == 0)
                error_hint(e, "It is NAME=value. To pass on your own value, write: %s %s=\"$%s\"",
                           at.option ? at.option : "", name, name);
        return -1;
}

const char *const *
value_words(enum value_kind kind)
{
        return kinds[kind].words;
}

static int
age_read(struct value_place at, const char *text, uint64_t *ret_ms, struct error *e)
{
        char *end;
        uint64_t days;

        errno = 0;
        days = strtoull(text, &end, 10);
        if (text[0] < '0' || text[0] > '9' || errno != 0 || strcmp(end, "d") != 0 || days == 0 ||
            days > kinds[VALUE_AGE].number.max)
                return value_wrong(VALUE_AGE, at, text, e);
        *ret_ms = days * DAY_MS;
        return 0;
}

int
value_uint_read(enum value_kind kind, struct value_place at, const char *text, uint64_t *ret,
                struct error *e)
{
        if (kind == VALUE_DURATION)
                return value_duration_read(at, text, ret, e);
        if (kind == VALUE_AGE)
                return age_read(at, text, ret, e);
        if (kind == VALUE_CPU)
                return cpu_read(at, text, ret, e);
        return kind == VALUE_SIZE ? value_size_read(at, text, ret, e)
                                  : value_number_read(kind, at, text, ret, e);
}

int
value_check(enum value_kind kind, struct value_place at, const char *text, struct error *e)
{
        uint64_t number;

        if (kind < VALUE_DURATION || kind >= VALUE_COUNT)
                return 0;
        if (kind == VALUE_VARIABLE)
                return variable_check(at, text, e);
        return kinds[kind].words[0] ? value_word_check(kind, at, text, e)
                                    : value_uint_read(kind, at, text, &number, e);
}
