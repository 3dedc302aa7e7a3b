/*
 * cli/doc_generate.c - `carrel doc generate`: writes the document of a sandbox from what is
 * enforced and measured here.
 *
 * Room: cli (joining, program). Touches: processes, fd, clock; what `carrel run` touches.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/doc.h"
#include "cli/doc_facts.h"
#include "cli/doc_log.h"
#include "cli/doc_rules.h"
#include "cli/finding_print.h"
#include "document/assemble.h"
#include "document/check.h"
#include "document/read.h"
#include "ref/file.h"
#include "text/yaml_write.h"

enum { STARTS = 100, DOCUMENT_MAX = 1 << 20 };

static const struct text_limits made_limits = { DOCUMENT_MAX, 32, 65536 };

/* "resources.timeouts.per_task_loop" as three lines; `before` is the path of the last example. */
static void
example_add(char *text, size_t room, const char *path, const char *value, const char *before)
{
        size_t used = strlen(text);
        int depth = 0;

        for (const char *at = path;; depth++) {
                size_t len = strcspn(at, "."), end = (size_t)(at - path) + len;
                bool is_last = at[len] == '\0';

                if (is_last || strncmp(before, path, end + 1) != 0)
                        used += (size_t)snprintf(text + used, room - used, "%*s%.*s:%s%s\n",
                                                 2 * depth, "", (int)len, at, is_last ? " " : "",
                                                 is_last ? value : "");
                if (is_last || used >= room)
                        return;
                at += len + 1;
        }
}

/* One error that lists everything, with lines to paste. */
static int
refuse(const struct document_findings *found, struct error *e)
{
        char names[400] = "", example[480] = "", reasons[400] = "";
        const char *before = "", *reason = "";

        for (const struct document_finding *f = found->first; f; f = f->next) {
                const char *value = document_example(f->path);
                size_t used = strlen(names), told = strlen(reasons);

                if (!f->is_error)
                        continue;
                if (value && strcmp(f->code, "not_configurable") != 0) {
                        (void)snprintf(names + used, sizeof names - used, "%s%s",
                                       used > 0 ? ", " : "", f->path);
                        example_add(example, sizeof example, f->path, value, before);
                        before = f->path;
                } else if (strcmp(f->message, reason) != 0) {
                        reason = f->message;
                        (void)snprintf(reasons + told, sizeof reasons - told, "%s%s: %s",
                                       told > 0 ? "; " : "", f->path, f->message);
                }
        }
        (void)fail_at(e, ERROR_SCHEMA_INVALID, found->first ? found->first->path : "", "missing",
                      "%s%s%s%s", names[0] ? "only you know: " : "", names,
                      names[0] && reasons[0] ? ". And " : "", reasons);
        if (example[0])
                error_hint(e, "Write a file such as doc.yaml and add --config doc.yaml:\n%s",
                           example);
        else
                error_hint(e, "Correct the file that --config names, or SANDBOX.md.");
        return -1;
}

static int
read_config(struct doc_asked *a, const struct node **ret, struct error *e)
{
        const char *bytes;
        size_t len;

        *ret = NULL;
        if (!a->config)
                return 0;
        if (ref_file_read(&a->arena, a->config, REF_FILE_MAX, NULL, &bytes, &len, e) < 0)
                return -1;
        return document_read(&a->arena, a->config, bytes, len, ret, e);
}

/* The text as a tree, checked: what this command prints passes `carrel doc check`. */
static int
check_made(struct doc_asked *a, struct json_writer *w, const struct node **ret, struct error *e)
{
        const struct document_options options = { .is_draft = false };
        struct document_findings found;

        if (w->is_broken)
                return fail(e, ERROR_NO_MEMORY, "no memory for the document");
        if (json_read(&a->arena, w->text, w->len, &made_limits, ret, e) < 0)
                return -1;
        document_findings_init(&found, &a->arena);
        document_check(*ret, &options, &found);
        return found.error_count == 0 ? 0 : refuse(&found, e);
}

static int
print_made(const struct doc_asked *a, const struct node *made, struct error *e)
{
        struct buffer text = { 0 };
        struct json_writer w;

        if (!a->format || strcmp(a->format, "yaml") == 0) {
                if (yaml_write(made, &text, DOCUMENT_MAX, e) < 0)
                        return -1;
                (void)fwrite(text.bytes, 1, text.len, stdout);
                buffer_fini(&text);
                return 0;
        }
        json_init(&w, true);
        json_node(&w, made);
        return json_print(&w, stdout) == 0
                       ? 0
                       : fail(e, ERROR_STORAGE_FULL, "standard output could not be written");
}

/* Refuses what is missing before anything is measured. */
static int
foresee(struct doc_facts *facts, const struct node *config, struct error *e)
{
        static const char *const later[] = { "tools.installed_packages",
                                             "lifecycle.cold_start_p50_ms" };
        const size_t known = facts->count;
        struct document_findings found;
        struct document_parts parts;
        struct json_writer w;

        for (size_t i = 0; i < sizeof later / sizeof *later; i++)
                facts->items[facts->count++] = (struct document_part){ later[i], "null", NULL };
        parts = (struct document_parts){ facts->items, facts->count };
        document_findings_init(&found, facts->arena);
        json_init(&w, false);
        document_assemble(&parts, config, false, &w, &found);
        json_fini(&w);
        facts->count = known;
        return found.error_count > 0 ? refuse(&found, e) : 0;
}

static int
make(struct doc_asked *a, const struct node *config, struct run_way *way, struct error *e)
{
        struct doc_probe probe = { .host_file = a->host_file,
                                   .state = a->log,
                                   .keeps_output = a->keeps_output };
        struct doc_facts *facts = arena_new(&a->arena, struct doc_facts);
        const struct node *made = NULL;
        struct document_findings found;
        struct document_parts parts;
        struct json_writer w;
        int result;

        if (!facts)
                return fail(e, ERROR_NO_MEMORY, "no memory for a document");
        *facts = (struct doc_facts){ .arena = &a->arena,
                                     .way = way,
                                     .probe = &probe,
                                     .starts = a->starts > 0 ? a->starts : STARTS };
        document_findings_init(&found, &a->arena);
        if (doc_rules_open(a, way, &probe.file, &probe.workspace, e) < 0 ||
            doc_facts_collect(facts, e) < 0 || foresee(facts, config, e) < 0 ||
            doc_facts_try(facts, e) < 0)
                return -1;
        parts = (struct document_parts){ facts->items, facts->count };
        json_init(&w, false);
        document_assemble(&parts, config, a->format && strcmp(a->format, "jsonld") == 0, &w,
                          &found);
        result = found.error_count > 0 ? refuse(&found, e) : check_made(a, &w, &made, e);
        json_fini(&w);
        if (result == 0 && !node_find(node_find(made, "audit"), "replay_supported")->boolean)
                (void)fprintf(stderr, "carrel: audit.replay_supported is false: %s\n",
                              facts->why_replay);
        return result < 0 ? -1 : print_made(a, made, e);
}

int
doc_generate(struct doc_asked *a)
{
        const struct prepare_options o = { .file = a->file,
                                           .workspace = a->workspace,
                                           .host_file = a->host_file };
        const struct node *config;
        static struct run_way way;
        struct error e;
        int status;

        if (read_config(a, &config, &e) < 0)
                return print_failure(a->config, &e, a->is_json);
        if ((a->is_audited && doc_log_open(a, &e) < 0) || run_way_init(&way, &e) < 0 ||
            prepare(&o, &way, &e) < 0 || make(a, config, &way, &e) < 0)
                status = print_failure(e.code == ERROR_SCHEMA_INVALID && !e.line ? NULL
                                                                                 : way.file_name,
                                       &e, a->is_json);
        else
                status = 0;
        doc_rules_close(a);
        doc_log_close(a);
        run_way_fini(&way);
        return status;
}
