/*
 * ref/resolve_test.c - what ref/resolve.h promises, with the reader of ref/places.h on a map and on
 * a disk.
 */
#include "ref/resolve.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/unit.h"
#include "ref/places.h"
#include "text/yaml.h"

static const char good[] =
        "---\\nschema: sandbox/v1\\nid: \\\"@a/main\\\"\\nprovider: local\\nconfig: {}\\n---\\n";

static struct arena arena;
static struct findings findings;

static const struct node *
host_tree(const char *text)
{
        const struct node *root;
        struct error e;

        if (yaml_read(&arena, text, strlen(text), 1, &text_limits_manifest, &root, &e) < 0)
                fail_msg("%s", e.message);
        return root;
}

static int
resolve(struct ref_places *places, const char *ref, struct manifest *ret, struct error *e)
{
        struct ref_reader reader = ref_places_reader(places);
        const char *text = arena_format(&arena, "sandbox: {ref: '%s'}", ref);
        struct manifest m;

        assert_int_equal(manifest_read(&arena, text, strlen(text), MANIFEST_PARENT, MANIFEST_YAML,
                                       &m, &findings, e),
                         0);
        return ref_resolve(&arena, &m, &reader, ret, &findings, e);
}

static int
set_up(void **state)
{
        (void)state;
        arena_fini(&arena);
        arena_init(&arena, 8u << 20);
        findings_init(&findings, &arena);
        return 0;
}

static int
tear_down(void **state)
{
        (void)state;
        arena_fini(&arena);
        return 0;
}

static const struct {
        const char *ref;
        enum error_code code;
        const char *reason;
} rows[] = {
        { "./main.SANDBOX.md", ERROR_NONE, "" },
        { "./SANDBOX.md", ERROR_NONE, "" },
        { "../common/team.SANDBOX.md", ERROR_NONE, "" },
        { "@a/main", ERROR_NONE, "" },
        { "./nope.SANDBOX.md", ERROR_REF_UNRESOLVABLE, "not_found" },
        { "./link.SANDBOX.md", ERROR_REF_UNRESOLVABLE, "outside_workspace" },
        { "./../x.SANDBOX.md", ERROR_REF_UNRESOLVABLE, "outside_workspace" },
        { "../../x/y.SANDBOX.md", ERROR_REF_UNRESOLVABLE, "outside_workspace" },
        { "../common/../x.SANDBOX.md", ERROR_REF_UNRESOLVABLE, "outside_workspace" },
        { "../private/x.SANDBOX.md", ERROR_REF_UNRESOLVABLE, "acl_denied" },
        { "../silent/x.SANDBOX.md", ERROR_REF_UNRESOLVABLE, "acl_denied" },
        { "../nobody/x.SANDBOX.md", ERROR_REF_UNRESOLVABLE, "not_found" },
        { "/etc/x.SANDBOX.md", ERROR_REF_UNRESOLVABLE, "invalid_form" },
        { "https://x.test/a.SANDBOX.md", ERROR_REF_UNRESOLVABLE, "invalid_form" },
        { "main.SANDBOX.md", ERROR_REF_UNRESOLVABLE, "invalid_form" },
        { "@A/main", ERROR_REF_UNRESOLVABLE, "invalid_form" },
        { "@a/liar", ERROR_REF_UNRESOLVABLE, "id_mismatch" },
        { "@a/nameless", ERROR_REF_UNRESOLVABLE, "id_mismatch" },
        { "@a/none", ERROR_REF_UNRESOLVABLE, "not_found" },
        { "@a/libs", ERROR_REF_UNRESOLVABLE, "wrong_kind" },
        { "./storage.SANDBOX.md", ERROR_REF_UNRESOLVABLE, "wrong_kind" },
        { "./self.SANDBOX.md", ERROR_REF_UNRESOLVABLE, "wrong_kind" },
        { "./parent.SANDBOX.md", ERROR_REF_UNRESOLVABLE, "wrong_kind" },
        { "./words.SANDBOX.md", ERROR_MANIFEST_SYNTAX, "no_frontmatter" },
};

static void
follows_a_reference_once(void **state)
{
        const char *text =
                arena_format(&arena,
                             "files: {./main.SANDBOX.md: \"%s\", ./SANDBOX.md: \"%s\", "
                             "./link.SANDBOX.md: '!symlink-escape',\n"
                             " ./storage.SANDBOX.md: \"---\\nschema: storage/v1\\n---\\n\", "
                             "./self.SANDBOX.md: \"---\\nref: ./self.SANDBOX.md\\n---\\n\",\n"
                             " ./parent.SANDBOX.md: \"---\\nsandbox: {ref: "
                             "./self.SANDBOX.md}\\n---\\n\", ./words.SANDBOX.md: words}\n"
                             "siblings: {common: {acl: true, files: {./team.SANDBOX.md: \"%s\"}}, "
                             "private: {acl: false}, silent: {}}\n"
                             "registry: {'@a/main': \"%s\", '@a/liar': \"%s\", '@a/nameless': "
                             "\"---\\nprovider: local\\n---\\n\"}\n"
                             "mountables: {'@a/libs': {}}\n",
                             good, good, good, good, good);
        struct ref_places places = { .workspace = -1, .host = host_tree(text) };

        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
                struct manifest m = { .block = NULL };
                struct error e = { .code = ERROR_NONE };
                size_t before = findings.error_count;
                int rc = resolve(&places, rows[i].ref, &m, &e);

                if ((rc == 0) != (rows[i].code == ERROR_NONE) ||
                    (rc < 0 && (e.code != rows[i].code || strcmp(e.reason, rows[i].reason) != 0)))
                        fail_msg("%s: %d %s %s", rows[i].ref, rc, e.reason, e.message);
                if (rc == 0)
                        assert_non_null(m.block);
                else if (e.code == ERROR_REF_UNRESOLVABLE) {
                        assert_int_equal(findings.error_count, before + 1);
                        assert_string_equal(e.path, "sandbox/ref");
                        assert_int_equal(e.line, 1);
                }
        }
}

static void
leaves_an_inline_block_alone(void **state)
{
        static const char text[] = "sandbox: {inline: {provider: local, config: {}}}";
        struct ref_places places = { .workspace = -1 };
        struct ref_reader reader = ref_places_reader(&places);
        struct manifest m, found;
        struct error e;

        (void)state;
        assert_int_equal(manifest_read(&arena, text, sizeof text - 1, MANIFEST_PARENT,
                                       MANIFEST_YAML, &m, &findings, &e),
                         0);
        assert_int_equal(ref_resolve(&arena, &m, &reader, &found, &findings, &e), 0);
        assert_ptr_equal(found.block, m.block);
}

static void
write_file(const char *path, const char *text)
{
        FILE *out = fopen(path, "we");

        assert_non_null(out);
        assert_true(fputs(text, out) >= 0);
        assert_int_equal(fclose(out), 0);
}

static void
reads_the_disk_beneath_its_directories(void **state)
{
        static const char block[] =
                "---\nschema: sandbox/v1\nid: '@a/main'\nprovider: local\nconfig: {}\n---\n";
        static const char *const made[] = { "ws",
                                            "team",
                                            "ws/x.SANDBOX.md",
                                            "ws/out.SANDBOX.md",
                                            "ws/dir.SANDBOX.md",
                                            "team/y.SANDBOX.md",
                                            "team/out.SANDBOX.md",
                                            "outside.md" };
        char top[] = "/tmp/carrel-resolve-test-XXXXXX";
        struct ref_places places = { .workspace = -1 };
        struct manifest m;
        struct error e;
        const char *path[8];

        (void)state;
        assert_non_null(mkdtemp(top));
        for (size_t i = 0; i < 8; i++)
                path[i] = arena_format(&arena, "%s/%s", top, made[i]);
        assert_int_equal(mkdir(path[0], 0700) | mkdir(path[1], 0700) | mkdir(path[4], 0700), 0);
        write_file(path[2], block);
        write_file(path[5], block);
        write_file(path[7], block);
        assert_int_equal(symlink("../outside.md", path[3]) | symlink(path[7], path[6]), 0);
        places.workspace = open(path[0], O_PATH | O_DIRECTORY | O_CLOEXEC);
        places.host = host_tree(arena_format(
                &arena,
                "siblings: {team: {acl: true, path: %s}, gone: {acl: true, path: /no/such}}\n"
                "registry: {'@a/main': {file: %s}, '@a/b': {file: /no/such}, '@a/c': {file: "
                "relative}}\n"
                "files: {./only-in-map.SANDBOX.md: x}",
                path[1], path[7]));
        assert_int_equal(resolve(&places, "./x.SANDBOX.md", &m, &e), 0);
        assert_int_equal(resolve(&places, "../team/y.SANDBOX.md", &m, &e), 0);
        assert_int_equal(resolve(&places, "@a/main", &m, &e), 0);
        assert_int_equal(resolve(&places, "./out.SANDBOX.md", &m, &e), -1);
        assert_string_equal(e.reason, "outside_workspace");
        assert_int_equal(resolve(&places, "../team/out.SANDBOX.md", &m, &e), -1);
        assert_string_equal(e.reason, "outside_workspace");
        assert_int_equal(resolve(&places, "./dir.SANDBOX.md", &m, &e), -1);
        assert_string_equal(e.reason, "wrong_kind");
        assert_int_equal(resolve(&places, "./only-in-map.SANDBOX.md", &m, &e), -1);
        assert_string_equal(e.reason, "not_found");
        assert_int_equal(resolve(&places, "../gone/y.SANDBOX.md", &m, &e), -1);
        assert_int_equal(resolve(&places, "@a/b", &m, &e), -1);
        assert_int_equal(resolve(&places, "@a/c", &m, &e), -1);
        (void)close(places.workspace);
        for (size_t i = 8; i-- > 2;)
                assert_int_equal(remove(path[i]), 0);
        assert_int_equal(rmdir(path[0]) | rmdir(path[1]) | rmdir(top), 0);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(follows_a_reference_once, set_up, tear_down),
                cmocka_unit_test_setup_teardown(leaves_an_inline_block_alone, set_up, tear_down),
                cmocka_unit_test_setup_teardown(reads_the_disk_beneath_its_directories, set_up,
                                                tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
