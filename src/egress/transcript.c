/*
 * egress/transcript.c - reads what servers answered the connections of one command.
 *
 * Room: egress (deciding, pure). Touches: mem.
 * Theory: lines of words. Each word is read to its end, and a line that is not exactly as
 * described is an error, because only an unaltered transcript is replayed.
 */
#include "egress/transcript.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 8, LINE_ROOM = 1024 };

struct reading {
        struct arena *arena;
        const char *at, *end;
        struct transcript *t;
        struct transcript_difference **last_difference;
};

/* One line, cut into its words. */
struct line {
        char text[LINE_ROOM];
        char *words[WORDS_MAX];
        size_t count;
};

static bool
take_line(struct reading *r, struct line *ret)
{
        const char *end = memchr(r->at, '\n', (size_t)(r->end - r->at));
        size_t len = end ? (size_t)(end - r->at) : LINE_ROOM;
        char *at = ret->text;

        ret->count = 0;
        if (len >= LINE_ROOM || memchr(r->at, '\0', len))
                return false;
        memcpy(ret->text, r->at, len);
        ret->text[len] = '\0';
        r->at = end + 1;
        while (at && ret->count < WORDS_MAX) {
                char *space = strchr(at, ' ');

                if (space)
                        *space = '\0';
                ret->words[ret->count++] = at;
                at = space ? space + 1 : NULL;
        }
        return !at;
}

static bool
read_number(const char *word, uint64_t most, uint64_t *ret)
{
        size_t len = strlen(word);

        if (len == 0 || len > 19 || strspn(word, "0123456789") != len ||
            (len > 1 && word[0] == '0'))
                return false;
        *ret = strtoull(word, NULL, 10);
        return *ret <= most;
}

static bool
read_place(const char *host, const char *port, struct egress_host *ret_host, uint16_t *ret_port)
{
        uint64_t number;

        if (!egress_host_read(host, ret_host->text) || strcmp(host, ret_host->text) != 0 ||
            !read_number(port, UINT16_MAX, &number))
                return false;
        *ret_port = (uint16_t)number;
        return true;
}

/* The connection that a line is about. */
static struct transcript_connection *
find(const struct reading *r, const char *word)
{
        uint64_t number;

        return read_number(word, r->t->count, &number) && number > 0 ? r->t->connections[number - 1]
                                                                     : NULL;
}

static int
add_connection(struct reading *r, const struct line *l, enum denial failed)
{
        struct transcript_connection *c = arena_new(r->arena, struct transcript_connection);
        uint64_t number;

        if (!c)
                return -ENOMEM;
        if (r->t->count == TRANSCRIPT_CONNECTIONS_MAX ||
            !read_number(l->words[1], TRANSCRIPT_CONNECTIONS_MAX, &number) ||
            number != r->t->count + 1 || !read_place(l->words[2], l->words[3], &c->host, &c->port))
                return -EPROTO;
        c->failed = failed;
        r->t->connections[r->t->count++] = c;
        return 0;
}

static int
add_item(struct reading *r, const struct line *l, enum transcript_kind kind, uint64_t len,
         const char *bytes)
{
        struct transcript_connection *c = find(r, l->words[1]);
        struct transcript_item *item;

        if (!c || c->failed != DENIAL_NONE)
                return -EPROTO;
        item = arena_new(r->arena, struct transcript_item);
        if (!item)
                return -ENOMEM;
        *item = (struct transcript_item){ .kind = kind, .len = len, .bytes = bytes };
        if (c->last)
                c->last->next = item;
        else
                c->first = item;
        c->last = item;
        return 0;
}

/* -- lines ------------------------------------------------------------------------------------- */

static int
hear_open(struct reading *r, const struct line *l)
{
        return add_connection(r, l, DENIAL_NONE);
}

static int
hear_failed(struct reading *r, const struct line *l)
{
        for (int reason = DENIAL_NONE + 1; reason < DENIAL_MAX; reason++)
                if (strcmp(denial_name((enum denial)reason), l->words[4]) == 0)
                        return add_connection(r, l, (enum denial)reason);
        return -EPROTO;
}

static int
hear_sent(struct reading *r, const struct line *l)
{
        const char *letters = l->words[3], *kept;
        uint64_t len;

        if (!read_number(l->words[2], INT64_MAX, &len) || len == 0 ||
            strlen(letters) != TRANSCRIPT_DIGEST ||
            strspn(letters, "abcdefghijklmnop") != TRANSCRIPT_DIGEST)
                return -EPROTO;
        kept = arena_copy(r->arena, letters, TRANSCRIPT_DIGEST);
        return kept ? add_item(r, l, TRANSCRIPT_SENT, len, kept) : -ENOMEM;
}

static int
hear_got(struct reading *r, const struct line *l)
{
        const char *bytes = r->at;
        uint64_t len;

        if (!read_number(l->words[2], TRANSCRIPT_MAX, &len) || len == 0 ||
            len >= (uint64_t)(r->end - r->at) || bytes[len] != '\n')
                return -EPROTO;
        r->at += len + 1;
        return add_item(r, l, TRANSCRIPT_GOT, len, bytes);
}

static int
hear_over(struct reading *r, const struct line *l)
{
        if (strcmp(l->words[2], "client") == 0)
                return add_item(r, l, TRANSCRIPT_CLIENT_OVER, 0, NULL);
        return strcmp(l->words[2], "server") == 0 ? add_item(r, l, TRANSCRIPT_SERVER_OVER, 0, NULL)
                                                  : -EPROTO;
}

static int
hear_close(struct reading *r, const struct line *l)
{
        return find(r, l->words[1]) ? 0 : -EPROTO;
}

static int
hear_stop(struct reading *r, const struct line *l)
{
        const char *reason = arena_copy(r->arena, l->words[1], strlen(l->words[1]));
        uint64_t port;

        if (!reason)
                return -ENOMEM;
        /* a connection whose name is not known has the host "-" */
        if (strcmp(l->words[2], "-") == 0
                    ? !read_number(l->words[3], UINT16_MAX, &port)
                    : !read_place(l->words[2], l->words[3], &r->t->stop_host, &r->t->stop_port))
                return -EPROTO;
        if (!r->t->stop)
                r->t->stop = reason;
        return 0;
}

static int
hear_replays(struct reading *r, const struct line *l)
{
        uint64_t number, recorded;

        if (!read_number(l->words[1], INT64_MAX, &number) ||
            !read_number(l->words[2], TRANSCRIPT_CONNECTIONS_MAX, &recorded) || recorded == 0 ||
            r->t->replayed_count == TRANSCRIPT_CONNECTIONS_MAX)
                return -EPROTO;
        r->t->replayed[r->t->replayed_count++] = (size_t)recorded;
        return 0;
}

static int
hear_differs(struct reading *r, const struct line *l)
{
        struct transcript_difference *d = arena_new(r->arena, struct transcript_difference);
        uint64_t number, recorded, turn;

        if (!d)
                return -ENOMEM;
        d->what = arena_copy(r->arena, l->words[5], strlen(l->words[5]));
        if (!d->what)
                return -ENOMEM;
        if (!read_number(l->words[1], INT64_MAX, &number) ||
            !read_number(l->words[2], TRANSCRIPT_CONNECTIONS_MAX, &recorded) ||
            !read_number(l->words[3], INT64_MAX, &turn) ||
            !read_number(l->words[4], INT64_MAX, &d->byte) ||
            !read_place(l->words[6], l->words[7], &d->host, &d->port))
                return -EPROTO;
        d->recorded = (size_t)recorded;
        d->turn = (size_t)turn;
        *r->last_difference = d;
        r->last_difference = &d->next;
        return 0;
}

static int
hear_end(struct reading *r, const struct line *l)
{
        (void)l;
        r->t->is_complete = true;
        return r->at == r->end ? 0 : -EPROTO;
}

static const struct {
        const char *word;
        size_t count;
        int (*hear)(struct reading *r, const struct line *l);
} lines[] = {
        { "open", 4, hear_open }, { "sent", 4, hear_sent },       { "got", 3, hear_got },
        { "over", 3, hear_over }, { "close", 2, hear_close },     { "failed", 5, hear_failed },
        { "stop", 4, hear_stop }, { "replays", 3, hear_replays }, { "differs", 8, hear_differs },
        { "end", 1, hear_end },
};

static int
hear_line(struct reading *r)
{
        struct line l = { .count = 0 };

        if (!take_line(r, &l))
                return -EPROTO;
        for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
                if (strcmp(lines[i].word, l.words[0]) == 0)
                        return lines[i].count == l.count ? lines[i].hear(r, &l) : -EPROTO;
        return -EPROTO;
}

int
transcript_read(struct arena *arena, const char *bytes, size_t len, struct transcript *ret)
{
        static const char first[] = TRANSCRIPT_FIRST_LINE;
        struct reading r = { .arena = arena, .t = ret, .last_difference = &ret->differences };
        int result = 0;

        *ret = (struct transcript){
                .connections = arena_array(arena, struct transcript_connection *,
                                           TRANSCRIPT_CONNECTIONS_MAX),
                .replayed = arena_array(arena, size_t, TRANSCRIPT_CONNECTIONS_MAX)
        };
        if (!ret->connections || !ret->replayed)
                return -ENOMEM;
        if (len < sizeof first - 1 || memcmp(bytes, first, sizeof first - 1) != 0)
                return -EPROTO;
        r.at = bytes + sizeof first - 1;
        r.end = bytes + len;
        while (r.at < r.end && result == 0)
                result = hear_line(&r);
        return result;
}

void
transcript_digest(const unsigned char *sum, char ret[TRANSCRIPT_DIGEST])
{
        for (size_t i = 0; i < TRANSCRIPT_DIGEST; i++)
                ret[i] = (char)('a' + (i % 2 == 0 ? sum[i / 2] >> 4 : sum[i / 2] & 0xf));
}
