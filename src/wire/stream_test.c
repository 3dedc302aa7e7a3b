/* wire/stream_test.c - wire/stream.h: a frame is one of the tables', or refused. */
#include "wire/stream.h"

#include <errno.h>
#include <string.h>

#include "base/unit.h"
#include "wire/message.h"

struct frame_row {
        const char *what;
        struct stream_frame frame;
        enum stream_side from;
        int result;
};

static const struct frame_row frames[] = {
        { "an order",
          { STREAM_MESSAGE, 0, WIRE_SIGNAL, 0, sizeof(struct wire_exec_number) },
          STREAM_RELAY,
          0 },
        { "an order that the guest sends",
          { STREAM_MESSAGE, 0, WIRE_SIGNAL, 0, sizeof(struct wire_exec_number) },
          STREAM_GUEST,
          -EPROTO },
        { "a report",
          { STREAM_MESSAGE, 0, WIRE_EXEC_ENDED, 0, sizeof(struct wire_exec_ended) },
          STREAM_GUEST,
          0 },
        { "a report that is short",
          { STREAM_MESSAGE, 0, WIRE_EXEC_ENDED, 0, sizeof(struct wire_exec_ended) - 1 },
          STREAM_GUEST,
          -EPROTO },
        { "a message that only a maker sends",
          { STREAM_MESSAGE, 0, WIRE_SPAWNED, 0, sizeof(struct wire_spawned) },
          STREAM_GUEST,
          -EPROTO },
        { "an answer of a wall, which comes with sockets",
          { STREAM_MESSAGE, 0, WIRE_WALL, 0, 8 },
          STREAM_GUEST,
          -EPROTO },
        { "a command", { STREAM_MESSAGE, 0, WIRE_EXEC, 0, WIRE_BODY_MAX }, STREAM_RELAY, 0 },
        { "a command past the largest",
          { STREAM_MESSAGE, 0, WIRE_EXEC, 0, WIRE_BODY_MAX + 1 },
          STREAM_RELAY,
          -EPROTO },
        { "a message on a channel",
          { STREAM_MESSAGE, STREAM_STDIN, WIRE_BOX_READY, 0, 0 },
          STREAM_GUEST,
          -EPROTO },
        { "a message of a stream",
          { STREAM_MESSAGE, 0, WIRE_BOX_READY, 7, 0 },
          STREAM_GUEST,
          -EPROTO },
        { "input", { STREAM_DATA, STREAM_STDIN, 0, 1, 1 }, STREAM_RELAY, 0 },
        { "input from the guest", { STREAM_DATA, STREAM_STDIN, 0, 1, 1 }, STREAM_GUEST, -EPROTO },
        { "output", { STREAM_DATA, STREAM_STDOUT, 0, 1, STREAM_CHUNK }, STREAM_GUEST, 0 },
        { "output to the guest", { STREAM_DATA, STREAM_STDERR, 0, 1, 1 }, STREAM_RELAY, -EPROTO },
        { "output past a chunk",
          { STREAM_DATA, STREAM_STDOUT, 0, 1, STREAM_CHUNK + 1 },
          STREAM_GUEST,
          -EPROTO },
        { "data of no byte", { STREAM_DATA, STREAM_STDOUT, 0, 1, 0 }, STREAM_GUEST, -EPROTO },
        { "data of no channel",
          { STREAM_DATA, STREAM_NO_CHANNEL, 0, 1, 1 },
          STREAM_GUEST,
          -EPROTO },
        { "data with a kind",
          { STREAM_DATA, STREAM_STDOUT, WIRE_EXEC, 1, 1 },
          STREAM_GUEST,
          -EPROTO },
        { "a terminal's, down", { STREAM_DATA, STREAM_TERMINAL, 0, 1, 1 }, STREAM_RELAY, 0 },
        { "a terminal's, up", { STREAM_DATA, STREAM_TERMINAL, 0, 1, 1 }, STREAM_GUEST, 0 },
        { "the end of output", { STREAM_EOF, STREAM_STDOUT, 0, 1, 0 }, STREAM_GUEST, 0 },
        { "the end of output, from its reader",
          { STREAM_EOF, STREAM_STDOUT, 0, 1, 0 },
          STREAM_RELAY,
          -EPROTO },
        { "a reader that left", { STREAM_STOP, STREAM_STDOUT, 0, 1, 0 }, STREAM_RELAY, 0 },
        { "a reader that is the writer",
          { STREAM_STOP, STREAM_STDOUT, 0, 1, 0 },
          STREAM_GUEST,
          -EPROTO },
        { "credit", { STREAM_CREDIT, STREAM_STDIN, 0, 1, 4 }, STREAM_GUEST, 0 },
        { "credit without a number",
          { STREAM_CREDIT, STREAM_STDIN, 0, 1, 0 },
          STREAM_GUEST,
          -EPROTO },
        { "credit that one gives oneself",
          { STREAM_CREDIT, STREAM_STDOUT, 0, 1, 4 },
          STREAM_GUEST,
          -EPROTO },
        { "an unknown type", { STREAM_TYPE_MAX, STREAM_STDOUT, 0, 1, 0 }, STREAM_GUEST, -EPROTO },
        { "no type", { 0, STREAM_STDOUT, 0, 1, 0 }, STREAM_GUEST, -EPROTO },
        { "an unknown channel",
          { STREAM_EOF, STREAM_CHANNEL_MAX, 0, 1, 0 },
          STREAM_GUEST,
          -EPROTO },
};

static void
frames_are_checked(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof frames / sizeof *frames; i++) {
                const struct frame_row *row = &frames[i];
                uint8_t bytes[STREAM_HEAD];
                struct stream_frame got;
                int result;

                stream_frame_write(&row->frame, bytes);
                result = stream_frame_read(bytes, row->from, &got);
                if (result != row->result)
                        fail_msg("%s: %d, not %d", row->what, result, row->result);
                if (result == 0 && (got.type != row->frame.type || got.kind != row->frame.kind ||
                                    got.channel != row->frame.channel ||
                                    got.number != row->frame.number || got.len != row->frame.len))
                        fail_msg("%s: not read as it was written", row->what);
        }
}

static void
a_greeting_has_a_version(void **state)
{
        uint8_t bytes[STREAM_GREETING], other[STREAM_GREETING];

        (void)state;
        stream_greeting_write(bytes);
        assert_int_equal(stream_greeting_read(bytes), 0);
        for (size_t i = 0; i < sizeof bytes; i++) {
                memcpy(other, bytes, sizeof bytes);
                other[i] ^= 1;
                assert_int_equal(stream_greeting_read(other), i < 8 ? -EPROTO : -EPROTONOSUPPORT);
        }
}

static void
numbers_are_little_endian(void **state)
{
        static const uint8_t wanted[STREAM_HEAD] = {
                STREAM_DATA, STREAM_STDOUT, 0, 0, 4, 3, 2, 1, 8, 7, 0, 0
        };
        uint8_t bytes[STREAM_HEAD], credit[4];

        (void)state;
        stream_frame_write(
                &(struct stream_frame){ STREAM_DATA, STREAM_STDOUT, 0, 0x01020304, 0x0708 }, bytes);
        assert_memory_equal(bytes, wanted, sizeof bytes);
        stream_credit_write(0x01020304, credit);
        assert_memory_equal(credit, wanted + 4, 4);
        assert_int_equal(stream_credit_read(credit), 0x01020304);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(frames_are_checked),
                cmocka_unit_test(a_greeting_has_a_version),
                cmocka_unit_test(numbers_are_little_endian),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
