/*
 * cli/doc_rules.c - rules for commands and approvals of a sandbox, as parts of its document.
 *
 * Room: cli (joining). Touches: processes, one file in /tmp that it makes and removes.
 */
#include "cli/doc_rules.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/judge.h"
#include "manifest/manifest.h"
#include "policy/approval_from.h"
#include "prepare/commands.h"
#include "spec/approve.h"

/* -- the sandbox without rules ----------------------------------------------------------------- */

static bool
is_left_out(const struct node *n)
{
        return strcmp(n->key, "commands") == 0 || strcmp(n->key, "approve") == 0 ||
               strcmp(n->key, "approve_ms") == 0;
}

/*
 * A copy of the path `keys` down to the map that holds the rules, without these, and without the
 * policy: it was judged, and what it may still require is the approval of a person.
 */
static struct node *
without(struct arena *arena, const struct node *map, const char *const *keys)
{
        struct node *copy = arena_new(arena, struct node), *last = NULL;

        if (!copy)
                return NULL;
        *copy = *map;
        copy->first = NULL;
        copy->len = 0;
        for (const struct node *n = map->first; n; n = n->next) {
                bool is_way = *keys && strcmp(n->key, *keys) == 0 && n->kind == NODE_MAP;
                struct node *member =
                        is_way ? without(arena, n, keys + 1) : arena_new(arena, struct node);

                if (*keys ? strcmp(*keys, "metadata") == 0 && strcmp(n->key, "policy") == 0
                          : is_left_out(n))
                        continue;
                if (!member)
                        return NULL;
                if (!is_way)
                        *member = *n;
                member->next = NULL;
                if (last)
                        last->next = member;
                else
                        copy->first = member;
                last = member;
                copy->len++;
        }
        return copy;
}

static int
write_copy(struct doc_asked *a, const struct node *block, struct error *e)
{
        static char path[] = "/tmp/carrel-doc-XXXXXX.json";
        struct json_writer w;
        int fd = mkostemps(path, (int)strlen(".json"), O_CLOEXEC);
        int result;

        if (fd < 0)
                return fail_sys(e, ERROR_STORAGE_FULL, errno, "making a file in /tmp for probes");
        a->walls = path;
        json_init(&w, false);
        json_node(&w, block);
        result = w.is_broken ? fail(e, ERROR_NO_MEMORY, "no memory for a manifest")
                 : write(fd, w.text, w.len) != (ssize_t)w.len
                         ? fail_sys(e, ERROR_STORAGE_FULL, errno, "writing %s", path)
                         : 0;
        json_fini(&w);
        (void)close(fd);
        return result;
}

int
doc_rules_open(struct doc_asked *a, const struct run_way *way, const char **ret_file,
               const char **ret_workspace, struct error *e)
{
        static const char *const keys[] = { "metadata", "carrel", NULL };
        const struct spec_carrel *own = &way->p.spec->carrel;
        const struct ref_manifest_file *f = &way->manifest;
        const char *slash = a->file ? strrchr(a->file, '/') : NULL;
        struct findings findings;
        struct manifest m;
        struct node *block;

        *ret_file = a->file;
        *ret_workspace = a->workspace;
        if (!own->commands && own->approve.count == 0 && way->p.spec->approval_from_count == 0)
                return 0;
        findings_init(&findings, &a->arena);
        if (manifest_read(&a->arena, f->bytes, f->len, f->kind, f->syntax, &m, &findings, e) < 0)
                return -1;
        if (!m.block) {
                (void)fail(e, ERROR_NOT_CONFIGURED,
                           "the rules for commands are in a file that %.200s refers to",
                           way->file_name);
                error_hint(e, "Name that file with -f, and the workspace with -w.");
                return -1;
        }
        block = without(&a->arena, m.block, keys);
        if (!block)
                return fail(e, ERROR_NO_MEMORY, "no memory for a manifest");
        if (!a->workspace)
                *ret_workspace =
                        slash ? arena_copy(&a->arena, a->file, (size_t)(slash - a->file) + 1) : ".";
        if (write_copy(a, block, e) < 0)
                return -1;
        *ret_file = a->walls;
        return 0;
}

void
doc_rules_close(struct doc_asked *a)
{
        if (a->walls)
                (void)unlink(a->walls);
        a->walls = NULL;
}

/* -- the lists --------------------------------------------------------------------------------- */

static const struct node *
allowed(const struct node *rules)
{
        const struct node *list = node_find(rules, "allow");

        return list ? list : node_find(rules, "executables_allowlist");
}

const struct node *
doc_rules_allowed(const struct run_way *way)
{
        const struct node *list = allowed(way->p.spec->carrel.commands);

        return list ? list : allowed(way->p.rules->commands);
}

void
doc_rules_write_denied(const struct run_way *way, struct json_writer *w)
{
        static const char *const names[] = { "commands_disallowed", "deny" };
        const struct node *const rules[] = { way->p.spec->carrel.commands, way->p.rules->commands };

        json_open_list(w);
        for (size_t r = 0; r < sizeof rules / sizeof *rules; r++)
                for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
                        const struct node *list = node_find(rules[r], names[i]);

                        for (const struct node *n = list ? list->first : NULL; n; n = n->next)
                                json_text(w, n->text);
                }
        json_close_list(w);
}

void
doc_rules_write_waiting(const struct run_way *way, struct json_writer *w)
{
        json_open_list(w);
        for (size_t i = 0; spec_approve_words[i]; i++)
                /* a second name of an operation is left out */
                if (!spec_approve_is_other_name(spec_approve_words[i]) &&
                    approval_from_waits(way->p.spec, way->p.rules, spec_approve_words[i]))
                        json_text(w, spec_approve_words[i]);
        json_close_list(w);
}

bool
doc_rules_gate(const struct run_way *way)
{
        return approval_from_waits(way->p.spec, way->p.rules, spec_approve_operation("exec"));
}

/* -- a judgement ------------------------------------------------------------------------------- */

bool
doc_rules_permit(struct arena *arena, const struct run_way *way, const char *const *command)
{
        struct wire_command words = { .argv = command, .cwd = way->p.plan->cwd };
        const struct prepare_command asked = { .command = &words,
                                               .host = environ,
                                               .is_first = true };
        struct host_programs programs;
        struct judge_request request;
        struct judgement judgement;
        struct error e;
        size_t list;
        bool is_allowed;

        if (!prepare_has_rules(way->p.spec, way->p.rules))
                return true;
        while (command[words.head.argc])
                words.head.argc++;
        is_allowed = prepare_judging(arena, &way->p, &asked, &request, &programs, &e) == 0 &&
                     judge_command(arena, &request, &programs, &judgement, &list, &e) == 0 &&
                     judgement.verdict == COMMAND_ALLOW;
        host_programs_fini(&programs);
        return is_allowed;
}
