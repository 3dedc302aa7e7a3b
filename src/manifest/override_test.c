/* manifest/override_test.c - what manifest/override.h promises. */
#include "manifest/override.h"

#include <string.h>

#include "base/unit.h"
#include "text/json.h"

enum { ITEMS = 6 };

struct bench {
        struct arena arena;
        struct findings findings;
        struct manifest m;
        struct error e;
};

static void
setup(struct bench *b, const char *text, enum manifest_kind kind)
{
        arena_init(&b->arena, 1 << 20);
        findings_init(&b->findings, &b->arena);
        assert_int_equal(manifest_read(&b->arena, text, strlen(text), kind, MANIFEST_YAML, &b->m,
                                       &b->findings, &b->e),
                         0);
}

/* The block as JSON. */
static const char *
block_text(struct bench *b)
{
        struct json_writer w;
        const char *text;

        json_init(&w, false);
        json_node(&w, b->m.block);
        text = arena_copy(&b->arena, w.text, w.len);
        json_fini(&w);
        return text;
}

static void
values_are_laid_over_what_was_written(void **state)
{
        static const struct {
                const char *text;
                enum manifest_kind kind;
                const char *items[ITEMS], *result;
        } cases[] = {
                { "provider: local",
                  MANIFEST_BLOCK,
                  { "limits/memory_mb=64" },
                  "{\"provider\":\"local\",\"limits\":{\"memory_mb\":64}}" },
                { "limits: {memory_mb: 100, cpu_ms: 5}",
                  MANIFEST_BLOCK,
                  { "limits/memory_mb=100" },
                  "{\"limits\":{\"cpu_ms\":5,\"memory_mb\":100}}" },
                { "limits: {memoryMb: 100}",
                  MANIFEST_BLOCK,
                  { "limits/memory_mb=64" },
                  "{\"limits\":{\"memory_mb\":64}}" },
                { "a: 1",
                  MANIFEST_BLOCK,
                  { "metadata/carrel/limits/disk_mb=9", "metadata/carrel/limits/pids=8" },
                  "{\"a\":1,\"metadata\":{\"carrel\":{\"limits\":{\"disk_mb\":9,\"pids\":8}}}}" },
                { "network: {egress: [a.example]}",
                  MANIFEST_BLOCK,
                  { "network/egress=b.example", "network/egress=c.example:5432" },
                  "{\"network\":{\"egress\":[\"a.example\",\"b.example\",\"c.example:5432\"]}}" },
                { "a: 1",
                  MANIFEST_BLOCK,
                  { "mounts=/srv/data:/data:ro", "mounts=./sub dir:/w" },
                  "{\"a\":1,\"mounts\":[{\"source\":{\"inline\":{\"provider\":\"local-fs\","
                  "\"config\":{\"path\":\"/srv/data\"}}},\"at\":\"/data\",\"mode\":\"read-only\"},"
                  "{\"source\":{\"inline\":{\"provider\":\"local-fs\",\"config\":{\"path\":\"sub "
                  "dir\"}}},\"at\":\"/w\",\"mode\":\"read-write\"}]}" },
                { "a: 1",
                  MANIFEST_BLOCK,
                  { "mounts=npm-cache:/home/agent/.npm:ro" },
                  "{\"a\":1,\"mounts\":[{\"source\":{\"inline\":{\"provider\":\"carrel-volume\","
                  "\"config\":{\"name\":\"npm-cache\"}}},\"at\":\"/home/agent/"
                  ".npm\",\"mode\":\"read-only\"}]}" },
                { "sandbox: {inline: {a: 1}}\nother: 2",
                  MANIFEST_PARENT,
                  { "limits/memory_mb=64" },
                  "{\"a\":1,\"limits\":{\"memory_mb\":64}}" },
                /* an error stays an error, and is reported with its place */
                { "limits: 5", MANIFEST_BLOCK, { "limits/memory_mb=64" }, "{\"limits\":5}" },
                { "network: {egress: all}",
                  MANIFEST_BLOCK,
                  { "network/egress=a" },
                  "{\"network\":{\"egress\":\"all\"}}" },
                { "a: 1", MANIFEST_BLOCK, { NULL }, "{\"a\":1}" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct bench b;
                size_t count = 0;

                while (cases[i].items[count])
                        count++;
                setup(&b, cases[i].text, cases[i].kind);
                if (manifest_override(&b.arena, &b.m, cases[i].items, count, &b.e) < 0)
                        fail_msg("case %zu: %s", i, b.e.message);
                assert_string_equal(block_text(&b), cases[i].result);
                arena_fini(&b.arena);
        }
}

static void
the_root_has_the_same_block(void **state)
{
        static const char *const items[] = { "limits/memory_mb=64" };
        struct bench b;

        (void)state;
        setup(&b, "sandbox: {inline: {a: 1}}\nother: 2", MANIFEST_PARENT);
        assert_int_equal(manifest_override(&b.arena, &b.m, items, 1, &b.e), 0);
        assert_int_equal(
                node_find(node_find(node_find(node_find(b.m.root, "sandbox"), "inline"), "limits"),
                          "memory_mb")
                        ->integer,
                64);
        assert_int_equal(node_find(b.m.root, "other")->integer, 2);
        assert_int_equal(node_find(node_find(b.m.block, "limits"), "memory_mb")->line, 0);
        assert_int_equal(node_find(b.m.block, "a")->line, 1);
        arena_fini(&b.arena);
}

static void
what_cannot_be_laid_over_is_refused(void **state)
{
        static const struct {
                const char *text, *item, *path;
                enum error_code code;
                const char *words;
        } cases[] = {
                { "limits: {memory_mb: 512}", "limits/memory_mb=2048", "limits/memory_mb",
                  ERROR_POLICY_DENIED, "2048 is above the 512 that the manifest permits" },
                { "limits: {memoryMb: 512}", "limits/memory_mb=513", "limits/memory_mb",
                  ERROR_POLICY_DENIED, "513 is above the 512" },
                { "metadata: {carrel: {limits: {pids: 5}}}", "metadata/carrel/limits/pids=6",
                  "metadata/carrel/limits/pids", ERROR_POLICY_DENIED, "above the 5" },
                { "a: 1", "limits/memory_mb=x", "limits/memory_mb", ERROR_INVALID_ARGUMENT,
                  "not a number" },
                { "a: 1", "limits/memory_mb=", "limits/memory_mb", ERROR_INVALID_ARGUMENT,
                  "not a number" },
                { "a: 1", "limits/memory_mb=99999999999999999999", "limits/memory_mb",
                  ERROR_INVALID_ARGUMENT, "not a number" },
                { "a: 1", "limits/cpu_ms=5", "overrides", ERROR_INVALID_ARGUMENT, "not a field" },
                { "a: 1", "provider", "overrides", ERROR_INVALID_ARGUMENT, "not a field" },
                { "a: 1", "mounts=.cache:/x", "mounts", ERROR_INVALID_ARGUMENT, "DIR begins with" },
                { "a: 1", "mounts=a/b:/x", "mounts", ERROR_INVALID_ARGUMENT, "DIR begins with" },
                { "a: 1", "mounts=..:/x", "mounts", ERROR_INVALID_ARGUMENT, "VOLUME:PATH" },
                { "a: 1", "mounts=/a", "mounts", ERROR_INVALID_ARGUMENT, "or DIR:PATH" },
                { "a: 1", "mounts=/a:", "mounts", ERROR_INVALID_ARGUMENT, "or DIR:PATH" },
                { "a: 1", "mounts=/a:b", "mounts", ERROR_INVALID_ARGUMENT, "or DIR:PATH" },
                { "a: 1", "mounts=/a:/b:c", "mounts", ERROR_INVALID_ARGUMENT, "or DIR:PATH" },
                { "a: 1", "mounts=:/b", "mounts", ERROR_INVALID_ARGUMENT, "or DIR:PATH" },
                { "a: 1", "mounts=:ro", "mounts", ERROR_INVALID_ARGUMENT, "or DIR:PATH" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct bench b;

                setup(&b, cases[i].text, MANIFEST_BLOCK);
                assert_int_equal(manifest_override(&b.arena, &b.m, &cases[i].item, 1, &b.e), -1);
                if (b.e.code != cases[i].code || strcmp(b.e.path, cases[i].path) != 0 ||
                    !strstr(b.e.message, cases[i].words))
                        fail_msg("case %zu: %s at %s", i, b.e.message, b.e.path);
                arena_fini(&b.arena);
        }
}

static void
a_small_arena_is_an_error(void **state)
{
        static const char *const items[] = { "limits/memory_mb=64", "network/egress=a.example",
                                             "mounts=/a:/b" };
        int wins = 0;

        (void)state;
        for (size_t more = 0; more < 8192; more += 64) {
                struct bench b;

                setup(&b, "limits: {cpu_ms: 5}", MANIFEST_BLOCK);
                b.arena.limit = more;
                if (manifest_override(&b.arena, &b.m, items, 3, &b.e) == 0)
                        wins++;
                else
                        assert_int_equal(b.e.code, ERROR_NO_MEMORY);
                arena_fini(&b.arena);
        }
        assert_true(wins > 0);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(values_are_laid_over_what_was_written),
                cmocka_unit_test(the_root_has_the_same_block),
                cmocka_unit_test(what_cannot_be_laid_over_is_refused),
                cmocka_unit_test(a_small_arena_is_an_error),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
