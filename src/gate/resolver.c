/*
 * gate/resolver.c - the addresses of a name, from the resolvers of the host.
 *
 * Room: gate (acting). Touches: net, clock, mem; /etc/resolv.conf and /etc/hosts once, at its
 * start.
 * Theory: an entry is a name with an open question or a kept answer. c-ares reports which sockets
 * it waits for; each has a watcher in a small list. Ids and ports of questions are random. c-ares
 * seeds its ids while /dev/urandom can still be opened, and closes its socket, with its port, when
 * no question is left. When a connection to a resolver fails, c-ares repeats all open questions to
 * that resolver, and some of them run out of tries. So there are two channels, one for datagrams,
 * one for TCP.
 */
#include "gate/resolver.h"

#include <ares.h>
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/scoped.h"
#include "egress/hosts.h"
#include "spec/egress.h"

enum {
        BUCKETS = 1024,
        ENTRIES_MAX = 4096,
        TCP_MAX = 64,
        KEEP_LEAST_S = 1,
        KEEP_MAX_MS = 60000,
        KEEP_FAILED_MS = 1000,
        KEEP_OLD_MS = 60000,
        SECOND_MS = 1000,
        /* ASK_FOR_NEW: the last part of the burst is only for names without an answer yet. */
        ASK_BURST = 256,
        ASK_PER_SECOND = 32,
        ASK_FOR_NEW = 128,
        SOCKETS_MAX = 64,
        TRY_MS = 2000,
        TRIES = 2,
        ADDRS_EACH = RESOLVER_ADDRESSES_MAX / 2,
        CLASS_IN = 1,
        TYPE_A = 1,
        TYPE_AAAA = 28,
        HOSTS_ARENA_MAX = 4 << 20
};

struct entry {
        struct resolver *resolver;
        struct entry *next; /* in its bucket */
        struct resolver_wait *waiting;
        struct resolver_user *user; /* the user that asked, while its question is open;
                                     * NULL: it left */
        size_t tcp_count;           /* of its questions, over TCP */
        bool is_tcp4, is_tcp6;
        uint64_t until_ms;
        int pending; /* unanswered questions */
        int ttl_s;
        size_t count4, count6;
        struct egress_address found4[ADDRS_EACH], found6[ADDRS_EACH];
        char host[EGRESS_HOST_MAX + 1];
};

/* One c-ares channel. */
struct asker {
        struct resolver *resolver;
        ares_channel channel;
        struct loop_timer timer;
};

struct socket_watch {
        struct loop_watch watch;
        struct asker *asker;
};

struct resolver {
        struct loop *loop;
        struct asker udp, tcp;
        struct socket_watch sockets[SOCKETS_MAX];
        struct entry *buckets[BUCKETS];
        size_t count, sweep;                   /* entries; the next bucket to sweep */
        struct fair_share_pool open, over_tcp; /* entries with open questions; questions over TCP */
        struct arena arena;                    /* for the content of /etc/hosts */
        struct hosts hosts;
};

/* -- c-ares and the loop ----------------------------------------------------------------------- */

static void expired(struct loop_timer *t);

static void
set_timer(struct asker *a)
{
        struct timeval most = { 60, 0 }, left, *next = ares_timeout(a->channel, &most, &left);
        uint64_t ms = (uint64_t)next->tv_sec * 1000 + (uint64_t)next->tv_usec / 1000 + 1;

        (void)loop_timer_set(a->resolver->loop, &a->timer, loop_now_ms() + ms, expired);
}

static void
expired(struct loop_timer *t)
{
        struct asker *a = (struct asker *)((char *)t - offsetof(struct asker, timer));

        ares_process_fd(a->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
        set_timer(a);
}

static void
socket_ready(struct loop_watch *w, uint32_t events)
{
        struct asker *a = ((struct socket_watch *)w)->asker;
        int fd = w->fd;

        ares_process_fd(a->channel,
                        (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0 ? fd : ARES_SOCKET_BAD,
                        (events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0 ? fd : ARES_SOCKET_BAD);
        set_timer(a);
}

/* c-ares reports what it waits for on its socket. Neither: it closes the socket next. */
static void
socket_state(void *data, ares_socket_t fd, int readable, int writable)
{
        struct asker *a = data;
        struct resolver *r = a->resolver;
        struct socket_watch *spare = NULL;
        uint32_t events = (readable ? EPOLLIN : 0) | (writable ? EPOLLOUT : 0);

        for (size_t i = 0; i < SOCKETS_MAX; i++) {
                struct socket_watch *s = &r->sockets[i];

                if (s->watch.fd != fd) {
                        if (s->watch.fd < 0)
                                spare = s;
                        continue;
                }
                if (events == 0)
                        loop_watch_remove(&s->watch);
                else
                        (void)loop_watch_change(&s->watch, events);
                return;
        }
        /* without a free place the question times out, and is repeated */
        if (events == 0 || !spare)
                return;
        spare->asker = a;
        (void)loop_watch_add(r->loop, &spare->watch, fd, events, socket_ready);
}

/* -- entries ----------------------------------------------------------------------------------- */

static struct entry **
bucket_of(struct resolver *r, const char *host)
{
        uint32_t hash = 2166136261u;

        for (; *host != '\0'; host++)
                hash = (hash ^ (unsigned char)*host) * 16777619u;
        return &r->buckets[hash % BUCKETS];
}

/* Frees expired entries of one bucket; with `all`, every entry that no request waits for. */
static void
sweep(struct resolver *r, struct entry **at, uint64_t now, bool all)
{
        while (*at) {
                struct entry *e = *at;

                if (e->pending > 0 || e->waiting || (!all && e->until_ms > now)) {
                        at = &e->next;
                        continue;
                }
                *at = e->next;
                free(e);
                r->count--;
        }
}

static struct entry *
entry_find(struct resolver *r, const char *host)
{
        for (struct entry *e = *bucket_of(r, host); e; e = e->next)
                if (strcmp(e->host, host) == 0)
                        return e;
        return NULL;
}

static struct entry *
entry_make(struct resolver *r, const char *host, struct resolver_user *u, uint64_t now)
{
        struct entry **bucket = bucket_of(r, host), *e;

        if (!fair_share_take(&r->open, &u->open, 1))
                return NULL;
        for (size_t i = 0; r->count >= ENTRIES_MAX && i < BUCKETS; i++)
                sweep(r, &r->buckets[r->sweep++ % BUCKETS], now, i >= BUCKETS / 2);
        e = r->count < ENTRIES_MAX ? calloc(1, sizeof *e) : NULL;
        if (!e) {
                fair_share_give(&r->open, &u->open, 1);
                return NULL;
        }
        e->user = u;
        e->resolver = r;
        e->ttl_s = KEEP_MAX_MS / 1000;
        memcpy(e->host, host, strnlen(host, EGRESS_HOST_MAX));
        e->next = *bucket;
        *bucket = e;
        r->count++;
        return e;
}

/* IPv6 and IPv4 alternate, IPv6 first. */
static size_t
interleave(const struct entry *e, struct egress_address ret[RESOLVER_ADDRESSES_MAX])
{
        size_t count = 0;

        for (size_t i = 0; i < ADDRS_EACH; i++) {
                if (i < e->count6)
                        ret[count++] = e->found6[i];
                if (i < e->count4)
                        ret[count++] = e->found4[i];
        }
        return count;
}

void
resolver_cancel(struct resolver_wait *w)
{
        if (!w->back)
                return;
        *w->back = w->next;
        if (w->next)
                w->next->back = w->back;
        w->back = NULL;
        w->next = NULL;
}

static void
tell_all(struct entry *e)
{
        struct egress_address all[RESOLVER_ADDRESSES_MAX];
        size_t count = interleave(e, all);
        int keep_ms = count > 0 ? e->ttl_s * 1000 : KEEP_FAILED_MS;

        e->until_ms = loop_now_ms() + (uint64_t)(keep_ms < KEEP_MAX_MS ? keep_ms : KEEP_MAX_MS);
        e->pending++; /* keeps the entry while callbacks ask for the same
                       * name again */
        while (e->waiting) {
                struct resolver_wait *w = e->waiting;

                resolver_cancel(w);
                w->done(w, all, count);
        }
        e->pending--;
}

static void
note_ttl(struct entry *e, int ttl_s)
{
        if (ttl_s < e->ttl_s)
                e->ttl_s = ttl_s < KEEP_LEAST_S ? KEEP_LEAST_S : ttl_s;
}

static void
answered(struct entry *e)
{
        if (--e->pending > 0)
                return;
        if (e->user) {
                fair_share_give(&e->resolver->open, &e->user->open, 1);
                fair_share_give(&e->resolver->over_tcp, &e->user->tcp, e->tcp_count);
        }
        e->user = NULL;
        e->tcp_count = 0;
        tell_all(e);
}

/*
 * True: the answer was truncated, and the question is repeated over TCP. This happens once per
 * type. Beyond the wall's share of TCP, the truncated answer is used.
 */
static bool
ask_again(struct entry *e, int status, const unsigned char *bytes, int len, bool *is_asked,
          int type, ares_callback answer)
{
        enum { FLAGS_AT = 2, TRUNCATED = 2 };
        struct resolver *r = e->resolver;

        if ((status != ARES_SUCCESS && status != ARES_ENODATA) || len <= FLAGS_AT ||
            (bytes[FLAGS_AT] & TRUNCATED) == 0 || *is_asked || !e->user ||
            !fair_share_take(&r->over_tcp, &e->user->tcp, 1))
                return false;
        *is_asked = true;
        e->tcp_count++;
        ares_query(r->tcp.channel, e->host, CLASS_IN, type, answer, e);
        set_timer(&r->tcp);
        return true;
}

static void
answered_a(void *data, int status, int timeouts, unsigned char *bytes, int len)
{
        struct ares_addrttl found[ADDRS_EACH];
        struct entry *e = data;
        int count = ADDRS_EACH;

        (void)timeouts;
        if (status == ARES_EDESTRUCTION ||
            ask_again(e, status, bytes, len, &e->is_tcp4, TYPE_A, answered_a))
                return;
        if (status == ARES_SUCCESS &&
            ares_parse_a_reply(bytes, len, NULL, found, &count) == ARES_SUCCESS)
                for (int i = 0; i < count && e->count4 < ADDRS_EACH; i++) {
                        struct egress_address *a = &e->found4[e->count4++];

                        memset(a->bytes, 0, 10);
                        memset(a->bytes + 10, 0xff, 2);
                        memcpy(a->bytes + 12, &found[i].ipaddr, 4);
                        note_ttl(e, found[i].ttl);
                }
        answered(e);
}

static void
answered_aaaa(void *data, int status, int timeouts, unsigned char *bytes, int len)
{
        struct ares_addr6ttl found[ADDRS_EACH];
        struct entry *e = data;
        int count = ADDRS_EACH;

        (void)timeouts;
        if (status == ARES_EDESTRUCTION ||
            ask_again(e, status, bytes, len, &e->is_tcp6, TYPE_AAAA, answered_aaaa))
                return;
        if (status == ARES_SUCCESS &&
            ares_parse_aaaa_reply(bytes, len, NULL, found, &count) == ARES_SUCCESS)
                for (int i = 0; i < count && e->count6 < ADDRS_EACH; i++) {
                        memcpy(e->found6[e->count6++].bytes, &found[i].ip6addr, 16);
                        note_ttl(e, found[i].ttl);
                }
        answered(e);
}

void
resolver_join(struct resolver *r, struct resolver_user *u)
{
        *u = (struct resolver_user){ .left = ASK_BURST, .at_ms = loop_now_ms() };
        fair_share_join(&r->open, &u->open);
        fair_share_join(&r->over_tcp, &u->tcp);
}

void
resolver_leave(struct resolver *r, struct resolver_user *u)
{
        for (size_t i = 0; i < BUCKETS && u->open.own + u->open.common > 0; i++)
                for (struct entry *e = r->buckets[i]; e; e = e->next)
                        if (e->user == u)
                                e->user = NULL;
        fair_share_leave(&r->open, &u->open);
        fair_share_leave(&r->over_tcp, &u->tcp);
}

/* True: the user may ask one more question, and keeps `to_be_left` afterwards. */
static bool
may_ask(struct resolver_user *u, uint64_t now, unsigned to_be_left)
{
        uint64_t more = (now - u->at_ms) * ASK_PER_SECOND / SECOND_MS;

        if (more > 0) {
                u->left = more > ASK_BURST - u->left ? ASK_BURST : u->left + (unsigned)more;
                u->at_ms = now;
        }
        if (u->left <= to_be_left)
                return false;
        u->left--;
        return true;
}

/*
 * An entry with a valid answer or an open question. NULL: a new question is needed, if *ret_may_ask
 * permits.
 */
static struct entry *
find_answer(struct resolver *r, const char *host, struct resolver_user *u, uint64_t now,
            bool *ret_may_ask)
{
        struct entry *e = entry_find(r, host);
        bool is_old = e && e->pending == 0 && !e->waiting && e->until_ms <= now;

        *ret_may_ask = false;
        if (e && !is_old)
                return e;
        *ret_may_ask = may_ask(u, now, e && e->count4 + e->count6 > 0 ? ASK_FOR_NEW : 0);
        if (e && !*ret_may_ask && now < e->until_ms + KEEP_OLD_MS && e->count4 + e->count6 > 0)
                return e;
        sweep(r, bucket_of(r, host), now, false);
        return NULL;
}

void
resolver_ask(struct resolver *r, struct resolver_wait *w, const char *host, struct resolver_user *u)
{
        uint64_t now = loop_now_ms();
        struct egress_address written[RESOLVER_ADDRESSES_MAX];
        size_t count = hosts_find(&r->hosts, host, written, RESOLVER_ADDRESSES_MAX);
        bool may_ask_it, is_new;
        struct entry *e;

        if (count > 0) {
                w->done(w, written, count);
                return;
        }
        e = find_answer(r, host, u, now, &may_ask_it);
        is_new = !e && may_ask_it;
        if (is_new)
                e = entry_make(r, host, u, now);
        if (!e) {
                w->done(w, NULL, 0);
                return;
        }
        if (!is_new && e->pending == 0) {
                struct egress_address all[RESOLVER_ADDRESSES_MAX];

                w->done(w, all, interleave(e, all));
                return;
        }
        w->next = e->waiting;
        w->back = &e->waiting;
        if (w->next)
                w->next->back = &w->next;
        e->waiting = w;
        if (!is_new)
                return;
        e->pending = 3; /* one extra, because an answer may arrive at once */
        ares_query(r->udp.channel, e->host, CLASS_IN, TYPE_A, answered_a, e);
        ares_query(r->udp.channel, e->host, CLASS_IN, TYPE_AAAA, answered_aaaa, e);
        set_timer(&r->udp);
        answered(e);
}

/* -- start and end ----------------------------------------------------------------------------- */

static int
asker_init(struct asker *a, struct resolver *r, int flags, struct error *e)
{
        struct ares_options options = { .flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES | flags,
                                        .timeout = TRY_MS,
                                        .tries = TRIES,
                                        .ndomains = 0,
                                        .lookups = (char[]){ "b" },
                                        .sock_state_cb = socket_state,
                                        .sock_state_cb_data = a };
        int mask = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_DOMAINS |
                   ARES_OPT_LOOKUPS | ARES_OPT_SOCK_STATE_CB,
            result;

        a->resolver = r;
        result = ares_init_options(&a->channel, &options, mask);
        return result == ARES_SUCCESS
                       ? 0
                       : fail(e, ERROR_INTERNAL, "the resolver cannot be prepared: %s",
                              ares_strerror(result));
}

/* Without the file, it contains no names. */
static int
read_hosts(struct resolver *r, struct error *e)
{
        scoped_fd int fd = open(HOSTS_PLACE, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        char *text = fd < 0 ? NULL : malloc(HOSTS_TEXT_MAX);
        size_t len = 0;
        ssize_t got;
        int result;

        arena_init(&r->arena, HOSTS_ARENA_MAX);
        if (fd < 0)
                return 0;
        while (text && len < HOSTS_TEXT_MAX &&
               (got = read(fd, text + len, HOSTS_TEXT_MAX - len)) > 0)
                len += (size_t)got;
        result = text ? hosts_read(&r->arena, text, len, &r->hosts) : -1;
        free(text);
        return result < 0 ? fail(e, ERROR_NO_MEMORY, "no memory for the names of " HOSTS_PLACE) : 0;
}

int
resolver_new(struct loop *loop, struct resolver **ret, struct error *e)
{
        struct resolver *r = calloc(1, sizeof *r);
        int result;

        if (!r)
                return fail(e, ERROR_NO_MEMORY, "no memory for the resolver");
        r->loop = loop;
        r->open = (struct fair_share_pool){ .max = ENTRIES_MAX, .common_percent = 50 };
        r->over_tcp = (struct fair_share_pool){ .max = TCP_MAX, .common_percent = 50 };
        for (size_t i = 0; i < SOCKETS_MAX; i++)
                r->sockets[i].watch.fd = -1;
        result = ares_library_init(ARES_LIB_INIT_ALL);
        if (result != ARES_SUCCESS) {
                free(r);
                return fail(e, ERROR_INTERNAL, "the resolver cannot be prepared: %s",
                            ares_strerror(result));
        }
        if (read_hosts(r, e) < 0 || asker_init(&r->udp, r, ARES_FLAG_IGNTC, e) < 0 ||
            asker_init(&r->tcp, r, ARES_FLAG_USEVC, e) < 0) {
                resolver_free(r);
                return -1;
        }
        *ret = r;
        return 0;
}

int
resolver_use(struct resolver *r, const char *servers, struct error *e)
{
        int result = ares_set_servers_ports_csv(r->udp.channel, servers);

        if (result == ARES_SUCCESS)
                result = ares_set_servers_ports_csv(r->tcp.channel, servers);
        return result == ARES_SUCCESS ? 0
                                      : fail(e, ERROR_INVALID_ARGUMENT, "resolvers \"%.200s\": %s",
                                             servers, ares_strerror(result));
}

void
resolver_free(struct resolver *r)
{
        if (!r)
                return;
        if (r->udp.channel)
                ares_destroy(r->udp.channel);
        if (r->tcp.channel)
                ares_destroy(r->tcp.channel);
        loop_timer_remove(&r->udp.timer);
        loop_timer_remove(&r->tcp.timer);
        for (size_t i = 0; i < BUCKETS; i++)
                while (r->buckets[i]) {
                        struct entry *e = r->buckets[i];

                        r->buckets[i] = e->next;
                        free(e);
                }
        arena_fini(&r->arena);
        free(r);
}
