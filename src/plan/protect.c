/*
 * plan/protect.c - names in a workspace through which a payload could speak to the host later.
 *
 * Room: plan (deciding, pure). Touches: nothing.
 *
 * What becomes of a name is decided by what it is when the sandbox begins, and in one place for each step:
 *
 *     exists --+-- the index tracks it, and the row does not say ALWAYS --> content: may be changed; a change is reported at the end
 *              +-- else ------------------------------------------------> held: read-only inside, and cannot be moved away
 *     absent --+-- the row says MAKE (.git) -----------------------------> may be made; reported
 *              +-- else ------------------------------------------------> moved into the sandbox's keeping when it is made; reported
 *
 * Git's configuration, there or not, may be changed as far as no change runs a program (git/config.h): any other is put back and reported.
 * One that cannot be read, or of which there are too many, is treated like every other name.
 *
 * `protect: strict` holds content and configuration too, and ends the sandbox instead of moving or reporting. `unprotect` takes a name out of all this.
 *
 *     sandbox/sources.c looks and decides | plan/mounts.c: FREEZE and PIN steps, GUARD lists | maker/guard.c: moves, compares, reports
 *
 * The names are those that a program reads without being asked to run the project: on entering a directory, on opening it, on
 * starting there. What runs a project's own code when it is asked to (make, npm, cargo, yarn, pre-commit, husky) is not in the table, and
 * neither is text that instructs an agent (CLAUDE.md, AGENTS.md).
 */
#include "plan/protect.h"

static const struct protect_row rows[] = {
        { ".git", "git", "a repository: reported when it is made", PROTECT_MAKE },
        { ".git/hooks", "git", "runs hooks", PROTECT_ALWAYS },
        { ".git/config", "git", "names programs to run", PROTECT_ALWAYS | PROTECT_JUDGE },
        { ".git/config.worktree", "git", "more configuration, read where sparse checkouts are used", PROTECT_ALWAYS | PROTECT_JUDGE },
        { ".git/commondir", "git", "leads to another directory's configuration and hooks", PROTECT_ALWAYS },
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
        { ".envrc", "direnv", "run on entering the directory", 0 },
        { "mise.toml", "mise", "environment and hooks on entering the directory", 0 },
        { ".mise.toml", "mise", "environment and hooks on entering the directory", 0 },
        { ".mcp.json", "agents", "servers that they start", 0 },
        { ".claude", "Claude Code", "settings and hooks", 0 },
        { ".codex", "Codex", "settings", 0 },
        { ".cursor", "Cursor", "settings, servers that it starts", 0 },
        { ".gemini", "Gemini CLI", "settings, servers that it starts", 0 },
        { ".windsurf", "Windsurf", "settings", 0 },
        { ".kiro", "Kiro", "settings, hooks, servers that it starts", 0 },
        { ".opencode", "opencode", "settings, plug-ins", 0 },
        { "opencode.json", "opencode", "settings, servers that it starts", 0 },
        { ".vscode", "VS Code", "tasks and settings", 0 },
        { ".devcontainer", "VS Code", "commands that a container is made with", 0 },
        { ".zed", "Zed", "tasks and settings", 0 },
        { ".idea", "JetBrains", "run configurations and settings", 0 },
        { ".exrc", "vim", "run where `exrc` is set", 0 },
        { ".nvim.lua", "Neovim", "run where `exrc` is set", 0 },
        { ".dir-locals.el", "Emacs", "variables, and code that it asks about", 0 },
        { "SANDBOX.md", "carrel", "says what a sandbox may do", PROTECT_ALWAYS },
        { "WORKSPACE.md", "carrel", "says what a sandbox may do", PROTECT_ALWAYS },
        { "SECRETS.md", "carrel", "says which secrets are bound", PROTECT_ALWAYS },
        { ".config/carrel", "carrel", "says what manifests may ask for, where the workspace is a home", PROTECT_ALWAYS },
        { "*.SANDBOX.md", "carrel", "says what a sandbox may do", PROTECT_ALWAYS },
        { "*.SECRETS.md", "carrel", "says which secrets are bound", PROTECT_ALWAYS },
};

const struct protect_row *
protect_rows(size_t *ret_count)
{
        *ret_count = sizeof rows / sizeof *rows;
        return rows;
}
