/*
 * ref/approve_test.c - what ref/approve.h promises: the list of a document replaces the reference
 * to it, and each error names the reference.
 */
#include "ref/approve.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/scoped.h"
#include "base/unit.h"
#include "ref/places.h"
#include "text/yaml.h"

static char base[] = "/tmp/carrel-approve-XXXXXX";
static struct arena arena;
static struct findings findings;

static const struct {
        const char *name, *text;
} files[] = {
        { "good.yaml", "identity: {}\ntools:\n  human_in_the_loop: [exec, network.set]\n" },
        { "good.json", "{\"tools\": {\"human_in_the_loop\": [\"exec\", \"network.set\"]}}" },
        { "good.jsonld", "{\"tools\": {\"human_in_the_loop\": [\"exec\", \"network.set\"]}}" },
        { "good.md", "---\ntools: {human_in_the_loop: [exec, network.set]}\n---\n# Sandbox\n" },
        { "none.md", "# Sandbox\n" },
        { "empty.yaml", "tools: {human_in_the_loop: []}\n" },
        { "unknown.yaml", "tools:\n  human_in_the_loop:\n    - exec\n    - data_deletion\n" },
        { "number.yaml", "tools: {human_in_the_loop: [7]}\n" },
        { "word.yaml", "tools: {human_in_the_loop: exec}\n" },
        { "without.yaml", "tools: {}\n" },
        { "list.yaml", "[exec]\n" },
        { "broken.yaml", "tools: {human_in_the_loop: [exec}\n" },
};

static int
set_up(void **state)
{
        (void)state;
        (void)snprintf(base, sizeof base, "/tmp/carrel-approve-XXXXXX");
        assert_non_null(mkdtemp(base));
        arena_init(&arena, 8u << 20);
        findings_init(&findings, &arena);
        for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
                const char *path = arena_format(&arena, "%s/%s", base, files[i].name);
                scoped_fd int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
                size_t len = strlen(files[i].text);

                assert_int_equal(write(fd, files[i].text, len), len);
        }
        return 0;
}

static int
tear_down(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof files / sizeof *files; i++)
                (void)unlink(arena_format(&arena, "%s/%s", base, files[i].name));
        arena_fini(&arena);
        return rmdir(base);
}

static const struct node *
approve_of(const struct manifest *m)
{
        return node_find(node_find(node_find(m->block, "metadata"), "carrel"), "approve");
}

static int
resolve(const char *approve, struct ref_reads *reads, struct manifest *ret, struct error *e)
{
        scoped_fd int directory = open(base, O_PATH | O_DIRECTORY | O_CLOEXEC);
        struct ref_places places = { .workspace = directory, .reads = reads };
        struct ref_reader reader = ref_places_reader(&places);
        const char *text = arena_format(&arena,
                                        "provider: local\nconfig: {}\nmetadata:\n  carrel:\n"
                                        "    approve: %s\n",
                                        approve);

        assert_int_equal(manifest_read(&arena, text, strlen(text), MANIFEST_BLOCK, MANIFEST_YAML,
                                       ret, &findings, e),
                         0);
        return ref_approve_resolve(&arena, ret, &reader, e);
}

static void
is_good_list(const struct node *list)
{
        assert_int_equal(list->kind, NODE_LIST);
        assert_int_equal(list->len, 2);
        assert_string_equal(list->first->text, "exec");
        assert_string_equal(list->first->next->text, "network.set");
}

static void
a_manifest_gets_the_list_of_its_document(void **state)
{
        struct manifest m;
        struct error e;

        (void)state;
        for (size_t i = 0; i < 4; i++) {
                struct ref_reads reads = { .count = 0 };

                assert_int_equal(resolve(arena_format(&arena, "{document: ./%s}", files[i].name),
                                         &reads, &m, &e),
                                 0);
                is_good_list(approve_of(&m));
                assert_int_equal(approve_of(&m)->first->line, 5);
                assert_int_equal(reads.count, 1);
        }
        assert_int_equal(resolve("{document: ./empty.yaml}", NULL, &m, &e), 0);
        assert_int_equal(approve_of(&m)->len, 0);
        assert_int_equal(resolve("[exec, network.set]", NULL, &m, &e), 0);
        is_good_list(approve_of(&m));
}

static void
an_error_names_the_reference(void **state)
{
        static const struct {
                const char *name;
                enum error_code code;
                const char *reason, *message;
        } rows[] = {
                { "gone.yaml", ERROR_REF_UNRESOLVABLE, "not_found", "" },
                { "../x.yaml", ERROR_REF_UNRESOLVABLE, "outside_workspace", "" },
                { "none.md", ERROR_MANIFEST_SYNTAX, "no_frontmatter", "" },
                { "broken.yaml", ERROR_MANIFEST_SYNTAX, NULL, "broken.yaml, line " },
                { "unknown.yaml", ERROR_SCHEMA_INVALID, "choice",
                  "./unknown.yaml, line 4: tools/human_in_the_loop/1: \"data_deletion\"" },
                { "number.yaml", ERROR_SCHEMA_INVALID, "choice", "tools/human_in_the_loop/0" },
                { "word.yaml", ERROR_SCHEMA_INVALID, "required", "" },
                { "without.yaml", ERROR_SCHEMA_INVALID, "required", "" },
                { "list.yaml", ERROR_SCHEMA_INVALID, "required", "" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                struct manifest m;
                struct error e;

                if (resolve(arena_format(&arena, "{document: ./%s}", rows[i].name), NULL, &m, &e) ==
                    0)
                        fail_msg("%s is read", rows[i].name);
                if (e.code != rows[i].code || !strstr(e.message, rows[i].message) ||
                    (rows[i].reason && strcmp(e.reason, rows[i].reason) != 0))
                        fail_msg("%s: %s %s", rows[i].name, e.reason, e.message);
                assert_string_equal(e.path, "metadata/carrel/approve/document");
                assert_int_equal(e.line, 5);
                if (strcmp(e.reason, "choice") == 0 && !strstr(e.hint, "exec.start, network,"))
                        fail_msg("no names in the hint: %s", e.hint);
        }
}

static void
a_host_file_gets_the_list_of_its_document(void **state)
{
        static const char *const wrong[] = { "approve: {document: ./good.yaml}",
                                             "approve: {document: 7}",
                                             "approve: {document: /x, also: [exec]}" };
        struct ref_reads reads = { .count = 0 };
        const char *text =
                arena_format(&arena, "secrets: {}\napprove: {document: %s/good.yaml}\n", base);
        const struct node *tree;
        struct error e;

        (void)state;
        assert_int_equal(yaml_read(&arena, text, strlen(text), 1, &text_limits_manifest, &tree, &e),
                         0);
        assert_int_equal(ref_approve_of_host(&arena, &tree, &reads, &e), 0);
        is_good_list(node_find(tree, "approve"));
        assert_non_null(node_find(tree, "secrets"));
        assert_int_equal(reads.count, 1);
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
                assert_int_equal(yaml_read(&arena, wrong[i], strlen(wrong[i]), 1,
                                           &text_limits_manifest, &tree, &e),
                                 0);
                assert_int_equal(ref_approve_of_host(&arena, &tree, NULL, &e), -1);
                assert_int_equal(e.code, ERROR_SCHEMA_INVALID);
                assert_string_equal(e.path, "approve/document");
                assert_int_equal(e.line, 1);
        }
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(a_manifest_gets_the_list_of_its_document, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(an_error_names_the_reference, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_host_file_gets_the_list_of_its_document, set_up,
                                                tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
