/* audit/entry_test.c - what audit/entry.h promises: the form of AIP-7, the chain, the signature. */
#include "audit/entry.h"
#include "base/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/json.h"

static struct arena arena;
static struct error error;
static struct audit_key key, other_key;
static struct audit_head head;

static const struct audit_event event = {
        .action = "exec.started",
        .actor_id = "uid:1000",
        .actor_role = "operator",
        .subject_kind = "sandbox",
        .subject_ref = "sb-1",
        .input = "{\"argv\":[\"sh\",\"-c\",\"echo \\\"h\u00e9\\\"\"],"
                 "\"timeout_ms\":30000}"
};

static int
set_up(void **state)
{
        (void)state;
        memset(key.bytes, 7, sizeof key.bytes);
        memset(other_key.bytes, 8, sizeof other_key.bytes);
        audit_key_name(&key);
        audit_key_name(&other_key);
        audit_head_init(&head, "0123456789abcdef0123456789abcdef", key.id);
        arena_init(&arena, 64u << 20);
        error = (struct error){ 0 };
        return 0;
}

static int
tear_down(void **state)
{
        (void)state;
        arena_fini(&arena);
        return 0;
}

static void
write_one(struct buffer *out, uint64_t wall_ms)
{
        assert_int_equal(audit_entry_write(&event, &key, wall_ms, 5, &head, out, &error), 0);
}

static void
accepts_the_published_chain(void **state)
{
        /* the two entries of the specification's example, as they are published */
        static const char *const lines[] = {
                "{\"$schema\":\"agentgovernance/v1\",\"action\":\"log.initialized\",\"actor\":{"
                "\"id\":\"host:sandboxd\",\"role\":\"system\"},\"doctype\":\"audit-event\","
                "\"hash\":\"637f18c179c87c434a8614387ddae670fedb685ff656341d9a313f5f615c15c6\","
                "\"hashAlg\":\"sha256\",\"prevHash\":\"GENESIS\",\"seq\":0,\"subject\":{\"kind\":"
                "\"audit\",\"ref\":\"chain-0\"},\"ts\":\"2026-01-01T00:00:00.000Z\"}",
                "{\"$schema\":\"agentgovernance/v1\",\"action\":\"sandbox.execute\",\"actor\":{"
                "\"id\":\"operator:bob\",\"role\":\"operator\"},\"doctype\":\"audit-event\","
                "\"hash\":\"3d585ee4df4806d3cef363de6687e92092ede1b08f2eb2bc10a6a24b4a910d48\","
                "\"hashAlg\":\"sha256\",\"input\":{\"argv\":[\"sh\",\"-c\",\"echo "
                "\\\"h\u00e9\\\"\"],"
                "\"timeout_ms\":30000},\"output\":{\"duration_ms\":12,\"exit_code\":0},"
                "\"prevHash\":\"637f18c179c87c434a8614387ddae670fedb685ff656341d9a313f5f615c15c6\","
                "\"seq\":1,\"subject\":{\"kind\":\"sandbox\",\"ref\":\"sb-1\"},"
                "\"ts\":\"2026-01-01T00:00:01.500Z\"}",
        };

        (void)state;
        for (size_t i = 0; i < 2; i++) {
                struct audit_entry entry;

                /* canonical form and hash are right: what is missing is Carrel's own part */
                assert_int_equal(
                        audit_entry_read(&arena, lines[i], strlen(lines[i]), &entry, &error), -1);
                assert_string_equal(error.message, "a member is missing or has another type");
        }
}

static void
writes_what_it_reads(void **state)
{
        struct buffer out = { 0 };
        struct audit_head checked;
        struct audit_entry entry;

        (void)state;
        checked = head;
        write_one(&out, UINT64_C(1767225600000));
        assert_int_equal(head.next, 1);
        assert_int_equal(audit_entry_read(&arena, out.bytes, out.len - 1, &entry, &error), 0);
        assert_string_equal(entry.time, "2026-01-01T00:00:00.000Z");
        assert_string_equal(entry.previous, "GENESIS");
        assert_string_equal(entry.action, "exec.started");
        assert_string_equal(entry.hash, head.hash);
        assert_int_equal(audit_entry_follow(&entry, &key, &checked, &error), 0);
        assert_memory_equal(&checked, &head, sizeof head);
        buffer_fini(&out);
}

static void
never_goes_back_in_time(void **state)
{
        struct buffer out = { 0 };

        (void)state;
        write_one(&out, UINT64_C(1767225600500));
        write_one(&out, UINT64_C(1767225600000)); /* the clock was set */
        assert_string_equal(head.time, "2026-01-01T00:00:00.500Z");
        write_one(&out, UINT64_MAX);
        assert_string_equal(head.time, "9999-12-31T23:59:59.999Z");
        buffer_fini(&out);
}

static void
finds_every_changed_byte(void **state)
{
        struct buffer out = { 0 };

        (void)state;
        write_one(&out, UINT64_C(1767225600000));
        for (size_t i = 0; i + 1 < out.len; i++)
                for (unsigned bit = 0; bit < 8; bit++) {
                        struct audit_entry entry;

                        out.bytes[i] = (char)(out.bytes[i] ^ (1 << bit));
                        arena_fini(&arena);
                        arena_init(&arena, 64u << 20);
                        if (audit_entry_read(&arena, out.bytes, out.len - 1, &entry, &error) == 0)
                                fail_msg("bit %u of byte %zu", bit, i);
                        assert_int_equal(error.code, ERROR_AUDIT_BROKEN);
                        out.bytes[i] = (char)(out.bytes[i] ^ (1 << bit));
                }
        buffer_fini(&out);
}

static void
finds_what_does_not_follow(void **state)
{
        struct audit_entry first, second;
        struct audit_head start = head, h;
        struct buffer out = { 0 };
        size_t len;

        (void)state;
        write_one(&out, 1000);
        len = out.len;
        write_one(&out, 2000);
        assert_int_equal(audit_entry_read(&arena, out.bytes, len - 1, &first, &error), 0);
        assert_int_equal(
                audit_entry_read(&arena, out.bytes + len, out.len - len - 1, &second, &error), 0);

        h = start;
        assert_int_equal(audit_entry_follow(&second, &key, &h, &error), -1);
        assert_string_equal(error.reason, "chain.seq_gap");
        h.next = 1; /* an entry before it was replaced */
        assert_int_equal(audit_entry_follow(&second, &key, &h, &error), -1);
        assert_string_equal(error.reason, "chain.broken");
        h = start;
        h.chain[0] = 'f';
        assert_int_equal(audit_entry_follow(&first, &key, &h, &error), -1);
        assert_string_equal(error.reason, "chain.broken");
        h = start;
        assert_int_equal(audit_entry_follow(&first, &other_key, &h, &error), -1);
        assert_string_equal(error.reason, "chain.signature");
        audit_head_init(&h, start.chain, other_key.id);
        assert_int_equal(audit_entry_follow(&first, &key, &h, &error), -1);
        assert_string_equal(error.reason, "chain.broken");
        h = start;
        (void)snprintf(h.time, sizeof h.time, "2026-01-01T00:00:00.000Z");
        assert_int_equal(audit_entry_follow(&first, &key, &h, &error), -1);
        assert_string_equal(error.reason, "chain.time");
        h = start;
        assert_int_equal(audit_entry_follow(&first, NULL, &h, &error), 0);
        assert_int_equal(audit_entry_follow(&second, &key, &h, &error), 0);
        buffer_fini(&out);
}

static void
refuses_what_is_no_json(void **state)
{
        struct audit_event bad = event;
        struct audit_head before = head;
        struct buffer out = { 0 };

        (void)state;
        bad.output = "{\"a\":1.5}";
        assert_int_equal(audit_entry_write(&bad, &key, 1000, 5, &head, &out, &error), -1);
        bad.output = "{\"a\":";
        assert_int_equal(audit_entry_write(&bad, &key, 1000, 5, &head, &out, &error), -1);
        assert_memory_equal(&before, &head, sizeof head);
        buffer_fini(&out);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(accepts_the_published_chain, set_up, tear_down),
                cmocka_unit_test_setup_teardown(writes_what_it_reads, set_up, tear_down),
                cmocka_unit_test_setup_teardown(never_goes_back_in_time, set_up, tear_down),
                cmocka_unit_test_setup_teardown(finds_every_changed_byte, set_up, tear_down),
                cmocka_unit_test_setup_teardown(finds_what_does_not_follow, set_up, tear_down),
                cmocka_unit_test_setup_teardown(refuses_what_is_no_json, set_up, tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
