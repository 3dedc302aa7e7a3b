/*
 * judge/reach.c - which paths and hosts a word names.
 *
 * Room: judge (deciding, pure). Touches: nothing.
 * Theory: the same text means different things to different programs, so each reading that could
 * lead out counts: `-xf/etc/x` is the path /etc/x, and so is `-Isub/x`. A host that is not a plain
 * name (an address in any spelling, "%", other letters) is in no list.
 */
#include "judge/reach.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/below.h"

enum { HTTP_PORT = 80, HTTPS_PORT = 443, PORT_MAX = 65535, PORT_DIGITS = 5 };

/* -- paths ------------------------------------------------------------------------------------- */

/* Appends `path` to the normal path `out`. False: too long. */
static bool
walk(char out[REACH_PATH_MAX], size_t *len, const char *path, size_t path_len)
{
        const char *end = path + path_len;

        while (path < end) {
                const char *slash = memchr(path, '/', (size_t)(end - path));
                size_t part = (size_t)((slash ? slash : end) - path);

                if (part == 2 && path[0] == '.' && path[1] == '.') {
                        while (*len > 0 && out[--*len] != '/')
                                ;
                } else if (part > 0 && !(part == 1 && path[0] == '.')) {
                        if (*len + part + 2 > REACH_PATH_MAX)
                                return false;
                        out[(*len)++] = '/';
                        memcpy(out + *len, path, part);
                        *len += part;
                }
                path += part + (slash != NULL);
        }
        out[*len] = '\0';
        return true;
}

bool
reach_path_is_normal(const char *path)
{
        char out[REACH_PATH_MAX];
        size_t len = 0;

        return path[0] == '/' && walk(out, &len, path, strlen(path)) &&
               (strcmp(out, path) == 0 || strcmp(path, "/") == 0);
}

static bool
is_beneath(const struct reach_paths *p, const char *path)
{
        for (size_t i = 0; i < p->beneath->count; i++)
                if (path_below(path, p->beneath->items[i]))
                        return true;
        return false;
}

static bool
climbs(const char *path, size_t len)
{
        for (size_t i = 0; i + 1 < len; i++)
                if (path[i] == '.' && path[i + 1] == '.' && (i == 0 || path[i - 1] == '/') &&
                    (i + 2 == len || path[i + 2] == '/'))
                        return true;
        return false;
}

static bool
is_listed(const struct reach_paths *p, const char *path, size_t path_len)
{
        char out[REACH_PATH_MAX];
        size_t len = 0;

        out[0] = '\0';
        if (path_len == 0 || path[0] != '/') {
                if (p->has_moved && climbs(path, path_len))
                        return false;
                if (!walk(out, &len, p->cwd, strlen(p->cwd)))
                        return false;
        }
        return walk(out, &len, path, path_len) && is_beneath(p, out);
}

bool
reach_path_is_listed(const struct reach_paths *p, const char *path)
{
        return is_listed(p, path, strlen(path));
}

/* What separates parts of a word: a path that has it is also judged as a whole. */
static bool
is_separator(char c)
{
        return c == '\0' || strchr(" \t\r\n\"'=:,;@()<>|&{}[]^$`!?*#%\\", c) != NULL;
}

/* "https" of "https://": its path is not one of this machine. */
static bool
is_scheme(const char *name, size_t len)
{
        if (len == 4 && strncasecmp(name, "file", 4) == 0)
                return false;
        for (size_t i = 0; i < len; i++)
                if (!((name[i] >= 'a' && name[i] <= 'z') || (name[i] >= 'A' && name[i] <= 'Z') ||
                      (i > 0 && ((name[i] >= '0' && name[i] <= '9') || strchr("+-.", name[i])))))
                        return false;
        return len > 1;
}

/* The letters of an option are no part of its value. */
static bool
part_stays(const struct reach_paths *p, const char *part, size_t len)
{
        size_t letters = 0, dashes = 0;

        while (dashes < len && part[dashes] == '-')
                dashes++;
        if (dashes == 0)
                return (part[0] != '/' && !climbs(part, len)) || is_listed(p, part, len);
        part += dashes;
        len -= dashes;
        while (letters < len && part[letters] != '/' && part[letters] != '.')
                letters++;
        if (letters < len && part[letters] == '/' && !is_listed(p, part + letters, len - letters))
                return false;
        return !climbs(part + letters, len - letters) ||
               is_listed(p, part + letters, len - letters);
}

static size_t
part_len(const char *part)
{
        size_t len = 0;

        while (!is_separator(part[len]))
                len++;
        return len;
}

bool
reach_word_stays(const struct reach_paths *p, const char *word)
{
        const char *at = word;

        if (strcmp(word, "/dev/null") == 0)
                return true;
        if (word[0] == '/' && !reach_path_is_listed(p, word))
                return false;
        if (climbs(word, strlen(word)) && word[0] != '-' && !strstr(word, "://") &&
            !reach_path_is_listed(p, word))
                return false;
        while (*at != '\0') {
                size_t len = part_len(at);

                if (strncmp(at + len, "://", 3) == 0 && is_scheme(at, len)) {
                        at += len + 3; /* up to a blank or a quote: host, path, query */
                        at += strcspn(at, " \t\r\n\"'`<>|;");
                        continue;
                }
                if (len > 0 && !part_stays(p, at, len))
                        return false;
                at += len + (at[len] != '\0');
        }
        return true;
}

/* -- hosts ------------------------------------------------------------------------------------- */

/* What a program does with words that are not options. */
enum words_kind {
        WORDS_OTHER,
        WORDS_NAMES,     /* hosts: also a name without a dot */
        WORDS_ADDRESSES, /* hosts with a dot; others are data */
        WORDS_REMOTES    /* host:path */
};

static enum words_kind
kind_of(const char *program)
{
        static const struct {
                const char *name;
                enum words_kind kind;
        } rows[] = {
                { "curl", WORDS_ADDRESSES },
                { "wget", WORDS_ADDRESSES },
                { "nc", WORDS_NAMES },
                { "ncat", WORDS_NAMES },
                { "netcat", WORDS_NAMES },
                { "nc.openbsd", WORDS_NAMES },
                { "nc.traditional", WORDS_NAMES },
                { "telnet", WORDS_NAMES },
                { "ftp", WORDS_NAMES },
                { "ping", WORDS_NAMES },
                { "ssh", WORDS_NAMES },
                { "sftp", WORDS_NAMES },
                { "scp", WORDS_REMOTES },
                { "rsync", WORDS_REMOTES },
                { "git", WORDS_REMOTES },
                { "dig", WORDS_ADDRESSES },
                { "host", WORDS_NAMES },
                { "nslookup", WORDS_NAMES },
                { "socat", WORDS_ADDRESSES },
                { "openssl", WORDS_ADDRESSES },
                { "http", WORDS_ADDRESSES },
                { "aria2c", WORDS_ADDRESSES },
        };

        for (size_t i = 0; program && i < sizeof rows / sizeof *rows; i++)
                if (strcmp(rows[i].name, program) == 0)
                        return rows[i].kind;
        return WORDS_OTHER;
}

/* A host with its port, without a user. */
static bool
is_place_listed(const struct reach_hosts *h, const char *text, size_t len, uint16_t port)
{
        const char *colon = memchr(text, ':', len);
        size_t host_len = colon ? (size_t)(colon - text) : len;
        char host[EGRESS_HOST_MAX + 2], name[EGRESS_HOST_MAX + 1];

        if (colon && (size_t)(text + len - colon) > 1) {
                size_t digits = strspn(colon + 1, "0123456789");
                unsigned long number = digits <= PORT_DIGITS ? strtoul(colon + 1, NULL, 10) : 0;

                if (digits + 1 != (size_t)(text + len - colon) || number < 1 || number > PORT_MAX)
                        return false;
                port = (uint16_t)number;
        }
        if (host_len == 0 || host_len >= sizeof host)
                return false;
        memcpy(host, text, host_len);
        host[host_len] = '\0';
        return egress_host_read(host, name) && egress_allows(h->entries, h->count, name, port);
}

static const char *
after_user(const char *text, size_t *len)
{
        for (size_t i = *len; i > 0; i--)
                if (text[i - 1] == '@') {
                        *len -= i;
                        return text + i;
                }
        return text;
}

static uint16_t
usual_port(const char *scheme, size_t len)
{
        if (len == 4 && strncasecmp(scheme, "http", 4) == 0)
                return HTTP_PORT;
        return len == 5 && strncasecmp(scheme, "https", 5) == 0 ? HTTPS_PORT : 0;
}

/* `mark`: the ":" of a "://" in `word`. */
static bool
is_url_listed(const struct reach_hosts *h, const char *word, const char *mark)
{
        const char *scheme = mark, *host = mark + 3;
        size_t len = strcspn(host, "/?# \t\r\n\"'`<>|;");

        while (scheme > word && !is_separator(scheme[-1]) && scheme[-1] != '/')
                scheme--;
        if (len == 0 && mark - scheme == 4 && strncasecmp(scheme, "file", 4) == 0)
                return true;
        host = after_user(host, &len);
        return is_place_listed(h, host, len, usual_port(scheme, (size_t)(mark - scheme)));
}

/* "https:host" and "https:/host" mean "https://host" to some programs. */
static bool
is_loose_url(const char *word)
{
        static const char *const schemes[] = { "http:", "https:", "ws:", "wss:", "ftp:" };

        for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
                size_t len = strlen(schemes[i]);

                if (strncasecmp(word, schemes[i], len) == 0 && word[len] != '\0')
                        return strncmp(word + len, "//", 2) != 0;
        }
        return false;
}

static bool
is_number(const char *text, size_t len)
{
        return len > 0 && len <= PORT_DIGITS && strspn(text, "0123456789") >= len &&
               strtoul(text, NULL, 10) <= PORT_MAX;
}

/* host:path, user@host:path */
static bool
is_remote_listed(const struct reach_hosts *h, const char *program, const char *word)
{
        const char *colon = strchr(word, ':'), *slash = strchr(word, '/'), *host = word;
        size_t len = colon ? (size_t)(colon - word) : 0;

        if (!colon || (slash && slash < colon))
                return true;
        host = after_user(host, &len);
        /* HEAD:file of git */
        if (strcmp(program, "git") == 0 && host == word && !memchr(host, '.', len))
                return true;
        return is_place_listed(h, host, len, 0);
}

/* A word of curl or ssh that is no option. */
static bool
is_operand_listed(const struct reach_hosts *h, enum words_kind kind, const char *word)
{
        size_t len = strcspn(word, "/?#");
        const char *host = word;

        if (word[0] == '/' || word[0] == '.' || word[0] == '@')
                return true; /* a file */
        host = after_user(host, &len);
        if (is_number(host, len) ||
            (kind == WORDS_ADDRESSES && host[0] != '[' &&
             !memchr(host, '.', strcspn(host, "/?#:")) && strncasecmp(host, "localhost", 9) != 0))
                return true;
        /* text with blanks or quotes is data */
        if (kind == WORDS_ADDRESSES && strpbrk(word, " \t\n\"'="))
                return true;
        return is_place_listed(h, host, len, 0);
}

bool
reach_word_hosts(const struct reach_hosts *h, const char *program, const char *word)
{
        enum words_kind kind = kind_of(program);
        const char *mark = strstr(word, "://"), *value = word;

        if (is_loose_url(word))
                return false;
        for (const char *at = mark; at; at = strstr(at + 3, "://"))
                if (!is_url_listed(h, word, at))
                        return false;
        if (mark || kind == WORDS_OTHER || word[0] == '\0')
                return true;
        if (word[0] == '-') {
                value = strchr(word, '=');
                if (!value || value[1] == '\0')
                        return true;
                value++;
        }
        return kind == WORDS_REMOTES ? is_remote_listed(h, program, value)
                                     : is_operand_listed(h, kind, value);
}

bool
reach_host_is_listed(const struct reach_hosts *h, const char *text)
{
        const char *mark = strstr(text, "://");
        size_t len = strlen(text);

        if (mark)
                return is_url_listed(h, text, mark);
        return is_place_listed(h, text, len, 0);
}
