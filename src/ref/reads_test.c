/*
 * ref/reads_test.c - what ref/reads.h promises: every file that a reader of this room opened is in
 * the list.
 */
#include "ref/reads.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scoped.h"
#include "base/unit.h"
#include "ref/file.h"
#include "ref/places.h"
#include "text/yaml.h"

static char base[] = "/tmp/carrel-reads-XXXXXX";
static struct arena arena;
static struct ref_reads reads;

static void
write_file(const char *name)
{
        char path[256];
        scoped_fd int fd = -1;

        (void)snprintf(path, sizeof path, "%s/%s", base, name);
        fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        assert_int_equal(write(fd, "---\nschema: sandbox/v1\n---\n", 27), 27);
}

static int
set_up(void **state)
{
        char path[256];

        (void)state;
        memset(&reads, 0, sizeof reads);
        arena_init(&arena, 8u << 20);
        memcpy(base + strlen(base) - 6, "XXXXXX", 6);
        assert_non_null(mkdtemp(base));
        (void)snprintf(path, sizeof path, "%s/conf", base);
        assert_int_equal(mkdir(path, 0700), 0);
        write_file("conf/a.SANDBOX.md");
        (void)snprintf(path, sizeof path, "%s/way", base);
        assert_int_equal(symlink("conf", path), 0);
        (void)snprintf(path, sizeof path, "%s/way.md", base);
        assert_int_equal(symlink("way/a.SANDBOX.md", path), 0);
        return 0;
}

static int
tear_down(void **state)
{
        static const char *const names[] = { "way.md",          "way",        "conf/a.SANDBOX.md",
                                             "conf/SANDBOX.md", "SANDBOX.md", "conf" };
        char path[256];

        (void)state;
        arena_fini(&arena);
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
                (void)snprintf(path, sizeof path, "%s/%s", base, names[i]);
                (void)remove(path);
        }
        return rmdir(base);
}

static bool
has(const char *name)
{
        char path[256];

        (void)snprintf(path, sizeof path, "%s/%s", base, name);
        for (size_t i = 0; i < reads.count; i++)
                if (strcmp(reads.paths[i], path) == 0)
                        return true;
        return false;
}

static void
a_file_and_each_link_that_leads_to_it(void **state)
{
        scoped_fd int dir = open(base, O_PATH | O_DIRECTORY | O_CLOEXEC);
        const char *bytes;
        size_t len;
        struct error e;

        (void)state;
        assert_int_equal(
                ref_file_read_beneath(&arena, dir, "way.md", 1000, &reads, &bytes, &len, &e), 0);
        assert_true(has("way.md") && has("way") && has("conf/a.SANDBOX.md"));
        assert_int_equal(reads.count, 3);
        assert_int_equal(ref_file_read_beneath(&arena, dir, "./conf//../conf/a.SANDBOX.md", 1000,
                                               &reads, &bytes, &len, &e),
                         0);
        assert_int_equal(reads.count, 3);
}

static void
a_name_that_was_looked_for_in_vain(void **state)
{
        scoped_fd int dir = open(base, O_PATH | O_DIRECTORY | O_CLOEXEC);
        const char *bytes;
        size_t len;
        struct error e;

        (void)state;
        assert_int_equal(
                ref_file_read_beneath(&arena, dir, "way/none.md", 1000, &reads, &bytes, &len, &e),
                -1);
        assert_string_equal(e.reason, "not_found");
        assert_true(has("way") && has("conf/none.md"));
}

/* Each reader of the room, by every kind of reference that a manifest can have. */
static void
every_reader_adds_what_it_read(void **state)
{
        char path[256], text[512];
        scoped_fd int dir = open(base, O_PATH | O_DIRECTORY | O_CLOEXEC);
        const struct node *host = NULL;
        struct ref_places places = { .workspace = dir, .reads = &reads };
        struct ref_reader reader = ref_places_reader(&places);
        static const char *const refs[] = { "./conf/a.SANDBOX.md", "../other/a.SANDBOX.md",
                                            "@acme/policy" };
        struct ref_manifest_file file;
        const char *bytes;
        size_t len;
        struct error e;

        (void)state;
        (void)snprintf(text, sizeof text,
                       "{siblings: {other: {acl: true, path: %s/conf}}, registry: {'@acme/policy': "
                       "{file: %s/conf/a.SANDBOX.md}}}",
                       base, base);
        assert_int_equal(yaml_read(&arena, text, strlen(text), 1, &text_limits_manifest, &host, &e),
                         0);
        places.host = host;
        for (size_t i = 0; i < sizeof refs / sizeof *refs; i++) {
                struct reference target;

                reads.count = 0;
                if (reference_read(&arena, refs[i], "SANDBOX.md", &target, &e) < 0 ||
                    reader.read(reader.ctx, &arena, &target, &bytes, &len, &e) < 0)
                        fail_msg("%s: %s", refs[i], e.message);
                assert_true(has("conf/a.SANDBOX.md"));
        }
        reads.count = 0;
        (void)snprintf(path, sizeof path, "%s/way.md", base);
        assert_int_equal(ref_manifest_open(&arena, path, &reads, &file, &e), 0);
        assert_true(has("way.md") && has("way") && has("conf/a.SANDBOX.md"));
        reads.count = 0;
        write_file("SANDBOX.md");
        assert_int_equal(ref_manifest_find(&arena, base, &reads, &file, &e), 0);
        assert_true(has("SANDBOX.md"));
}

static void
more_than_the_list_holds_is_refused(void **state)
{
        struct error e;

        (void)state;
        for (int i = 0; i < REF_READS_MAX; i++)
                assert_int_equal(ref_reads_add(&reads, &arena, AT_FDCWD,
                                               arena_format(&arena, "%s/%d", base, i), -1, &e),
                                 0);
        assert_int_equal(ref_reads_add(&reads, &arena, AT_FDCWD, base, -1, &e), -1);
        assert_int_equal(e.code, ERROR_QUOTA_EXCEEDED);
        assert_int_equal(ref_reads_add(NULL, &arena, AT_FDCWD, base, -1, &e), 0);
}

static void
a_path_below_the_workspace_is_sent_without_it(void **state)
{
        (void)state;
        assert_string_equal(ref_reads_below("/a/b/c", "/a/b"), "c");
        assert_string_equal(ref_reads_below("/a/bc", "/a/b"), "/a/bc");
        assert_string_equal(ref_reads_below("/a/b", NULL), "/a/b");
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(a_file_and_each_link_that_leads_to_it, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(a_name_that_was_looked_for_in_vain, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(every_reader_adds_what_it_read, set_up, tear_down),
                cmocka_unit_test_setup_teardown(more_than_the_list_holds_is_refused, set_up,
                                                tear_down),
                cmocka_unit_test(a_path_below_the_workspace_is_sent_without_it),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
