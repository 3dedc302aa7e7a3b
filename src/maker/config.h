/*
 * maker/config.h - git configuration of a host repository. A command may change it as long as no
 * change runs a program.
 *
 * A child that can only answer yes or no judges the text (git/config.h); the maker itself parses no
 * text.
 */
#ifndef CARREL_MAKER_CONFIG_H
#define CARREL_MAKER_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "git/config.h"

struct config {
        char bytes[GIT_CONFIG_MAX];
        size_t len;
        unsigned mode; /* permission bits */
        bool is_there;
};

/*
 * Reads the file `name` of the directory `dir`. If it is missing, or `dir` is negative, is_there
 * becomes false. Returns 0 or -errno: -ELOOP for a symbolic link, -EINVAL if it is not a regular
 * file, -EFBIG.
 */
int guarded_config_read(int dir, const char *name, struct config *ret);

bool config_is_same(const struct config *left, const struct config *right);

/*
 * May `was` become `is`? If not, ret_key (GIT_KEY_ROOM bytes) receives the key, or "" if the file
 * cannot be parsed.
 */
bool config_may_become(const struct config *was, const struct config *is, char *ret_key);

/* Creates the file again if it is missing. Returns 0 or -errno. */
int config_write(int dir, const char *name, const struct config *c);

#endif
