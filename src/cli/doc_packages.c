/*
 * cli/doc_packages.c - the packages that are installed in a sandbox.
 *
 * Room: cli (joining). Touches: processes, the package database of this machine.
 * Theory: dpkg's database counts if the sandbox shows it; interpreters say their own version in the
 * sandbox. An image has databases of its own: its dpkg-query is asked, or apk's file is read, in
 * the sandbox.
 */
#include "cli/doc_packages.h"

#include <stdio.h>
#include <string.h>

#include "prepare/interpreters.h"
#include "ref/file.h"
#include "text/json.h"

#define PACKAGES "/var/lib/dpkg/status"

enum { PACKAGES_BYTES_MAX = 32 << 20, PACKAGES_MAX = 4000, VERSION_ROOM = 32, NAME_ROOM = 256 };

static int
too_many(struct error *e)
{
        return fail(e, ERROR_QUOTA_EXCEEDED, "more than %d packages are installed", PACKAGES_MAX);
}

/* The value of a field at the begin of a line, or NULL. */
static const char *
field_value(const char *line, size_t len, const char *name, size_t *ret_len)
{
        size_t name_len = strlen(name);

        if (len <= name_len || strncmp(line, name, name_len) != 0)
                return NULL;
        *ret_len = len - name_len;
        return line + name_len;
}

/* The paragraphs of dpkg's status file (deb822): packages that are installed. */
static int
write_installed(struct json_writer *w, const char *text, struct error *e)
{
        const char *package = NULL, *version = NULL, *value;
        size_t package_len = 0, version_len = 0, count = 0, value_len;
        bool is_installed = false;

        for (const char *line = text, *next; *line != '\0'; line = next) {
                size_t len = strcspn(line, "\n");

                next = line + len + (line[len] == '\n');
                if ((value = field_value(line, len, "Package: ", &value_len)))
                        package = value, package_len = value_len;
                else if ((value = field_value(line, len, "Version: ", &value_len)))
                        version = value, version_len = value_len;
                else if (len == strlen("Status: install ok installed") &&
                         strncmp(line, "Status: install ok installed", len) == 0)
                        is_installed = true;
                if (len > 0 && *next != '\0')
                        continue;
                if (is_installed && package && version) {
                        char name[NAME_ROOM];

                        if (++count > PACKAGES_MAX)
                                return too_many(e);
                        (void)snprintf(name, sizeof name, "%.*s:%.*s", (int)package_len, package,
                                       (int)version_len, version);
                        json_text(w, name);
                }
                package = version = NULL;
                is_installed = false;
        }
        return 0;
}

static bool
shows(const struct plan *plan, const char *path)
{
        for (size_t i = 0; i < plan->step_count; i++)
                if (plan->steps[i].op == STEP_BIND && strcmp(plan->steps[i].path, path) == 0)
                        return true;
        return false;
}

/* What a command prints inside; NULL: it failed, or is not there. -1: not all of it was kept. */
static int
ask_inside(struct arena *arena, const struct doc_probe *probe, const char *const *command,
           const char **ret, struct error *e)
{
        struct doc_probed done;
        const struct node *out, *dropped;

        *ret = NULL;
        if (doc_probe_run(arena, probe, command, &done, e) < 0)
                return -1;
        out = node_find(done.json, "stdout");
        dropped = node_find(done.json, "dropped_bytes");
        if (dropped && dropped->kind == NODE_INT && dropped->integer > 0)
                return fail(e, ERROR_QUOTA_EXCEEDED,
                            "the list of packages is longer than limits.output_bytes");
        if (done.status == 0 && out && out->kind == NODE_STRING)
                *ret = out->text;
        return 0;
}

/* Lines "installed NAME:VERSION". */
static int
write_dpkg(struct json_writer *w, const char *text, struct error *e)
{
        static const char installed[] = "installed ";
        size_t count = 0;

        for (const char *line = text; *line != '\0';) {
                size_t len = strcspn(line, "\n");
                char name[NAME_ROOM];

                if (strncmp(line, installed, sizeof installed - 1) == 0) {
                        if (++count > PACKAGES_MAX)
                                return too_many(e);
                        (void)snprintf(name, sizeof name, "%.*s",
                                       (int)(len - (sizeof installed - 1)),
                                       line + sizeof installed - 1);
                        json_text(w, name);
                }
                line += len + (line[len] == '\n');
        }
        return 0;
}

/* Lines "P:NAME" and then "V:VERSION". */
static int
write_apk(struct json_writer *w, const char *text, struct error *e)
{
        const char *package = NULL;
        size_t package_len = 0, count = 0;

        for (const char *line = text; *line != '\0';) {
                size_t len = strcspn(line, "\n");
                char name[NAME_ROOM];

                if (strncmp(line, "P:", 2) == 0)
                        package = line + 2, package_len = len - 2;
                if (strncmp(line, "V:", 2) == 0 && package) {
                        if (++count > PACKAGES_MAX)
                                return too_many(e);
                        (void)snprintf(name, sizeof name, "%.*s:%.*s", (int)package_len, package,
                                       (int)(len - 2), line + 2);
                        json_text(w, name);
                        package = NULL;
                }
                line += len + (line[len] == '\n');
        }
        return 0;
}

static int
write_image(struct arena *arena, const struct doc_probe *probe, struct json_writer *w,
            struct error *e)
{
        static const char *const dpkg[] = { "dpkg-query", "-W", "-f",
                                            "${db:Status-Status} ${Package}:${Version}\n", NULL };
        static const char *const apk[] = {
                "grep", "-e", "^P:", "-e", "^V:", "/lib/apk/db/installed", NULL
        };
        const char *text;

        if (ask_inside(arena, probe, dpkg, &text, e) < 0 || (text && write_dpkg(w, text, e) < 0))
                return -1;
        if (text)
                return 0;
        return ask_inside(arena, probe, apk, &text, e) < 0 || (text && write_apk(w, text, e) < 0)
                       ? -1
                       : 0;
}

/* Interpreters say their own version, in the sandbox. */
static int
write_interpreters(struct arena *arena, const struct doc_probe *probe, struct json_writer *w,
                   struct error *e)
{
        static const char *const names[] = { "python3", "node" };

        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
                const char *const command[] = { names[i], "--version", NULL };
                char version[VERSION_ROOM];
                struct doc_probed done;
                const struct node *out;

                if (doc_probe_run(arena, probe, command, &done, e) < 0)
                        return -1;
                out = node_find(done.json, "stdout");
                if (done.status != 0 || !out || out->kind != NODE_STRING)
                        continue;
                interpreters_version(out->text, version, sizeof version);
                if (version[0] != '\0')
                        json_text(w, arena_format(arena, "%s:%s", i == 0 ? "python" : "node",
                                                  version));
        }
        return 0;
}

int
doc_packages_write(struct arena *arena, const struct run_way *way, const struct doc_probe *probe,
                   struct json_writer *w, struct error *e)
{
        const char *text;
        size_t len;

        if (way->p.spec->image && write_image(arena, probe, w, e) < 0)
                return -1;
        if (shows(way->p.plan, PACKAGES) &&
            (ref_file_read(arena, PACKAGES, PACKAGES_BYTES_MAX, NULL, &text, &len, e) < 0 ||
             write_installed(w, text, e) < 0))
                return -1;
        return write_interpreters(arena, probe, w, e);
}
