/*
 * cli/doc_packages.c - the packages that are installed in a sandbox.
 *
 * Room: cli (joining). Touches: processes, the package database of this machine.
 * Theory: dpkg's database counts if the sandbox shows it; interpreters say their own version in the
 * sandbox.
 */
#include "cli/doc_packages.h"

#include <stdio.h>
#include <string.h>

#include "prepare/interpreters.h"
#include "ref/file.h"
#include "text/json.h"

#define PACKAGES "/var/lib/dpkg/status"

enum { PACKAGES_BYTES_MAX = 32 << 20, PACKAGES_MAX = 4000, VERSION_ROOM = 32 };

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
                        char name[256];

                        if (++count > PACKAGES_MAX)
                                return fail(e, ERROR_QUOTA_EXCEEDED,
                                            "more than %d packages are installed", PACKAGES_MAX);
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

        if (shows(way->p.plan, PACKAGES) &&
            (ref_file_read(arena, PACKAGES, PACKAGES_BYTES_MAX, NULL, &text, &len, e) < 0 ||
             write_installed(w, text, e) < 0))
                return -1;
        return write_interpreters(arena, probe, w, e);
}
