/*
 * sandbox/gitconfig.h - /etc/gitconfig of a sandbox: who commits, as the caller's own configuration of git says.
 */
#ifndef CARREL_SANDBOX_GITCONFIG_H
#define CARREL_SANDBOX_GITCONFIG_H

#include "base/arena.h"
#include "base/error.h"

struct gitconfig_request {
        const char *home;              /* the caller's home, absolute; NULL: nothing of the caller is known */
        const char *xdg;               /* XDG_CONFIG_HOME; NULL: HOME/.config */
        const char *workspace;         /* absolute, without links; NULL: none. For includeIf "gitdir:DIR/" */
};

/*
 * Gives the text, in `arena`. Of the caller's XDG/git/config and HOME/.gitconfig, and of what they include, it takes user.name, user.email and init.defaultBranch
 * and nothing else. A file that git/config.h does not read to its end says nothing. Where an includeIf has a condition that is not understood, and its file
 * says who commits, user.name and user.email are left out. Errors: ERROR_NO_MEMORY.
 */
int gitconfig_make(struct arena *arena, const struct gitconfig_request *r, const char **ret, struct error *e);

#endif
