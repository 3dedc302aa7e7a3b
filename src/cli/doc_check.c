/*
 * cli/doc_check.c - `carrel doc check`, `review` and `admit`.
 *
 * Room: cli (joining, program). Touches: fd (standard streams), files that are named.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/doc.h"
#include "cli/finding_print.h"
#include "cli/value.h"
#include "document/admit.h"
#include "document/value.h"

enum { STATUS_ASK = 1, STATUS_WRONG = 126 };

/* -- findings ---------------------------------------------------------------------------------- */

void
doc_findings_print(FILE *out, const char *file, const struct document_findings *f)
{
        for (const struct document_finding *found = f->first; found; found = found->next) {
                print_escaped(out, file, false);
                if (found->line > 0)
                        (void)fprintf(out, ":%u:%u", found->line, found->column);
                (void)fprintf(out, ": %s: ", found->is_error ? "error" : "warning");
                if (found->path[0] != '\0') {
                        print_escaped(out, found->path, false);
                        (void)fputs(": ", out);
                }
                print_escaped(out, found->message, false);
                (void)fprintf(out, "\n    %s\n    Next: %s\n", found->code, found->hint);
        }
}

static void
write_some(struct json_writer *w, const struct document_findings *f, bool is_error)
{
        json_key(w, is_error ? "errors" : "warnings");
        json_open_list(w);
        for (const struct document_finding *found = f->first; found; found = found->next) {
                if (found->is_error != is_error)
                        continue;
                json_open_map(w);
                json_member_text(w, "code", found->code);
                json_member_text(w, "path", found->path);
                if (found->line > 0) {
                        json_member_int(w, "line", found->line);
                        json_member_int(w, "column", found->column);
                }
                json_member_text(w, "message", found->message);
                json_member_text(w, "hint", found->hint);
                json_close_map(w);
        }
        json_close_list(w);
}

void
doc_findings_write(struct json_writer *w, const struct document_findings *f)
{
        write_some(w, f, true);
        write_some(w, f, false);
}

static int
print_json(const struct doc_asked *a, const struct document_findings *f, bool is_good)
{
        struct json_writer w;

        json_init(&w, true);
        json_open_map(&w);
        json_member_bool(&w, "ok", is_good);
        json_member_text(&w, "file", a->words.items[1]);
        doc_findings_write(&w, f);
        json_close_map(&w);
        return json_print(&w, stdout);
}

/* -- check and review -------------------------------------------------------------------------- */

int
doc_check(struct doc_asked *a)
{
        const struct document_options options = {
                .is_draft = a->profile && strcmp(a->profile, "draft") == 0,
                .is_literal = a->is_literal,
        };
        const char *name = a->words.items[1];
        struct document_findings f;
        const struct node *root;
        struct error e;

        if (doc_read(a, 1, &root, &e) < 0)
                return print_failure(name, &e, a->is_json);
        document_findings_init(&f, &a->arena);
        document_check(root, &options, &f);
        if (a->is_json)
                return print_json(a, &f, f.error_count == 0) != 0 ? 125
                       : f.error_count > 0                        ? STATUS_WRONG
                                                                  : 0;
        doc_findings_print(stdout, name, &f);
        print_escaped(stdout, name, false);
        if (f.error_count > 0)
                (void)printf(": %zu error%s", f.error_count, f.error_count == 1 ? "" : "s");
        else
                (void)fputs(": OK", stdout);
        if (f.warning_count > 0)
                (void)printf(", %zu warning%s", f.warning_count, f.warning_count == 1 ? "" : "s");
        (void)fputc('\n', stdout);
        return f.error_count > 0 ? STATUS_WRONG : 0;
}

int
doc_review(struct doc_asked *a)
{
        const struct node *old, *new;
        struct document_findings f;
        size_t count;
        struct error e;

        if (doc_read(a, 1, &old, &e) < 0)
                return print_failure(a->words.items[1], &e, a->is_json);
        if (doc_read(a, 2, &new, &e) < 0)
                return print_failure(a->words.items[2], &e, a->is_json);
        document_findings_init(&f, &a->arena);
        count = document_review(old, new, &f);
        if (a->is_json)
                return print_json(a, &f, count == 0) != 0 ? 125 : count > 0;
        doc_findings_print(stdout, a->words.items[2], &f);
        if (count == 0)
                (void)puts("No change that needs a review at once.");
        return count > 0;
}

/* -- admit ------------------------------------------------------------------------------------- */

static int
read_risk(const struct doc_asked *a, struct document_request *ret, struct error *e)
{
        const char *const *words = value_words(VALUE_RISK);

        if (!a->risk) {
                (void)fail(e, ERROR_INVALID_ARGUMENT,
                           "doc admit needs the risk of what you are going to do");
                error_hint(e, "Add --risk low, --risk medium, or --risk high (arbitrary code, "
                              "secrets, data of customers).");
                return -1;
        }
        for (int i = 0; words[i]; i++)
                if (strcmp(words[i], a->risk) == 0)
                        ret->risk = (enum document_risk)i;
        return 0;
}

/* "host", "host:443", "[::1]:443"; an address with colons and without brackets has no port. */
static int
read_host(struct doc_asked *a, const char *word, struct document_request *ret, struct error *e)
{
        const char *colon = strrchr(word, ':'), *end = strchr(word, ']');
        uint64_t port = 0;

        if (colon && (end ? colon < end : strchr(word, ':') != colon))
                colon = NULL;
        ret->host = word;
        if (!colon)
                return 0;
        if (value_number_read(VALUE_REMOTE_PORT, (struct value_place){ "doc", "--destination" },
                              colon + 1, &port, e) < 0)
                return -1;
        ret->port = (uint16_t)port;
        ret->host = arena_copy(&a->arena, word, (size_t)(colon - word));
        return ret->host ? 0 : fail(e, ERROR_NO_MEMORY, "no memory for a host");
}

static int
read_hosts(struct doc_asked *a, struct document_request *ret, struct error *e)
{
        for (size_t i = 0; i < a->destinations.count; i++)
                if (read_host(a, a->destinations.items[i], &ret[i], e) < 0)
                        return -1;
        return 0;
}

static int
read_elapsed(const struct doc_asked *a, struct document_request *ret, struct error *e)
{
        for (size_t i = 0; i < DOCUMENT_TIMEOUTS; i++)
                ret->elapsed_ms[i] = DOCUMENT_NOT_ELAPSED;
        for (size_t i = 0; i < a->elapsed.count; i++) {
                const char *word = a->elapsed.items[i], *text = strchr(word, '=');
                uint64_t ms;
                size_t layer = 0;

                while (text && layer < DOCUMENT_TIMEOUTS &&
                       (strlen(document_timeout_names[layer]) != (size_t)(text - word) ||
                        strncmp(document_timeout_names[layer], word, (size_t)(text - word)) != 0))
                        layer++;
                if (!text || layer == DOCUMENT_TIMEOUTS) {
                        (void)fail(e, ERROR_INVALID_ARGUMENT, "--elapsed: \"%.64s\" names no layer",
                                   word);
                        error_hint(e, "Layers are per_tool_call, per_task_loop and "
                                      "per_sandbox_lifetime: --elapsed per_tool_call=40s");
                        return -1;
                }
                if (value_duration_read((struct value_place){ "doc", "--elapsed" }, text + 1, &ms,
                                        e) < 0)
                        return -1;
                if (ret->elapsed_ms[layer] == DOCUMENT_NOT_ELAPSED || ms > ret->elapsed_ms[layer])
                        ret->elapsed_ms[layer] = ms;
        }
        return 0;
}

/* Each destination, then each operation, then the time: the first that is not allowed decides. */
static struct document_verdict
decide(const struct doc_asked *a, const struct node *root, struct document_request *request,
       const struct document_request *targets)
{
        struct document_request one = *request;
        struct document_verdict v;

        for (size_t i = 0; i < DOCUMENT_TIMEOUTS; i++)
                one.elapsed_ms[i] = DOCUMENT_NOT_ELAPSED;
        for (size_t i = 0; i < a->destinations.count + a->operations.count; i++) {
                bool is_target = i < a->destinations.count;

                one.host = is_target ? targets[i].host : NULL;
                one.port = is_target ? targets[i].port : 0;
                one.operation = is_target ? NULL : a->operations.items[i - a->destinations.count];
                v = document_admit(root, &one);
                if (v.decision != DOCUMENT_ALLOW)
                        return v;
        }
        return document_admit(root, request);
}

/* The decision does not ask whether the rest of the document is good; a person should know. */
static void
warn_of_errors(struct doc_asked *a, const struct node *root)
{
        const struct document_options options = { .is_draft = false };
        struct document_findings f;

        document_findings_init(&f, &a->arena);
        document_check(root, &options, &f);
        if (f.error_count == 0)
                return;
        (void)fprintf(stderr, "carrel: the document has %zu error%s. `carrel doc check ",
                      f.error_count, f.error_count == 1 ? "" : "s");
        print_escaped(stderr, a->words.items[1], false);
        (void)fputs("` shows them.\n", stderr);
}

int
doc_admit(struct doc_asked *a)
{
        static const int statuses[] = { [DOCUMENT_ALLOW] = 0,
                                        [DOCUMENT_ASK_USER] = STATUS_ASK,
                                        [DOCUMENT_REFUSE] = STATUS_WRONG,
                                        [DOCUMENT_ABORT] = STATUS_WRONG };
        struct document_request request = { 0 }, targets[OPTION_LIST_MAX] = { 0 };
        struct document_verdict v;
        const struct node *root;
        struct json_writer w;
        struct error e;

        if (read_risk(a, &request, &e) < 0 || read_hosts(a, targets, &e) < 0 ||
            read_elapsed(a, &request, &e) < 0)
                return print_failure(NULL, &e, a->is_json);
        if (doc_read(a, 1, &root, &e) < 0)
                return print_failure(a->words.items[1], &e, a->is_json);
        v = decide(a, root, &request, targets);
        warn_of_errors(a, root);
        if (!a->is_json) {
                (void)printf("%s: %s\n", v.word, v.why);
                return statuses[v.decision];
        }
        json_init(&w, true);
        json_open_map(&w);
        json_member_text(&w, "decision", v.word);
        json_member_text(&w, "why", v.why);
        json_close_map(&w);
        return json_print(&w, stdout) != 0 ? 125 : statuses[v.decision];
}
