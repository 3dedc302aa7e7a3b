/* box/witness_test.c - box/witness.h: digests of FIPS 180-4, and the bytes that are kept. */
#include "base/unit.h"
#include "box/witness.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void
assert_sum(const struct witness *c, const char *expected)
{
        unsigned char sum[WITNESS_SUM_LEN];
        char text[2 * WITNESS_SUM_LEN + 1];

        witness_sum(c, sum);
        assert_string_equal(sodium_bin2hex(text, sizeof text, sum, sizeof sum), expected);
}

static void
the_digests_are_those_of_the_standard(void **state)
{
        struct witness c;
        static char as[1000];

        (void)state;
        witness_init(&c);
        witness_begin(&c, 0);
        assert_sum(&c, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        witness_add(&c, "abc", 3);
        assert_sum(&c, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        witness_init(&c);
        witness_begin(&c, 0);
        memset(as, 'a', sizeof as);
        for (int i = 0; i < 1000; i++)
                witness_add(&c, as, sizeof as);
        assert_sum(&c, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
        assert_int_equal(c.bytes, 1000000);
        assert_int_equal(c.fd, -1);
}

/* Each length and each split, against another library. */
static void
pieces_of_any_length_give_the_digest_of_the_whole(void **state)
{
        unsigned char bytes[600], sum[WITNESS_SUM_LEN], expected[crypto_hash_sha256_BYTES];

        (void)state;
        for (size_t i = 0; i < sizeof bytes; i++)
                bytes[i] = (unsigned char)(i * 7 + (i >> 3));
        for (size_t len = 0; len <= sizeof bytes; len += 13)
                for (size_t split = 0; split <= len; split += 31) {
                        struct witness c;

                        witness_init(&c);
                        witness_begin(&c, 0);
                        witness_add(&c, bytes, split);
                        witness_sum(&c, sum); /* what has come so far; it goes on */
                        witness_add(&c, bytes + split, len - split);
                        witness_sum(&c, sum);
                        (void)crypto_hash_sha256(expected, bytes, len);
                        assert_memory_equal(sum, expected, sizeof sum);
                }
}

static void
bytes_before_the_begin_and_after_the_end_do_not_count(void **state)
{
        struct witness c;

        (void)state;
        witness_init(&c);
        witness_add(&c, "before", 6);
        witness_begin(&c, 1);
        witness_add(&c, "abc", 3);
        witness_end(&c);
        witness_add(&c, "after", 5);
        assert_int_equal(c.bytes, 3);
        assert_int_equal(c.kept, 3);
        assert_sum(&c, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        witness_fini(&c);
        witness_fini(&c);
        assert_sum(&c, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

static void
what_is_kept_cannot_change_any_more(void **state)
{
        struct witness c;
        char bytes[8] = "";

        (void)state;
        witness_init(&c);
        witness_begin(&c, 1);
        witness_add(&c, "abc", 3);
        witness_end(&c);
        assert_int_equal(pread(c.fd, bytes, sizeof bytes, 0), 3);
        assert_string_equal(bytes, "abc");
        assert_int_equal(pwrite(c.fd, "x", 1, 0), -1);
        assert_int_equal(errno, EPERM);
        assert_int_equal(ftruncate(c.fd, 0), -1);
        assert_int_equal(fcntl(c.fd, F_GET_SEALS) & (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE),
                         F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
        witness_fini(&c);
}

/* Of one stream the beginning; of all streams a bounded number of bytes, which come free again. */
static void
what_is_kept_has_bounds(void **state)
{
        enum { PIECE = 1 << 20, STREAMS = WITNESS_MEMORY_MAX / WITNESS_KEEP_MAX + 2 };
        struct witness all[STREAMS];
        unsigned char *piece = calloc(1, PIECE);
        uint64_t kept = 0;

        (void)state;
        assert_non_null(piece);
        for (size_t i = 0; i < STREAMS; i++) {
                witness_init(&all[i]);
                witness_begin(&all[i], 1);
                for (size_t k = 0; k < 10; k++)
                        witness_add(&all[i], piece, PIECE);
                witness_end(&all[i]);
                assert_int_equal(all[i].bytes, 10 * PIECE);
                kept += all[i].kept;
        }
        assert_int_equal(all[0].kept, WITNESS_KEEP_MAX);
        assert_int_equal(kept, WITNESS_MEMORY_MAX);
        assert_int_equal(all[STREAMS - 1].kept, 0);
        for (size_t i = 0; i < STREAMS; i++)
                witness_fini(&all[i]);
        witness_init(&all[0]);
        witness_begin(&all[0], 1);
        witness_add(&all[0], piece, PIECE);
        assert_int_equal(all[0].kept, PIECE);
        witness_fini(&all[0]);
        free(piece);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_digests_are_those_of_the_standard),
                cmocka_unit_test(pieces_of_any_length_give_the_digest_of_the_whole),
                cmocka_unit_test(bytes_before_the_begin_and_after_the_end_do_not_count),
                cmocka_unit_test(what_is_kept_cannot_change_any_more),
                cmocka_unit_test(what_is_kept_has_bounds),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
