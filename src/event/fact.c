/*
 * event/fact.c - what a box reports of its commands, as events.
 *
 * Room: event (deciding, pure). Touches: nothing.
 */
#include "event/fact.h"

#include <string.h>

/* A count of 1 says nothing. */
static uint64_t
count_of(uint64_t count)
{
        return count > 1 ? count : 0;
}

static const char *
text_of(const char *text)
{
        return text[0] != '\0' ? text : NULL;
}

struct event
event_of_allowed_more(uint64_t count)
{
        return event_egress_allowed((struct event_egress_allowed){ .count = count });
}

struct event
event_of_allowed(const struct wire_box_allowed *a, const char *address)
{
        const struct wire_wall_allowed *d = &a->a;

        if (d->host[0] == '\0' && d->is_end == 0)
                return event_of_allowed_more(d->count);
        if (d->is_end != 0)
                return event_egress_ended((struct event_egress_ended){
                        .exec = a->exec,
                        .host = text_of(d->host),
                        .port = d->port,
                        .address = text_of(address),
                        .bytes_out = d->bytes_out,
                        .bytes_in = d->bytes_in,
                        .open_ms = d->duration_ms,
                        .count = d->host[0] == '\0' ? d->count : count_of(d->count) });
        return event_egress_allowed((struct event_egress_allowed){ .exec = a->exec,
                                                                   .host = d->host,
                                                                   .port = d->port,
                                                                   .address = text_of(address),
                                                                   .count = count_of(d->count) });
}

/* -- executions -------------------------------------------------------------------------------- */

enum { PLAIN, QUOTED, ESCAPED };

/* What the word needs so that a shell reads it as one. */
static int
form_of(const char *word, size_t len)
{
        static const char safe[] = "%+,-./:=@_";
        int form = len == 0 ? QUOTED : PLAIN;

        for (size_t i = 0; i < len; i++) {
                unsigned char c = (unsigned char)word[i];

                if (c < ' ' || c > '~' || c == '\'')
                        return ESCAPED;
                if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') &&
                    !strchr(safe, c))
                        form = QUOTED;
        }
        return form;
}

static char *
put_escaped(char *at, const char *word, size_t len)
{
        static const char digits[] = "0123456789abcdef";

        *at++ = '$';
        *at++ = '\'';
        for (size_t i = 0; i < len; i++) {
                unsigned char c = (unsigned char)word[i];

                if (c < ' ' || c > '~') {
                        *at++ = '\\';
                        *at++ = 'x';
                        *at++ = digits[c >> 4];
                        *at++ = digits[c & 15];
                        continue;
                }
                if (c == '\'' || c == '\\')
                        *at++ = '\\';
                *at++ = (char)c;
        }
        *at++ = '\'';
        return at;
}

/* At most 4 * len + 3 bytes, and a NUL that is not counted. */
static char *
put_word(char *at, const char *word, size_t len)
{
        int form = form_of(word, len);

        if (form == ESCAPED) {
                at = put_escaped(at, word, len);
        } else {
                if (form == QUOTED)
                        *at++ = '\'';
                memcpy(at, word, len);
                at += len;
                if (form == QUOTED)
                        *at++ = '\'';
        }
        *at = '\0';
        return at;
}

/* The reasons exclude each other, the most important first. */
static const char *
reason_of(uint32_t flags)
{
        return (flags & EXECUTED_UNREAD) != 0  ? "unread"
               : (flags & EXECUTED_CUT) != 0   ? "cut"
               : (flags & EXECUTED_BY_FD) != 0 ? "open_file"
                                               : NULL;
}

struct event
event_of_executed_more(uint64_t count)
{
        return event_process_executed((struct event_process_executed){ .count = count });
}

int
event_of_executed(const void *body, size_t len, struct event_executed_texts *ret_texts,
                  struct event *ret)
{
        struct wire_box_executed head;
        struct wire_executed x;
        const char *text = (const char *)body + sizeof head + sizeof x, *end;
        char *at = ret_texts->command;

        if (len < sizeof head + sizeof x)
                return -1;
        memcpy(&head, body, sizeof head);
        memcpy(&x, (const char *)body + sizeof head, sizeof x);
        if (x.path_len > WIRE_EXECUTED_PATH || x.words_len > WIRE_EXECUTED_WORDS ||
            len != sizeof head + sizeof x + x.path_len + x.words_len)
                return -1;
        ret_texts->missed = head.missed;
        ret_texts->path[0] = ret_texts->command[0] = '\0';
        if (x.path_len > 0)
                (void)put_word(ret_texts->path, text, strnlen(text, x.path_len));
        text += x.path_len;
        end = text + x.words_len;
        while (text < end) {
                size_t word = strnlen(text, (size_t)(end - text));

                if (at > ret_texts->command)
                        *at++ = ' ';
                at = put_word(at, text, word);
                text += word + 1;
        }
        *ret = event_process_executed(
                (struct event_process_executed){ .exec = head.exec,
                                                 .pid = (uint64_t)x.pid,
                                                 .path = text_of(ret_texts->path),
                                                 .command = text_of(ret_texts->command),
                                                 .argc = x.argc,
                                                 .reason = reason_of(x.flags) });
        return 0;
}
