/* audit/export_test.c - rows are signed as the published protocol says. */
#include "audit/export.h"
#include "base/unit.h"

#include <string.h>

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

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(signs_the_published_row),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
