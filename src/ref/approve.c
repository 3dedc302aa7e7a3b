/*
 * ref/approve.c - the list of operations that wait for a person, from a sandbox document.
 *
 * Room: ref (acting). Touches: whatever its reader touches; the file that a host file names.
 * Knows where a document has the list. Knows nothing else of documents (room document).
 */
#include "ref/approve.h"

#include <stdio.h>
#include <string.h>

#include "manifest/frontmatter.h"
#include "manifest/override.h"
#include "ref/file.h"
#include "ref/graft.h"
#include "spec/approve.h"
#include "text/json.h"
#include "text/yaml.h"

static const char in_block[] = "metadata/carrel/approve",
                  of_block[] = "metadata/carrel/approve/document", of_host[] = "approve/document";

/* -- the content ------------------------------------------------------------------------------- */

static bool
ends_in(const char *name, const char *tail)
{
        size_t len = strlen(name), tail_len = strlen(tail);

        return len >= tail_len && strcmp(name + len - tail_len, tail) == 0;
}

static int
read_tree(struct arena *arena, const char *name, const char *bytes, size_t len,
          const struct node **ret, struct error *e)
{
        struct frontmatter front = { .text = bytes, .len = len, .first_line = 1 };

        if (ends_in(name, ".json") || ends_in(name, ".jsonld"))
                return json_read(arena, bytes, len, &text_limits_manifest, ret, e);
        if (ends_in(name, ".md") && frontmatter_find(bytes, len, &front, e) < 0)
                return -1;
        return yaml_read(arena, front.text, front.len, front.first_line, &text_limits_manifest, ret,
                         e);
}

/* "exec, network.set, ...": each operation by one name. */
static const char *
operations(char out[256])
{
        size_t len = 0;

        out[0] = '\0';
        for (size_t i = 0; spec_approve_words[i]; i++) {
                if (spec_approve_is_other_name(spec_approve_words[i]))
                        continue;
                len += (size_t)snprintf(out + len, 256 - len, "%s%s", len > 0 ? ", " : "",
                                        spec_approve_words[i]);
                if (len >= 256)
                        break;
        }
        return out;
}

static int
check_operation(const struct node *n, size_t index, struct error *e)
{
        char names[256];

        if (n->kind == NODE_STRING && spec_approve_operation(n->text))
                return 0;
        (void)fail_at(e, ERROR_SCHEMA_INVALID, "", "choice",
                      "tools/human_in_the_loop/%zu: %s%.64s%s is no operation of Carrel, so no "
                      "person would be asked",
                      index, n->kind == NODE_STRING ? "\"" : "",
                      n->kind == NODE_STRING ? n->text : node_kind_name(n->kind),
                      n->kind == NODE_STRING ? "\"" : "");
        error_hint(e, "Write in the document one of: %s.", operations(names));
        e->line = n->line;
        return -1;
}

static int
read_list(struct arena *arena, const struct node *document, const char *bytes, size_t len,
          struct node **ret, struct error *e)
{
        const struct node *root, *list;
        size_t index = 0;

        if (read_tree(arena, document->text, bytes, len, &root, e) < 0)
                return -1;
        list = node_find(node_find(root, "tools"), "human_in_the_loop");
        if (!list || list->kind != NODE_LIST) {
                (void)fail_at(e, ERROR_SCHEMA_INVALID, "", "required",
                              "\"%.200s\" has no list tools/human_in_the_loop", document->text);
                error_hint(e, "Add to the document: tools: {human_in_the_loop: [exec]}. An empty "
                              "list asks for nothing.");
                return -1;
        }
        if (list->len > SPEC_APPROVE_MAX)
                return fail_at(e, ERROR_SCHEMA_INVALID, "", "range",
                               "tools/human_in_the_loop of \"%.200s\" has more than %d operations",
                               document->text, SPEC_APPROVE_MAX);
        node_each(item, list)
        {
                if (check_operation(item, index++, e) < 0)
                        return -1;
        }
        *ret = ref_graft_copy(arena, list, document);
        return *ret ? 0 : fail(e, ERROR_NO_MEMORY, "no memory for operations");
}

/* -- a manifest -------------------------------------------------------------------------------- */

static const struct node *
approve_of(const struct manifest *m)
{
        return node_find(node_find(node_find(m->block, "metadata"), "carrel"), "approve");
}

bool
ref_approve_is_document(const struct manifest *m)
{
        const struct node *approve = approve_of(m), *document = node_find(approve, "document");

        return document && document->kind == NODE_STRING && document->len > 0 && approve->len == 1;
}

int
ref_approve_resolve(struct arena *arena, struct manifest *m, const struct ref_reader *reader,
                    struct error *e)
{
        const struct node *document = node_find(approve_of(m), "document");
        struct reference target;
        struct node *list = NULL;
        const char *bytes = NULL;
        size_t len = 0;

        if (!ref_approve_is_document(m))
                return 0;
        if (reference_read(arena, document->text, NULL, &target, e) < 0 ||
            reader->read(reader->ctx, arena, &target, &bytes, &len, e) < 0 ||
            read_list(arena, document, bytes, len, &list, e) < 0)
                return ref_graft_fail(e, document, of_block);
        return manifest_replace(arena, m, in_block, list, e);
}

/* -- a host file ------------------------------------------------------------------------------- */

static int
read_of_host(struct arena *arena, const struct node *document, struct ref_reads *reads,
             struct node **ret, struct error *e)
{
        const char *bytes = NULL;
        size_t len = 0;

        if (document->kind != NODE_STRING || document->text[0] != '/')
                return fail_at(e, ERROR_SCHEMA_INVALID, "", "type",
                               "document is the absolute path of a sandbox document");
        if (ref_file_read(arena, document->text, REF_FILE_MAX, reads, &bytes, &len, e) < 0)
                return -1;
        return read_list(arena, document, bytes, len, ret, e);
}

int
ref_approve_of_host(struct arena *arena, const struct node **tree, struct ref_reads *reads,
                    struct error *e)
{
        const struct node *approve = node_find(*tree, "approve"),
                          *document = node_find(approve, "document");
        struct node *list = NULL;

        if (!document)
                return 0;
        if (approve->len > 1) {
                (void)fail_at(e, ERROR_SCHEMA_INVALID, "", "type",
                              "approve: document excludes all other fields");
                error_hint(e, "Write the operations into the document's tools.human_in_the_loop.");
                return ref_graft_fail(e, document, of_host);
        }
        if (read_of_host(arena, document, reads, &list, e) < 0)
                return ref_graft_fail(e, document, of_host);
        return ref_graft_member(arena, tree, approve, list, e);
}
