/*
 * gate/stand_in.c - answers the connections of a replay from a transcript, instead of dialling.
 *
 * Room: gate (acting). Touches: one file in memory, pairs of sockets, mem.
 * Theory: a process with this has a filter that opens no socket (SEAL_STAND_IN), so a mistake here
 * reaches nothing. Bytes of the command are read up to the next recorded boundary only, so a
 * digest is compared before anything that the server said later is sent.
 */
#include "gate/stand_in.h"

#include <errno.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/scoped.h"
#include "egress/transcript.h"
#include "gate/tape.h"
#include "loop/loop.h"

enum { READ_ONCE = 16 * 1024 };

struct stand_in {
        struct loop *loop;
        struct tape *tape;
        struct arena arena;
        struct buffer bytes;
        struct transcript t;
        bool is_used[TRANSCRIPT_CONNECTIONS_MAX];
        size_t count; /* connections of the replay */
};

struct player {
        struct stand_in *s;
        struct loop_watch watch; /* this end of the pair */
        struct egress_host host;
        uint16_t port;
        size_t number, recorded, turn; /* recorded 0: not chosen yet */
        const struct transcript_item *item;
        crypto_hash_sha256_state sum;
        uint64_t in_turn, sent; /* bytes of the command in this turn; in all before it */
        size_t answered;        /* bytes of the answer that were sent */
        bool is_over, is_told;  /* the command sends no more; the end was judged */
        void (*broken)(void *data);
        void *data;
};

/* -- the transcript ---------------------------------------------------------------------------- */

static int
read_all(int fd, struct buffer *out)
{
        char bytes[READ_ONCE];
        ssize_t got;

        if (lseek(fd, 0, SEEK_SET) < 0)
                return -errno;
        do {
                got = read(fd, bytes, sizeof bytes);
                if (got > 0 && buffer_add(out, bytes, (size_t)got, TRANSCRIPT_MAX) < 0)
                        return -ENOMEM;
        } while (got > 0 || (got < 0 && errno == EINTR));
        return got < 0 ? -errno : 0;
}

struct stand_in *
stand_in_new(int take_fd, struct loop *loop, struct tape *tape)
{
        scoped_fd int fd = take_fd;
        struct stand_in *s = calloc(1, sizeof *s);

        if (!s)
                return NULL;
        s->loop = loop;
        s->tape = tape;
        arena_init(&s->arena, TRANSCRIPT_ARENA_MAX);
        if (read_all(fd, &s->bytes) == 0 && s->bytes.bytes &&
            transcript_read(&s->arena, s->bytes.bytes, s->bytes.len, &s->t) == 0 &&
            s->t.is_complete && !s->t.stop)
                return s;
        stand_in_free(s);
        return NULL;
}

void
stand_in_free(struct stand_in *s)
{
        if (!s)
                return;
        arena_fini(&s->arena);
        buffer_fini(&s->bytes);
        free(s);
}

/* The next one to this destination that was not replayed yet, behind number `after`; 0: none. */
static size_t
find_next(const struct stand_in *s, const char *host, uint16_t port, size_t after)
{
        for (size_t i = after; i < s->t.count; i++) {
                const struct transcript_connection *c = s->t.connections[i];

                if (!s->is_used[i] && c->port == port && strcmp(c->host.text, host) == 0)
                        return i + 1;
        }
        return 0;
}

static const struct transcript_connection *
recorded(const struct stand_in *s, size_t number)
{
        return s->t.connections[number - 1];
}

static void
use(struct stand_in *s, size_t number, size_t recorded_number)
{
        s->is_used[recorded_number - 1] = true;
        tape_say(s->tape, "replays %zu %zu\n", number, recorded_number);
}

/* -- differences ------------------------------------------------------------------------------- */

static void
tell(const struct player *p, const char *what)
{
        tape_say(p->s->tape, "differs %zu %zu %zu %llu %s %s %u\n", p->number, p->recorded, p->turn,
                 (unsigned long long)p->sent, what, p->host.text, p->port);
}

/* The player may be gone afterwards. */
static void
differ(struct player *p, const char *what)
{
        /* of those that it could have been, the first: so one difference is told, not two */
        size_t first = p->recorded == 0 ? find_next(p->s, p->host.text, p->port, 0) : 0;

        if (first != 0) {
                p->recorded = first;
                use(p->s, p->number, first);
        }
        p->is_told = true;
        tell(p, what);
        p->broken(p->data);
}

/* -- one connection ---------------------------------------------------------------------------- */

static void
wait_for(struct player *p, uint32_t events)
{
        (void)loop_watch_change(&p->watch, events);
}

/* The bytes that came; 0: the end; -1: none yet. */
static ssize_t
hear(struct player *p, uint64_t most)
{
        char bytes[READ_ONCE];
        ssize_t got =
                p->is_over ? 0
                           : recv(p->watch.fd, bytes,
                                  most < sizeof bytes ? (size_t)most : sizeof bytes, MSG_DONTWAIT);

        if (got > 0) {
                (void)crypto_hash_sha256_update(&p->sum, (const unsigned char *)bytes, (size_t)got);
                p->in_turn += (uint64_t)got;
        } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
                p->is_over = true;
                return 0;
        } else {
                wait_for(p, EPOLLIN);
        }
        return got;
}

static bool
is_digest(const struct player *p, const char *letters)
{
        unsigned char sum[crypto_hash_sha256_BYTES];
        char digest[TRANSCRIPT_DIGEST];
        crypto_hash_sha256_state copy = p->sum;

        (void)crypto_hash_sha256_final(&copy, sum);
        transcript_digest(sum, digest);
        return memcmp(digest, letters, sizeof digest) == 0;
}

static void
begin_turn(struct player *p)
{
        p->sent += p->in_turn;
        p->in_turn = 0;
        p->turn++;
        (void)crypto_hash_sha256_init(&p->sum);
}

static void
choose(struct player *p, size_t number)
{
        p->recorded = number;
        p->item = recorded(p->s, number)->first;
        use(p->s, p->number, number);
}

static bool
begins_with_command(const struct stand_in *s, size_t number)
{
        const struct transcript_connection *c = recorded(s, number);

        return c->failed == DENIAL_NONE && c->first && c->first->kind == TRANSCRIPT_SENT;
}

/*
 * Compares what was heard with each first turn of this length. Returns how many bytes the next
 * longer one has, 0: there is none.
 */
static uint64_t
compare_first(struct player *p)
{
        uint64_t next = 0;

        for (size_t n = find_next(p->s, p->host.text, p->port, 0); n != 0 && p->recorded == 0;
             n = find_next(p->s, p->host.text, p->port, n)) {
                const struct transcript_item *first = recorded(p->s, n)->first;

                if (!begins_with_command(p->s, n))
                        continue;
                if (first->len > p->in_turn && (next == 0 || first->len < next))
                        next = first->len;
                if (first->len == p->in_turn && is_digest(p, first->bytes)) {
                        choose(p, n);
                        p->item = first->next;
                        begin_turn(p);
                }
        }
        return next;
}

/* False: nothing more to do for now, and the player may be gone. */
static bool
find_recorded(struct player *p)
{
        uint64_t next = compare_first(p);
        ssize_t got;

        if (p->recorded != 0)
                return true;
        if (next == 0) {
                differ(p, "bytes");
                return false;
        }
        got = hear(p, next - p->in_turn);
        if (got == 0)
                differ(p, "ended");
        return got > 0;
}

/* The same for each kind of turn. */
static bool
play_sent(struct player *p)
{
        ssize_t got = hear(p, p->item->len - p->in_turn);

        if (got == 0)
                differ(p, "ended");
        if (got <= 0)
                return false;
        if (p->in_turn < p->item->len)
                return true;
        if (!is_digest(p, p->item->bytes)) {
                differ(p, "bytes");
                return false;
        }
        p->item = p->item->next;
        begin_turn(p);
        return true;
}

static bool
play_got(struct player *p)
{
        ssize_t sent = send(p->watch.fd, p->item->bytes + p->answered,
                            (size_t)p->item->len - p->answered, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (sent < 0 && (errno == EAGAIN || errno == EINTR)) {
                wait_for(p, EPOLLOUT);
                return false;
        }
        if (sent < 0) { /* the command reads no more: its output decides whether that is equal */
                wait_for(p, 0);
                return false;
        }
        p->answered += (size_t)sent;
        if (p->answered < p->item->len)
                return true;
        p->answered = 0;
        p->item = p->item->next;
        return true;
}

/* Hears whether the command says no more. */
static bool
play_end(struct player *p)
{
        ssize_t got = hear(p, 1);

        if (got > 0)
                differ(p, "more");
        else if (got == 0)
                wait_for(p, 0);
        return got == 0;
}

static bool
play_one(struct player *p)
{
        if (p->recorded == 0)
                return find_recorded(p);
        if (!p->item) {
                (void)play_end(p);
                return false;
        }
        switch (p->item->kind) {
        case TRANSCRIPT_SENT:
                return play_sent(p);
        case TRANSCRIPT_GOT:
                return play_got(p);
        case TRANSCRIPT_CLIENT_OVER:
                /* it ended first then, so it does not wait for the server's end */
                if (!play_end(p))
                        return false;
                break;
        case TRANSCRIPT_SERVER_OVER:
                (void)shutdown(p->watch.fd, SHUT_WR);
                break;
        }
        p->item = p->item->next;
        return true;
}

static void
play(struct loop_watch *w, uint32_t events)
{
        struct player *p = (struct player *)((char *)w - offsetof(struct player, watch));

        (void)events;
        while (!p->is_told && play_one(p))
                continue;
}

/* -- its begin and its end --------------------------------------------------------------------- */

enum denial
stand_in_look(struct stand_in *s, const char *host, uint16_t port)
{
        size_t next = find_next(s, host, port, 0);
        enum denial failed = next == 0 ? DENIAL_NONE : recorded(s, next)->failed;

        if (failed != DENIAL_UNRESOLVED && failed != DENIAL_ADDRESS)
                return DENIAL_NONE;
        use(s, ++s->count, next);
        return failed;
}

static struct player *
player_new(struct stand_in *s, const char *host, uint16_t port)
{
        struct player *p = calloc(1, sizeof *p);

        if (!p)
                return NULL;
        p->s = s;
        p->watch.fd = -1;
        (void)memccpy(p->host.text, host, '\0', sizeof p->host.text - 1);
        p->port = port;
        p->number = s->count;
        begin_turn(p);
        return p;
}

/* Gives the other end of the pair. */
static int
connect_pair(struct player *p, struct loop *loop)
{
        int pair[2];

        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) < 0)
                return -errno;
        if (loop_watch_add(loop, &p->watch, pair[0], EPOLLIN, play) < 0) {
                (void)close(pair[0]);
                (void)close(pair[1]);
                return -ENOMEM;
        }
        return pair[1];
}

enum denial
stand_in_dial(struct stand_in *s, const char *host, uint16_t port, void (*broken)(void *data),
              void *data, int *ret_fd, struct player **ret_player)
{
        size_t next = find_next(s, host, port, 0);
        struct player *p;
        int fd;

        s->count++;
        if (next != 0 && recorded(s, next)->failed != DENIAL_NONE) {
                use(s, s->count, next);
                return recorded(s, next)->failed;
        }
        p = player_new(s, host, port);
        fd = p ? connect_pair(p, s->loop) : -1;
        if (fd < 0) {
                tape_stop(s->tape, "failed", host, port);
                player_end(p);
                return DENIAL_FAILED;
        }
        if (next == 0) {
                tell(p, "unexpected");
                (void)close(fd);
                p->is_told = true;
                player_end(p);
                return DENIAL_UNREACHABLE;
        }
        p->broken = broken;
        p->data = data;
        if (!begins_with_command(s, next))
                choose(p, next);
        if (p->item) /* the server speaks first */
                wait_for(p, EPOLLIN | EPOLLOUT);
        *ret_fd = fd;
        *ret_player = p;
        return DENIAL_NONE;
}

static void
ignore(void *data)
{
        (void)data;
}

void
player_judge(struct player *p)
{
        if (!p || p->is_told)
                return;
        p->broken = ignore;
        /* what it sent last may wait in the pair */
        play(&p->watch, 0);
        if (p->is_told)
                return;
        p->is_told = true;
        for (const struct transcript_item *i = p->item; i; i = i->next)
                if (i->kind == TRANSCRIPT_SENT) {
                        tell(p, "ended");
                        return;
                }
        if (p->recorded == 0)
                differ(p, "ended");
}

void
player_end(struct player *p)
{
        int fd;

        if (!p)
                return;
        fd = p->watch.fd;
        player_judge(p);
        if (fd >= 0) {
                loop_watch_remove(&p->watch);
                (void)close(fd);
        }
        free(p);
}
