/*
 * bench/wall.c - the two ends of a connection, to measure what stands between them.
 *
 * Room: none (a measuring tool). Touches: sockets.
 * Theory: the same server and client, whichever program relays the bytes. Nothing is allocated
 * during a measurement: connections are in a table by their descriptor. A client of `latency` and
 * `rate` sends a TLS greeting (so that who looks at greetings has one to look at), the server
 * answers 64 bytes and ends first, so that no port of the client's or of a proxy's stays taken.
 * `bulk` asks for bytes without end.
 *
 *     wall serve ADDRESS PORT...
 *     wall latency ADDRESS PORT COUNT [TARGET]       one after the other, each to its answer: the
 * lowest tenth and the median, in microseconds wall rate ADDRESS PORT SECONDS [TARGET]        16 at
 * once: connections a second wall bulk ADDRESS PORT SECONDS COUNT [TARGET]  on COUNT connections:
 * bytes a second
 *
 * With TARGET (HOST:PORT) each connection begins with `CONNECT TARGET`.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
        FDS_MAX = 65536,
        AT_ONCE = 16,
        ANSWER = 64,
        CHUNK = 256 * 1024,
        BATCH = 64,
        LATENCIES_MAX = 100000
};

/* A greeting of TLS 1.2 as a client sends one, for origin.test; its first byte is 22. Only its
 * server name and its lengths say anything. */
static const unsigned char greeting[] = {
        0x16, 0x03, 0x01, 0x00, 0x47, 0x01, 0x00, 0x00, 0x43, 0x03, 0x03, 1,    2,
        3,    4,    5,    6,    7,    8,    9,    10,   11,   12,   13,   14,   15,
        16,   17,   18,   19,   20,   21,   22,   23,   24,   25,   26,   27,   28,
        29,   30,   31,   32,   0x00, 0x00, 0x02, 0x13, 0x01, 0x01, 0x00, 0x00, 0x18,
        0x00, 0x00, 0x00, 0x10, 0x00, 0x0e, 0x00, 0x00, 0x0b, 'o',  'r',  'i',  'g',
        'i',  'n',  '.',  't',  'e',  's',  't',  0x00, 0x17, 0x00, 0x00,
};
static const char want_bulk[] = "bulk";

enum phase { CLOSED, LISTENS, ASKED, ANSWERED, POURS, CONNECTING, PROXY, WAITS, DRINKS };

static unsigned char phases[FDS_MAX];
static unsigned short got_of[FDS_MAX];
static unsigned char chunk[CHUNK];
static double latencies[LATENCIES_MAX];
static struct epoll_event events[BATCH];
static struct sockaddr_in where;
static char ask_proxy[256];
static int poller;

static _Noreturn void
broken(const char *what)
{
        (void)fprintf(stderr, "wall: %s: %s\n", what, strerror(errno));
        exit(1);
}

static uint64_t
now_ns(void)
{
        struct timespec t;

        (void)clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void
watch(int how, int fd, uint32_t what)
{
        struct epoll_event e = { .events = what, .data.fd = fd };

        if (epoll_ctl(poller, how, fd, &e) < 0)
                broken("epoll_ctl");
}

static void
drop(int fd)
{
        phases[fd] = CLOSED;
        (void)close(fd);
}

static void
read_address(const char *address, const char *port)
{
        where = (struct sockaddr_in){ .sin_family = AF_INET,
                                      .sin_port = htons((uint16_t)strtoul(port, NULL, 10)) };
        if (inet_pton(AF_INET, address, &where.sin_addr) != 1)
                broken(address);
}

/* -- the server
 * ---------------------------------------------------------------------------------------------------
 */

static void
begin_listening(const char *address, const char *port)
{
        int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

        read_address(address, port);
        if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) < 0 ||
            bind(fd, (const struct sockaddr *)&where, sizeof where) < 0 || listen(fd, 4096) < 0)
                broken("listening");
        phases[fd] = LISTENS;
        watch(EPOLL_CTL_ADD, fd, EPOLLIN);
}

static void
take_clients(int listener)
{
        int one = 1;

        for (;;) {
                int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

                if (fd < 0 || fd >= FDS_MAX) {
                        if (fd >= 0)
                                (void)close(fd);
                        return;
                }
                (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
                phases[fd] = ASKED;
                watch(EPOLL_CTL_ADD, fd, EPOLLIN);
        }
}

/* What is asked is heard: a greeting is answered and ended, `bulk` is given bytes. */
static void
hear(int fd)
{
        ssize_t got = recv(fd, chunk, sizeof greeting, MSG_DONTWAIT);

        if (got <= 0) {
                if (got == 0 || (errno != EAGAIN && errno != EINTR))
                        drop(fd);
        } else if (phases[fd] == ASKED && chunk[0] == (unsigned char)want_bulk[0]) {
                phases[fd] = POURS;
                watch(EPOLL_CTL_MOD, fd, EPOLLOUT);
        } else if (phases[fd] == ASKED) {
                phases[fd] = ANSWERED;
                if (send(fd, chunk + CHUNK / 2, ANSWER, MSG_NOSIGNAL) != ANSWER ||
                    shutdown(fd, SHUT_WR) < 0)
                        drop(fd);
        }
}

static void
pour(int fd)
{
        if (send(fd, chunk, sizeof chunk, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 && errno != EAGAIN &&
            errno != EINTR)
                drop(fd);
}

static _Noreturn void
serve(void)
{
        for (;;) {
                int count = epoll_wait(poller, events, BATCH, -1);

                for (int i = 0; i < count; i++) {
                        int fd = events[i].data.fd;

                        if (phases[fd] == LISTENS)
                                take_clients(fd);
                        else if (phases[fd] == POURS)
                                pour(fd);
                        else if (phases[fd] != CLOSED)
                                hear(fd);
                }
        }
}

/* -- the client
 * ------------------------------------------------------------------------------------------------------
 */

static int
client_begin(void)
{
        int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

        if (fd < 0 || fd >= FDS_MAX)
                broken("a socket");
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        if (connect(fd, (const struct sockaddr *)&where, sizeof where) < 0 && errno != EINPROGRESS)
                broken("connecting");
        phases[fd] = CONNECTING;
        got_of[fd] = 0;
        watch(EPOLL_CTL_ADD, fd, EPOLLOUT);
        return fd;
}

static void
say(int fd, const void *bytes, size_t len)
{
        if (send(fd, bytes, len, MSG_NOSIGNAL) != (ssize_t)len)
                broken("sending");
}

static void
ask(int fd, bool is_bulk)
{
        phases[fd] = is_bulk ? DRINKS : WAITS;
        say(fd, is_bulk ? (const void *)want_bulk : (const void *)greeting,
            is_bulk ? sizeof want_bulk : sizeof greeting);
}

static void
connected(int fd, bool is_bulk)
{
        watch(EPOLL_CTL_MOD, fd, EPOLLIN);
        if (ask_proxy[0] == '\0') {
                ask(fd, is_bulk);
                return;
        }
        phases[fd] = PROXY;
        say(fd, ask_proxy, strlen(ask_proxy));
}

/* The answer of a proxy: a head that ends with an empty line. */
static void
hear_proxy(int fd, bool is_bulk)
{
        ssize_t got = recv(fd, chunk, CHUNK - 1, MSG_PEEK | MSG_DONTWAIT);
        const char *end;

        if (got <= 0)
                broken("a proxy");
        chunk[got] = '\0';
        end = strstr((const char *)chunk, "\r\n\r\n");
        if (!end)
                return;
        if (strncmp((const char *)chunk + 8, " 200", 4) != 0)
                broken("a proxy refused");
        (void)recv(fd, chunk, (size_t)(end + 4 - (const char *)chunk), MSG_DONTWAIT);
        ask(fd, is_bulk);
}

/* True: the answer is whole and the server's end came after it. */
static bool
answer_is_over(int fd)
{
        for (;;) {
                ssize_t got = recv(fd, chunk, CHUNK, MSG_DONTWAIT);

                if (got < 0 && (errno == EAGAIN || errno == EINTR))
                        return false;
                if (got < 0 || got_of[fd] + got > ANSWER || (got == 0 && got_of[fd] != ANSWER)) {
                        errno = got < 0 ? errno : EBADMSG;
                        broken("an answer");
                }
                if (got == 0)
                        return true;
                got_of[fd] = (unsigned short)(got_of[fd] + got);
        }
}

/* What an event of a client means; true: its answer is over, and it is closed. */
static bool
client_event(int fd, bool is_bulk)
{
        if (phases[fd] == CONNECTING)
                connected(fd, is_bulk);
        else if (phases[fd] == PROXY)
                hear_proxy(fd, is_bulk);
        else if (phases[fd] == WAITS && answer_is_over(fd)) {
                drop(fd);
                return true;
        }
        return false;
}

static int
compare(const void *a, const void *b)
{
        double x = *(const double *)a, y = *(const double *)b;

        return (x > y) - (x < y);
}

static void
latency(int count)
{
        if (count < 1 || count > LATENCIES_MAX)
                broken("COUNT");
        for (int i = 0; i < count; i++) {
                uint64_t start = now_ns();
                bool is_over = false;

                (void)client_begin();
                while (!is_over)
                        is_over = epoll_wait(poller, events, 1, -1) == 1 &&
                                  client_event(events[0].data.fd, false);
                latencies[i] = (double)(now_ns() - start) / 1e3;
        }
        qsort(latencies, (size_t)count, sizeof *latencies, compare);
        (void)printf("%.1f %.1f\n", latencies[count / 10], latencies[count / 2]);
}

static void
rate(double seconds)
{
        uint64_t start = now_ns(), until = start + (uint64_t)(seconds * 1e9), done = 0, now = start;

        for (int i = 0; i < AT_ONCE; i++)
                (void)client_begin();
        while (now < until) {
                int count = epoll_wait(poller, events, BATCH, -1);

                for (int i = 0; i < count; i++)
                        if (client_event(events[i].data.fd, false)) {
                                done++;
                                (void)client_begin();
                        }
                now = now_ns();
        }
        (void)printf("%.0f\n", (double)done / ((double)(now - start) / 1e9));
}

/* The first fifth of the time is for windows and buffers to grow. */
static void
bulk(double seconds, int connections)
{
        uint64_t start = now_ns(), from = start + (uint64_t)(seconds * 2e8),
                 until = start + (uint64_t)(seconds * 1e9), now = start, total = 0;

        for (int i = 0; i < connections; i++)
                (void)client_begin();
        while (now < until) {
                int count = epoll_wait(poller, events, BATCH, -1);

                for (int i = 0; i < count; i++) {
                        int fd = events[i].data.fd;
                        ssize_t got;

                        if (phases[fd] != DRINKS) {
                                (void)client_event(fd, true);
                                continue;
                        }
                        got = recv(fd, chunk, sizeof chunk, MSG_DONTWAIT);
                        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
                                broken("the bytes ended");
                        total += got > 0 ? (uint64_t)got : 0;
                }
                now = now_ns();
                if (from != 0 && now >= from)
                        start = now, total = 0, from = 0;
        }
        (void)printf("%.0f\n", (double)total / ((double)(now - start) / 1e9));
}

int
main(int argc, char **argv)
{
        struct rlimit files;
        const char *mode = argc > 3 ? argv[1] : "", *target = NULL;

        if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
                files.rlim_cur = files.rlim_max;
                (void)setrlimit(RLIMIT_NOFILE, &files);
        }
        poller = epoll_create1(EPOLL_CLOEXEC);
        if (poller < 0)
                broken("epoll");
        if (strcmp(mode, "serve") == 0) {
                for (int i = 3; i < argc; i++)
                        begin_listening(argv[2], argv[i]);
                serve();
        }
        if (argc > 4 && strcmp(mode, "bulk") != 0)
                target = argc > 5 ? argv[5] : NULL;
        else if (argc > 5)
                target = argc > 6 ? argv[6] : NULL;
        else
                mode = "";
        if (mode[0] != '\0')
                read_address(argv[2], argv[3]);
        if (target)
                (void)snprintf(ask_proxy, sizeof ask_proxy,
                               "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", target, target);
        if (strcmp(mode, "latency") == 0)
                latency((int)strtol(argv[4], NULL, 10));
        else if (strcmp(mode, "rate") == 0)
                rate(strtod(argv[4], NULL));
        else if (strcmp(mode, "bulk") == 0)
                bulk(strtod(argv[4], NULL), (int)strtol(argv[5], NULL, 10));
        else {
                (void)fputs("usage: see the head of bench/wall.c\n", stderr);
                return 2;
        }
        return 0;
}
