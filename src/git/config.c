/*
 * git/config.c - a strict reader of git's configuration, and the list of keys that run nothing.
 *
 * Room: git (deciding, pure). Touches: nothing.
 * Theory: it reads what git reads, byte for byte as git's own config.c does, or it says that it
 * does not. See git-config(1), "Syntax".
 *
 *     [section]  [section "sub\"section"]  [section.subsection]  key  key = value ; comment      a
 * value continues after "\" at the end of a line
 */
#include "git/config.h"

#include <stdbool.h>
#include <string.h>

/* -- reading ----------------------------------------------------------------------------------- */

static bool
is_letter(int c)
{
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool
is_key_char(int c)
{
        return is_letter(c) || (c >= '0' && c <= '9') || c == '-';
}

static int
lower(int c)
{
        return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

/* The next byte; the end of the file is the end of a line, as for git. */
static int
get(struct git_config *c)
{
        return c->at < c->end ? (unsigned char)*c->at++ : '\n';
}

static bool
put(char *text, size_t room, size_t *len, int c)
{
        if (*len + 1 >= room)
                return false;
        text[(*len)++] = (char)c;
        text[*len] = '\0';
        return true;
}

/* After the name of the section and a blank: a quoted subsection and the bracket. */
static bool
take_subsection(struct git_config *c, size_t len)
{
        int byte;

        while ((byte = get(c)) == ' ' || byte == '\t')
                continue;
        if (byte != '"' || !put(c->section, sizeof c->section, &len, '.'))
                return false;
        while ((byte = get(c)) != '"') {
                if (byte == '\\')
                        byte = get(c);
                if (byte == '\n' || !put(c->section, sizeof c->section, &len, byte))
                        return false;
        }
        return get(c) == ']';
}

static bool
take_section(struct git_config *c)
{
        size_t len = 0;
        int byte;

        c->section[0] = '\0';
        c->first_len = 0;
        while ((byte = get(c)) != ']') {
                if (byte == ' ' || byte == '\t') {
                        c->first_len = c->first_len > 0 ? c->first_len : len;
                        return len > 0 && take_subsection(c, len);
                }
                if (byte == '.' && c->first_len == 0)
                        c->first_len = len;
                if ((!is_key_char(byte) && byte != '.') ||
                    !put(c->section, sizeof c->section, &len, lower(byte)))
                        return false;
        }
        c->first_len = c->first_len > 0 ? c->first_len : len;
        return c->first_len > 0;
}

static int
unescaped(int byte)
{
        switch (byte) {
        case 'n':
                return '\n';
        case 't':
                return '\t';
        case 'b':
                return '\b';
        case '\\':
        case '"':
                return byte;
        default:
                return -1;
        }
}

/* Up to the end of the line: blanks at both ends go, comments too, quotes hold both. */
static bool
take_value(struct git_config *c, struct git_entry *e)
{
        bool is_quoted = false, is_comment = false;
        size_t len = 0, blanks = 0;

        for (;;) {
                int byte = get(c);

                if (byte == '\n')
                        return !is_quoted;
                if (is_comment)
                        continue;
                if ((byte == ' ' || byte == '\t') && !is_quoted) {
                        blanks += len > 0;
                        continue;
                }
                if ((byte == ';' || byte == '#') && !is_quoted) {
                        is_comment = true;
                        continue;
                }
                for (; blanks > 0; blanks--)
                        if (!put(e->value, sizeof e->value, &len, ' '))
                                return false;
                if (byte == '"') {
                        is_quoted = !is_quoted;
                        continue;
                }
                if (byte == '\\') {
                        byte = get(c);
                        if (byte == '\n' && c->at < c->end)
                                continue;
                        byte = unescaped(byte);
                }
                if (byte < 0 || !put(e->value, sizeof e->value, &len, byte))
                        return false;
        }
}

static bool
take_entry(struct git_config *c, int first, struct git_entry *e)
{
        size_t len = strlen(c->section);
        int byte = first;

        memcpy(e->key, c->section, len + 1);
        e->section_len = c->first_len;
        e->value[0] = '\0';
        e->has_value = 0;
        if (len == 0 || !put(e->key, sizeof e->key, &len, '.'))
                return false;
        for (; is_key_char(byte); byte = get(c))
                if (!put(e->key, sizeof e->key, &len, lower(byte)))
                        return false;
        while (byte == ' ' || byte == '\t')
                byte = get(c);
        if (byte == '\n')
                return true;
        e->has_value = 1;
        return byte == '=' && take_value(c, e);
}

static bool
is_text(const char *bytes, size_t len)
{
        for (size_t i = 0; i < len; i++)
                if (((unsigned char)bytes[i] < ' ' && bytes[i] != '\n' && bytes[i] != '\t') ||
                    bytes[i] == 0x7f)
                        return false;
        return true;
}

void
git_config_open(struct git_config *c, const char *bytes, size_t len)
{
        bool is_fit = len <= GIT_CONFIG_MAX && is_text(bytes, len);

        *c = (struct git_config){ .at = is_fit ? bytes : NULL, .end = is_fit ? bytes + len : NULL };
        if (!is_fit)
                c->first_len = SIZE_MAX;
}

int
git_config_next(struct git_config *c, struct git_entry *ret)
{
        bool is_comment = false;

        if (c->first_len == SIZE_MAX)
                return -1;
        while (c->at < c->end) {
                int byte = get(c);
                bool is_whole = true;

                if (byte == '\n')
                        is_comment = false;
                if (is_comment || byte == '\n' || byte == ' ' || byte == '\t')
                        continue;
                if (byte == '#' || byte == ';')
                        is_comment = true;
                else if (byte == '[')
                        is_whole = take_section(c);
                else if (is_letter(byte) && take_entry(c, byte, ret))
                        return 1;
                else
                        is_whole = false;
                if (!is_whole) {
                        c->first_len = SIZE_MAX;
                        return -1;
                }
        }
        return 0;
}

/* -- values ------------------------------------------------------------------------------------ */

static bool
has_only(const char *text, const char *more)
{
        for (; *text != '\0'; text++)
                if (!is_letter(*text) && !(*text >= '0' && *text <= '9') &&
                    strchr(more, *text) == NULL)
                        return false;
        return true;
}

static bool
is_any(const char *value)
{
        (void)value;
        return true;
}

/* No path, no URL, no option. */
static bool
is_word(const char *value)
{
        return has_only(value, "-_.+ ") && value[0] != '-';
}

/* A remote by its name: what could be an address has a colon, or begins like a path. */
static bool
is_remote(const char *value)
{
        return strcmp(value, ".") == 0 ||
               (has_only(value, "-_./") && value[0] != '-' && value[0] != '.' && value[0] != '/' &&
                !strstr(value, ".."));
}

static bool
is_ref(const char *value)
{
        return strncmp(value, "refs/", 5) == 0;
}

static bool
is_refspec(const char *value)
{
        return value[0] != '-' && !strstr(value, "::");
}

static bool
is_no_tags(const char *value)
{
        return strcmp(value, "--no-tags") == 0 || strcmp(value, "--tags") == 0;
}

static bool
is_update(const char *value)
{
        return strcmp(value, "checkout") == 0 || strcmp(value, "rebase") == 0 ||
               strcmp(value, "merge") == 0 || strcmp(value, "none") == 0;
}

/* Bytes that a program of the way could take for something else: blanks, quotes, encoded ends of
 * lines. */
static bool
is_plain_address(const char *value)
{
        for (const char *at = value; *at != '\0'; at++) {
                if ((unsigned char)*at <= ' ' || strchr("\"'`\\$<>|;", *at))
                        return false;
                if (at[0] == '%' && at[1] == '0')
                        return false;
        }
        return true;
}

/* https, http, ssh, git; or user@host:path. Not a helper (ext::), not a path, no host that is an
 * option. */
static bool
is_url(const char *value)
{
        static const char *const schemes[] = { "https://", "http://", "ssh://", "git://" };
        const char *host, *colon;

        if (!is_plain_address(value))
                return false;
        for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
                if (strncmp(value, schemes[i], strlen(schemes[i])) == 0) {
                        const char *rest = value + strlen(schemes[i]);
                        const char *at = strchr(rest, '@'), *slash = strchr(rest, '/');

                        host = at && (!slash || at < slash) ? at + 1 : rest;
                        return *host != '\0' && *host != '-' && *host != '/' && *rest != '-' &&
                               *rest != '@';
                }
        host = strchr(value, '@');
        colon = host ? strchr(host, ':') : NULL;
        if (!colon || host == value || value[0] == '-' || host[1] == '-' || colon == host + 1 ||
            colon[1] == ':' || colon[1] == '-' || colon[1] == '\0')
                return false;
        for (const char *at = value; at < colon; at++)
                if (at != host && !is_letter(*at) && !(*at >= '0' && *at <= '9') &&
                    !strchr("-_.", *at))
                        return false;
        return true;
}

/* -- the list ---------------------------------------------------------------------------------- */

/* "*" is any subsection, or any key. is_word also takes true, false, numbers, names of ways. */
static const struct {
        const char *section, *key;
        bool has_sub;
        bool (*is_fit)(const char *value);
} harmless[] = {
        { "user", "name", false, is_any },
        { "user", "email", false, is_any },
        { "user", "useconfigonly", false, is_word },
        { "user", "signingkey", false, is_word },
        { "author", "name", false, is_any },
        { "author", "email", false, is_any },
        { "committer", "name", false, is_any },
        { "committer", "email", false, is_any },
        { "core", "repositoryformatversion", false, is_word },
        { "core", "filemode", false, is_word },
        { "core", "bare", false, is_word },
        { "core", "logallrefupdates", false, is_word },
        { "core", "ignorecase", false, is_word },
        { "core", "precomposeunicode", false, is_word },
        { "core", "symlinks", false, is_word },
        { "core", "autocrlf", false, is_word },
        { "core", "eol", false, is_word },
        { "core", "safecrlf", false, is_word },
        { "core", "whitespace", false, is_any },
        { "core", "quotepath", false, is_word },
        { "core", "abbrev", false, is_word },
        { "core", "compression", false, is_word },
        { "core", "bigfilethreshold", false, is_word },
        { "core", "preloadindex", false, is_word },
        { "core", "untrackedcache", false, is_word },
        { "core", "trustctime", false, is_word },
        { "core", "checkstat", false, is_word },
        { "core", "sparsecheckout", false, is_word },
        { "core", "sparsecheckoutcone", false, is_word },
        { "core", "commentchar", false, is_any },
        { "core", "commitgraph", false, is_word },
        { "core", "multipackindex", false, is_word },
        { "core", "longpaths", false, is_word },
        { "core", "splitindex", false, is_word },
        { "extensions", "objectformat", false, is_word },
        { "extensions", "worktreeconfig", false, is_word },
        { "extensions", "refstorage", false, is_word },
        { "init", "defaultbranch", false, is_any },
        { "index", "*", false, is_word },
        { "advice", "*", false, is_word },
        { "feature", "*", false, is_word },
        { "status", "short", false, is_word },
        { "status", "branch", false, is_word },
        { "status", "showuntrackedfiles", false, is_word },
        { "remote", "url", true, is_url },
        { "remote", "pushurl", true, is_url },
        { "remote", "fetch", true, is_refspec },
        { "remote", "push", true, is_refspec },
        { "remote", "tagopt", true, is_no_tags },
        { "remote", "prune", true, is_word },
        { "remote", "prunetags", true, is_word },
        { "remote", "skipdefaultupdate", true, is_word },
        { "remote", "skipfetchall", true, is_word },
        { "remote", "followremotehead", true, is_word },
        { "remote", "gh-resolved", true, is_word },
        { "remote", "pushdefault", false, is_remote },
        { "branch", "remote", true, is_remote },
        { "branch", "pushremote", true, is_remote },
        { "branch", "merge", true, is_ref },
        { "branch", "rebase", true, is_word },
        { "branch", "description", true, is_any },
        { "branch", "vscode-merge-base", true, is_remote },
        { "branch", "gh-merge-base", true, is_remote },
        { "branch", "autosetupmerge", false, is_word },
        { "branch", "autosetuprebase", false, is_word },
        { "branch", "sort", false, is_word },
        { "submodule", "url", true, is_url },
        { "submodule", "active", true, is_word },
        { "submodule", "branch", true, is_remote },
        { "submodule", "update", true, is_update },
        { "submodule", "ignore", true, is_word },
        { "submodule", "active", false, is_any },
        { "submodule", "fetchjobs", false, is_word },
        { "pull", "rebase", false, is_word },
        { "pull", "ff", false, is_word },
        { "push", "default", false, is_word },
        { "push", "autosetupremote", false, is_word },
        { "push", "followtags", false, is_word },
        { "fetch", "prune", false, is_word },
        { "fetch", "prunetags", false, is_word },
        { "fetch", "parallel", false, is_word },
        { "merge", "conflictstyle", false, is_word },
        { "merge", "ff", false, is_word },
        { "merge", "renames", false, is_word },
        { "rebase", "autostash", false, is_word },
        { "rebase", "autosquash", false, is_word },
        { "rebase", "updaterefs", false, is_word },
        { "rerere", "enabled", false, is_word },
        { "rerere", "autoupdate", false, is_word },
        { "diff", "algorithm", false, is_word },
        { "diff", "renames", false, is_word },
        { "diff", "renamelimit", false, is_word },
        { "color", "ui", false, is_word },
        { "log", "date", false, is_word },
        { "gc", "auto", false, is_word },
        { "lfs", "repositoryformatversion", false, is_word },
};

static bool
is_section(const struct git_entry *e, const char *section)
{
        return strlen(section) == e->section_len && memcmp(e->key, section, e->section_len) == 0;
}

/* A remote or a submodule is named in arguments and paths. */
static bool
is_name(const char *name, size_t len)
{
        char text[GIT_KEY_ROOM];

        if (len == 0 || len >= sizeof text)
                return false;
        memcpy(text, name, len);
        text[len] = '\0';
        return has_only(text, "-_./+@") && text[0] != '-' && text[0] != '/' && !strstr(text, "..");
}

int
git_entry_is_harmless(const struct git_entry *e)
{
        const char *rest = e->key + e->section_len + 1, *key = strrchr(e->key, '.') + 1;
        bool has_sub = key != rest;

        if (has_sub && !is_section(e, "branch") && !is_name(rest, (size_t)(key - rest) - 1))
                return 0;
        for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++) {
                if (!is_section(e, harmless[i].section) || has_sub != harmless[i].has_sub ||
                    (strcmp(harmless[i].key, "*") != 0 && strcmp(key, harmless[i].key) != 0))
                        continue;
                return !e->has_value || harmless[i].is_fit(e->value);
        }
        return 0;
}

/* -- comparing --------------------------------------------------------------------------------- */

/* The next one that is not harmless. */
static int
next_other(struct git_config *c, struct git_entry *ret)
{
        int got;

        while ((got = git_config_next(c, ret)) > 0 && git_entry_is_harmless(ret))
                continue;
        return got;
}

enum git_change
git_config_compare(const char *was, size_t was_len, const char *is, size_t is_len, char *ret_key)
{
        struct git_config before, after;
        struct git_entry old, new;
        enum git_change change = GIT_CHANGE_HARMLESS;
        int has_old, has_new;

        git_config_open(&before, was, was_len);
        git_config_open(&after, is, is_len);
        ret_key[0] = '\0';
        do {
                has_old = next_other(&before, &old);
                has_new = next_other(&after, &new);
                if (has_old < 0 || has_new < 0)
                        return GIT_CHANGE_UNREADABLE;
                if (change == GIT_CHANGE_HARMLESS &&
                    (has_old != has_new || (has_new > 0 && (strcmp(old.key, new.key) != 0 ||
                                                            old.has_value != new.has_value ||
                                                            strcmp(old.value, new.value) != 0)))) {
                        const char *key = has_new > 0 ? new.key : old.key;

                        memcpy(ret_key, key, strlen(key) + 1);
                        change = GIT_CHANGE_ENTRY;
                }
        } while (has_old > 0 || has_new > 0);
        return change;
}

/* -- listing ----------------------------------------------------------------------------------- */

static bool
has_line(const char *lines, const char *line)
{
        size_t len = strlen(line);

        for (const char *at = lines; *at != '\0'; at += strcspn(at, "\n"), at += *at == '\n')
                if (strcspn(at, "\n") == len && memcmp(at, line, len) == 0)
                        return true;
        return false;
}

/* Leaves room for one "..." more. */
static bool
add_line(char *lines, size_t *len, size_t room, const char *line)
{
        size_t more = strlen(line);

        if (has_line(lines, line))
                return true;
        if (*len + more + 6 > room)
                line = "...";
        more = strlen(line);
        if (*len > 0)
                lines[(*len)++] = '\n';
        memcpy(lines + *len, line, more + 1);
        *len += more;
        return strcmp(line, "...") != 0;
}

static bool
is_upwards(const struct git_entry *e)
{
        return strcmp(e->key, "core.worktree") == 0 && strncmp(e->value, "../", 3) == 0;
}

size_t
git_config_runs(const char *bytes, size_t len, int is_submodule, char *ret, size_t room)
{
        struct git_config c;
        struct git_entry entry;
        size_t used = 0;
        int got;

        ret[0] = '\0';
        git_config_open(&c, bytes, len);
        while ((got = next_other(&c, &entry)) > 0)
                if (!(is_submodule && is_upwards(&entry)) && !add_line(ret, &used, room, entry.key))
                        return used;
        if (got < 0)
                (void)add_line(ret, &used, room, "config");
        return used;
}

/* -- what the others do ------------------------------------------------------------------------ */

/* The first row that fits; "" fits every key of the section. */
static const struct {
        const char *section, *key, *effect;
} effects[] = {
        { "core", "fsmonitor", "git status runs it" },
        { "core", "hookspath", "git runs hooks from there" },
        { "core", "sshcommand", "git fetch and git push run it" },
        { "core", "pager", "git log and git diff run it" },
        { "core", "editor", "git commit runs it" },
        { "core", "askpass", "git fetch and git push run it" },
        { "core", "gitproxy", "git fetch runs it" },
        { "core", "worktree", "git works on another directory" },
        { "core", "alternaterefscommand", "git fetch runs it" },
        { "core", "attributesfile", "git reads another file" },
        { "core", "excludesfile", "git reads another file" },
        { "sequence", "editor", "git rebase runs it" },
        { "pager", "", "git runs it" },
        { "alias", "", "git runs it as a command" },
        { "filter", "", "git add and git checkout run it" },
        { "diff", "", "git diff runs it" },
        { "difftool", "", "git difftool runs it" },
        { "merge", "", "git merge runs it" },
        { "mergetool", "", "git mergetool runs it" },
        { "credential", "", "git runs it, and asks it for passwords" },
        { "include", "", "git reads another file" },
        { "includeif", "", "git reads another file" },
        { "url", "", "git connects to another place" },
        { "http", "", "git connects in another way" },
        { "https", "", "git connects in another way" },
        { "gpg", "", "git commit -S and git log run it" },
        { "protocol", "", "git permits helpers that run commands" },
        { "init", "templatedir", "git init copies hooks from there" },
        { "remote", "uploadpack", "git fetch runs it" },
        { "remote", "receivepack", "git push runs it" },
        { "remote", "vcs", "git fetch runs a helper" },
        { "remote", "", "git connects to another place, or runs a helper" },
        { "submodule", "update", "git submodule update runs it" },
        { "submodule", "", "git connects to another place, or runs a helper" },
        { "branch", "", "git connects to another place" },
        { "trailer", "", "git commit runs it" },
        { "uploadpack", "", "git runs it" },
        { "browser", "", "git help runs it" },
        { "man", "", "git help runs it" },
        { "sendemail", "", "git send-email runs it" },
};

static const struct {
        const char *name, *effect;
} files[] = {
        { "hooks", "a link: git runs hooks from where it leads" },
        { "commondir", "git reads configuration and hooks of another directory" },
        { "config", "it cannot be read to its end" },
        { "config.worktree", "it cannot be read to its end" },
};

const char *
git_config_effect(const char *key)
{
        const char *last = strrchr(key, '.');
        size_t len = strcspn(key, ".");

        if (strncmp(key, "hooks/", 6) == 0)
                return "git runs it";
        for (size_t i = 0; i < sizeof files / sizeof *files; i++)
                if (strcmp(key, files[i].name) == 0)
                        return files[i].effect;
        for (size_t i = 0; last && i < sizeof effects / sizeof *effects; i++)
                if (strlen(effects[i].section) == len &&
                    memcmp(effects[i].section, key, len) == 0 &&
                    (effects[i].key[0] == '\0' || strcmp(effects[i].key, last + 1) == 0))
                        return effects[i].effect;
        return "it is not known to run nothing";
}
