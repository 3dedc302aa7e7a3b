/*
 * wire/stream.c - the frames between a relay and the guest program.
 *
 * Room: wire (words). Touches: nothing.
 */
#include "wire/stream.h"

#include <errno.h>
#include <string.h>

#include "wire/message.h"

static const uint8_t magic[8] = { 'c', 'a', 'r', 'r', 'e', 'l', 0, 0 };

/* The messages that travel, in which direction, with which length. */
struct message_row {
        uint16_t kind;
        enum stream_side from;
        uint32_t least, most;
};

#define SIZE(type) sizeof(struct type), sizeof(struct type)

static const struct message_row messages[] = {
        { WIRE_MAKE, STREAM_RELAY, 1, WIRE_BODY_MAX },
        { WIRE_EXEC, STREAM_RELAY, sizeof(struct wire_exec), WIRE_BODY_MAX },
        { WIRE_SIGNAL, STREAM_RELAY, SIZE(wire_exec_number) },
        { WIRE_RESIZE, STREAM_RELAY, SIZE(wire_exec_size) },
        { WIRE_KILL_TREE, STREAM_RELAY, SIZE(wire_exec_number) },
        { WIRE_CONNECT, STREAM_RELAY, SIZE(wire_connect) },
        { WIRE_BOX_READY, STREAM_GUEST, 0, 0 },
        { WIRE_BOX_FAILED, STREAM_GUEST, SIZE(wire_failed) },
        { WIRE_EXEC_STARTED, STREAM_GUEST, SIZE(wire_exec_number) },
        { WIRE_EXEC_FAILED, STREAM_GUEST, SIZE(wire_exec_failed) },
        { WIRE_EXEC_ENDED, STREAM_GUEST, SIZE(wire_exec_ended) },
        { WIRE_CONNECTED, STREAM_GUEST, SIZE(wire_connected) },
        { WIRE_IDLE, STREAM_GUEST, 0, 0 },
        { WIRE_EXECUTED, STREAM_GUEST, sizeof(struct wire_executed), WIRE_EXECUTED_MAX },
};

static uint32_t
number_read(const uint8_t *bytes, size_t len)
{
        uint32_t number = 0;

        for (size_t i = len; i-- > 0;)
                number = number << 8 | bytes[i];
        return number;
}

static void
number_write(uint32_t number, uint8_t *out, size_t len)
{
        for (size_t i = 0; i < len; i++)
                out[i] = (uint8_t)(number >> (8 * i));
}

void
stream_greeting_write(uint8_t out[STREAM_GREETING])
{
        memset(out, 0, STREAM_GREETING);
        memcpy(out, magic, sizeof magic);
        number_write(STREAM_VERSION, out + sizeof magic, 4);
}

int
stream_greeting_read(const uint8_t bytes[STREAM_GREETING])
{
        if (memcmp(bytes, magic, sizeof magic) != 0)
                return -EPROTO;
        return number_read(bytes + sizeof magic, 4) == STREAM_VERSION &&
                               number_read(bytes + sizeof magic + 4, 4) == 0
                       ? 0
                       : -EPROTONOSUPPORT;
}

void
stream_frame_write(const struct stream_frame *frame, uint8_t out[STREAM_HEAD])
{
        out[0] = (uint8_t)frame->type;
        out[1] = (uint8_t)frame->channel;
        number_write(frame->kind, out + 2, 2);
        number_write(frame->number, out + 4, 4);
        number_write(frame->len, out + 8, 4);
}

bool
stream_may_send(enum stream_side side, enum stream_channel channel)
{
        switch (channel) {
        case STREAM_STDIN:
                return side == STREAM_RELAY;
        case STREAM_STDOUT:
        case STREAM_STDERR:
                return side == STREAM_GUEST;
        case STREAM_TERMINAL:
        case STREAM_PORT:
                return true;
        default:
                return false;
        }
}

static int
message_check(const struct stream_frame *f, enum stream_side from)
{
        if (f->channel != STREAM_NO_CHANNEL || f->number != 0)
                return -EPROTO;
        for (size_t i = 0; i < sizeof messages / sizeof *messages; i++)
                if (messages[i].kind == f->kind && messages[i].from == from)
                        return f->len >= messages[i].least && f->len <= messages[i].most ? 0
                                                                                         : -EPROTO;
        return -EPROTO;
}

static int
bytes_check(const struct stream_frame *f, enum stream_side from)
{
        enum stream_side other = from == STREAM_RELAY ? STREAM_GUEST : STREAM_RELAY;
        bool is_answer = f->type == STREAM_STOP || f->type == STREAM_CREDIT;

        if (f->kind != 0 || !stream_may_send(is_answer ? other : from, f->channel))
                return -EPROTO;
        if (f->type == STREAM_DATA)
                return f->len > 0 && f->len <= STREAM_CHUNK ? 0 : -EPROTO;
        return f->len == (f->type == STREAM_CREDIT ? 4 : 0) ? 0 : -EPROTO;
}

int
stream_frame_read(const uint8_t bytes[STREAM_HEAD], enum stream_side from, struct stream_frame *ret)
{
        if (bytes[0] < STREAM_MESSAGE || bytes[0] >= STREAM_TYPE_MAX ||
            bytes[1] >= STREAM_CHANNEL_MAX)
                return -EPROTO;
        *ret = (struct stream_frame){ (enum stream_type)bytes[0], (enum stream_channel)bytes[1],
                                      (uint16_t)number_read(bytes + 2, 2),
                                      number_read(bytes + 4, 4), number_read(bytes + 8, 4) };
        return ret->type == STREAM_MESSAGE ? message_check(ret, from) : bytes_check(ret, from);
}

void
stream_credit_write(uint32_t credit, uint8_t out[4])
{
        number_write(credit, out, 4);
}

uint32_t
stream_credit_read(const uint8_t bytes[4])
{
        return number_read(bytes, 4);
}
