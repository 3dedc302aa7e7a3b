/*
 * recorder/message.c - what a recorder and its client say to each other.
 *
 * Room: recorder (joining). Touches: nothing.
 */
#include "recorder/message.h"

#include <stdio.h>
#include <string.h>

enum { TEXTS = 7, ANSWER_TEXTS = 3 };

/* Splits the body into `count` texts that end at its end. */
static bool
split(const unsigned char *body, size_t len, const char **texts, size_t count)
{
        size_t at = 0;

        for (size_t i = 0; i < count; i++) {
                const unsigned char *end = memchr(body + at, '\0', len - at);

                if (!end)
                        return false;
                texts[i] = (const char *)body + at;
                at = (size_t)(end - body) + 1;
        }
        return at == len;
}

size_t
recorder_event_write(const struct audit_event *event, unsigned char *body, size_t room)
{
        const char *texts[TEXTS] = { event->action,
                                     event->actor_id,
                                     event->actor_role,
                                     event->subject_kind,
                                     event->subject_ref,
                                     event->input ? event->input : "",
                                     event->output ? event->output : "" };
        size_t at = 0;

        for (size_t i = 0; i < TEXTS; i++) {
                size_t len = strlen(texts[i]) + 1;

                if (len > room - at)
                        return 0;
                memcpy(body + at, texts[i], len);
                at += len;
        }
        return at;
}

bool
recorder_event_read(const unsigned char *body, size_t len, struct audit_event *ret)
{
        const char *t[TEXTS];

        if (!split(body, len, t, TEXTS))
                return false;
        *ret = (struct audit_event){ t[0],
                                     t[1],
                                     t[2],
                                     t[3],
                                     t[4],
                                     t[5][0] != '\0' ? t[5] : NULL,
                                     t[6][0] != '\0' ? t[6] : NULL };
        return true;
}

size_t
recorder_answer_write(const struct recorder_answer *head, const struct error *e,
                      unsigned char *body)
{
        const char *texts[ANSWER_TEXTS] = { e->reason, e->message, e->hint };
        size_t at = sizeof *head;

        memcpy(body, head, sizeof *head);
        for (size_t i = 0; i < ANSWER_TEXTS; i++) {
                size_t len = strlen(texts[i]) + 1;

                memcpy(body + at, texts[i], len);
                at += len;
        }
        return at;
}

int
recorder_answer_read(const unsigned char *body, size_t len, char ret_ref[RECORDER_REF_MAX],
                     struct error *e)
{
        struct recorder_answer head;
        const char *texts[ANSWER_TEXTS];

        if (len < sizeof head || !split(body + sizeof head, len - sizeof head, texts, ANSWER_TEXTS))
                return fail(e, ERROR_AUDIT_UNAVAILABLE,
                            "the process that writes the audit log gave no answer");
        memcpy(&head, body, sizeof head);
        if (head.code != 0) {
                (void)fail_at(e, head.code < ERROR_MAX ? head.code : ERROR_INTERNAL, NULL, texts[0],
                              "%s", texts[1]);
                if (texts[2][0] != '\0')
                        error_hint(e, "%s", texts[2]);
                return -1;
        }
        head.chain[sizeof head.chain - 1] = '\0';
        (void)snprintf(ret_ref, RECORDER_REF_MAX, "audit://%s/%llu", head.chain,
                       (unsigned long long)head.seq);
        return 0;
}
