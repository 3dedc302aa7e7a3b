/*
 * wire/stream.h - the frames between a relay on the host and the guest program in a sandbox that is
 * not one of our own namespaces: one byte stream, both ways (standard streams, a virtio-serial
 * port).
 *
 *     greeting (16 bytes): "carrel", 0, 0, version, 0
 *     frame: type, channel, kind (2), number (4), len (4), then len bytes
 *
 *     MESSAGE  kind: enum wire_kind; the body of that message, without descriptors
 *     DATA     bytes of a stream, at most as many as were granted, at most STREAM_CHUNK
 *     EOF      no more bytes of this stream follow
 *     STOP     the reader is gone: bytes of this stream are dropped
 *     CREDIT   4 bytes: how many bytes more may be sent. STREAM_WINDOW are granted at the start
 *
 * A stream is a channel and the number of its command, or of its connection request. Integers are
 * little-endian; the bodies of messages are in the byte order of the host, which the guest shares.
 * Both sides greet first; another version ends the connection. Each side treats the other's bytes
 * as foreign: whatever the tables here do not allow is -EPROTO. Pure, and needs nothing but libc.
 */
#ifndef CARREL_WIRE_STREAM_H
#define CARREL_WIRE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
        STREAM_VERSION = 1,
        STREAM_GREETING = 16,      /* bytes */
        STREAM_HEAD = 12,          /* bytes */
        STREAM_CHUNK = 16 * 1024,  /* bytes of one DATA frame: what another stream waits for */
        STREAM_WINDOW = 64 * 1024, /* bytes that one stream may have on the way */
};

enum stream_type {
        STREAM_MESSAGE = 1,
        STREAM_DATA,
        STREAM_EOF,
        STREAM_STOP,
        STREAM_CREDIT,
        STREAM_TYPE_MAX
};

enum stream_channel {
        STREAM_NO_CHANNEL, /* of a message */
        STREAM_STDIN,      /* to the guest */
        STREAM_STDOUT,     /* from the guest, as the next */
        STREAM_STDERR,
        STREAM_TERMINAL, /* both ways */
        STREAM_PORT,     /* both ways: a connection to a port inside */
        STREAM_CHANNEL_MAX
};

/* Who sends. */
enum stream_side { STREAM_RELAY, STREAM_GUEST };

struct stream_frame {
        enum stream_type type;
        enum stream_channel channel;
        uint16_t kind;
        uint32_t number, len;
};

void stream_greeting_write(uint8_t out[STREAM_GREETING]);

/* 0; -EPROTO: not a greeting; -EPROTONOSUPPORT: of another version. */
int stream_greeting_read(const uint8_t bytes[STREAM_GREETING]);

void stream_frame_write(const struct stream_frame *frame, uint8_t out[STREAM_HEAD]);

/*
 * Reads a head that `from` sent, and checks it: type, channel, direction, length, and of a message
 * its kind. 0 or -EPROTO.
 */
int stream_frame_read(const uint8_t bytes[STREAM_HEAD], enum stream_side from,
                      struct stream_frame *ret);

void stream_credit_write(uint32_t credit, uint8_t out[4]);
uint32_t stream_credit_read(const uint8_t bytes[4]);

/* May `side` send DATA on this channel? */
bool stream_may_send(enum stream_side side, enum stream_channel channel);

#endif
