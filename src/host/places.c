/*
 * host/places.c - the closed tables of host directories and /etc items a sandbox may see, read-only.
 *
 * Room: host (acting). Touches: stat and readlink of the rows, nothing else.
 * Knows what a program needs to start. Knows nothing of mounts: the plan decides how each row is shown.
 * Theory: a row is here because a common program breaks without it, and holds nothing private: no accounts, no
 * keys, no names of this machine or its network. passwd, group, nsswitch.conf, hosts, resolv.conf, hostname and
 * machine-id are made for each sandbox, never shown. Whatever is not in the tables does not exist inside.
 */
#include "host/places.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct place_row dirs[] = {
        { "/usr", "programs and libraries" },
        { "/bin", "shells and `#!/bin/sh`; a link into /usr on merged systems" },
        { "/sbin", "the same for system programs" },
        { "/lib", "the dynamic loader's own path is compiled into programs" },
        { "/lib64", "the loader of x86-64 programs" },
        { "/lib32", "32-bit libraries where installed" },
        { "/libx32", "x32 libraries where installed" },
        { "/nix/store", "NixOS: every program and library; its daemon's socket lies elsewhere" },
        { "/run/current-system", "NixOS: a link to the system's profile in the store" },
        { "/gnu/store", "Guix: every program and library" },
};

/* In order of need. /etc itself is made; these are shown where they exist. */
static const struct place_row etc[] = {
        { "/etc/ld.so.cache", "the loader finds libraries through it" },
        { "/etc/alternatives", "Debian: /usr/bin/awk, editor, java and others are links through it" },
        { "/etc/ssl/certs", "certificate authorities (Debian, Alpine, Arch); never /etc/ssl/private" },
        { "/etc/ssl/cert.pem", "the same as one file (Alpine, LibreSSL)" },
        { "/etc/ssl/openssl.cnf", "OpenSSL's settings; openssl req fails without" },
        { "/etc/pki/tls/certs", "certificate authorities (Fedora); never /etc/pki/tls/private" },
        { "/etc/pki/tls/cert.pem", "the same as one file" },
        { "/etc/pki/tls/openssl.cnf", "OpenSSL's settings (Fedora)" },
        { "/etc/pki/ca-trust/extracted", "what the bundles above are links to (Fedora)" },
        { "/etc/ca-certificates/extracted", "what the bundles above are links to (Arch)" },
        { "/etc/crypto-policies", "OpenSSL and GnuTLS include it (Fedora)" },
        { "/etc/localtime", "the time zone; nearly everywhere a link into /usr" },
        { "/etc/os-release", "which system this is; installers and runtimes ask; a link into /usr" },
        { "/etc/fonts", "fontconfig: plots and images with text" },
        { "/etc/python3.11", "Debian 12: sitecustomize.py is a link into it" },
        { "/etc/python3.12", "Ubuntu 24.04: the same" },
        { "/etc/python3.13", "Debian 13: the same" },
        { "/etc/java-17-openjdk", "Debian: java.security is a link into it; java does not start without" },
        { "/etc/java-21-openjdk", "the same, next long-term version" },
        { "/etc/java", "Fedora: the same" },
};

_Static_assert(sizeof dirs / sizeof *dirs <= HOST_DIRS_MAX, "host_facts.dirs holds every row");
_Static_assert(sizeof etc / sizeof *etc <= HOST_ETC_MAX, "host_facts.etc holds every row");

const struct place_row *
host_dir_rows(size_t *ret_count)
{
        *ret_count = sizeof dirs / sizeof *dirs;
        return dirs;
}

const struct place_row *
host_etc_rows(size_t *ret_count)
{
        *ret_count = sizeof etc / sizeof *etc;
        return etc;
}

/* A directory, or a link with a target short enough to be made again inside. `ret_mode` is 0 where there is nothing. */
static bool
dir_read(const char *path, struct host_dir *ret, mode_t *ret_mode)
{
        struct stat st;
        ssize_t len;

        *ret = (struct host_dir){ .path = path };
        *ret_mode = lstat(path, &st) < 0 ? 0 : st.st_mode;
        ret->is_link = S_ISLNK(*ret_mode);
        if (!ret->is_link)
                return S_ISDIR(*ret_mode);
        len = readlink(path, ret->target, sizeof ret->target);
        if (len <= 0 || (size_t)len >= sizeof ret->target)
                return false;
        ret->target[len] = '\0';
        return true;
}

/*
 * Regular files and directories only: a device, socket or pipe under one of these names is not what it says. A link into /usr is
 * made again inside, which costs less than a mount; any other link is followed here, and what it leads to is shown.
 */
static bool
etc_read(const char *path, struct host_dir *ret)
{
        struct stat st;
        mode_t mode;

        if (dir_read(path, ret, &mode) && !ret->is_link)
                return true;
        if (!ret->is_link)
                return S_ISREG(mode);
        if (strncmp(ret->target, "/usr/", 5) == 0 || strncmp(ret->target, "../usr/", 7) == 0)
                return strstr(ret->target + 4, "..") == NULL;
        ret->is_link = false;
        return stat(path, &st) == 0 && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode));
}

void
host_places_read(struct host_facts *ret)
{
        mode_t mode;

        ret->dir_count = ret->etc_count = 0;
        for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++)
                if (dir_read(dirs[i].path, &ret->dirs[ret->dir_count], &mode))
                        ret->dir_count++;
        for (size_t i = 0; i < sizeof etc / sizeof *etc; i++)
                if (etc_read(etc[i].path, &ret->etc[ret->etc_count]))
                        ret->etc_count++;
}
