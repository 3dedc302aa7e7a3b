/*
 * rest/range_test.c - which part of a file a request asks for.
 */
#include "rest/range.h"

#include <stddef.h>

#include "base/unit.h"

static void
ranges_are_read(void **state)
{
        static const struct {
                const char *text;
                struct range want;
        } cases[] = {
                { "bytes=0-0", { RANGE_FROM, 0, 1 } },
                { "bytes=5-9", { RANGE_FROM, 5, 5 } },
                { "Bytes=7-", { RANGE_FROM, 7, UINT64_MAX } },
                { "bytes=-3", { RANGE_LAST, 0, 3 } },
                { NULL, { RANGE_NONE, 0, UINT64_MAX } },
                { "bytes=", { RANGE_NONE, 0, UINT64_MAX } },
                { "bytes=-", { RANGE_NONE, 0, UINT64_MAX } },
                { "bytes=-0", { RANGE_NONE, 0, UINT64_MAX } },
                { "bytes=9-5", { RANGE_NONE, 0, UINT64_MAX } },
                { "bytes=0-1,3-4", { RANGE_NONE, 0, UINT64_MAX } },
                { "bytes=0-1 ", { RANGE_NONE, 0, UINT64_MAX } },
                { "items=0-1", { RANGE_NONE, 0, UINT64_MAX } },
                { "bytes=1234567890123456789-", { RANGE_NONE, 0, UINT64_MAX } },
        };

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct range r = range_read(cases[i].text);

                if (r.kind != cases[i].want.kind ||
                    (r.kind != RANGE_NONE &&
                     (r.first != cases[i].want.first || r.length != cases[i].want.length)))
                        fail_msg("%s: %d", cases[i].text ? cases[i].text : "(none)", (int)r.kind);
        }
}

int
main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(ranges_are_read) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
