/*
 * wire/judge.h - what carrel-judge and a process that asks it say to each other.
 *
 *     keeper --WIRE_JUDGE (a socket)--> carrel-judge --fork--> one child for each judgement
 *
 *     asker --WIRE_JUDGE_THIS {rules, command}--> child
 *           <--WIRE_JUDGE_LOOKUP {names}--------- child    any number of times
 *           ---WIRE_JUDGE_FILES {files}---------> child
 *           <--WIRE_JUDGED {verdict, actions}---- child
 *
 * The child can open no file: the asker says which file a name is. `carrel run` starts a
 * carrel-judge that is the child itself. Bodies are records (wire/record.h) but for
 * WIRE_JUDGE_FILES.
 */
#ifndef CARREL_WIRE_JUDGE_H
#define CARREL_WIRE_JUDGE_H

#include <stdint.h>

enum {
        JUDGE_RULES_MAX = 4,      /* lists of rules for one command */
        JUDGE_NAMES_MAX = 128,    /* names in one WIRE_JUDGE_LOOKUP */
        JUDGE_LOOKUPS_MAX = 2048, /* WIRE_JUDGE_LOOKUP of one judgement */
        JUDGE_NAME_ROOM = 256,    /* a program's name with its NUL */
        JUDGE_WORDS_MAX = 4096,
        JUDGE_SHOWN_MAX = 256,    /* bytes of a word that an answer repeats */
        JUDGE_PATIENCE_MS = 5000, /* the asker denies after this time */
        JUDGE_CPU_S = 1           /* CPU time of one judgement */
};

enum judge_tag {
        JUDGE_RULES = 1, /* a packed tree (text/tree_pack.h); the first list is number 0 */
        JUDGE_TEXT,      /* bytes: for a shell */
        JUDGE_WORD,      /* bytes with their NUL: of a command without a shell */
        JUDGE_VARIABLE,  /* bytes with their NUL: a name that the caller sets for the command */
        JUDGE_NAME,      /* text: of a lookup */
        /* of WIRE_JUDGED */
        JUDGE_VERDICT, /* enum command_verdict */
        JUDGE_ACTION,  /* nested: the following */
        JUDGE_PROGRAM,
        JUDGE_WRITTEN,
        JUDGE_REASON,
        JUDGE_ENTRY,
        JUDGE_LIST,  /* number of the list of rules */
        JUDGE_ERROR, /* enum error_code: the rules cannot be read; no verdict */
        JUDGE_PATH,
        JUDGE_MESSAGE,
        JUDGE_HINT,
        JUDGE_LINE,
        JUDGE_COLUMN,
        /* of WIRE_JUDGE_THIS */
        JUDGE_TOOL,      /* text: its name; without it the tool is `shell` */
        JUDGE_ARGUMENTS, /* a packed tree: the arguments of another tool */
        JUDGE_CWD        /* bytes: the directory in which the command runs */
};

/* WIRE_JUDGE_FILES: one for each name, in order. */
struct wire_judge_file {
        uint64_t device, inode;     /* both 0: there is no such program */
        char name[JUDGE_NAME_ROOM]; /* its name in PATH; "": it has none */
};

#endif
