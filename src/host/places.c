/*
 * host/places.c - the closed tables of host directories and settings that a sandbox may see,
 * read-only.
 *
 * Room: host (acting). Touches: stat and readlink of the rows, nothing else.
 * Knows what a program needs to start. Knows nothing of mounts: the plan decides how each row is
 * shown.
 * Theory: a row is here because a common program fails without it, and it holds nothing private: no
 * accounts, no keys, no names of this machine or its network. passwd, group, nsswitch.conf, hosts,
 * resolv.conf, hostname and machine-id are created for each sandbox, never shown. Nothing outside
 * the tables exists inside. Some files that programs read are left out: npmrc, pip.conf, gemrc,
 * wgetrc and settings.xml may hold passwords; profile and bash.bashrc set PATH and the prompt,
 * which Carrel sets; dpkg's statoverride names accounts. Each row that exists costs a start about
 * 30 us.
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

/* In order of need. /etc and /var themselves are created; these are shown if they exist. */
static const struct place_row etc[] = {
        { "/etc/ld.so.cache", "the loader finds libraries through it" },
        { "/etc/alternatives",
          "Debian: /usr/bin/awk, editor, java and others are links through it" },
        { "/etc/ssl/certs",
          "certificate authorities (Debian, Alpine, Arch); never /etc/ssl/private" },
        { "/etc/ssl/cert.pem", "the same as one file (Alpine, LibreSSL)" },
        { "/etc/ssl/openssl.cnf", "OpenSSL's settings; openssl req fails without" },
        { "/etc/pki/tls/certs", "certificate authorities (Fedora); never /etc/pki/tls/private" },
        { "/etc/pki/tls/cert.pem", "the same as one file" },
        { "/etc/pki/tls/openssl.cnf", "OpenSSL's settings (Fedora)" },
        { "/etc/pki/ca-trust/extracted", "what the bundles above are links to (Fedora)" },
        { "/etc/ca-certificates/extracted", "what the bundles above are links to (Arch)" },
        { "/etc/crypto-policies", "OpenSSL and GnuTLS include it (Fedora)" },
        { "/etc/localtime", "the time zone; nearly everywhere a link into /usr" },
        { "/etc/os-release",
          "which system this is; installers and runtimes ask; a link into /usr" },
        { "/etc/fonts", "fontconfig: plots and images with text" },
        { "/etc/python3.10", "Ubuntu 22.04: sitecustomize.py is a link into it" },
        { "/etc/python3.11", "Debian 12: sitecustomize.py is a link into it" },
        { "/etc/python3.12", "Ubuntu 24.04: the same" },
        { "/etc/python3.13", "Debian 13: the same" },
        { "/etc/python3.14", "the next version: the same" },
        { "/etc/java-11-openjdk", "Debian 11: the same as the next" },
        { "/etc/java-17-openjdk",
          "Debian: java.security is a link into it; java does not start without" },
        { "/etc/java-21-openjdk", "the same, next long-term version" },
        { "/etc/java-25-openjdk", "the same, next long-term version" },
        { "/etc/java", "Fedora: the same" },
        { "/etc/ld-musl-x86_64.path", "Alpine: where musl's loader looks" },
        { "/etc/ld-musl-aarch64.path", "the same as above" },
        { "/etc/debian_version", "which system this is; installers and ansible ask" },
        { "/etc/lsb-release", "Ubuntu: the same" },
        { "/etc/redhat-release", "Fedora: the same" },
        { "/etc/alpine-release", "Alpine: the same" },
        { "/etc/timezone", "Debian: the name of the time zone" },
        { "/etc/mime.types", "Python's mimetypes and web servers: types of files" },
        { "/etc/manpath.config", "man does not begin without" },
        { "/etc/groff", "Debian: groff's site directory is a link to it; man warns without" },
        { "/etc/chromium.d/default-flags",
          "Debian: chromium does not start without; never apikeys beside it" },
        { "/etc/maven/m2.conf", "Debian: mvn does not start without; never settings.xml, which may "
                                "hold passwords of repositories" },
        { "/etc/maven/logging", "Debian: the same as above" },
        { "/etc/php/8.2/cli", "Debian 12: which extensions PHP loads; never those of fpm, whose "
                              "pools may hold secrets" },
        { "/etc/php/8.2/mods-available", "what the above are links to" },
        { "/etc/php/8.3/cli", "Ubuntu 24.04: the same" },
        { "/etc/php/8.3/mods-available", "the same as above" },
        { "/etc/php/8.4/cli", "Debian 13: the same" },
        { "/etc/php/8.4/mods-available", "the same as above" },
        { "/etc/R/Renviron", "Debian: R does not find its libraries without; never Renviron.site, "
                             "which may hold tokens" },
        { "/etc/R/ldpaths", "Debian: R's own start reads it" },
        { "/etc/R/Makeconf", "Debian: R builds packages with it" },
        { "/etc/R/repositories", "Debian: the public ones" },
        { "/etc/texmf/web2c", "Debian: TeX's settings" },
        { "/var/lib/texmf", "Debian: TeX's formats and maps; pdflatex does not start without" },
        { "/etc/ImageMagick-6/delegates.xml", "ImageMagick: formats that another program reads; "
                                              "never policy.xml, which may hold a passphrase" },
        { "/etc/ImageMagick-7/delegates.xml", "the same as above" },
        { "/etc/libreoffice", "Debian: LibreOffice's registry is a link to it" },
        { "/var/lib/dpkg/status",
          "Debian: which packages are installed (dpkg -l, pip's and installers' checks)" },
        { "/var/lib/dpkg/info", "Debian: what is in them (dpkg -L, dpkg -S)" },
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

/*
 * A directory, or a link whose target is short enough to create it again inside. `ret_st` is the
 * stat of the path itself; mode 0 if it does not exist.
 */
static bool
dir_read(const char *path, struct host_dir *ret, struct stat *ret_st)
{
        ssize_t len;

        *ret = (struct host_dir){ .path = path };
        if (lstat(path, ret_st) < 0)
                ret_st->st_mode = 0;
        ret->is_link = S_ISLNK(ret_st->st_mode);
        if (!ret->is_link)
                return S_ISDIR(ret_st->st_mode);
        len = readlink(path, ret->target, sizeof ret->target);
        if (len <= 0 || (size_t)len >= sizeof ret->target)
                return false;
        ret->target[len] = '\0';
        return true;
}

/*
 * Any user of the host may read it, and only the system and this user may change it. The system is
 * the owner of /etc, which in a user namespace may not look like root; in some images its group may
 * write there.
 */
static bool
is_settled(const struct stat *st, const struct stat *system)
{
        mode_t read = S_ISDIR(st->st_mode) ? S_IROTH | S_IXOTH : S_IROTH;

        return (S_ISREG(st->st_mode) || S_ISDIR(st->st_mode)) && (st->st_mode & read) == read &&
               (st->st_mode & S_IWOTH) == 0 &&
               (st->st_uid == 0 || st->st_uid == system->st_uid || st->st_uid == geteuid()) &&
               ((st->st_mode & S_IWGRP) == 0 || st->st_gid == 0 || st->st_gid == system->st_gid);
}

bool
place_is_settled(const char *path, const struct stat *system)
{
        struct stat st;

        return stat(path, &st) == 0 && is_settled(&st, system);
}

/*
 * Regular files and directories only: a device, socket or pipe under one of these names is not
 * accepted. A link into /usr is created again inside, which costs less than a mount. Any other link
 * is followed, and its target is shown.
 */
static bool
etc_read(const char *path, const struct stat *system, struct host_dir *ret)
{
        struct stat st;
        bool is_whole = dir_read(path, ret, &st);

        if (st.st_mode == 0 ||
            !(ret->is_link ? place_is_settled(path, system) : is_settled(&st, system)))
                return false;
        if (ret->is_link && is_whole &&
            (strncmp(ret->target, "/usr/", 5) == 0 || strncmp(ret->target, "../usr/", 7) == 0))
                return strstr(ret->target + 4, "..") == NULL;
        ret->is_link = false;
        return true;
}

void
host_places_read(struct host_facts *ret)
{
        struct stat system, st;
        bool has_system = stat("/etc", &system) == 0;

        ret->dir_count = ret->etc_count = 0;
        for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++)
                if (dir_read(dirs[i].path, &ret->dirs[ret->dir_count], &st))
                        ret->dir_count++;
        for (size_t i = 0; has_system && i < sizeof etc / sizeof *etc; i++)
                if (etc_read(etc[i].path, &system, &ret->etc[ret->etc_count]))
                        ret->etc_count++;
}
