/*
 * bridge/process/urls.c - addresses of ports: getUrl of the provider's program.
 *
 * Room: bridge/process (program). Touches: mem, fd (the box).
 * Theory: a question of the box has one answer. What the program gives as an address is only text
 * here: the keeper judges it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bridge/process/relay.h"

static void
answer(struct relay *r, struct url *u, int sys, const char *text, size_t len)
{
        const struct wire_connected head = { u->request, sys };
        struct url **at = &r->urls;
        char message[sizeof head + WIRE_URL_MAX];

        memcpy(message, &head, sizeof head);
        if (len > 0)
                memcpy(message + sizeof head, text, len);
        while (*at != u)
                at = &(*at)->next;
        *at = u->next;
        free(u);
        relay_say_box(r, WIRE_CONNECTED, message, sizeof head + len);
}

static void
send_one(struct relay *r, struct url *u)
{
        struct json_writer w;

        if ((r->provider.session.abilities & 1u << BRIDGE_CAN_URL) == 0) {
                answer(r, u, EOPNOTSUPP, NULL, 0);
                return;
        }
        u->id = bridge_session_open(&r->provider.session, 0);
        if (u->id == 0) {
                answer(r, u, EAGAIN, NULL, 0);
                return;
        }
        json_init(&w, false);
        bridge_begin(&w, "getUrl", u->id);
        json_member_int(&w, "port", u->port);
        bridge_end(&w);
        provider_say(&r->provider, &w);
        json_fini(&w);
}

void
url_send_all(struct relay *r)
{
        struct url *next;

        for (struct url *u = r->urls; u && r->state == RELAY_READY; u = next) {
                next = u->next;
                if (u->id == 0)
                        send_one(r, u);
        }
}

void
url_fail_all(struct relay *r, int sys)
{
        while (r->urls)
                answer(r, r->urls, sys, NULL, 0);
}

void
url_new(struct relay *r, const struct wire_connect *ask)
{
        struct url *u = calloc(1, sizeof *u);

        if (!u)
                _exit(1); /* the box ends, and reports that */
        *u = (struct url){ .next = r->urls, .request = ask->request, .port = ask->port };
        r->urls = u;
        if (r->state == RELAY_IDLE || r->state == RELAY_ENDING)
                answer(r, u, ENOTCONN, NULL, 0);
        else
                url_send_all(r);
}

int
url_heard(struct relay *r, const struct bridge_message *m)
{
        const struct node *text = m->kind == BRIDGE_REPLY ? node_find(m->result, "url") : NULL;
        struct url *u = r->urls;

        while (u && (u->id == 0 || u->id != m->id))
                u = u->next;
        if (!u)
                return 0;
        if (m->kind == BRIDGE_ERROR)
                answer(r, u,
                       m->code == BRIDGE_CODE_NOT_FOUND     ? ENOENT
                       : m->code == BRIDGE_CODE_UNSUPPORTED ? EOPNOTSUPP
                                                            : EIO,
                       NULL, 0);
        else if (!text || text->kind != NODE_STRING || text->len == 0 || text->len > WIRE_URL_MAX)
                answer(r, u, EPROTO, NULL, 0);
        else
                answer(r, u, 0, text->text, text->len);
        return 1;
}
