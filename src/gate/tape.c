/*
 * gate/tape.c - writes what servers answered to the transcript of a wall.
 *
 * Room: gate (acting). Touches: one file in memory, mem.
 * Theory: the order in which bytes were passed on is enough to replay a connection. The server's
 * bytes were passed on before the command's next bytes were, or after them, however both were cut
 * into packets. A turn is written once the other side's begins, so that a text is whole when the
 * rules of text/redact.def look for secrets in it.
 */
#include "gate/tape.h"

#include <errno.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"

enum { LINE_ROOM = 1024, HEAD = 4, SPARE = 2 * LINE_ROOM /* for the last lines */ };

struct taped {
        struct tape *tape;
        size_t number;
        struct egress_host host;
        uint16_t port;
        struct buffer got; /* the server's turn */
        crypto_hash_sha256_state sum;
        uint64_t sent; /* the command's turn */
        unsigned char head[HEAD];
        size_t head_len;
};

/* -- the file ---------------------------------------------------------------------------------- */

/* A file that is not written whole has no last line. */
static void
put(struct tape *t, const void *bytes, size_t len)
{
        const char *at = bytes;

        while (t->fd >= 0 && len > 0) {
                ssize_t wrote = write(t->fd, at, len);

                if (wrote < 0 && errno == EINTR)
                        continue;
                if (wrote <= 0) {
                        (void)close(t->fd);
                        t->fd = -1;
                        return;
                }
                at += wrote;
                len -= (size_t)wrote;
        }
}

/* `spare`: of the bytes that are kept for the last lines. */
static bool
has_room(const struct tape *t, size_t len, size_t spare)
{
        return len <= TRANSCRIPT_MAX - spare && t->used <= TRANSCRIPT_MAX - spare - len;
}

static bool
is_off(const struct tape *t)
{
        return t->fd < 0 || t->is_stopped;
}

/* Lines of names, numbers and known words: they fit. */
static void put_line(struct tape *t, size_t spare, const char *format, va_list args)
        __attribute__((format(printf, 3, 0)));
static void say_last(struct tape *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void
put_line(struct tape *t, size_t spare, const char *format, va_list args)
{
        char line[LINE_ROOM];
        int len = vsnprintf(line, sizeof line, format, args);

        if (t->fd < 0 || len <= 0 || (size_t)len >= sizeof line)
                return;
        if (!has_room(t, (size_t)len, spare)) {
                if (spare > 0)
                        tape_stop(t, "too_large", "", 0);
                return;
        }
        t->used += (size_t)len;
        put(t, line, (size_t)len);
}

void
tape_say(struct tape *t, const char *format, ...)
{
        va_list args;

        if (is_off(t))
                return;
        va_start(args, format);
        put_line(t, SPARE, format, args);
        va_end(args);
}

static void
say_last(struct tape *t, const char *format, ...)
{
        va_list args;

        va_start(args, format);
        put_line(t, 0, format, args);
        va_end(args);
}

void
tape_begin(struct tape *t, int take_fd, bool is_replay, bool is_again)
{
        *t = (struct tape){ .fd = take_fd, .is_replay = is_replay };
        if (!is_again)
                tape_say(t, "%s", TRANSCRIPT_FIRST_LINE);
        else
                tape_stop(t, "interrupted", "", 0);
}

void
tape_stop(struct tape *t, const char *reason, const char *host, uint16_t port)
{
        if (is_off(t))
                return;
        t->is_stopped = true;
        say_last(t, "stop %s %s %u\n", reason, host[0] != '\0' ? host : "-", port);
}

void
tape_end(struct tape *t)
{
        say_last(t, "end\n");
        if (t->fd >= 0)
                (void)close(t->fd);
        t->fd = -1;
}

/* False: more connections than a transcript may have. */
static bool
take_number(struct tape *t, const char *host, uint16_t port)
{
        if (t->count == TRANSCRIPT_CONNECTIONS_MAX)
                tape_stop(t, "too_many", host, port);
        else
                t->count++;
        return !t->is_stopped;
}

void
tape_failed(struct tape *t, const char *host, uint16_t port, enum denial reason)
{
        if (is_off(t) || t->is_replay)
                return;
        /* Only the name and its server decide these. What the gate itself was short of, or was
         * told later, is not known in a replay. */
        if (reason != DENIAL_UNRESOLVED && reason != DENIAL_ADDRESS && reason != DENIAL_UNREACHABLE)
                tape_stop(t, "failed", host, port);
        else if (take_number(t, host, port))
                tape_say(t, "failed %zu %s %u %s\n", t->count, host, port, denial_name(reason));
}

/* -- one connection ---------------------------------------------------------------------------- */

struct taped *
tape_open(struct tape *t, const char *host, uint16_t port)
{
        struct taped *c = is_off(t) || t->is_replay || !take_number(t, host, port)
                                  ? NULL
                                  : calloc(1, sizeof *c);

        if (!c) {
                if (!t->is_replay)
                        tape_stop(t, "failed", host, port);
                return NULL;
        }
        c->tape = t;
        c->number = t->count;
        c->port = port;
        (void)snprintf(c->host.text, sizeof c->host.text, "%s", host);
        tape_say(t, "open %zu %s %u\n", c->number, host, port);
        return c;
}

static void
end_sent(struct taped *c)
{
        unsigned char sum[crypto_hash_sha256_BYTES];
        char digest[TRANSCRIPT_DIGEST];

        if (c->sent == 0)
                return;
        (void)crypto_hash_sha256_final(&c->sum, sum);
        transcript_digest(sum, digest);
        tape_say(c->tape, "sent %zu %llu %.*s\n", c->number, (unsigned long long)c->sent,
                 (int)sizeof digest, digest);
        c->sent = 0;
        c->head_len = 0;
}

static void
end_got(struct taped *c)
{
        if (c->got.len == 0)
                return;
        tape_say(c->tape, "got %zu %zu\n", c->number, c->got.len);
        if (!is_off(c->tape)) {
                put(c->tape, c->got.bytes, c->got.len);
                put(c->tape, "\n", 1);
        }
        c->got.len = 0;
}

/* The first bytes of a turn: also after a server agreed to begin TLS in clear text. */
static void
look_at_head(struct taped *c, const unsigned char *bytes, size_t len)
{
        while (c->head_len < HEAD && len-- > 0)
                c->head[c->head_len++] = *bytes++;
        if (c->head_len >= 2 && c->head[0] == 0x16 && c->head[1] == 0x03)
                tape_stop(c->tape, "tls", c->host.text, c->port);
        else if (c->head_len == HEAD && memcmp(c->head, "SSH-", HEAD) == 0)
                tape_stop(c->tape, "ssh", c->host.text, c->port);
}

static void
add_got(struct taped *c, const void *bytes, size_t len)
{
        struct tape *t = c->tape;

        if (!has_room(t, len + 1, SPARE))
                tape_stop(t, "too_large", c->host.text, c->port);
        else if (buffer_add(&c->got, bytes, len, TRANSCRIPT_MAX) < 0)
                tape_stop(t, "failed", c->host.text, c->port);
        else
                t->used += len + (c->got.len == len); /* and the line end */
}

void
tape_passed(struct taped *c, bool is_out, const void *bytes, size_t len)
{
        if (!c || is_off(c->tape) || len == 0)
                return;
        if (is_out) {
                end_got(c);
                if (c->sent == 0)
                        (void)crypto_hash_sha256_init(&c->sum);
                (void)crypto_hash_sha256_update(&c->sum, bytes, len);
                c->sent += len;
                look_at_head(c, bytes, len);
        } else {
                end_sent(c);
                add_got(c, bytes, len);
        }
        if (is_off(c->tape))
                buffer_fini(&c->got);
}

void
tape_over(struct taped *c, bool is_out)
{
        if (!c)
                return;
        end_got(c);
        end_sent(c);
        tape_say(c->tape, "over %zu %s\n", c->number, is_out ? "client" : "server");
}

void
tape_close(struct taped *c)
{
        if (!c)
                return;
        end_got(c);
        end_sent(c);
        tape_say(c->tape, "close %zu\n", c->number);
        buffer_fini(&c->got);
        free(c);
}
