/*
 * cli/options.h - the table of a command's options and words, and the reader of a command line.
 *
 * Usage line, help, manual page and shell completion are printed from the same rows.
 */
#ifndef CARREL_CLI_OPTIONS_H
#define CARREL_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "cli/override.h"
#include "cli/value.h"

enum { OPTION_LIST_MAX = 256 };

struct option_list {
        const char *items[OPTION_LIST_MAX];
        size_t count;
};

/* How a value is stored in the command's own struct. */
enum option_store {
        OPTION_BOOL,    /* bool: set to true; the option takes no value */
        OPTION_STRING,  /* const char *: the last one */
        OPTION_UINT64,  /* uint64_t: the last one, read as its kind says; for a duration, in ms */
        OPTION_STRINGS, /* struct option_list: repeatable */
        OPTION_CHANGE   /* struct override_set: repeatable */
};

struct option {
        const char *name;  /* "--timeout", "-e"; NULL ends the table */
        const char *value; /* as help shows it: "T"; NULL: none */
        enum value_kind kind;
        enum option_store store;
        size_t offset;   /* in the command's own struct */
        const char *doc; /* one line; NULL: another name of an option, which help does not show */
};

/* Rows. `s` is the command's own struct, `m` the member that gets the value; its type is checked.
 */
#define OPTION_OFFSET(s, m, type) (offsetof(s, m) + 0 * sizeof((type *)0 == &((s *)0)->m))
#define OPTION_FLAG(s, m, name, doc)                                                \
        {                                                                           \
                name, NULL, VALUE_FLAG, OPTION_BOOL, OPTION_OFFSET(s, m, bool), doc \
        }
#define OPTION_TEXT(s, m, kind, name, value, doc)                                        \
        {                                                                                \
                name, value, kind, OPTION_STRING, OPTION_OFFSET(s, m, const char *), doc \
        }
#define OPTION_NUMBER(s, m, kind, name, value, doc)                                  \
        {                                                                            \
                name, value, kind, OPTION_UINT64, OPTION_OFFSET(s, m, uint64_t), doc \
        }
#define OPTION_LIST(s, m, kind, name, value, doc)                                               \
        {                                                                                       \
                name, value, kind, OPTION_STRINGS, OPTION_OFFSET(s, m, struct option_list), doc \
        }
#define OPTION_OVERRIDE(s, m, kind, name, value, doc)                                           \
        {                                                                                       \
                name, value, kind, OPTION_CHANGE, OPTION_OFFSET(s, m, struct override_set), doc \
        }
#define OPTION_END   \
        {            \
                NULL \
        }

/* A word beside the options. */
struct operand {
        const char *name;     /* "ID", "[ID]": optional, "ID...": repeatable; NULL ends the table */
        enum value_kind kind; /* of the word; for an action, of the words after it */
        const char *doc;      /* one line, or NULL: its name says it */
        bool is_action;       /* the first word of `name` is written as it is: "rm NAME..." */
};

/* Rows of several commands. */
#define HOST_FILE_DOC "host file (default: /etc/carrel/host.yaml and ~/.config/carrel/host.yaml)"
#define MANIFEST_DOC "the manifest (default: SANDBOX.md or WORKSPACE.md in the workspace)"
#define WORKSPACE_DOC "the workspace (default: the directory of FILE, else this directory)"
#define RAW_DOC "print control bytes to a terminal unchanged (default: shown as ^X)"
#define JSON_DOC "one JSON object"
#define OVERRIDE_OPTIONS(s, m)                                                                  \
        OPTION_OVERRIDE(s, m, VALUE_SIZE, "--memory", "SIZE",                                   \
                        "limits.memory_mb for this sandbox: 512m, 2g; at most the manifest's "  \
                        "value"),                                                               \
                OPTION_OVERRIDE(s, m, VALUE_SIZE, "--disk", "SIZE",                             \
                                "metadata.carrel.limits.disk_mb for this sandbox; at most the " \
                                "manifest's value"),                                            \
                OPTION_OVERRIDE(s, m, VALUE_TASKS, "--pids", "N",                               \
                                "metadata.carrel.limits.pids for this sandbox; at most the "    \
                                "manifest's value"),                                            \
                OPTION_OVERRIDE(s, m, VALUE_HOST, "--allow", "HOST",                            \
                                "add an entry to network.egress"),                              \
                OPTION_OVERRIDE(s, m, VALUE_MOUNT, "-v", "FROM:PATH[:ro]",                      \
                                "add a mount: a volume NAME, created if missing; a directory "  \
                                "that the host file permits (mount_roots); or ./DIR of the "    \
                                "workspace")

struct command;

/* The words of a command line, in argv itself. */
struct words {
        char **items;
        size_t count;
        char **rest; /* the command line that this command runs; ended by NULL */
        size_t rest_count;
};

/* May this option be given more than once? */
bool option_is_repeatable(const struct option *row);

/* The row that `word` names ("--name", "--name=value"), or NULL. *ret_value: after the "=", or
 * NULL.
 */
const struct option *option_find(const struct command *c, const char *word, const char **ret_value);

/* The operand at this position among the words of `first` and those after it; NULL: none. */
const struct operand *operand_at(const struct command *c, const char *first, size_t position);

/*
 * Reads argv[1..] by the table of `c`: options in any order, "--name value" or "--name=value", and
 * words; "--" ends the options. A command that runs another one ends there, or at the first word
 * too many. Values are checked and stored in `into`, the command's own struct; words are moved to
 * the front of argv, which is borrowed. Errors: ERROR_INVALID_ARGUMENT.
 */
int options_read(const struct command *c, int argc, char **argv, void *into, struct words *ret,
                 struct error *e);

#endif
