/*
 * client/manifest_test.c - for every form of a manifest, the client sends a tree with places that
 * the daemon can read.
 */
#include "client/manifest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/operation.h"
#include "base/unit.h"
#include "text/tree_pack.h"

struct room {
        struct arena arena;
        char top[64];
        struct error e;
        struct client_manifest m;
};

static struct room
begin(void)
{
        struct room r = { .top = "/tmp/carrel-manifest-XXXXXX" };

        assert_non_null(mkdtemp(r.top));
        arena_init(&r.arena, 1 << 22);
        return r;
}

static void
put(const struct room *r, const char *name, const char *text)
{
        char path[256];
        FILE *f;

        (void)snprintf(path, sizeof path, "%s/%s", r->top, name);
        f = fopen(path, "w");
        assert_non_null(f);
        (void)fputs(text, f);
        assert_int_equal(fclose(f), 0);
}

static void
finish(struct room *r)
{
        static const char *const names[] = { "SANDBOX.md", "WORKSPACE.md", "small.SANDBOX.md" };

        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
                char path[256];

                (void)snprintf(path, sizeof path, "%s/%s", r->top, names[i]);
                (void)unlink(path);
        }
        assert_int_equal(rmdir(r->top), 0);
        arena_fini(&r->arena);
}

/* The tree as the daemon reads it. */
static const struct node *
sent(struct room *r)
{
        static _Alignas(8) unsigned char bytes[65536];
        struct record_writer w;
        struct record_entry entry;
        const struct node *root;
        struct record record;

        record_init(&w, bytes, sizeof bytes);
        assert_int_equal(client_manifest_write(&r->arena, &r->m, &w, &r->e), 0);
        record = (struct record){ bytes, w.len };
        assert_int_equal(record_find(&record, FIELD_MANIFEST, &entry), 1);
        assert_int_equal(entry.type, RECORD_TREE);
        assert_int_equal(
                tree_unpack(&r->arena, entry.value, entry.len, &text_limits_manifest, &root, &r->e),
                0);
        assert_non_null(record_get_text(&record, FIELD_MANIFEST_NAME, NULL));
        return root;
}

static void
texts_of_every_form_are_read(void **state)
{
        static const char *const texts[] = {
                "---\nschema: sandbox/v1\nprovider: local\nconfig: {}\n---\nwords for people\n",
                "provider: local\nconfig: {}\n",
                "{\"provider\": \"local\", \"config\": {}}",
                "\n  {\"provider\": \"local\", \"config\": {}}\n",
        };

        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
                struct room r = begin();
                struct carrel_config config = { .manifest_text = texts[i] };

                assert_int_equal(client_manifest_read(&r.arena, &config, &r.m, &r.e), 0);
                assert_true(node_is_text(node_find(sent(&r), "provider"), "local"));
                assert_null(r.m.workspace);
                finish(&r);
        }
}

static void
a_workspace_names_its_own(void **state)
{
        struct room r = begin();
        struct carrel_config config = { .workspace = r.top };
        const struct node *provider;

        assert_int_equal(client_manifest_read(&r.arena, &config, &r.m, &r.e), 0);
        assert_null(r.m.tree); /* no manifest: the standard one */
        assert_string_equal(r.m.workspace, r.top);
        put(&r, "SANDBOX.md", "---\nschema: sandbox/v1\nconfig: {}\nprovider: local\n---\n");
        assert_int_equal(client_manifest_read(&r.arena, &config, &r.m, &r.e), 0);
        provider = node_find(sent(&r), "provider");
        assert_int_equal(provider->line, 4);
        assert_int_equal(provider->column, 11);
        assert_non_null(strstr(r.m.name, "/SANDBOX.md"));
        assert_int_equal(r.m.name[0], '/');
        finish(&r);
}

static void
a_reference_is_followed_and_its_parent_narrows(void **state)
{
        struct room r = begin();
        struct carrel_config config = { .workspace = r.top };
        const struct node *root, *block;

        put(&r, "small.SANDBOX.md", "---\nschema: sandbox/v1\nprovider: local\nconfig: {}\n---\n");
        put(&r, "WORKSPACE.md", "---\nsandbox:\n  ref: ./small.SANDBOX.md\n---\n");
        assert_int_equal(client_manifest_read(&r.arena, &config, &r.m, &r.e), 0);
        assert_true(node_is_text(node_find(sent(&r), "provider"), "local"));
        put(&r, "WORKSPACE.md",
            "---\nsandbox:\n  ref: ./small.SANDBOX.md\nrunner:\n  inline:\n    limits: "
            "{timeout_ms: 5}\n---\n");
        assert_int_equal(client_manifest_read(&r.arena, &config, &r.m, &r.e), 0);
        root = sent(&r);
        block = node_find(node_find(root, "sandbox"), "inline");
        assert_true(node_is_text(node_find(block, "provider"), "local"));
        assert_int_equal(
                node_find(node_find(node_find(root, "runner"), "limits"), "timeout_ms")->integer,
                5);
        finish(&r);
}

static void
unreadable_input_is_reported(void **state)
{
        static const struct {
                const char *parent, *text;
                enum error_code code;
        } cases[] = {
                { NULL, "---\nschema: [\n---\n", ERROR_MANIFEST_SYNTAX },
                { NULL, "{\"a\": 1,}", ERROR_MANIFEST_SYNTAX },
                { "---\nsandbox:\n  ref: ./none.SANDBOX.md\n---\n", NULL, ERROR_REF_UNRESOLVABLE },
                { "---\nsandbox:\n  ref: ../../outside.SANDBOX.md\n---\n", NULL,
                  ERROR_REF_UNRESOLVABLE },
        };

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct room r = begin();
                struct carrel_config config = { .workspace = r.top,
                                                .manifest_text = cases[i].text };

                if (cases[i].parent)
                        put(&r, "WORKSPACE.md", cases[i].parent);
                assert_int_equal(client_manifest_read(&r.arena, &config, &r.m, &r.e), -1);
                if (r.e.code != cases[i].code)
                        fail_msg("case %zu: %s", i, error_wire_name(r.e.code));
                finish(&r);
        }
}

static void
wrong_use_is_reported(void **state)
{
        struct room r = begin();
        struct carrel_config both = { .manifest_text = "a", .manifest_file = "b" },
                             none = { .manifest_file = "/no/such/file" },
                             nowhere = { .workspace = "/no/such/place" };

        assert_int_equal(client_manifest_read(&r.arena, &both, &r.m, &r.e), -1);
        assert_int_equal(r.e.code, ERROR_INVALID_ARGUMENT);
        assert_int_equal(client_manifest_read(&r.arena, &none, &r.m, &r.e), -1);
        assert_int_equal(r.e.code, ERROR_FILE_UNREADABLE);
        assert_int_equal(client_manifest_read(&r.arena, &nowhere, &r.m, &r.e), -1);
        assert_int_equal(r.e.code, ERROR_WORKSPACE_NOT_FOUND);
        finish(&r);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(texts_of_every_form_are_read),
                cmocka_unit_test(a_workspace_names_its_own),
                cmocka_unit_test(a_reference_is_followed_and_its_parent_narrows),
                cmocka_unit_test(unreadable_input_is_reported),
                cmocka_unit_test(wrong_use_is_reported),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
