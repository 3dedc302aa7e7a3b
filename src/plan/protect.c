/*
 * plan/protect.c - names in a workspace that could run a payload's code on the host later.
 *
 * Room: plan (deciding, pure). Touches: nothing.
 *
 * The state of a name when the sandbox starts decides how it is protected, and each step is in one
 * place:
 *
 *     exists --+-- tracked by the index, and the row lacks ALWAYS --> content: may change; a change
 * is reported at the end
 *              +-- else ---------------------------------------> held: read-only inside, and cannot
 * be moved absent --+-- the row has MAKE (.git) --------------------> may be created; reported
 *              +-- else ---------------------------------------> moved into the sandbox's keeping
 * when created; reported
 *
 * Git's configuration, present or absent, may change as long as no change runs a program
 * (git/config.h). Any other change is undone and reported. A configuration that cannot be read, or
 * is beyond the maximum number, is treated like every other name.
 *
 * Below the top nothing is held. Names with PROTECT_DEEP, on which a program acts in any directory
 * that it enters or opens, are searched when the last command has ended (maker/below.h). The others
 * matter only at the top. Git's names are searched as repositories (maker/survey.h). Names of a
 * home directory are at the top of a home. An inventory (SECRETS.md) grants nothing unless the host
 * file names it.
 *
 * `protect: strict` holds content and configuration too, and ends the sandbox instead of moving or
 * reporting. `unprotect` removes a name from all of this.
 *
 *     sources/sources.c examines and decides | plan/mounts.c: FREEZE and PIN steps, GUARD lists |
 * maker/guard.c: moves, compares, reports
 *
 * The names are those that a program reads without being asked to run the project: when it enters
 * or opens a directory, or starts in it. Two kinds of files are not in the table: files that run a
 * project's own code on request (make, npm, cargo, yarn, pre-commit, husky), and text that
 * instructs an agent (CLAUDE.md, AGENTS.md).
 */
#include "plan/protect.h"

#include <string.h>
#include <strings.h>

static const struct protect_row rows[] = {
        { ".git", "git", "a repository: reported when it is made", PROTECT_MAKE },
        { ".git/hooks", "git", "runs hooks", PROTECT_ALWAYS },
        { ".git/config", "git", "names programs to run", PROTECT_ALWAYS | PROTECT_JUDGE },
        { ".git/config.worktree", "git", "more configuration, read where sparse checkouts are used",
          PROTECT_ALWAYS | PROTECT_JUDGE },
        { ".git/commondir", "git", "leads to another directory's configuration and hooks",
          PROTECT_ALWAYS },
        { ".gitconfig", "git", "configuration of a user, where the workspace is a home", 0 },
        { ".config/git", "git", "configuration of a user, where the workspace is a home", 0 },
        { ".ssh", "ssh", "configuration and permitted keys, where the workspace is a home", 0 },
        { ".bashrc", "bash", "run when it starts", 0 },
        { ".bash_aliases", "bash", "run by Debian's .bashrc", 0 },
        { ".bash_profile", "bash", "run when it starts", 0 },
        { ".bash_login", "bash", "run when it starts", 0 },
        { ".bash_logout", "bash", "run when it ends", 0 },
        { ".profile", "sh", "run when it starts", 0 },
        { ".zshenv", "zsh", "run when it starts, by every script too", 0 },
        { ".zprofile", "zsh", "run when it starts", 0 },
        { ".zshrc", "zsh", "run when it starts", 0 },
        { ".zlogin", "zsh", "run when it starts", 0 },
        { ".zlogout", "zsh", "run when it ends", 0 },
        { ".config/fish", "fish", "run when it starts", 0 },
        { ".cshrc", "csh", "run when it starts", 0 },
        { ".tcshrc", "tcsh", "run when it starts", 0 },
        { ".login", "csh", "run when it starts", 0 },
        { ".envrc", "direnv", "run on entering the directory", PROTECT_DEEP },
        { "mise.toml", "mise", "environment and hooks on entering the directory", PROTECT_DEEP },
        { ".mise.toml", "mise", "environment and hooks on entering the directory", PROTECT_DEEP },
        { ".mcp.json", "agents", "servers that they start", PROTECT_DEEP },
        { ".claude", "Claude Code", "settings and hooks", PROTECT_DEEP },
        { ".codex", "Codex", "settings", PROTECT_DEEP },
        { ".cursor", "Cursor", "settings, servers that it starts", PROTECT_DEEP },
        { ".gemini", "Gemini CLI", "settings, servers that it starts", PROTECT_DEEP },
        { ".windsurf", "Windsurf", "settings", PROTECT_DEEP },
        { ".kiro", "Kiro", "settings, hooks, servers that it starts", PROTECT_DEEP },
        { ".opencode", "opencode", "settings, plug-ins", PROTECT_DEEP },
        { "opencode.json", "opencode", "settings, servers that it starts", PROTECT_DEEP },
        { ".vscode", "VS Code", "tasks and settings", PROTECT_DEEP },
        { ".devcontainer", "VS Code", "commands that a container is made with", PROTECT_DEEP },
        { ".zed", "Zed", "tasks and settings", PROTECT_DEEP },
        { ".idea", "JetBrains", "run configurations and settings", PROTECT_DEEP },
        { ".exrc", "vim", "run where `exrc` is set", PROTECT_DEEP },
        { ".nvim.lua", "Neovim", "run where `exrc` is set", PROTECT_DEEP },
        { ".dir-locals.el", "Emacs", "variables, and code that it asks about", PROTECT_DEEP },
        { "SANDBOX.md", "carrel", "says what a sandbox may do", PROTECT_ALWAYS | PROTECT_DEEP },
        { "WORKSPACE.md", "carrel", "says what a sandbox may do", PROTECT_ALWAYS | PROTECT_DEEP },
        { "SECRETS.md", "carrel", "says which secrets are bound", PROTECT_ALWAYS },
        { ".config/carrel", "carrel",
          "says what manifests may ask for, where the workspace is a home", PROTECT_ALWAYS },
        { "*.SANDBOX.md", "carrel", "says what a sandbox may do", PROTECT_ALWAYS },
        { "*.SECRETS.md", "carrel", "says which secrets are bound", PROTECT_ALWAYS },
};

const struct protect_row *
protect_rows(size_t *ret_count)
{
        *ret_count = sizeof rows / sizeof *rows;
        return rows;
}

/* Called for every name of a tree and of an index: two letters exclude almost all. */
static bool
may_be_deep(const char *name, size_t len)
{
        static const char first[] = "mosw", second[] = "ipao";
        const char *at;

        if (len < 4)
                return false;
        at = name[0] == '.' ? NULL : memchr(first, name[0] | 0x20, sizeof first - 1);
        return name[0] == '.' || (at && (name[1] | 0x20) == second[at - first]);
}

const struct protect_row *
protect_find_deep(const char *name, size_t len)
{
        if (!may_be_deep(name, len))
                return NULL;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                if ((rows[i].flags & PROTECT_DEEP) != 0 &&
                    strncasecmp(rows[i].path, name, len) == 0 && rows[i].path[len] == '\0')
                        return &rows[i];
        return NULL;
}
