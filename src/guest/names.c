/*
 * guest/names.c - the name server of a sandbox without a network: it knows no name.
 *
 * Room: guest (program). Touches: net (the box's own loopback), fd, /proc/net, clock.
 * Theory: pid 1 has all restrictions of its box. So an exploit of this parser gains nothing: pid 1
 * has no route, no socket of the host, and the payload's own filter. The parser is the gate's
 * (proto/dns.h). An answer is a copy of the question and a fixed text. Only rows of a fixed table
 * are kept, and each turn of the loop serves few questions. A report is sent before the end of its
 * command, over the same socket.
 * The kernel refuses connections to addresses, because there is no route (ENETUNREACH). A client
 * does not take that for a server that may come back. The kernel counts these connections, but does
 * not report their destinations.
 */
#include "guest/names.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock/clock.h"
#include "egress/admit.h"
#include "proto/dns.h"
#include "wall/whose.h"

enum { TTL_S = 5, TEXT_ROOM = 4096 };

void
names_init(struct names *n, int control, int socket, int diag)
{
        n->diag = diag;
        n->control = control;
        n->socket = socket;
}

/* -- one question ------------------------------------------------------------------------------ */

/* `_https._tcp.NAME`: a program looks for records of a service; the host that it wants is NAME. */
static const char *
without_service(const char *name)
{
        while (name[0] == '_' && strchr(name, '.'))
                name = strchr(name, '.') + 1;
        return name;
}

static void
copy_host(char ret[GATE_HOST_ROOM], const char *name)
{
        size_t len = strnlen(name, GATE_HOST_ROOM - 1);

        for (size_t i = 0; i < len; i++)
                ret[i] = (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] - 'A' + 'a' : name[i]);
        ret[len] = '\0';
}

size_t
names_answer(const uint8_t *question, size_t len, uint8_t *ret, size_t room,
             char ret_host[GATE_HOST_ROOM], bool *ret_is_refusal)
{
        struct dns_answer answer = { .ttl_s = TTL_S,
                                     .reason = DNS_REASON_PROHIBITED,
                                     .reason_text =
                                             "network.egress of this sandbox lists nothing" };
        struct dns_query query;
        enum dns_rcode code;
        enum dns_verdict verdict = dns_query_read(question, len, &query, &code);

        *ret_is_refusal = false;
        ret_host[0] = '\0';
        if (verdict == DNS_DROPPED)
                return 0;
        answer.rcode = verdict == DNS_FAULTY ? code : DNS_NXDOMAIN;
        if (verdict == DNS_FAULTY)
                answer.reason = DNS_REASON_NONE;
        if (verdict != DNS_FAULTY && (query.type == DNS_A || query.type == DNS_AAAA)) {
                *ret_is_refusal = true;
                copy_host(ret_host, without_service(query.name));
        }
        return dns_answer_write(&query, &answer, true, ret, room);
}

/* -- reports ----------------------------------------------------------------------------------- */

static bool
is_same(const struct wire_wall_denied *a, const struct wire_wall_denied *b)
{
        return a->reason == b->reason && a->cgroup == b->cgroup && strcmp(a->host, b->host) == 0;
}

/* Sends a row. 0: sent; 1: it waits for room; -1: the other end is closed. */
static int
tell_row(struct names *n, struct names_row *r)
{
        int result = wire_send(n->control, WIRE_WALL_DENIED, &r->d, sizeof r->d, NULL, 0);

        if (result < 0)
                return wire_is_for_later(result) ? 1 : -1;
        r->reports++;
        r->d.count = 0;
        return 0;
}

int
names_tell(struct names *n, bool all)
{
        bool is_over = clock_boot_ms() >= n->until_ms;
        int result = 0;

        for (size_t i = 0; i < n->count && result == 0; i++)
                if (n->rows[i].d.count > 0 && (all || is_over || n->rows[i].reports < NAMES_EACH))
                        result = tell_row(n, &n->rows[i]);
        n->is_due = result > 0;
        return result < 0 ? -1 : 0;
}

int
names_wait_ms(const struct names *n)
{
        uint64_t now;

        for (size_t i = 0; i < n->count; i++)
                if (n->rows[i].d.count > 0) {
                        now = clock_boot_ms();
                        return now >= n->until_ms ? 0 : (int)(n->until_ms - now);
                }
        return -1;
}

/* Starts a new second with empty rows. Reports that could not be sent yet stay. */
static void
begin_second(struct names *n, uint64_t now)
{
        if (now < n->until_ms || n->is_due || names_tell(n, true) < 0 || n->is_due)
                return;
        n->count = 0;
        n->until_ms = now + NAMES_SECOND_MS;
}

static void
count(struct names *n, const struct wire_wall_denied *d)
{
        begin_second(n, d->at_ms);
        for (size_t i = 0; i < n->count; i++)
                if (is_same(&n->rows[i].d, d)) {
                        n->rows[i].d.count += d->count;
                        n->rows[i].d.at_ms = d->at_ms;
                        return;
                }
        if (n->count < NAMES_KINDS)
                n->rows[n->count++] = (struct names_row){ .d = *d };
}

/* -- the socket -------------------------------------------------------------------------------- */

static struct sockaddr_in6
mapped(const struct sockaddr_in *four)
{
        struct sockaddr_in6 six = { .sin6_family = AF_INET6,
                                    .sin6_port = four->sin_port,
                                    .sin6_addr = { .s6_addr = { [10] = 0xff, [11] = 0xff } } };

        memcpy(six.sin6_addr.s6_addr + 12, &four->sin_addr, sizeof four->sin_addr);
        return six;
}

/* The control group of the process that asked; 0: not known. */
static uint64_t
whose(const struct names *n, const struct sockaddr_in *client)
{
        const struct sockaddr_in ours = { .sin_family = AF_INET,
                                          .sin_port = htons(53),
                                          .sin_addr = { htonl(INADDR_LOOPBACK) } };
        struct sockaddr_in6 from = mapped(client), to = mapped(&ours);

        return n->diag < 0 ? 0 : wall_whose(n->diag, true, &from, &to);
}

/* False: no further question waits. */
static bool
serve_one(struct names *n)
{
        struct wire_wall_denied d = { .reason = DENIAL_NOT_LISTED, .count = 1 };
        struct sockaddr_in client = { .sin_family = AF_INET };
        socklen_t client_len = sizeof client;
        uint8_t question[NAMES_QUESTION_MAX], answer[DNS_ANSWER_MAX];
        ssize_t len = recvfrom(n->socket, question, sizeof question, MSG_DONTWAIT,
                               (struct sockaddr *)&client, &client_len);
        bool is_refusal;
        size_t answer_len;

        if (len < 0)
                return errno != EAGAIN && errno != EINTR;
        answer_len =
                names_answer(question, (size_t)len, answer, sizeof answer, d.host, &is_refusal);
        if (is_refusal) {
                d.at_ms = clock_boot_ms();
                d.reason = strcmp(d.host, EGRESS_HOST) == 0 ? DENIAL_HOST_PORT
                           : d.host[0] != '\0'              ? DENIAL_NOT_LISTED
                                                            : DENIAL_BAD_NAME;
                d.cgroup = whose(n, &client); /* before the answer, while the client's socket
                                               * still exists */
                count(n, &d);
        }
        if (answer_len > 0)
                (void)sendto(n->socket, answer, answer_len, MSG_DONTWAIT | MSG_NOSIGNAL,
                             (struct sockaddr *)&client, client_len);
        return true;
}

bool
names_serve(struct names *n)
{
        for (int i = 0; i < NAMES_AT_ONCE && n->socket >= 0 && !n->is_due; i++)
                if (!serve_one(n))
                        return false;
        return n->socket >= 0 && !n->is_due;
}

/* -- the kernel's counters --------------------------------------------------------------------- */

/* Reads a value from the two lines "Ip: NAME ..." and "Ip: VALUE ...". */
static uint64_t
value_below(const char *text, const char *line, const char *name)
{
        const char *names = strstr(text, line), *values = names ? strchr(names, '\n') : NULL;
        size_t name_len = strlen(name);

        while (values && *values != '\0') {
                names += strcspn(names, " \n");
                values += strcspn(values, " ");
                if (*names != ' ' || *values != ' ')
                        return 0;
                names++;
                values++;
                if (strncmp(names, name, name_len) == 0 &&
                    (names[name_len] == ' ' || names[name_len] == '\n'))
                        return strtoull(values, NULL, 10);
        }
        return 0;
}

uint64_t
names_unroutable(const char *snmp, const char *snmp6)
{
        static const char six[] = "Ip6OutNoRoutes";
        const char *line = strstr(snmp6, six);

        return value_below(snmp, "Ip: ", "OutNoRoutes") +
               (line ? strtoull(line + sizeof six - 1, NULL, 10) : 0);
}

static void
read_text(const char *path, char ret[TEXT_ROOM])
{
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t len = fd < 0 ? 0 : read(fd, ret, TEXT_ROOM - 1);

        ret[len > 0 ? len : 0] = '\0';
        if (fd >= 0)
                (void)close(fd);
}

void
names_collect(struct names *n, bool asks_kernel)
{
        struct wire_wall_denied d = { .at_ms = clock_boot_ms(), .reason = DENIAL_NO_NETWORK };
        /* static, so that they are not cleared for each command */
        static char snmp[TEXT_ROOM], snmp6[TEXT_ROOM];
        uint64_t now;

        if (n->socket < 0)
                return;
        for (int i = 0; i < NAMES_KINDS / NAMES_AT_ONCE && names_serve(n); i++)
                continue;
        if (!asks_kernel)
                return;
        read_text("/proc/net/snmp", snmp);
        read_text("/proc/net/snmp6", snmp6);
        now = names_unroutable(snmp, snmp6);
        if (now <= n->unroutable)
                return;
        d.count = now - n->unroutable < UINT32_MAX ? (uint32_t)(now - n->unroutable) : UINT32_MAX;
        n->unroutable = now;
        count(n, &d);
}
