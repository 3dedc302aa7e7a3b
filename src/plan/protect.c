/*
 * plan/protect.c - names in a workspace through which a payload could speak to the host later.
 *
 * Room: plan (deciding, pure). Touches: nothing.
 */
#include "plan/protect.h"

static const struct protect_row rows[] = {
        { ".git/hooks", true, "git runs hooks on the host" },
        { ".git/config", false, "git configuration names programs to run" },
        { ".git/config.worktree", false, "more git configuration, read where sparse checkouts are used" },
        { PROTECT_COMMONDIR, false, "leads git to another directory's configuration and hooks" },
        { ".bashrc", false, "a shell runs it when it starts" },
        { ".bash_profile", false, "a shell runs it when it starts" },
        { ".profile", false, "a shell runs it when it starts" },
        { ".zshrc", false, "a shell runs it when it starts" },
        { ".envrc", false, "direnv runs it on entering the directory" },
        { ".mcp.json", false, "agents start the servers it names" },
        { ".claude", true, "agent settings and hooks" },
        { ".codex", true, "agent settings" },
        { ".cursor", true, "agent settings" },
        { ".gemini", true, "agent settings" },
        { ".vscode", true, "editor tasks and settings" },
        { "SANDBOX.md", false, "says what a sandbox may do" },
        { "WORKSPACE.md", false, "says what a sandbox may do" },
        { "SECRETS.md", false, "says which secrets are bound" },
};

const struct protect_row *
protect_rows(size_t *ret_count)
{
        *ret_count = sizeof rows / sizeof *rows;
        return rows;
}
