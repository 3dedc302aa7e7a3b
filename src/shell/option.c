/*
 * shell/option.c - options of well-known programs whose value is a command: tar --to-command, git
 * -c alias.x, sort --compress-program.
 *
 * Room: shell (deciding). Touches: mem.
 * Theory: such a value is read as a text for a shell, also where the program starts it without one:
 * what it names is the same. A program that is not listed here, and its files, are not read. An
 * option that is not written as it is listed is not seen: docs/POLICY.md says so.
 */
#include <string.h>
#include <strings.h>

#include "shell/reader.h"

enum { PREFIX_LEAST = 3 /* of a long option that is cut short: "--x" */ };

enum value_form {
        FORM_TEXT,   /* a command */
        FORM_EXEC,   /* exec=COMMAND; other actions of tar run nothing */
        FORM_BANG,   /* !COMMAND, or a path; other words are what git knows itself */
        FORM_REMOTE, /* a program as ssh: alone it is one, its options can name commands */
        FORM_CONFIG, /* KEY=VALUE of git */
        FORM_SSH,    /* KEY=VALUE of ssh */
        FORM_DOUBT   /* what it runs is in a file, or in a language */
};

static const struct command_option {
        const char *program, *verb; /* verb NULL: any */
        const char *option;
        const char *enders; /* short options with a value, which end a cluster before this one */
        enum value_form form;
} command_options[] = {
        { "tar", NULL, "--checkpoint-action", "", FORM_EXEC },
        { "tar", NULL, "--to-command", "", FORM_TEXT },
        { "tar", NULL, "--use-compress-program", "", FORM_TEXT },
        { "tar", NULL, "-I", "bfgCKLNTVXHF", FORM_TEXT },
        { "tar", NULL, "--info-script", "", FORM_TEXT },
        { "tar", NULL, "--new-volume-script", "", FORM_TEXT },
        { "tar", NULL, "-F", "bfgCKLNTVXHI", FORM_TEXT },
        { "tar", NULL, "--rsh-command", "", FORM_REMOTE },
        { "tar", NULL, "--rmt-command", "", FORM_TEXT },
        { "cpio", NULL, "--rsh-command", "", FORM_REMOTE },
        { "sort", NULL, "--compress-program", "", FORM_TEXT },
        { "split", NULL, "--filter", "", FORM_TEXT },
        { "install", NULL, "--strip-program", "", FORM_TEXT },
        { "sdiff", NULL, "--diff-program", "", FORM_TEXT },
        { "diff3", NULL, "--diff-program", "", FORM_TEXT },
        { "zip", NULL, "--unzip-command", "", FORM_TEXT },
        { "zip", NULL, "-TT", "", FORM_TEXT },
        { "wget", NULL, "--use-askpass", "", FORM_TEXT },
        { "man", NULL, "--pager", "", FORM_TEXT },
        { "man", NULL, "-P", "CRLmMSsEepr", FORM_TEXT },
        { "rsync", NULL, "--rsh", "", FORM_REMOTE },
        { "rsync", NULL, "-e", "fTBM@", FORM_REMOTE },
        { "scp", NULL, "-S", "cFiJlPDXo", FORM_REMOTE },
        { "sftp", NULL, "-S", "BbcDFiJlPRXos", FORM_REMOTE },
        { "scp", NULL, "-o", "cFiJlPDXS", FORM_SSH },
        { "sftp", NULL, "-o", "BbcDFiJlPRXSs", FORM_SSH },
        { "dpkg", NULL, "--pre-invoke", "", FORM_TEXT },
        { "dpkg", NULL, "--post-invoke", "", FORM_TEXT },
        { "make", NULL, "--eval", "", FORM_DOUBT },
        { "make", NULL, "-E", "CfIjloOW", FORM_DOUBT },
        { "vim", NULL, "-c", "", FORM_DOUBT },
        { "vim", NULL, "--cmd", "", FORM_DOUBT },
        { "vi", NULL, "-c", "", FORM_DOUBT },
        { "vi", NULL, "--cmd", "", FORM_DOUBT },
        { "view", NULL, "-c", "", FORM_DOUBT },
        { "ex", NULL, "-c", "", FORM_DOUBT },
        { "nvim", NULL, "-c", "", FORM_DOUBT },
        { "nvim", NULL, "--cmd", "", FORM_DOUBT },
        { "emacs", NULL, "--eval", "", FORM_DOUBT },
        { "git", NULL, "-c", "", FORM_CONFIG },
        { "git", NULL, "--config-env", "", FORM_DOUBT },
        { "git", NULL, "--exec-path", "", FORM_DOUBT },
        { "git", NULL, "--upload-pack", "", FORM_TEXT },
        { "git", NULL, "--receive-pack", "", FORM_TEXT },
        { "git", "clone", "-u", "obcj", FORM_TEXT },
        { "git", "clone", "--config", "", FORM_CONFIG },
        { "git", "ls-remote", "--exec", "", FORM_TEXT },
        { "git", "push", "--exec", "", FORM_TEXT },
        { "git", "archive", "--exec", "", FORM_TEXT },
        { "git", "rebase", "--exec", "", FORM_TEXT },
        { "git", "rebase", "-x", "CsX", FORM_TEXT },
        { "git", "difftool", "--extcmd", "", FORM_TEXT },
        { "git", "difftool", "-x", "t", FORM_TEXT },
        { "git", "grep", "--open-files-in-pager", "", FORM_TEXT },
        { "git", "grep", "-O", "ABCefm", FORM_TEXT },
        { "git", "filter-branch", "--env-filter", "", FORM_TEXT },
        { "git", "filter-branch", "--tree-filter", "", FORM_TEXT },
        { "git", "filter-branch", "--index-filter", "", FORM_TEXT },
        { "git", "filter-branch", "--parent-filter", "", FORM_TEXT },
        { "git", "filter-branch", "--msg-filter", "", FORM_TEXT },
        { "git", "filter-branch", "--commit-filter", "", FORM_TEXT },
        { "git", "filter-branch", "--tag-name-filter", "", FORM_TEXT },
        { "git", "filter-branch", "--setup", "", FORM_TEXT },
        { "git", "send-email", "--cc-cmd", "", FORM_TEXT },
        { "git", "send-email", "--header-cmd", "", FORM_TEXT },
        { "git", "send-email", "--sendmail-cmd", "", FORM_TEXT },
        { "git", "send-email", "--to-cmd", "", FORM_TEXT },
};

/* Settings of git that hold a command: the begin and the end of the key. */
static const struct {
        const char *begin, *end;
        enum value_form form;
} settings[] = {
        { "alias.", "", FORM_BANG },
        { "browser.", ".cmd", FORM_TEXT },
        { "browser.", ".path", FORM_TEXT },
        { "core.", ".alternaterefscommand", FORM_TEXT },
        { "core.", ".askpass", FORM_TEXT },
        { "core.", ".editor", FORM_TEXT },
        { "core.", ".fsmonitor", FORM_TEXT },
        { "core.", ".gitproxy", FORM_TEXT },
        { "core.", ".hookspath", FORM_DOUBT },
        { "core.", ".pager", FORM_TEXT },
        { "core.", ".sshcommand", FORM_REMOTE },
        { "credential.", "helper", FORM_BANG },
        { "diff.", ".command", FORM_TEXT },
        { "diff.", ".external", FORM_TEXT },
        { "diff.", ".textconv", FORM_TEXT },
        { "difftool.", ".cmd", FORM_TEXT },
        { "difftool.", ".path", FORM_TEXT },
        { "filter.", ".clean", FORM_TEXT },
        { "filter.", ".process", FORM_TEXT },
        { "filter.", ".smudge", FORM_TEXT },
        { "gc.", ".recentobjectshook", FORM_TEXT },
        { "gpg.", ".defaultkeycommand", FORM_TEXT },
        { "gpg.", ".program", FORM_TEXT },
        { "guitool.", ".cmd", FORM_TEXT },
        { "imap.", ".tunnel", FORM_TEXT },
        { "include.", ".path", FORM_DOUBT },
        { "includeif.", ".path", FORM_DOUBT },
        { "init.", ".templatedir", FORM_DOUBT },
        { "interactive.", ".difffilter", FORM_TEXT },
        { "man.", ".cmd", FORM_TEXT },
        { "man.", ".path", FORM_TEXT },
        { "merge.", ".driver", FORM_TEXT },
        { "mergetool.", ".cmd", FORM_TEXT },
        { "mergetool.", ".path", FORM_TEXT },
        { "pager.", "", FORM_TEXT },
        { "protocol.ext", ".allow", FORM_DOUBT },
        { "remote.", ".receivepack", FORM_TEXT },
        { "remote.", ".uploadpack", FORM_TEXT },
        { "sendemail.", "cmd", FORM_TEXT },
        { "sendemail.", "smtpserver", FORM_BANG },
        { "sequence.", ".editor", FORM_TEXT },
        { "submodule.", ".update", FORM_BANG },
        { "tar.", ".command", FORM_TEXT },
        { "trailer.", ".cmd", FORM_TEXT },
        { "trailer.", ".command", FORM_TEXT },
        { "uploadpack.", ".packobjectshook", FORM_TEXT },
};

/* -- runners ----------------------------------------------------------------------------------- */

/* They run other programs, in ways that are not read. The last ones are links to setarch. */
static const char *const runners[] = {
        "aa-exec",
        "arch-chroot",
        "asciinema",
        "at",
        "batch",
        "bwrap",
        "byobu",
        "cage",
        "capsh",
        "catatonit",
        "catchsegv",
        "ccache",
        "cgexec",
        "choom",
        "chpst",
        "chronic",
        "chroot",
        "chrt",
        "coreutils",
        "cpulimit",
        "crun",
        "csh",
        "daemon",
        "daemonize",
        "datefudge",
        "dbus-launch",
        "dbus-run-session",
        "debconf",
        "distcc",
        "doas",
        "docker",
        "dtach",
        "dumb-init",
        "eatmydata",
        "entr",
        "envdir",
        "execlineb",
        "expect",
        "fakechroot",
        "fakeroot",
        "fakeroot-sysv",
        "fakeroot-tcp",
        "faketime",
        "firejail",
        "fish",
        "flatpak",
        "flatpak-spawn",
        "flock",
        "gdb",
        "gosu",
        "gpg-agent",
        "hyperfine",
        "ifne",
        "ksh",
        "ksh93",
        "lckdo",
        "ld.so",
        "linux32",
        "linux64",
        "lldb",
        "logsave",
        "ltrace",
        "luit",
        "lxc-attach",
        "lxc-execute",
        "machinectl",
        "minijail0",
        "mispipe",
        "mksh",
        "newgrp",
        "nsenter",
        "nsjail",
        "numactl",
        "parallel",
        "pee",
        "perf",
        "pkexec",
        "podman",
        "posh",
        "prlimit",
        "proot",
        "proxychains",
        "proxychains4",
        "rlwrap",
        "run-one",
        "run-parts",
        "runc",
        "runcon",
        "runuser",
        "s6-setuidgid",
        "schroot",
        "screen",
        "script",
        "scriptlive",
        "setarch",
        "setpriv",
        "setuidgid",
        "sg",
        "softlimit",
        "ssh",
        "ssh-agent",
        "sshpass",
        "start-stop-daemon",
        "strace",
        "su",
        "su-exec",
        "sudo",
        "switch_root",
        "systemd-cat",
        "systemd-inhibit",
        "systemd-nspawn",
        "systemd-run",
        "systemd-socket-activate",
        "taskset",
        "tcsh",
        "timelimit",
        "tini",
        "tini-static",
        "tmux",
        "toolbox",
        "torify",
        "torsocks",
        "trace-cmd",
        "trickle",
        "tsocks",
        "uclampset",
        "unbuffer",
        "unshare",
        "valgrind",
        "watch",
        "xterm",
        "xvfb-run",
        "yash",
        "zrun",
        "zsh",
        "aarch64",
        "arm64",
        "armv8l",
        "i386",
        "uname26",
        "x86_64",
};

static bool
is_runner(const char *name)
{
        for (size_t i = 0; i < sizeof runners / sizeof *runners; i++)
                if (strcmp(runners[i], name) == 0)
                        return true;
        return false;
}

/* -- values ------------------------------------------------------------------------------------ */

static void
doubt(struct reader *r, enum shell_doubt what, const char *word)
{
        reader_doubt(r, what, word ? word : "", word ? strlen(word) : 0);
}

/* Is it in the text, in any case? `word`: lower case. */
static bool
has_word(const char *text, const char *word)
{
        for (; *text; text++)
                if (strncasecmp(text, word, strlen(word)) == 0)
                        return true;
        return false;
}

/* A shell inside the program that is read. */
static void
read_text(struct reader *r, const char *text)
{
        r->depth++;
        reader_text(r, text, strlen(text));
        r->depth--;
}

/* "ssh -i key": a program. With its options that hold commands it is read as a text: a doubt. */
static void
read_remote(struct reader *r, const char *text)
{
        size_t len = strcspn(text, " \t");
        const char *word = arena_copy(r->memory, text, len);
        const char *name = word ? r->facts->find(r->facts->context, word) : NULL;

        if (name && strcmp(name, "ssh") == 0 && !has_word(text, "command") &&
            text[strcspn(text, ";|&<>()`$\n")] == '\0')
                reader_one(r, name, word, false);
        else
                read_text(r, text);
}

static bool
is_switch(const char *value)
{
        static const char *const words[] = { "", "0", "1", "true", "false", "yes", "no", "never" };

        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
                if (strcasecmp(value, words[i]) == 0)
                        return true;
        return false;
}

static bool
is_setting(const char *key, size_t len, const char *begin, const char *end)
{
        size_t begin_len = strlen(begin), end_len = strlen(end);

        /* the dot at the end of the first part may be the one at the begin of the last */
        return len + 1 >= begin_len + end_len && len > begin_len &&
               strncasecmp(key, begin, begin_len) == 0 &&
               strncasecmp(key + len - end_len, end, end_len) == 0;
}

/* "ProxyCommand=none", "PermitLocalCommand no". */
static bool
runs_nothing(const char *value)
{
        const char *rest = value + strcspn(value, "= \t");

        rest += strspn(rest, "= \t");
        return strcasecmp(rest, "none") == 0 ||
               (strncasecmp(value, "permit", 6) == 0 && strcasecmp(rest, "no") == 0);
}

static void read_value(struct reader *r, enum value_form form, const char *value);

static void
read_setting(struct reader *r, const char *key, size_t len, const char *value)
{
        for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
                if (!is_setting(key, len, settings[i].begin, settings[i].end))
                        continue;
                if (!value)
                        doubt(r, SHELL_EXPANSION, "git");
                else if (is_switch(value) || strcmp(value, "/dev/null") == 0)
                        return;
                else if (settings[i].form == FORM_DOUBT)
                        reader_doubt(r, SHELL_RUNS_OTHERS, key, len);
                else
                        read_value(r, settings[i].form, value);
                return;
        }
}

static void
read_value(struct reader *r, enum value_form form, const char *value)
{
        const char *equals = strchr(value, '=');

        switch (form) {
        case FORM_TEXT:
                read_text(r, value);
                break;
        case FORM_EXEC:
                if (strncmp(value, "exec=", 5) == 0)
                        read_text(r, value + 5);
                break;
        case FORM_BANG:
                if (value[0] == '!' || value[0] == '/')
                        read_text(r, value + (value[0] == '!'));
                break;
        case FORM_REMOTE:
                read_remote(r, value);
                break;
        case FORM_CONFIG:
                if (equals)
                        read_setting(r, value, (size_t)(equals - value), equals + 1);
                break;
        case FORM_SSH:
                if (has_word(value, "command") && !runs_nothing(value))
                        doubt(r, SHELL_RUNS_OTHERS, value);
                break;
        case FORM_DOUBT:
                doubt(r, SHELL_RUNS_OTHERS, value);
                break;
        }
}

/* -- options ----------------------------------------------------------------------------------- */

enum { NOT_IT, IN_WORD, IN_NEXT };

/* The rows of git for all its commands are not cut short: a command has options of its own. */
static int
match_long(const struct command_option *o, const char *word, const char **ret)
{
        size_t len = strcspn(word, "=");
        bool is_exact = o->form == FORM_DOUBT && strcmp(o->program, "git") == 0;

        if (strncmp(o->option, word, len) != 0 || strcmp(word, "--strip") == 0 || /* of install */
            ((len < PREFIX_LEAST || is_exact) && o->option[len] != '\0'))
                return NOT_IT;
        *ret = word[len] == '=' ? word + len + 1 : NULL;
        return *ret ? IN_WORD : IN_NEXT;
}

/* In a cluster of one-letter options, unless one before it takes the rest as its value. */
static int
match_short(const struct command_option *o, const char *word, const char **ret)
{
        size_t len = strlen(o->option + 1);
        const char *at = word + 1;

        /* lint: the begin of the rest is compared, without the NUL of the option */
        for (; *at && strncmp(at, o->option + 1, len) != 0; at++)
                if (!reader_is_alnum(*at) || strchr(o->enders, *at) || len > 1)
                        return NOT_IT;
        if (!*at)
                return NOT_IT;
        *ret = at + len;
        return **ret ? IN_WORD : IN_NEXT;
}

static void
try_option(struct reader *r, const struct command_option *o, const struct words *w, size_t at)
{
        const char *word = w->items[at], *value = NULL;
        int found = NOT_IT;

        if (o->option[1] == '-' && word[1] == '-' && word[2] != '\0')
                found = match_long(o, word, &value);
        else if (o->option[1] != '-' && word[1] != '-')
                found = match_short(o, word, &value);
        if (found == NOT_IT)
                return;
        if (found == IN_NEXT && at + 1 < w->count)
                value = w->items[at + 1];
        else if (found == IN_NEXT && !w->has_more)
                return; /* it has no value */
        if (value)
                read_value(r, o->form, value);
        else
                doubt(r, SHELL_EXPANSION, w->items[0]);
}

/* -- git --------------------------------------------------------------------------------------- */

/* The place of git's own command; w->count: there is none, or it is not known. */
static size_t
find_verb(const struct words *w)
{
        static const char *const valued[] = { "-C",           "-c",           "--git-dir",
                                              "--work-tree",  "--namespace",  "--super-prefix",
                                              "--config-env", "--attr-source" };

        for (size_t i = 1; i < w->count && w->items[i]; i++) {
                size_t k = 0;

                if (w->items[i][0] != '-')
                        return i;
                while (k < sizeof valued / sizeof *valued && strcmp(valued[k], w->items[i]) != 0)
                        k++;
                i += k < sizeof valued / sizeof *valued;
        }
        return w->count;
}

/* The words behind the options are a command, or its one word is a text. */
static void
read_rest(struct reader *r, const struct words *w, size_t at)
{
        struct words rest;
        bool was_in_shell = r->in_shell;

        while (at < w->count && w->items[at] && w->items[at][0] == '-')
                at++;
        if (at >= w->count)
                return;
        rest = words_after(w, at);
        if (rest.count == 1 && !rest.has_more && rest.items[0]) {
                read_text(r, rest.items[0]);
                return;
        }
        r->in_shell = true;
        reader_words(r, &rest);
        r->in_shell = was_in_shell;
}

static void
read_git(struct reader *r, const struct words *w, size_t verb)
{
        const char *name = w->items[verb], *next = verb + 1 < w->count ? w->items[verb + 1] : NULL;

        if (strcmp(name, "bisect") == 0 && next && strcmp(next, "run") == 0)
                read_rest(r, w, verb + 2);
        if (strcmp(name, "submodule") == 0 && next && strcmp(next, "foreach") == 0)
                read_rest(r, w, verb + 2);
        if (strcmp(name, "config") != 0)
                return;
        for (size_t i = verb + 1; i + 1 < w->count; i++)
                if (w->items[i])
                        read_setting(r, w->items[i], strlen(w->items[i]), w->items[i + 1]);
}

/* -- others ------------------------------------------------------------------------------------ */

/* tar xIf PROGRAM FILE: the values follow in the order of the letters. */
static bool
has_old_cluster(const struct words *w)
{
        const char *word = w->count > 1 ? w->items[1] : NULL;

        return word && word[0] != '-' && strpbrk(word, "IF");
}

/* The shell that runs the recipes of a makefile; another program would be run in its place. */
static void
read_shell_name(struct reader *r, const char *value)
{
        const char *name = r->facts->find(r->facts->context, value);

        if (name &&
            (strcmp(name, "sh") == 0 || strcmp(name, "bash") == 0 || strcmp(name, "dash") == 0))
                reader_one(r, name, value, true);
        else
                read_text(r, value);
}

/* SHELL=, SHELL:= and the like; NAME!=COMMAND and $(shell COMMAND) run it. */
static void
read_variable(struct reader *r, const char *word)
{
        const char *value = strncmp(word, "SHELL", 5) == 0 ? word + 5 : "";

        value += strspn(value, " \t:?");
        if (word[0] != '-' &&
            (strstr(word, "!=") || strstr(word, "$(shell") || strstr(word, "${shell")))
                doubt(r, SHELL_RUNS_OTHERS, word);
        else if (*value == '=')
                read_shell_name(r, value + 1 + strspn(value + 1, " \t"));
}

/* EXEC:COMMAND, also as the second half of an address. */
static void
read_address(struct reader *r, const char *word)
{
        static const char *const kinds[] = { "EXEC:", "SYSTEM:", "SHELL:" };

        for (const char *at = word, *next; at; at = next ? next + 2 : NULL) {
                next = strstr(at, "!!");
                for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
                        if (strncasecmp(at, kinds[i], strlen(kinds[i])) == 0)
                                read_text(r, at + strlen(kinds[i]));
        }
}

/* +12 and +/text are places in the file. */
static bool
is_editing(const char *program, const char *word)
{
        static const char *const editors[] = { "vim", "vi", "view", "ex", "nvim" };

        for (size_t i = 0; i < sizeof editors / sizeof *editors; i++)
                if (strcmp(editors[i], program) == 0)
                        return word[0] == '+' && word[1] && word[1] != '/' &&
                               word[1 + strspn(word + 1, "0123456789")];
        return false;
}

static void
read_others(struct reader *r, const char *program, const struct words *w)
{
        if (strcmp(program, "tar") == 0 && has_old_cluster(w))
                doubt(r, SHELL_RUNS_OTHERS, w->items[1]);
        for (size_t i = 1; i < w->count; i++) {
                const char *word = w->items[i];

                if (!word)
                        continue;
                if (strcmp(program, "make") == 0)
                        read_variable(r, word);
                if (strcmp(program, "socat") == 0)
                        read_address(r, word);
                if (is_editing(program, word))
                        doubt(r, SHELL_RUNS_OTHERS, word);
        }
}

void
reader_options(struct reader *r, const char *program, const struct words *w)
{
        size_t verb = strcmp(program, "git") == 0 ? find_verb(w) : w->count;

        if (is_runner(program))
                doubt(r, SHELL_RUNS_OTHERS, w->items[0]);
        for (size_t i = 1; i < w->count; i++) {
                if (!w->items[i] || w->items[i][0] != '-' || w->items[i][1] == '\0')
                        continue;
                if (strcmp(w->items[i], "--") == 0)
                        break;
                for (size_t k = 0; k < sizeof command_options / sizeof *command_options; k++) {
                        const struct command_option *o = &command_options[k];

                        if (strcmp(o->program, program) == 0 &&
                            (!o->verb || (verb < w->count && strcmp(o->verb, w->items[verb]) == 0)))
                                try_option(r, o, w, i);
                }
        }
        if (verb < w->count)
                read_git(r, w, verb);
        read_others(r, program, w);
}
