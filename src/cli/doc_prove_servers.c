/*
 * cli/doc_prove_servers.c - proves the tool servers of a document: in the sandbox of each, paths
 * and destinations are tried.
 *
 * Room: cli (joining). Touches: what doc_proof.h touches.
 * Theory: only what the server's block permits is tried as permitted, so a claim never makes a
 * proof write or connect anywhere. `env` and `secret` are compared with the block.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/doc_proof.h"

static bool
has_text(const struct node *list, const char *text)
{
        for (const struct node *n = list && list->kind == NODE_LIST ? list->first : NULL; n;
             n = n->next)
                if (node_is_text(n, text))
                        return true;
        return false;
}

static const char *
after(const char *text, const char *word)
{
        size_t len = strlen(word);

        return strncmp(text, word, len) == 0 && text[len] == ' ' ? text + len + 1 : NULL;
}

/* Both ways: what is claimed and not so, and what is so and not claimed. */
static bool
is_same_list(struct doc_proving *p, const char *path, const char *server, const char *member,
             const struct node *claim, const struct node *here)
{
        bool is_same = claim && claim->kind == NODE_LIST;

        if (!is_same)
                doc_say(p, DOC_REFUTED, path, "%.64s: %s is no list", server, member);
        for (const struct node *n = is_same ? claim->first : NULL; n; n = n->next)
                if (n->kind != NODE_STRING || !has_text(here, n->text)) {
                        doc_say(p, DOC_REFUTED, path, "%.64s: \"%.200s\" of its %s is not so here",
                                server, n->text ? n->text : "", member);
                        is_same = false;
                }
        for (const struct node *n = here ? here->first : NULL; n; n = n->next)
                if (!has_text(claim, n->text)) {
                        doc_say(p, DOC_REFUTED, path,
                                "%.64s: \"%.200s\" is so, and its %s do not list it", server,
                                n->text, member);
                        is_same = false;
                }
        return is_same;
}

static void
prove_path(struct doc_proving *p, const char *path, const char *server, const char *place,
           bool may_write)
{
        static const char script[] = "if [ ! -e \"$1\" ]; then echo absent; "
                                     "elif [ -d \"$1\" ] && t=$(mktemp \"$1/.carrel-doc-XXXXXX\"); "
                                     "then rm -f \"$t\"; echo written; else echo refused; fi";
        struct doc_probed done;
        const char *out = doc_shell(p, script, place, &done);
        bool holds = doc_has_line(out, may_write ? "written" : "refused") ||
                     (!may_write && doc_has_line(out, "absent"));

        doc_say(p, holds ? DOC_PROVEN : DOC_REFUTED, path, "%.64s: %.200s %s", server, place,
                doc_has_line(out, "written")   ? "can be written"
                : doc_has_line(out, "refused") ? "cannot be written"
                : doc_has_line(out, "absent")  ? "does not exist inside"
                                               : "could not be tried");
}

/* "connect HOST:PORT" as an entry of an allow list. */
static const struct node *
entry_of(struct doc_proving *p, const char *where)
{
        const char *colon = strrchr(where, ':'), *text;
        const struct node *entry = NULL;
        struct json_writer w;
        struct error e;

        json_init(&w, false);
        json_open_list(&w);
        json_open_map(&w);
        json_member_text(
                &w, "host",
                arena_copy(&p->a->arena, where, colon ? (size_t)(colon - where) : strlen(where)));
        json_member_int(&w, "port", colon ? strtol(colon + 1, NULL, 10) : 0);
        json_close_map(&w);
        json_close_list(&w);
        text = w.text ? arena_text(&p->a->arena, w.text) : NULL;
        json_fini(&w);
        return text && json_read(&p->a->arena, text, strlen(text), &text_limits_manifest, &entry,
                                 &e) == 0
                       ? entry
                       : NULL;
}

/* Nothing but what is listed: paths outside, names and addresses that no entry has. */
static void
prove_outside_of(struct doc_proving *p, const char *path, const char *server,
                 const struct node *permissions)
{
        static const char *const outside[] = { "/", "/etc", "/usr", "/var", "/opt", "/workspace" };

        for (size_t i = 0; i < sizeof outside / sizeof *outside; i++)
                if (!has_text(permissions, arena_format(&p->a->arena, "write %s", outside[i])) &&
                    !has_text(permissions, arena_format(&p->a->arena, "read %s", outside[i])))
                        prove_path(p, path, server, outside[i], false);
        doc_prove_default(p, path, permissions);
}

static void
prove_server(struct doc_proving *p, const char *path, const char *name, const struct node *here)
{
        const struct node *permissions = node_find(here, "permissions");
        const struct doc_probe own = p->probe;
        const char *place;

        p->probe.server = name;
        p->probe.file = p->a->file;
        p->probe.workspace = p->a->workspace;
        node_each(item, permissions)
        {
                const struct node *entry;

                if ((place = after(item->text, "read")) != NULL)
                        prove_path(p, path, name, place, false);
                else if ((place = after(item->text, "write")) != NULL)
                        prove_path(p, path, name, place, true);
                else if ((place = after(item->text, "connect")) != NULL &&
                         (entry = entry_of(p, place)) != NULL)
                        doc_prove_destinations(p, path, entry);
                else
                        doc_say(p, DOC_PROVEN, path, "%.64s: %.200s: its block says so", name,
                                item->text);
        }
        prove_outside_of(p, path, name, permissions);
        p->probe = own;
}

static const struct node *
find(const struct node *list, const char *name)
{
        for (const struct node *n = list ? list->first : NULL; n; n = n->next)
                if (node_is_text(node_find(n, "name"), name))
                        return n;
        return NULL;
}

void
doc_prove_servers(struct doc_proving *p, const char *path, const struct node *claim)
{
        const struct node *here = doc_part(p, path);

        node_each(server, claim)
        {
                const struct node *name = node_find(server, "name"), *own;

                own = name && name->kind == NODE_STRING ? find(here, name->text) : NULL;
                if (!own) {
                        doc_say(p, DOC_REFUTED, path, "the manifest declares no tool server %.64s",
                                name && name->text ? name->text : "");
                        continue;
                }
                (void)is_same_list(p, path, name->text, "auth_scopes",
                                   node_find(server, "auth_scopes"), node_find(own, "auth_scopes"));
                if (is_same_list(p, path, name->text, "permissions",
                                 node_find(server, "permissions"), node_find(own, "permissions")))
                        prove_server(p, path, name->text, own);
        }
        for (const struct node *n = here ? here->first : NULL; n; n = n->next)
                if (!find(claim, node_find(n, "name")->text))
                        doc_say(p, DOC_REFUTED, path,
                                "the tool server %.64s is declared, and is not listed",
                                node_find(n, "name")->text);
        if (claim->len == 0 && (!here || here->len == 0))
                doc_say(p, DOC_PROVEN, path, "none");
}
