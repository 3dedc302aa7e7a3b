/*
 * shell/reading.h - which programs a command would run, as far as that is known before it runs.
 *
 * The command is read as a POSIX shell reads it, with the grammar of bash (tree-sitter). What two
 * shells read differently, and what is decided only while it runs, is a doubt: an action without a
 * program. Nothing is guessed, so a caller that refuses doubts has seen every program that the
 * shell itself starts. What these programs then start is not seen: this is a guard rail.
 */
#ifndef CARREL_SHELL_READING_H
#define CARREL_SHELL_READING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

enum {
        SHELL_TEXT_MAX = 16384,  /* bytes of a command */
        SHELL_ACTIONS_MAX = 256, /* programs and doubts of one command */
        SHELL_FILES_MAX = 256,   /* one more is a doubt */
        SHELL_DEPTH_MAX = 64,    /* nodes and shells inside each other */
        SHELL_MEMORY = 1 << 20   /* bytes that a reading needs at most */
};

enum shell_doubt {
        SHELL_NO_DOUBT = 0,
#define DOUBT(name, word, meaning, help) SHELL_##name,
#include "shell/doubts.def"
#undef DOUBT
        SHELL_DOUBT_MAX
};

/* The host's facts, as arguments. */
struct shell_facts {
        /*
         * The name that a program of PATH has, which is the same file as `word` (a name, or a path
         * with a slash): "rm" for /bin/rm or a link to it. NULL: none is. `word` is the result
         * wherever several names fit. Borrowed for as long as the reading.
         */
        const char *(*find)(void *context, const char *word);
        void *context;
};

/* One program that would run, or one doubt. */
struct shell_action {
        const char *program;      /* its name in PATH; NULL: see doubt */
        const char *written;      /* as it is written in the command */
        const char *const *words; /* program and arguments; NULL entries are not known yet */
        size_t word_count;        /* 0 for a doubt */
        bool has_more;            /* it gets further arguments that are not known */
        bool is_carrier;          /* it does nothing but run the actions after it: env, sh -c */
        bool is_named;            /* code names it, which may start it: it needs no permission */
        enum shell_doubt doubt;   /* SHELL_NO_DOUBT for a program */
        unsigned pipeline, place; /* number of its pipeline, and its position there, from 0 */
};

struct shell_reading {
        struct shell_action *actions; /* in the arena */
        size_t count;
        /* what the shell itself opens: files of redirections, directories of `cd`; NULL: not known
         */
        const char **files;
        size_t file_count;
        bool has_moved; /* by `cd`, or a program's option: relative paths are not known any more */
};

/*
 * Reads a text that a shell is given, or the words of a command without a shell. The result is in
 * `memory`, and borrows nothing. Always succeeds: whatever cannot be read is a doubt. At least one
 * action, except for a text without any command.
 */
void shell_read_text(struct arena *memory, const char *text, size_t len,
                     const struct shell_facts *facts, struct shell_reading *ret);
void shell_read_words(struct arena *memory, const char *const *words, size_t count,
                      const struct shell_facts *facts, struct shell_reading *ret);

/*
 * Does a variable of this name, set for a command, make programs run or load other files? Names
 * that the loader, shells, interpreters and git have for that; a program can have others.
 */
bool shell_variable_runs(const char *name);

/* The word of a doubt for programs, and its meaning for people. Never NULL. */
const char *shell_doubt_word(enum shell_doubt doubt);
const char *shell_doubt_meaning(enum shell_doubt doubt);
/* How to write the command so that it is known: sentences, or "" if there is no such way. */
const char *shell_doubt_help(enum shell_doubt doubt);

/* The doubt of this word; SHELL_NO_DOUBT: none. */
enum shell_doubt shell_doubt_find(const char *word);

/*
 * Is this doubt about a file that is run? `written` is the word of the command; what a shell reads
 * from its standard input is no such file.
 */
bool shell_doubt_is_file(enum shell_doubt doubt, const char *written);

#endif
