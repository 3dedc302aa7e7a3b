/*
 * daemon/ask.c - sends a request to the fetcher and waits for its answer.
 *
 * Room: daemon (joining). Touches: fd, mem.
 */
#include <errno.h>
#include <string.h>

#include "daemon/fetcher.h"
#include "wire/message.h"
#include "wire/secret.h"

enum { ASK_ROOM = 64 * 1024 };

static int
ask(int fd, const char *const *slugs, size_t count, struct error *e)
{
        struct wire_secret_ask head = { .serial = 1, .count = (uint32_t)count };
        unsigned char body[ASK_ROOM];
        size_t at = sizeof head;
        int sent;

        memcpy(body, &head, sizeof head);
        for (size_t i = 0; i < count; i++) {
                size_t len = strlen(slugs[i]) + 1;

                if (count > SECRET_ASKED_MAX || len > sizeof body - at)
                        return fail(e, ERROR_QUOTA_EXCEEDED, "a sandbox has at most %d secrets",
                                    SECRET_ASKED_MAX);
                memcpy(body + at, slugs[i], len);
                at += len;
        }
        sent = wire_send(fd, WIRE_SECRET_ASK, body, at, NULL, 0);
        return sent < 0 ? fail_sys(e, ERROR_UNAVAILABLE, -sent, "asking for secrets") : 0;
}

static const char *
next_text(const unsigned char *body, size_t *at, size_t len)
{
        const char *text = (const char *)body + *at, *end = memchr(text, '\0', len - *at);

        if (end)
                *at += (size_t)(end - text) + 1;
        return end ? text : NULL;
}

static int
cut_short(struct error *e)
{
        return fail(e, ERROR_PROTOCOL, "the answer about secrets is cut short");
}

static int
read_answer(const unsigned char *body, size_t len, const char *const *slugs, size_t count,
            struct secret_values *values, size_t *ret_failed, struct error *e)
{
        struct wire_secret_told head;
        size_t at = sizeof head;

        if (len < sizeof head)
                return cut_short(e);
        memcpy(&head, body, sizeof head);
        if (head.code != ERROR_NONE) {
                const char *reason = next_text(body, &at, len),
                           *message = reason ? next_text(body, &at, len) : NULL;
                const char *hint = message ? next_text(body, &at, len) : NULL;

                *ret_failed = head.index;
                if (!hint)
                        return cut_short(e);
                (void)fail_at(e, ERROR_AUTH_UNRESOLVABLE, "", reason, "%s", message);
                error_hint(e, "%s", hint);
                return -1;
        }
        for (size_t i = 0; i < count; i++) {
                const char *value = next_text(body, &at, len);

                *ret_failed = i;
                if (!value)
                        return cut_short(e);
                if (!secret_value_look(values, slugs[i]) &&
                    secret_values_add(values, slugs[i], value, strlen(value), "the fetcher", e) < 0)
                        return -1;
        }
        return 0;
}

int
fetcher_ask(int fd, const char *const *slugs, size_t count, struct secret_values *values,
            size_t *ret_failed, struct error *e)
{
        static _Alignas(8) unsigned char body[WIRE_BODY_MAX];
        struct wire_message m;
        int result;

        *ret_failed = 0;
        if (ask(fd, slugs, count, e) < 0)
                return -1;
        result = wire_receive(fd, 1, &m, body, sizeof body);
        if (result <= 0)
                return fail_sys(e, ERROR_UNAVAILABLE, result < 0 ? -result : EPIPE,
                                "hearing about secrets");
        wire_message_close(&m);
        result = m.kind == WIRE_SECRET_TOLD
                         ? read_answer(body, m.len, slugs, count, values, ret_failed, e)
                         : cut_short(e);
        explicit_bzero(body, m.len);
        return result;
}
