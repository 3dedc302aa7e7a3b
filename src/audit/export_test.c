/* audit/export_test.c - rows are signed as the published protocol says. */
#include "audit/export.h"
#include "base/unit.h"

#include <string.h>

#include "text/json.h"

static void
signs_the_published_row(void **state)
{
        static const char row[] =
                "{\"action\":\"log.initialized\",\"actorId\":null,\"actorKind\":\"system\","
                "\"createdAt\":\"2026-01-01T00:00:00.000Z\",\"doctype\":\"audit-event\","
                "\"entityId\":\"test:genesis\",\"entityType\":\"audit-event\",\"prevSignature\":"
                "\"0000000000000000000000000000000000000000000000000000000000000000\","
                "\"schema\":\"agentgovernance/v1\"}";
        char signature[AUDIT_HASH_TEXT];
        struct audit_export x;

        (void)state;
        audit_export_init(&x, (const unsigned char *)"test-secret", 11);
        audit_export_sign(&x, row, sizeof row - 1, signature);
        assert_string_equal(signature,
                            "4c5f0df873262ac05993c1b73fa4fab139fd2514bbdb3b6ad9b83c423799b049");
}

/* The order of JavaScript: numbers first, by their value. */
static void
writes_members_as_javascript_keeps_them(void **state)
{
        static const char json[] = "{\"01\":1,\"10\":[],\"2\":{\"b\":{},\"0\":[1,\"x\"]},"
                                   "\"4294967295\":null,\"a\":true}";
        static const struct text_limits limits = { 4096, 8, 64 };
        struct audit_entry entry = { .time = "2026-01-01T00:00:00.000Z" };
        struct audit_export x;
        struct buffer out = { 0 };
        struct arena arena;
        struct error e;

        (void)state;
        arena_init(&arena, 1u << 20);
        assert_int_equal(json_read(&arena, json, sizeof json - 1, &limits, &entry.root, &e), 0);
        entry.actor = "uid:1";
        entry.action = "x";
        audit_export_init(&x, (const unsigned char *)"s", 1);
        assert_int_equal(audit_export_agentskit(&x, &entry, &out, &e), 0);
        assert_int_equal(buffer_add(&out, "", 1, SIZE_MAX / 2), 0);
        assert_non_null(strstr(out.bytes,
                               "{\"seq\":1,\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"actor\":"
                               "\"uid:1\",\"action\":\"x\",\"payload\":{\"2\":{\"0\":[1,\"x\"],"
                               "\"b\":{}},\"10\":[],\"01\":1,\"4294967295\":null,\"a\":true},"
                               "\"prevHash\":\"\",\"signature\":\""));
        buffer_fini(&out);
        arena_fini(&arena);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(signs_the_published_row),
                cmocka_unit_test(writes_members_as_javascript_keeps_them),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
