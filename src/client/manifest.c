/*
 * client/manifest.c - prepares a manifest for the daemon.
 *
 * Room: client (joining). Touches: the files that the caller names, and what they refer to.
 * Theory: the client parses the text and follows references with the caller's own permissions; the
 * daemon validates the tree. Places (line and column) are sent along, so that its errors point into
 * the caller's file. The client validates nothing.
 */
#include "client/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "api/operation.h"
#include "base/findings.h"
#include "base/scoped.h"
#include "manifest/override.h"
#include "ref/approve.h"
#include "ref/file.h"
#include "ref/places.h"
#include "ref/resolve.h"
#include "ref/rules.h"
#include "spec/provider.h"
#include "text/tree_pack.h"

enum { NAME_MAX_BYTES = 255 };

/*
 * The daemon's default without a manifest. It is repeated here for calls that add overrides to it.
 */
static const char standard[] = "{\"provider\": \"" PROVIDER_AUTO "\", \"config\": {}}";

static int
no_memory(struct error *e)
{
        return fail(e, ERROR_NO_MEMORY, "no memory for a manifest");
}

/* The path with symbolic links resolved, in the arena. */
static int
real_path(struct arena *arena, const char *path, const char **ret, struct error *e)
{
        char *real = realpath(path, NULL);

        if (!real)
                return ref_workspace_refuse(path, errno, e);
        *ret = arena_text(arena, real);
        free(real);
        return *ret ? 0 : no_memory(e);
}

static const char *
directory_of(struct arena *arena, const char *path)
{
        const char *slash = strrchr(path, '/');

        return !slash ? "." : slash == path ? "/" : arena_copy(arena, path, (size_t)(slash - path));
}

static int
find_workspace(struct arena *arena, const struct carrel_config *config, const char **ret,
               struct error *e)
{
        const char *path = config->workspace       ? config->workspace
                           : config->manifest_file ? directory_of(arena, config->manifest_file)
                                                   : NULL;

        *ret = NULL;
        return path ? real_path(arena, path, ret, e) : 0;
}

/* Front matter begins with its fence, JSON with a brace; any other text is a block of YAML. */
static void
take_text(const char *text, struct ref_manifest_file *ret)
{
        const char *first = text + strspn(text, " \t\r\n");

        *ret = (struct ref_manifest_file){ .name = "manifest",
                                           .bytes = text,
                                           .len = strlen(text),
                                           .kind = MANIFEST_BLOCK,
                                           .syntax = MANIFEST_YAML };
        if (*first == '{')
                ret->syntax = MANIFEST_JSON;
        else if (strncmp(text, "---", 3) == 0)
                ret->kind = MANIFEST_STANDALONE;
}

/*
 * Returns 1 if there is a manifest; 0 if no manifest exists and the caller named none; -1 on an
 * error.
 */
static int
find_file(struct arena *arena, const struct carrel_config *config, const char *workspace,
          struct ref_reads *reads, struct ref_manifest_file *ret, struct error *e)
{
        if (config->manifest_text && config->manifest_file)
                return fail_at(e, ERROR_INVALID_ARGUMENT, "manifest", NULL,
                               "a manifest is given as a file or as a text, not as both");
        if (config->manifest_text) {
                take_text(config->manifest_text, ret);
                return 1;
        }
        if (config->manifest_file)
                return ref_manifest_open(arena, config->manifest_file, reads, ret, e) < 0 ? -1 : 1;
        if (!workspace)
                return 0;
        if (ref_manifest_find(arena, workspace, reads, ret, e) == 0)
                return 1;
        return e->code == ERROR_NOT_CONFIGURED ? 0 : -1;
}

static struct node *
copy_node(struct arena *arena, const struct node *n, const char *key)
{
        struct node *copy = arena_new(arena, struct node);

        if (copy) {
                *copy = *n;
                copy->key = key;
                copy->next = NULL;
        }
        return copy;
}

static struct node *
map_of(struct arena *arena, const char *key, struct node *first)
{
        struct node *map = arena_new(arena, struct node);

        if (map && first)
                *map = (struct node){
                        .kind = NODE_MAP, .key = key, .first = first, .len = first->next ? 2 : 1
                };
        return first ? map : NULL;
}

/*
 * The tree to send: the document as written, or the target of its reference. If the parent's runner
 * limits narrow that target, it is {sandbox: {inline: block}, runner: ...}, which means the same.
 */
static const struct node *
tree_of(struct arena *arena, const struct manifest *written, const struct manifest *found)
{
        struct node *block, *sandbox, *runner;

        if (written->form == MANIFEST_INLINE || written->form == MANIFEST_BARE)
                return copy_node(arena, found->root, NULL);
        if (!found->runner)
                return copy_node(arena, found->root, NULL);
        block = copy_node(arena, found->block, "inline");
        sandbox = map_of(arena, "sandbox", block);
        runner = copy_node(arena, found->runner, "runner");
        if (!sandbox || !runner)
                return NULL;
        sandbox->next = runner;
        return map_of(arena, NULL, sandbox);
}

static int
resolve(struct arena *arena, const struct manifest *written, const char *workspace,
        struct ref_reads *reads, struct manifest *ret, struct findings *findings, struct error *e)
{
        scoped_fd int directory =
                workspace ? open(workspace, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
        struct ref_places places = { .workspace = directory, .reads = reads };
        struct ref_reader reader = ref_places_reader(&places);

        if (directory < 0)
                return fail_at(e, ERROR_REF_UNRESOLVABLE, "sandbox/ref", "not_found",
                               "\"%.200s\" needs a workspace, and this call has none",
                               written->ref);
        return ref_resolve(arena, written, &reader, ret, findings, e);
}

static int
resolve_rules(struct arena *arena, const char *workspace, struct ref_reads *reads,
              struct manifest *found, struct error *e)
{
        bool has_files = ref_rules_are_file(found) || ref_approve_is_document(found);
        scoped_fd int directory =
                workspace && has_files ? open(workspace, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
        struct ref_places places = { .workspace = directory, .reads = reads };
        struct ref_reader reader = ref_places_reader(&places);

        return ref_rules_resolve(arena, found, &reader, e) < 0
                       ? -1
                       : ref_approve_resolve(arena, found, &reader, e);
}

static int
read_tree(struct arena *arena, const struct carrel_config *config,
          const struct ref_manifest_file *file, const char *workspace, struct ref_reads *reads,
          const struct node **ret, struct error *e)
{
        struct manifest written, found;
        struct findings findings;

        findings_init(&findings, arena);
        if (manifest_read(arena, file->bytes, file->len, file->kind, file->syntax, &written,
                          &findings, e) < 0)
                return -1;
        if (written.form == MANIFEST_NONE)
                return fail(e, ERROR_NOT_CONFIGURED, "%.200s declares no sandbox", file->name);
        found = written;
        if ((written.form == MANIFEST_REF || written.form == MANIFEST_FILE) &&
            resolve(arena, &written, workspace, reads, &found, &findings, e) < 0)
                return -1;
        if (manifest_override(arena, &found, config->overrides, config->override_count, e) < 0 ||
            resolve_rules(arena, workspace, reads, &found, e) < 0)
                return -1;
        *ret = tree_of(arena, &written, &found);
        return *ret ? 0 : no_memory(e);
}

/* For messages: the absolute path, if a file was named and the path is not too long. */
static const char *
name_of(struct arena *arena, const struct carrel_config *config,
        const struct ref_manifest_file *file, const char *workspace)
{
        char *real = config->manifest_text ? NULL : realpath(file->name, NULL);
        const char *name = real && strlen(real) <= NAME_MAX_BYTES ? arena_text(arena, real) : NULL;
        size_t len = strlen(file->name);

        free(real);
        if (!name && workspace && !config->manifest_file && !config->manifest_text)
                name = arena_format(arena, "%s/%s", workspace,
                                    strrchr(file->name, '/') ? strrchr(file->name, '/') + 1
                                                             : file->name);
        if (!name || strlen(name) > NAME_MAX_BYTES)
                name = file->name + (len > NAME_MAX_BYTES ? len - NAME_MAX_BYTES : 0);
        return name;
}

int
client_manifest_read(struct arena *arena, const struct carrel_config *config,
                     struct client_manifest *ret, struct error *e)
{
        struct ref_manifest_file file = { .name = "manifest" };
        int found;

        *ret = (struct client_manifest){ .tree = NULL };
        found = config->manifest_file || config->manifest_text
                        ? find_file(arena, config, NULL, &ret->reads, &file, e)
                        : 0;
        if (found < 0 || find_workspace(arena, config, &ret->workspace, e) < 0)
                return -1;
        if (found == 0)
                found = find_file(arena, config, ret->workspace, &ret->reads, &file, e);
        if (found == 0 && config->override_count > 0) {
                take_text(standard, &file);
                found = 1;
        }
        if (found <= 0)
                return found;
        ret->name = name_of(arena, config, &file, ret->workspace);
        return read_tree(arena, config, &file, ret->workspace, &ret->reads, &ret->tree, e);
}

int
client_manifest_write(struct arena *arena, const struct client_manifest *m, struct record_writer *w,
                      struct error *e)
{
        if (m->tree) {
                size_t len = tree_pack_len(m->tree);
                void *packed = arena_alloc(arena, len);

                if (!packed)
                        return no_memory(e);
                tree_pack(m->tree, packed);
                record_bytes(w, FIELD_MANIFEST, RECORD_TREE, packed, len);
                record_text(w, FIELD_MANIFEST_NAME, m->name);
        }
        record_text(w, FIELD_WORKSPACE, m->workspace);
        for (size_t i = 0; i < m->reads.count; i++)
                record_text(w, FIELD_READS, ref_reads_below(m->reads.paths[i], m->workspace));
        return 0;
}
