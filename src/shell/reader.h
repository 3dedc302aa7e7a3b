/*
 * shell/reader.h - what the files of this room share; no other room includes it.
 */
#ifndef CARREL_SHELL_READER_H
#define CARREL_SHELL_READER_H

#include "shell/reading.h"

struct reader {
        struct arena *memory;
        const struct shell_facts *facts;
        struct shell_reading *reading;
        unsigned depth, pipelines;
        unsigned pipeline, place; /* of the command that is being read */
        bool in_shell;            /* a shell runs the command itself, with its builtins */
};

/* Program and arguments; NULL entries are not known. */
struct words {
        const char *const *items;
        size_t count;
        bool has_more; /* further ones follow, unknown */
};

/* Adds an action. `written` is copied. */
void reader_doubt(struct reader *r, enum shell_doubt doubt, const char *written, size_t len);
void reader_program(struct reader *r, const char *program, const struct words *w, bool is_carrier);

/* Notes a file or directory that the shell opens; NULL: not known. The word is copied. */
void reader_file(struct reader *r, const char *word);

/* Reads a text into the same reading (parse.c). */
void reader_text(struct reader *r, const char *text, size_t len);

/* Reads the words of a simple command (command.c). */
void reader_words(struct reader *r, const struct words *w);

/* Adds a program that gets arguments that are not known. */
void reader_one(struct reader *r, const char *program, const char *written, bool is_carrier);

/* The same for a program that code names. */
void reader_named(struct reader *r, const char *program, const char *written);

/* Reads the options of a program that hold a command (option.c). */
void reader_options(struct reader *r, const char *program, const struct words *w);

/* Notes the programs that the code in the arguments of an interpreter names (code.c). */
void reader_code(struct reader *r, const char *program, const struct words *w);

/* Adds a doubt unless the variable is known to be harmless. `is_exported`: for a program. */
void reader_assignment(struct reader *r, const char *name, size_t len, bool is_exported);

/* An ASCII letter or digit. */
bool reader_is_alnum(char c);

/* The words from `from` on. */
struct words words_after(const struct words *w, size_t from);

#endif
