/*
 * ref/rules_test.c - what ref/rules.h promises: a file of rules replaces the reference to it, and
 * each error names the reference.
 */
#include "ref/rules.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/scoped.h"
#include "base/unit.h"
#include "ref/places.h"
#include "text/yaml.h"

static char base[] = "/tmp/carrel-rules-XXXXXX";
static struct arena arena;
static struct findings findings;

/* In files of the folder: what is read, and what is refused. */
static const struct {
        const char *name, *text;
} files[] = {
        { "good.yaml", "allow: [ls]\ndeny:\n  - rm\n" },
        { "good.json", "{\"deny\": [\"rm\"]}" },
        { "list.yaml", "[rm]\n" },
        { "again.yaml", "file: ./good.yaml\n" },
        { "broken.yaml", "allow: [ls]\ndeny: [rm\n" },
        { "broken.json", "deny: [rm]\n" },
};

static int
set_up(void **state)
{
        (void)state;
        (void)snprintf(base, sizeof base, "/tmp/carrel-rules-XXXXXX");
        assert_non_null(mkdtemp(base));
        arena_init(&arena, 8u << 20);
        findings_init(&findings, &arena);
        for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
                const char *path = arena_format(&arena, "%s/%s", base, files[i].name);
                scoped_fd int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
                size_t len = strlen(files[i].text);

                assert_int_equal(write(fd, files[i].text, len), len);
        }
        assert_int_equal(symlink("/etc/passwd", arena_format(&arena, "%s/out.yaml", base)), 0);
        return 0;
}

static int
tear_down(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof files / sizeof *files; i++)
                (void)unlink(arena_format(&arena, "%s/%s", base, files[i].name));
        (void)unlink(arena_format(&arena, "%s/out.yaml", base));
        arena_fini(&arena);
        return rmdir(base);
}

static const struct node *
read_tree(const char *text)
{
        const struct node *root;
        struct error e;

        if (yaml_read(&arena, text, strlen(text), 1, &text_limits_manifest, &root, &e) < 0)
                fail_msg("%s", e.message);
        return root;
}

static const struct node *
commands_of(const struct manifest *m)
{
        return node_find(node_find(node_find(m->block, "metadata"), "carrel"), "commands");
}

/* The reference is in line 5, column 22. */
static int
resolve(const char *commands, struct ref_reads *reads, struct manifest *ret, struct error *e)
{
        scoped_fd int directory = open(base, O_PATH | O_DIRECTORY | O_CLOEXEC);
        struct ref_places places = { .workspace = directory, .reads = reads };
        struct ref_reader reader = ref_places_reader(&places);
        const char *text = arena_format(&arena,
                                        "provider: local\nconfig: {}\nmetadata:\n  carrel:\n"
                                        "    commands: {%s}\n",
                                        commands);

        assert_int_equal(manifest_read(&arena, text, strlen(text), MANIFEST_BLOCK, MANIFEST_YAML,
                                       ret, &findings, e),
                         0);
        return ref_rules_resolve(&arena, ret, &reader, e);
}

static void
has_place(const struct node *n, unsigned line, unsigned column)
{
        assert_int_equal(n->line, line);
        assert_int_equal(n->column, column);
        node_each(child, n) has_place(child, line, column);
}

static void
a_manifest_gets_the_rules_of_its_file(void **state)
{
        struct ref_reads reads = { .count = 0 };
        struct manifest m;
        struct error e;

        (void)state;
        assert_int_equal(resolve("file: ./good.yaml", &reads, &m, &e), 0);
        assert_null(node_find(commands_of(&m), "file"));
        assert_string_equal(node_find(commands_of(&m), "allow")->first->text, "ls");
        assert_string_equal(node_find(commands_of(&m), "deny")->first->text, "rm");
        node_each(field, commands_of(&m)) has_place(field, 5, 22);
        assert_int_equal(reads.count, 1);
        assert_string_equal(reads.paths[0], arena_format(&arena, "%s/good.yaml", base));
        assert_int_equal(resolve("file: ./good.json", NULL, &m, &e), 0);
        assert_string_equal(node_find(commands_of(&m), "deny")->first->text, "rm");
}

static void
rules_without_a_file_stay(void **state)
{
        struct manifest m;
        struct error e;

        (void)state;
        assert_int_equal(resolve("deny: [rm]", NULL, &m, &e), 0);
        assert_false(ref_rules_are_file(&m));
        assert_string_equal(node_find(commands_of(&m), "deny")->first->text, "rm");
        /* the shape of the field is judged elsewhere (spec/commands.c) */
        assert_int_equal(resolve("file: ./good.yaml, deny: [rm]", NULL, &m, &e), 0);
        assert_false(ref_rules_are_file(&m));
        assert_non_null(node_find(commands_of(&m), "file"));
}

static void
an_error_names_the_reference(void **state)
{
        static const struct {
                const char *name;
                enum error_code code;
                const char *reason;
        } rows[] = {
                { "./none.yaml", ERROR_REF_UNRESOLVABLE, "not_found" },
                { "./out.yaml", ERROR_REF_UNRESOLVABLE, "outside_workspace" },
                { "./../x.yaml", ERROR_REF_UNRESOLVABLE, "outside_workspace" },
                { "./list.yaml", ERROR_REF_UNRESOLVABLE, "wrong_kind" },
                { "./again.yaml", ERROR_REF_UNRESOLVABLE, "wrong_kind" },
                { "./broken.yaml", ERROR_MANIFEST_SYNTAX, NULL },
                { "./broken.json", ERROR_MANIFEST_SYNTAX, NULL },
        };

        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                struct manifest m;
                struct error e;

                if (resolve(arena_format(&arena, "file: %s", rows[i].name), NULL, &m, &e) == 0)
                        fail_msg("%s is read", rows[i].name);
                if (e.code != rows[i].code ||
                    (rows[i].reason && strcmp(e.reason, rows[i].reason) != 0))
                        fail_msg("%s: %s %s", rows[i].name, e.reason, e.message);
                assert_string_equal(e.path, "metadata/carrel/commands/file");
                assert_int_equal(e.line, 5);
                assert_int_equal(e.column, 22);
        }
}

static int
resolve_host(const char *text, const struct node **tree, struct ref_reads *reads, struct error *e)
{
        *tree = read_tree(text);
        return ref_rules_of_host(&arena, tree, reads, e);
}

static void
a_host_file_gets_the_rules_of_its_file(void **state)
{
        const char *text = arena_format(
                &arena, "mounts: [/tmp]\ncommands: {file: %s/good.yaml}\nsecrets: {}\n", base);
        struct ref_reads reads = { .count = 0 };
        const struct node *tree, *commands;
        struct error e;

        (void)state;
        assert_int_equal(resolve_host(text, &tree, &reads, &e), 0);
        commands = node_find(tree, "commands");
        assert_null(node_find(commands, "file"));
        assert_string_equal(node_find(commands, "deny")->first->text, "rm");
        assert_non_null(node_find(tree, "mounts"));
        assert_non_null(node_find(tree, "secrets")); /* the fields behind it stay */
        assert_int_equal(reads.count, 1);
        assert_int_equal(resolve_host("commands: {deny: [wc]}", &tree, NULL, &e), 0);
        assert_string_equal(node_find(node_find(tree, "commands"), "deny")->first->text, "wc");
        assert_int_equal(resolve_host("mounts: []", &tree, NULL, &e), 0);
}

static void
an_error_names_the_place_in_the_host_file(void **state)
{
        const struct {
                const char *fields;
                enum error_code code;
                const char *reason;
        } rows[] = {
                { "file: ./good.yaml", ERROR_SCHEMA_INVALID, "type" },
                { "file: 1", ERROR_SCHEMA_INVALID, "type" },
                { "file: /x, deny: [rm]", ERROR_SCHEMA_INVALID, "type" },
                { "file: /tmp/carrel-none/rules.yaml", ERROR_FILE_UNREADABLE, "not_found" },
                { "file: /dev/null", ERROR_FILE_UNREADABLE, "not_regular" },
                { arena_format(&arena, "file: %s/list.yaml", base), ERROR_REF_UNRESOLVABLE,
                  "wrong_kind" },
        };
        const struct node *tree;
        struct error e;

        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                const char *text = arena_format(&arena, "a: 1\ncommands: {%s}", rows[i].fields);

                if (resolve_host(text, &tree, NULL, &e) == 0)
                        fail_msg("%s is read", rows[i].fields);
                if (e.code != rows[i].code || strcmp(e.reason, rows[i].reason) != 0)
                        fail_msg("%s: %s %s", rows[i].fields, e.reason, e.message);
                assert_string_equal(e.path, "commands/file");
                assert_int_equal(e.line, 2);
        }
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(a_manifest_gets_the_rules_of_its_file, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(rules_without_a_file_stay, set_up, tear_down),
                cmocka_unit_test_setup_teardown(an_error_names_the_reference, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_host_file_gets_the_rules_of_its_file, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(an_error_names_the_place_in_the_host_file, set_up,
                                                tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
