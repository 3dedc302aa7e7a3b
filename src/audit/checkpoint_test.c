/* audit/checkpoint_test.c - a checkpoint is read back, and any change of it is found. */
#include "audit/checkpoint.h"
#include "base/unit.h"

#include <stdio.h>
#include <string.h>

static struct error error;

static void
finds_every_changed_byte(void **state)
{
        unsigned char seed[AUDIT_SEED_LEN] = { 9, 8, 7 };
        struct audit_checkpoint made, got;
        struct buffer text = { 0 };
        struct audit_head head;

        (void)state;
        audit_head_init(&head, "0123456789abcdef0123456789abcdef", "0123456789abcdef");
        (void)memset(head.hash, 'a', sizeof head.hash - 1);
        (void)snprintf(head.time, sizeof head.time, "2026-01-01T00:00:00.000Z");
        head.next = 42;
        assert_int_equal(audit_checkpoint_make(&head, seed, &made, &error), 0);
        assert_int_equal(made.seq, 41);
        assert_int_equal(audit_checkpoint_write(&made, &text, &error), 0);
        assert_int_equal(audit_checkpoint_read(text.bytes, text.len, &got, &error), 0);
        assert_memory_equal(&made, &got, sizeof got);
        for (size_t i = 0; i + 1 < text.len; i++) {
                text.bytes[i] ^= 1;
                assert_int_equal(audit_checkpoint_read(text.bytes, text.len, &got, &error), -1);
                assert_int_equal(error.code, ERROR_AUDIT_BROKEN);
                text.bytes[i] ^= 1;
        }
        buffer_fini(&text);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(finds_every_changed_byte),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
