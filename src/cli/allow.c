/*
 * cli/allow.c - `carrel allow`: adds one permission to a host file.
 *
 * Room: cli (joining, program). Touches: fd, host files.
 * Knows which list holds a kind of permission, and how a file is replaced atomically. Knows nothing
 * of how text is edited: host_edit.c.
 * Theory: a rename replaces the whole file, so a process that reads it meanwhile sees the old or
 * the new one.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scoped.h"
#include "base/write_all.h"
#include "cli/commands.h"
#include "cli/finding_print.h"
#include "cli/host_edit.h"
#include "cli/options.h"
#include "cli/value.h"
#include "egress/hosts.h"
#include "policy/host_rules.h"
#include "prepare/host_file.h"
#include "ref/file.h"
#include "text/nearest.h"
#include "text/yaml.h"

enum { ARENA_MAX = 32 << 20, FILE_MAX = 1024 * 1024, VALUES_MAX = 64, FORMS_MAX = 2 };

struct done {
        const char *text;
        bool is_new;
};

struct allowing {
        struct done done[VALUES_MAX * FORMS_MAX];
        size_t done_count;
        const char *host_file;
        struct words words;
        bool is_machines, is_json;
        struct arena arena;
        const char *path; /* of the host file */
};

/* What is written for one value: a link is permitted by both its names. */
struct forms {
        const char *items[FORMS_MAX];
        size_t count;
};

/* -- values ------------------------------------------------------------------------------------ */

/* A mount of the home directory would include the keys in it. */
static int
refuse_wide(const char *path, struct error *e)
{
        const char *home = getenv("HOME");
        char *real = home ? realpath(home, NULL) : NULL;
        bool is_wide = strcmp(path, "/") == 0 ||
                       (real && strcmp(real, "/") != 0 &&
                        host_path_is_below(&(struct spec_names){ &path, 1 }, real));

        free(real);
        if (!is_wide)
                return 0;
        (void)fail_at(e, ERROR_INVALID_ARGUMENT, "VALUE", "too_wide",
                      "%.200s holds your whole home directory, with keys and tokens", path);
        error_hint(e, "Name the directory below it that is needed.");
        return -1;
}

static int
read_directory(struct arena *arena, const char *word, struct forms *ret, struct error *e)
{
        char *real = realpath(word, NULL);
        struct stat st;

        if (!real || stat(real, &st) < 0 || !S_ISDIR(st.st_mode)) {
                int sys = real ? ENOTDIR : errno;

                free(real);
                (void)fail_sys(e, ERROR_INVALID_ARGUMENT, sys,
                               "%.200s is not a directory that can be permitted", word);
                error_hint(e, "Name a directory that exists.");
                return -1;
        }
        ret->items[ret->count++] = arena_text(arena, real);
        free(real);
        if (!ret->items[0])
                return fail(e, ERROR_NO_MEMORY, "no memory for a path");
        if (host_path_is_below(&(struct spec_names){ &word, 1 }, word) &&
            strcmp(word, ret->items[0]) != 0)
                ret->items[ret->count++] = word;
        return refuse_wide(ret->items[0], e);
}

/*
 * A name without a dot belongs to this network, and so does a name to which the host itself gives
 * an address.
 */
static bool
may_be_private(struct arena *arena, const char *host)
{
        struct hosts hosts = { NULL, 0 };
        const char *text;
        struct error e;
        size_t len;

        if (egress_is_private_name(host) || !strchr(host, '.'))
                return true;
        return ref_file_read(arena, HOSTS_PLACE, HOSTS_TEXT_MAX, NULL, &text, &len, &e) == 0 &&
               hosts_read(arena, text, len, &hosts) == 0 && hosts_find(&hosts, host, NULL, 0) > 0;
}

static int
read_name(struct arena *arena, const char *word, struct forms *ret, struct error *e)
{
        struct spec_egress entry;

        if (egress_read(arena, word, &entry, e) < 0)
                return error_wrap(e, "%.200s", word);
        if (!may_be_private(arena, entry.host)) {
                (void)fail_at(e, ERROR_INVALID_ARGUMENT, "VALUE", "public_name",
                              "%.200s needs no permission of the host: it is a public name", word);
                error_hint(e, "Add it to network.egress in SANDBOX.md. If it leads to a private "
                              "address, write it into private_names of the host file by hand.");
                return -1;
        }
        ret->items[ret->count++] = word;
        return 0;
}

static int
read_host_port(struct arena *arena, const char *word, struct forms *ret, struct error *e)
{
        uint64_t port;

        if (value_number_read(VALUE_HOST_PORT, (struct value_place){ "allow", "host-port" }, word,
                              &port, e) < 0)
                return -1;
        ret->items[ret->count++] = arena_format(arena, "%u", (unsigned)port);
        return ret->items[0] ? 0 : fail(e, ERROR_NO_MEMORY, "no memory for a port");
}

static const struct kind {
        const char *name, *list;
        bool is_number;
        int (*read)(struct arena *arena, const char *word, struct forms *ret, struct error *e);
} kinds[] = {
        { "tool", "tool_roots", false, read_directory },
        { "mount", "mount_roots", false, read_directory },
        { "name", "private_names", false, read_name },
        { "host-port", "host_ports", true, read_host_port },
};

static int
find_kind(const char *name, const struct kind **ret, struct error *e)
{
        struct nearest n = nearest_begin(name);

        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
                if (strcmp(kinds[i].name, name) == 0) {
                        *ret = &kinds[i];
                        return 0;
                }
                (void)nearest_try(&n, kinds[i].name, kinds[i].name);
        }
        (void)fail(e, ERROR_INVALID_ARGUMENT, "allow: \"%.60s\" cannot be permitted", name);
        error_hint(e,
                   "%s%s%sIt is one of tool, mount, name and host-port, as in: carrel allow tool "
                   "~/.nvm",
                   n.found ? "Did you mean " : "", n.found ? n.found : "", n.found ? "? " : "");
        return -1;
}

/* -- the file ---------------------------------------------------------------------------------- */

static int
choose_file(struct allowing *a, struct error *e)
{
        char *real;

        a->path = a->host_file     ? a->host_file
                  : a->is_machines ? HOST_FILE_MACHINE
                                   : host_file_users_place(&a->arena);
        if (!a->path) {
                (void)fail(e, ERROR_INVALID_ARGUMENT,
                           "neither HOME nor XDG_CONFIG_HOME says where your host file is");
                error_hint(e, "Name it: carrel allow --host FILE ...");
                return -1;
        }
        real = realpath(a->path, NULL); /* a link stays a link: its target is changed */
        if (real)
                a->path = arena_text(&a->arena, real);
        free(real);
        return a->path ? 0 : fail(e, ERROR_NO_MEMORY, "no memory for a path");
}

static int
read_file(struct allowing *a, const char **ret, size_t *ret_len, struct error *e)
{
        *ret = "";
        *ret_len = 0;
        if (ref_file_read(&a->arena, a->path, FILE_MAX, NULL, ret, ret_len, e) == 0)
                return 0;
        return e->code == ERROR_FILE_UNREADABLE && strcmp(e->reason, "not_found") == 0 ? 0 : -1;
}

/* Creates the missing directories of the path. */
static int
make_directories(struct allowing *a, struct error *e)
{
        char *path = arena_text(&a->arena, a->path);

        for (char *slash = path ? strchr(path + 1, '/') : NULL; slash;
             slash = strchr(slash + 1, '/')) {
                *slash = '\0';
                if (mkdir(path, a->is_machines ? 0755 : 0700) < 0 && errno != EEXIST)
                        return fail_sys(e, ERROR_FILE_UNREADABLE, errno,
                                        "making the directory %.200s", path);
                *slash = '/';
        }
        return path ? 0 : fail(e, ERROR_NO_MEMORY, "no memory for a path");
}

static int
replace_file(struct allowing *a, const char *text, struct error *e)
{
        const char *fresh = arena_format(&a->arena, "%s.%lu", a->path, (unsigned long)getpid());
        struct stat st = { .st_mode = 0644, .st_uid = geteuid(), .st_gid = getegid() };
        scoped_fd int fd = -1;

        if (!fresh)
                return fail(e, ERROR_NO_MEMORY, "no memory for a path");
        if (make_directories(a, e) < 0)
                return -1;
        (void)stat(a->path, &st);
        fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd < 0 || fchown(fd, st.st_uid, st.st_gid) < 0 || fchmod(fd, st.st_mode & 07777) < 0 ||
            write_all(fd, text, strlen(text)) < 0 || fsync(fd) < 0 || rename(fresh, a->path) < 0) {
                int sys = errno;

                if (fd >= 0)
                        (void)unlink(fresh);
                (void)fail_sys(e, ERROR_FILE_UNREADABLE, sys, "writing %.200s", a->path);
                error_hint(e, a->is_machines
                                      ? "The machine's host file is root's: run it with sudo."
                                      : "Make the file and its directory yours, or name another "
                                        "with --host FILE.");
                return -1;
        }
        return 0;
}

/*
 * The result must be a valid host file: an older mistake in it is reported now, and nothing is
 * written.
 */
static int
check_rules(struct allowing *a, const char *text, struct error *e)
{
        static const struct text_limits limits = { FILE_MAX, 32, 65536 };
        const struct node *root;
        struct host_rules *rules;

        return yaml_read(&a->arena, text, strlen(text), 1, &limits, &root, e) < 0
                       ? -1
                       : host_rules_read(&a->arena, root, "", &rules, e);
}

/* -- all --------------------------------------------------------------------------------------- */

static int
allow_value(struct allowing *a, const struct kind *kind, const char *word, const char **text,
            bool *is_changed, struct error *e)
{
        struct forms forms = { .count = 0 };

        if (kind->read(&a->arena, word, &forms, e) < 0)
                return -1;
        for (size_t i = 0; i < forms.count; i++) {
                bool is_new;

                if (host_edit_add(&a->arena, *text, strlen(*text), kind->list, forms.items[i],
                                  kind->is_number, text, &is_new, e) < 0)
                        return -1;
                *is_changed = *is_changed || is_new;
                a->done[a->done_count++] = (struct done){ forms.items[i], is_new };
        }
        return 0;
}

static void
print_done(const struct allowing *a, const struct kind *kind)
{
        for (size_t i = 0; i < a->done_count; i++) {
                print_escaped(stdout, a->path, false);
                (void)printf(": %s %s: ", a->done[i].is_new ? "added to" : "already in",
                             kind->list);
                print_escaped(stdout, a->done[i].text, false);
                (void)fputc('\n', stdout);
        }
}

static int
allow(struct allowing *a, struct error *e)
{
        const struct kind *kind = NULL;
        const char *text;
        bool is_changed = false;
        size_t len;

        if (a->words.count < 2) {
                (void)fail(e, ERROR_INVALID_ARGUMENT,
                           "allow needs to know what to permit: tool, mount, name or host-port, "
                           "and its value");
                error_hint(e, "For example: carrel allow tool ~/.nvm");
                return -1;
        }
        if (find_kind(a->words.items[0], &kind, e) < 0 || choose_file(a, e) < 0 ||
            read_file(a, &text, &len, e) < 0)
                return -1;
        if (strlen(text) != len)
                return fail(e, ERROR_MANIFEST_SYNTAX, "%.200s holds a NUL byte", a->path);
        for (size_t i = 1; i < a->words.count; i++)
                if (allow_value(a, kind, a->words.items[i], &text, &is_changed, e) < 0)
                        return -1;
        if (is_changed && (check_rules(a, text, e) < 0 || replace_file(a, text, e) < 0))
                return -1;
        if (!a->is_json)
                print_done(a, kind);
        return 0;
}

static int
print_as_json(const struct allowing *a)
{
        struct json_writer w;

        json_init(&w, true);
        json_open_map(&w);
        json_member_bool(&w, "ok", true);
        json_member_text(&w, "file", a->path);
        json_close_map(&w);
        return json_print(&w, stdout);
}

static int
cmd_allow(int argc, char **argv)
{
        static struct allowing a;
        struct error e;
        int status = 0;

        if (options_read(&command_allow, argc, argv, &a, &a.words, &e) < 0)
                return print_failure(NULL, &e, a.is_json);
        arena_init(&a.arena, ARENA_MAX);
        if (allow(&a, &e) < 0)
                status = print_failure(e.line > 0 ? a.path : NULL, &e, a.is_json);
        else if (a.is_json)
                status = print_as_json(&a);
        arena_fini(&a.arena);
        return status;
}

static const struct option options[] = {
        OPTION_FLAG(struct allowing, is_machines, "--machine",
                    "write /etc/carrel/host.yaml, for every user (default: "
                    "~/.config/carrel/host.yaml, for you)"),
        OPTION_TEXT(struct allowing, host_file, VALUE_FILE, "--host", "FILE",
                    "write this host file"),
        OPTION_FLAG(struct allowing, is_json, "--json", JSON_DOC),
        OPTION_END,
};

static const struct operand operands[] = {
        { "tool DIR...", VALUE_DIRECTORY,
          "allow manifests to use DIR, read-only: metadata.carrel.tools", true },
        { "mount DIR...", VALUE_DIRECTORY, "allow manifests to mount DIR", true },
        { "name HOST...", VALUE_HOST,
          "allow manifests to list this private name: db.internal:5432, or db.internal for every "
          "port",
          true },
        { "host-port N...", VALUE_TEXT,
          "allow manifests to use this port of this machine's loopback: "
          "metadata.carrel.egress.host_ports",
          true },
        { NULL },
};

const struct command command_allow = {
        .name = "allow",
        .help = "Permit something in a host file: tools, mounts, private names, ports of this "
                "machine.",
        .options = options,
        .operands = operands,
        .words_max = 1 + VALUES_MAX,
        .notes = "The rest of the file is kept, including comments. Send SIGHUP to a running "
                 "daemon to reload its host file.\n",
        .example = "carrel allow --host /tmp/carrel-host.yaml tool /usr/local",
        .run = cmd_allow,
};
