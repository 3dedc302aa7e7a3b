/*
 * sources/gitconfig.h - /etc/gitconfig of a sandbox: the committer's identity, from the caller's
 * own git configuration.
 */
#ifndef CARREL_SOURCES_GITCONFIG_H
#define CARREL_SOURCES_GITCONFIG_H

#include "base/arena.h"
#include "base/error.h"

struct gitconfig_request {
        const char *home; /* the caller's home, absolute; NULL: unknown */
        const char *xdg;  /* XDG_CONFIG_HOME; NULL: HOME/.config */
        const char
                *workspace; /* absolute, without links; NULL: none. For includeIf "gitdir:DIR/" */
};

/*
 * Gives the text, in `arena`. It takes only user.name, user.email and init.defaultBranch from the
 * caller's XDG/git/config and HOME/.gitconfig, and from files they include. A file that
 * git/config.h cannot read to its end is ignored. If an includeIf has an unknown condition and its
 * file sets an identity, user.name and user.email are left out. Errors: ERROR_NO_MEMORY.
 */
int gitconfig_make(struct arena *arena, const struct gitconfig_request *r, const char **ret,
                   struct error *e);

#endif
