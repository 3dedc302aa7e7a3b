/*
 * maker/config.h - the configuration of a repository of the host, which a command may change as far as no change runs a program.
 *
 * What is read here is judged in a child that can do nothing but say yes or no (git/config.h): the maker itself parses no text.
 */
#ifndef CARREL_MAKER_CONFIG_H
#define CARREL_MAKER_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "git/config.h"

struct config {
        char bytes[GIT_CONFIG_MAX];
        size_t len;
        unsigned mode;                         /* permission bits */
        bool is_there;
};

/* The file `name` of the directory `dir`, or that it is not there (dir < 0 too). 0 or -errno: -ELOOP for a link, -EINVAL for no file, -EFBIG. */
int config_read(int dir, const char *name, struct config *ret);

bool config_is_same(const struct config *left, const struct config *right);

/* May `was` become `is`? Gives the key where it may not, or "" where the file is not read (GIT_KEY_ROOM bytes). */
bool config_may_become(const struct config *was, const struct config *is, char *ret_key);

/* Writes the file anew, where it is not there. 0 or -errno. */
int config_write(int dir, const char *name, const struct config *c);

#endif
