/*
 * proto/authority.c - "host" or "host:port", as Host, :authority, and the target of CONNECT write
 * it.
 *
 * Room: proto (deciding, pure). Touches: nothing.
 */
#include "proto/authority.h"

#include <string.h>

enum { PORT_DIGITS = 5, PORT_MAX = 65535 };

static bool
is_host_byte(char c)
{
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '-' || c == '_' || c == '.';
}

static bool
port_read(const char *text, size_t len, uint16_t *ret)
{
        unsigned port = 0;

        if (len == 0 || len > PORT_DIGITS || text[0] == '0')
                return false;
        for (size_t i = 0; i < len; i++) {
                if (text[i] < '0' || text[i] > '9')
                        return false;
                port = port * 10 + (unsigned)(text[i] - '0');
        }
        *ret = (uint16_t)port;
        return port <= PORT_MAX;
}

bool
authority_read(const char *text, size_t len, struct authority *ret)
{
        struct authority a = { .port = 0 };
        const char *colon = len > 0 ? memchr(text, ':', len) : NULL;
        size_t host = colon ? (size_t)(colon - text) : len;

        if (host == 0 || host > AUTHORITY_HOST_MAX)
                return false;
        for (size_t i = 0; i < host; i++)
                if (!is_host_byte(text[i]))
                        return false;
        memcpy(a.host, text, host);
        if (colon && !port_read(colon + 1, len - host - 1, &a.port))
                return false;
        *ret = a;
        return true;
}
