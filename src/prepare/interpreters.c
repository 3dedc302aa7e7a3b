/*
 * prepare/interpreters.c - finds the interpreters of this host.
 *
 * Room: prepare (joining). Touches: directories of programs (reading only), processes (programs
 * asked for their version).
 * Theory: the version comes from the program itself, not from its name, because a template promises
 * it. The daemon may be root, so host programs run as the user nobody, without new privileges, and
 * only files that no other user could have put there.
 */
#include "prepare/interpreters.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/scoped.h"
#include "clock/clock.h"

enum {
        FOUND_MAX = RUNTIMES_MAX,
        WORDS_MAX = 512,
        PATIENCE_MS = 10000,
        NOBODY = 65534,
        CPU_SECONDS = 2,
        VERSION_ROOM = 32,
        PATH_ROOM = 4096
};

struct found {
        const struct runtime_family *family;
        char *path, *prefix; /* in the arena */
        dev_t device;
        ino_t inode;
        pid_t pid;
        int words_fd;
        char words[WORDS_MAX];
        size_t len;
};

struct looking {
        struct arena *arena;
        const struct host_rules *rules;
        bool (*wanted)(const char *family);
        struct found *found;
        size_t count;
};

const struct runtime_family *
interpreters_family(const char *file)
{
        const char *version = file + strcspn(file, "0123456789");

        return strspn(version, "0123456789.") == strlen(version)
                       ? runtime_family_find(file, (size_t)(version - file))
                       : NULL;
}

void
interpreters_version(const char *words, char *out, size_t room)
{
        const char *at = words + strcspn(words, "0123456789");
        size_t len = strspn(at, "0123456789.");

        while (len > 0 && at[len - 1] == '.')
                len--;
        (void)snprintf(out, room, "%.*s", (int)(len < room ? len : 0), at);
}

/* -- searching --------------------------------------------------------------------------------- */

static bool
is_shown(const char *path)
{
        static const char *const shown[] = { "/usr/", "/bin/", "/sbin/", "/nix/store/",
                                             "/gnu/store/" };

        for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
                if (strncmp(path, shown[i], strlen(shown[i])) == 0)
                        return true;
        return false;
}

/*
 * "/opt/node-24" for "/opt/node-24/bin/node"; NULL if the program is not in the bin of its own
 * directory.
 */
static char *
prefix_of(struct arena *arena, const char *path)
{
        const char *slash = strrchr(path, '/');
        size_t len = slash ? (size_t)(slash - path) : 0;

        if (len <= 4 || strncmp(path + len - 4, "/bin", 4) != 0)
                return NULL;
        return arena_copy(arena, path, len - 4);
}

/* Only root and this user may be able to write it. */
static bool
is_trusted(const struct stat *st)
{
        return S_ISREG(st->st_mode) && (st->st_mode & (S_IWGRP | S_IWOTH)) == 0 &&
               (st->st_mode & S_IXUSR) != 0 && (st->st_uid == 0 || st->st_uid == geteuid());
}

static void
take(struct looking *l, const struct runtime_family *family, const char *named)
{
        struct found *f = &l->found[l->count];
        char path[PATH_ROOM];
        struct stat st;

        if (l->count == FOUND_MAX || !realpath(named, path) || stat(path, &st) < 0 ||
            !is_trusted(&st))
                return;
        for (size_t i = 0; i < l->count; i++)
                if (l->found[i].family == family && l->found[i].device == st.st_dev &&
                    l->found[i].inode == st.st_ino)
                        return;
        *f = (struct found){ .family = family,
                             .device = st.st_dev,
                             .inode = st.st_ino,
                             .words_fd = -1,
                             .path = arena_text(l->arena, path) };
        if (!f->path)
                return;
        if (!is_shown(path)) {
                f->prefix = prefix_of(l->arena, path);
                if (!f->prefix || !host_path_is_below(&l->rules->tool_roots, f->prefix))
                        return;
        }
        l->count++;
}

static void
look_in(struct looking *l, const char *directory)
{
        DIR *list = opendir(directory);
        struct dirent *entry;

        while (list && (entry = readdir(list)) != NULL) {
                const struct runtime_family *family = interpreters_family(entry->d_name);
                char path[PATH_ROOM];

                if (family && (!l->wanted || l->wanted(family->name)) &&
                    snprintf(path, sizeof path, "%s/%s", directory, entry->d_name) <
                            (int)sizeof path)
                        take(l, family, path);
        }
        if (list)
                (void)closedir(list);
}

/* ROOT/bin and ROOT/NAME/bin. */
static void
look_beneath(struct looking *l, const char *root)
{
        DIR *list = opendir(root);
        struct dirent *entry;

        while (list && (entry = readdir(list)) != NULL) {
                bool is_bin = strcmp(entry->d_name, "bin") == 0;
                char path[PATH_ROOM];

                if (entry->d_name[0] != '.' &&
                    snprintf(path, sizeof path, "%s/%s%s", root, entry->d_name,
                             is_bin ? "" : "/bin") < (int)sizeof path)
                        look_in(l, path);
        }
        if (list)
                (void)closedir(list);
}

static void
look_everywhere(struct looking *l)
{
        static const char *const directories[] = { "/usr/bin", "/bin", "/usr/local/bin",
                                                   "/run/current-system/sw/bin" };

        for (size_t i = 0; i < sizeof directories / sizeof *directories; i++)
                look_in(l, directories[i]);
        look_beneath(l, "/opt");
        for (size_t i = 0; i < l->rules->tool_roots.count; i++)
                look_beneath(l, l->rules->tool_roots.items[i]);
}

/* -- versions ---------------------------------------------------------------------------------- */

/* After fork: only async-signal-safe calls. */
static _Noreturn void
ask_inside(const struct found *f, int words)
{
        static char *const empty[] = { NULL };
        char *argv[] = { f->path, (char *)(uintptr_t)f->family->version_argument, NULL };
        struct rlimit cpu = { CPU_SECONDS, CPU_SECONDS }, none = { 0, 0 },
                      core = { 1, 1 }; /* 1: no helper either (plan/harden.c) */
        int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
        sigset_t nothing;

        (void)sigemptyset(&nothing);
        (void)sigprocmask(SIG_SETMASK, &nothing, NULL);
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        if (null < 0 || dup2(null, 0) < 0 || dup2(words, 1) < 0 || dup2(words, 2) < 0 ||
            chdir("/") < 0)
                _exit(127);
        (void)setrlimit(RLIMIT_CPU, &cpu);
        (void)setrlimit(RLIMIT_CORE, &core);
        (void)setrlimit(RLIMIT_FSIZE, &none);
        if (geteuid() == 0 && (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
                               setresuid(NOBODY, NOBODY, NOBODY) < 0))
                _exit(127);
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                _exit(127);
        (void)execve(f->path, argv, empty);
        _exit(127);
}

static void
ask(struct found *f)
{
        int ends[2];

        if (pipe2(ends, O_CLOEXEC) < 0)
                return;
        f->pid = fork();
        if (f->pid == 0)
                ask_inside(f, ends[1]);
        (void)close(ends[1]);
        f->words_fd = ends[0];
}

/* Reads once; closes at the end, or when there is enough text. */
static void
hear(struct found *f)
{
        ssize_t got = read(f->words_fd, f->words + f->len, sizeof f->words - 1 - f->len);

        if (got > 0)
                f->len += (size_t)got;
        if ((got < 0 && errno == EINTR) || (got > 0 && f->len < sizeof f->words - 1))
                return;
        (void)close(f->words_fd);
        f->words_fd = -1;
}

static void
hear_all(struct looking *l)
{
        uint64_t end = clock_boot_ms() + PATIENCE_MS;
        struct pollfd fds[FOUND_MAX];

        for (;;) {
                size_t waiting = 0;

                for (size_t i = 0; i < l->count; i++) {
                        fds[i] = (struct pollfd){ l->found[i].words_fd, POLLIN, 0 };
                        waiting += fds[i].fd >= 0;
                }
                if (waiting == 0 || clock_boot_ms() >= end ||
                    (clock_poll(fds, l->count, end) < 0 && errno != EINTR))
                        return;
                for (size_t i = 0; i < l->count; i++)
                        if (fds[i].fd >= 0 && fds[i].revents != 0)
                                hear(&l->found[i]);
        }
}

/* Kills the programs that have not answered, and waits for every child. */
static void
end_all(struct looking *l)
{
        for (size_t i = 0; i < l->count; i++) {
                struct found *f = &l->found[i];

                if (f->words_fd >= 0)
                        (void)close(f->words_fd);
                f->words_fd = -1;
                if (f->pid <= 0)
                        continue;
                (void)kill(f->pid, SIGKILL);
                while (waitpid(f->pid, NULL, 0) < 0 && errno == EINTR)
                        continue;
        }
}

/* -- the list ---------------------------------------------------------------------------------- */

static int
by_age(const void *left, const void *right)
{
        const struct runtime *l = left, *r = right;
        int order = strcmp(l->family, r->family);

        if (order == 0)
                order = -runtime_version_compare(l->version, r->version);
        return order != 0 ? order : strcmp(l->path, r->path);
}

static int
list(struct looking *l, struct runtimes *ret, struct error *e)
{
        struct runtime *items = arena_array(l->arena, struct runtime, l->count + 1);
        size_t count = 0;

        if (!items)
                return fail(e, ERROR_NO_MEMORY, "no memory for the templates");
        for (size_t i = 0; i < l->count; i++) {
                const struct found *f = &l->found[i];
                char version[VERSION_ROOM];

                interpreters_version(f->words, version, sizeof version);
                if (version[0] == '\0')
                        continue;
                items[count] = (struct runtime){ f->family->name, arena_text(l->arena, version),
                                                 f->path, f->prefix };
                if (!items[count].version)
                        return fail(e, ERROR_NO_MEMORY, "no memory for the templates");
                count++;
        }
        qsort(items, count, sizeof *items, by_age);
        *ret = (struct runtimes){ items, count };
        return 0;
}

int
interpreters_look(struct arena *arena, const struct host_rules *rules,
                  bool (*wanted)(const char *family), struct runtimes *ret, struct error *e)
{
        struct looking l = { .arena = arena, .rules = rules, .wanted = wanted };

        l.found = arena_array(arena, struct found, FOUND_MAX + 1);
        if (!l.found)
                return fail(e, ERROR_NO_MEMORY, "no memory for the templates");
        look_everywhere(&l);
        for (size_t i = 0; i < l.count; i++)
                ask(&l.found[i]);
        hear_all(&l);
        end_all(&l);
        return list(&l, ret, e);
}
