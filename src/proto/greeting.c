/*
 * proto/greeting.c - which protocol begins with these bytes.
 *
 * Room: proto (deciding, pure). Touches: nothing.
 */
#include "proto/greeting.h"

#include <string.h>

enum { METHOD_MAX = 20, TLS_HANDSHAKE = 0x16, TLS_MAJOR = 3 };

static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

_Static_assert(sizeof preface - 1 < GREETING_MAX, "a preface tells in time");

static enum greeting
preface_read(const uint8_t *bytes, size_t len)
{
        size_t most = len < sizeof preface - 1 ? len : sizeof preface - 1;

        if (memcmp(bytes, preface, most) != 0)
                return GREETING_UNKNOWN;
        return most == sizeof preface - 1 ? GREETING_HTTP2 : GREETING_MORE;
}

enum greeting
greeting_read(const uint8_t *bytes, size_t len)
{
        if (len == 0)
                return GREETING_MORE;
        if (bytes[0] == TLS_HANDSHAKE)
                return len < 2                 ? GREETING_MORE
                       : bytes[1] == TLS_MAJOR ? GREETING_TLS
                                               : GREETING_UNKNOWN;
        for (size_t i = 0; i < len && i <= METHOD_MAX; i++) {
                if (bytes[i] == ' ' && i == 3 && memcmp(bytes, preface, 4) == 0)
                        return preface_read(bytes, len);
                if (bytes[i] == ' ')
                        return i > 0 ? GREETING_HTTP1 : GREETING_UNKNOWN;
                if ((bytes[i] < 'A' || bytes[i] > 'Z') && (bytes[i] != '-' || i == 0))
                        return GREETING_UNKNOWN;
        }
        return len <= METHOD_MAX ? GREETING_MORE : GREETING_UNKNOWN;
}
