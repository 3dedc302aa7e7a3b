/* box/output_test.c - box/output.h: the witness sees each byte that was written before the end,
 * wherever it is by then. */
#include "base/unit.h"
#include "box/output.h"

#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WRITTEN = 50000 };

static struct loop *loop;
static struct witness witness;
static struct output output;
static uint64_t budget;
static size_t may_read;
static unsigned char bytes[WRITTEN];

static size_t
room(const struct output *o, size_t most)
{
        (void)o;
        return most < may_read ? most : may_read;
}

static void
nothing(struct output *o)
{
        (void)o;
}

/* A command has written WRITTEN bytes, none of which were read, and ends. */
static void
end_after(uint64_t budget_bytes, size_t readable, uint64_t keep)
{
        static const struct output_user user = { room, nothing, nothing };
        int pair[2];

        for (size_t i = 0; i < sizeof bytes; i++)
                bytes[i] = (unsigned char)(i * 31 + (i >> 7));
        budget = budget_bytes;
        may_read = readable;
        witness_init(&witness);
        witness_begin(&witness, 1);
        output_init(&output, loop, 0, &budget, &user);
        output.witness = &witness;
        log_init(&output.log, keep, -1);
        assert_int_equal(pipe2(pair, O_CLOEXEC | O_NONBLOCK), 0);
        assert_int_equal(write(pair[1], bytes, sizeof bytes), sizeof bytes);
        assert_int_equal(output_open(&output, pair[0], 0), 0);
        output_finish(&output, 1);
        witness_end(&witness);
        (void)close(pair[1]);
}

static void
assert_whole(void)
{
        unsigned char sum[WITNESS_SUM_LEN], expected[crypto_hash_sha256_BYTES];
        unsigned char *kept = malloc(WRITTEN);

        assert_non_null(kept);
        assert_int_equal(output_bytes(&output), WRITTEN);
        assert_int_equal(witness.bytes, WRITTEN);
        witness_sum(&witness, sum);
        (void)crypto_hash_sha256(expected, bytes, sizeof bytes);
        assert_memory_equal(sum, expected, sizeof sum);
        assert_int_equal(pread(witness.fd, kept, WRITTEN, 0), WRITTEN);
        assert_memory_equal(kept, bytes, WRITTEN);
        free(kept);
        output_close(&output);
        log_fini(&output.log);
        witness_fini(&witness);
}

static void
bytes_that_are_kept_are_seen(void **state)
{
        (void)state;
        end_after(OUTPUT_NO_LIMIT, OUTPUT_CHUNK, 1 << 20);
        assert_whole();
}

static void
bytes_that_a_full_log_drops_are_seen(void **state)
{
        (void)state;
        end_after(OUTPUT_NO_LIMIT, OUTPUT_CHUNK, LOG_FIRST);
        assert_int_equal(output.log.end - output.log.first, LOG_FIRST);
        assert_whole();
}

static void
bytes_past_the_limit_are_seen(void **state)
{
        (void)state;
        end_after(1000, OUTPUT_CHUNK, 1 << 20);
        assert_int_equal(output.beyond, WRITTEN - 1000);
        assert_whole();
}

/* A reader that must lose nothing does not read: the bytes wait in the pipe, and are seen there. */
static void
bytes_that_stay_in_the_pipe_are_seen(void **state)
{
        (void)state;
        end_after(OUTPUT_NO_LIMIT, 0, 1 << 20);
        assert_int_equal(output.left, WRITTEN);
        assert_whole();
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(bytes_that_are_kept_are_seen),
                cmocka_unit_test(bytes_that_a_full_log_drops_are_seen),
                cmocka_unit_test(bytes_past_the_limit_are_seen),
                cmocka_unit_test(bytes_that_stay_in_the_pipe_are_seen),
        };
        int failed = loop_new(&loop);

        return failed ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
