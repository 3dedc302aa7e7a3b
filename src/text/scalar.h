/*
 * text/scalar.h - the type of a plain scalar, by YAML 1.2's core schema and nothing else.
 *
 * Source: yaml.org/spec/1.2.2, 10.3.2. `yes`, `no`, `on`, `1_000`, `60:30`, `0b1` are strings;
 * `012` is twelve; `0o14` and `0xc` are twelve too.
 */
#ifndef CARREL_TEXT_SCALAR_H
#define CARREL_TEXT_SCALAR_H

#include "text/tree.h"

/*
 * Sets kind and value of `n` from n->text (n->len bytes, NUL-terminated, no NUL inside). An integer
 * that does not fit int64_t becomes a NODE_FLOAT, so that a later range check refuses it.
 */
void scalar_resolve(struct node *n);

/* Sets kind and value of a node whose text is a number in JSON's notation. */
void scalar_read_number(struct node *n);

#endif
