/*
 * outcome/lookup.c - why a command was not executed, in words.
 *
 * Room: outcome (deciding, pure). Touches: nothing.
 * Knows the words that people type who come from a shell or from Docker. Knows nothing of which
 * programs there are.
 */
#include "outcome/lookup.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum { NAME_SHOWN = 100 };

static bool
is_among(const char *name, const char *const *words, size_t count)
{
        for (size_t i = 0; i < count; i++)
                if (strcmp(words[i], name) == 0)
                        return true;
        return false;
}

#define IS_AMONG(name, words) is_among((name), (words), sizeof(words) / sizeof *(words))

static bool
is_builtin(const char *name)
{
        static const char *const words[] = { "cd",     "export", "source",  "alias", "unalias",
                                             "set",    "unset",  "exit",    "eval",  "exec",
                                             "ulimit", "umask",  "read",    "type",  "history",
                                             "pushd",  "popd",   "declare", "local", "shopt",
                                             "trap",   "wait",   "jobs",    "bg",    "fg",
                                             "." };

        return IS_AMONG(name, words);
}

/* A name as Docker has them: debian, python:3.12, ghcr.io/acme/tool:1. */
static bool
is_image(const char *name)
{
        static const char *const words[] = { "debian",  "ubuntu",     "alpine",    "fedora",
                                             "centos",  "rockylinux", "archlinux", "busybox",
                                             "scratch", "golang",     "postgres",  "redis" };

        return IS_AMONG(name, words) || (name[0] != '.' && name[0] != '/' && strchr(name, ':') &&
                                         !strpbrk(name, " \t=|&;<>$"));
}

static bool
is_assignment(const char *name)
{
        size_t len =
                strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");

        return len > 0 && name[len] == '=';
}

static bool
is_to_root(const char *name)
{
        static const char *const words[] = { "sudo", "su", "doas", "pkexec" };

        return IS_AMONG(name, words);
}

bool
lookup_is_known(const char *name)
{
        return is_assignment(name) || strpbrk(name, " \t|&;<>$/") || is_builtin(name) ||
               is_image(name) || is_to_root(name);
}

static void
hint_at_name(const char *name, struct error *e)
{
        if (is_assignment(name))
                error_hint(e, "A variable is given before the command: -e %.*s -- COMMAND",
                           NAME_SHOWN, name);
        else if (strpbrk(name, " \t|&;<>$") && !strchr(name, '\''))
                error_hint(e, "This looks like a line for a shell. Give it to one: sh -c '%.*s'",
                           NAME_SHOWN, name);
        else if (is_builtin(name))
                error_hint(e,
                           "%s is a word of the shell, not a program. Give the whole line to a "
                           "shell: sh -c '%s ...'",
                           name, name);
        else if (is_image(name))
                error_hint(e,
                           "SANDBOX.md names an image: provider: container, config: {image: NAME}. "
                           "Leave %.*s out, and write the command alone: -- COMMAND",
                           NAME_SHOWN, name);
        else if (is_to_root(name))
                error_hint(e,
                           "Leave out %s. Packages are installed on the host, or in an image with "
                           "`config: {user: root}`.",
                           name);
        else if (strchr(name, '/'))
                error_hint(e, "Check the path: it is looked up inside the sandbox, where the "
                              "workspace is at the path of its mount (/workspace).");
        else
                error_hint(e,
                           "Check the spelling of %.*s. A sandbox has the programs of this machine "
                           "in /usr/local/bin, /usr/bin and /bin, or those of its image: install "
                           "it there.",
                           NAME_SHOWN, name);
}

static int
not_executable(const char *name, int sys, struct error *e)
{
        const char *shown = name ? name : "the command", *file = name ? name : "FILE";
        bool is_path = strchr(file, '/') != NULL || !name;

        switch (sys) {
        case ELIBACC:
                (void)fail_at(
                        e, ERROR_COMMAND_NOT_EXECUTABLE, "", "interpreter",
                        "%.200s: the interpreter that it names does not exist inside the sandbox",
                        shown);
                error_hint(e,
                           "A script names it in its first line, as in #!/usr/bin/python3. If the "
                           "file has Windows line ends, remove them: sed -i 's/\\r$//' %.*s",
                           NAME_SHOWN, file);
                break;
        case EISDIR:
                (void)fail_at(e, ERROR_COMMAND_NOT_EXECUTABLE, "", "directory",
                              "%.200s: this is a directory, not a program", shown);
                error_hint(e, "Name a program. The directory to run it in is config: {cwd: DIR} in "
                              "SANDBOX.md, or --cwd DIR of `carrel exec`.");
                break;
        case ENOEXEC:
                (void)fail_at(e, ERROR_COMMAND_NOT_EXECUTABLE, "", "format",
                              "%.200s: this is not a program of this machine's architecture (Exec "
                              "format error)",
                              shown);
                error_hint(e, "Build it for this machine, or install a build for it.");
                break;
        case E2BIG:
                (void)fail_at(e, ERROR_COMMAND_NOT_EXECUTABLE, "", "too_long",
                              "%.200s: its arguments and environment are longer than the kernel "
                              "allows (Argument list too long)",
                              shown);
                error_hint(e, "Write long input to a file or to standard input. A single argument "
                              "can have 128 KiB.");
                break;
        case EACCES:
                (void)fail_at(e, ERROR_COMMAND_NOT_EXECUTABLE, "", "not_executable",
                              "%.200s: Permission denied: the file is not executable", shown);
                if (is_path)
                        error_hint(e,
                                   "Make it executable: chmod +x %.*s. Or name its interpreter: sh "
                                   "%.*s",
                                   NAME_SHOWN, file, NAME_SHOWN, file);
                break;
        default:
                (void)fail_at(e, ERROR_COMMAND_NOT_EXECUTABLE, "", "not_executable", "%.200s: %s",
                              shown, strerror(sys));
                break;
        }
        e->sys = sys;
        return -1;
}

int
lookup_refuse(const char *name, int sys, struct error *e)
{
        if (sys != ENOENT && sys != ENOTDIR)
                return not_executable(name, sys, e);
        (void)fail_at(e, ERROR_COMMAND_NOT_FOUND, "", "not_found",
                      "%.200s%sthere is no such command inside the sandbox", name ? name : "",
                      name ? ": " : "");
        if (name)
                hint_at_name(name, e);
        return -1;
}
