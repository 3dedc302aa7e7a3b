/*
 * shell/parse.h - what parse.c and word.c share; no other file includes it.
 */
#ifndef CARREL_SHELL_PARSE_H
#define CARREL_SHELL_PARSE_H

#include <tree_sitter/api.h>

#include "shell/reader.h"

struct parse {
        struct reader *reader;
        const char *text;
        size_t len;
};

/* The bytes of a node; *ret_len is their count. */
const char *parse_slice(const struct parse *p, TSNode node, size_t *ret_len);
bool parse_is(TSNode node, const char *type);

/* Adds a doubt about a node. */
void parse_doubt(struct parse *p, enum shell_doubt doubt, TSNode node);

/* Reads a statement, or what is inside of a node that is not known. */
void parse_visit(struct parse *p, TSNode node);
void parse_visit_inside(struct parse *p, TSNode node);

/*
 * The value of a word after quoting, in the reader's memory. NULL: it is not known, because it
 * expands. Substitutions in it are read, and what is not known in them is a doubt.
 */
const char *parse_word(struct parse *p, TSNode node);

/*
 * Doubts everything in the tree that the reading would not look at: bytes between the nodes, and
 * expansions in nodes that have none.
 */
void parse_check_leaves(struct parse *p, TSNode root);

#endif
