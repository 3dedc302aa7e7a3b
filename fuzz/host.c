/*
 * fuzz/host.c - any text as a host name, through every reader that it meets on its way out.
 *
 * What egress_host_read() accepts no reader of addresses takes for an address, and it goes through
 * the bytes of a DNS question, of the C library and Carrel's own, unchanged. What it gives is
 * judged as what it was given; a name out of a question is judged as its text.
 */
#include <arpa/inet.h>
#include <arpa/nameser.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "egress/address.h"
#include "egress/admit.h"
#include "proto/authority.h"
#include "proto/dns.h"

enum { TEXT_MAX = 512 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* A broken promise ends the process, in every build type. */
static void
must(int holds)
{
        if (!holds)
                abort();
}

static const struct spec_egress list[] = {
        { .host = "a.test", .ports = { 80, 443 }, .port_count = 2 },
        { .host = "b.test", .is_wildcard = true, .ports = { 5432 }, .port_count = 1 },
};
static struct egress_policy policy = { .allow = list, .allow_count = 2 };

static void
address_check(const char *text)
{
        struct egress_network n;
        uint8_t want[16] = { [10] = 0xff, [11] = 0xff };
        int is_wanted = strchr(text, ':') ? inet_pton(AF_INET6, text, want)
                                          : inet_pton(AF_INET, text, want + 12);

        if (!strchr(text, '/'))
                must(egress_network_read(text, &n) == (is_wanted == 1) &&
                     (is_wanted != 1 || memcmp(n.base.bytes, want, 16) == 0));
}

static void
wire_check(const char *host)
{
        unsigned char libc[NS_MAXCDNAME];
        uint8_t ours[DNS_WIRE_NAME_MAX];
        char again[DNS_NAME_MAX + 1];
        size_t len = dns_name_write(host, ours), at = 0;

        must(len > 0 && ns_name_pton(host, libc, sizeof libc) >= 0 && memcmp(libc, ours, len) == 0);
        must(dns_name_read(ours, len, &at, again) == 0 && at == len && strcmp(again, host) == 0);
}

static void
name_check(const char *text, const char *host)
{
        char again[EGRESS_HOST_MAX + 1];
        struct in_addr four;
        struct in6_addr six;
        struct authority a;
        struct admit_decision given, canonical;

        must(egress_host_read(host, again) && strcmp(again, host) == 0 &&
             strlen(host) <= EGRESS_HOST_MAX);
        must(inet_aton(host, &four) == 0 && inet_aton(text, &four) == 0 &&
             inet_pton(AF_INET6, host, &six) == 0);
        must(authority_read(text, strlen(text), &a) && strcmp(a.host, text) == 0 && a.port == 0);
        wire_check(host);
        admit_explain(&policy, text, &given);
        admit_explain(&policy, host, &canonical);
        must(given.denial == canonical.denial && given.entry == canonical.entry &&
             strcmp(given.host.text, host) == 0);
        must((given.denial == DENIAL_NONE) == egress_allows(list, 2, text, 0));
}

/* A question's name: is its text, if it is a host, the same name again? */
static void
question_check(const uint8_t *bytes, size_t len)
{
        char text[DNS_NAME_MAX + 1], host[EGRESS_HOST_MAX + 1];
        uint8_t again[DNS_WIRE_NAME_MAX];
        size_t at = 0;

        if (dns_name_read(bytes, len, &at, text) != 0)
                return;
        must(at <= len && at <= DNS_WIRE_NAME_MAX);
        must(dns_name_write(text, again) == at && memcmp(again, bytes, at) == 0);
        if (egress_host_read(text, host))
                must(strcasecmp(text, host) == 0); /* no final dot comes out of a question */
}

static void
words_check(const char *text)
{
        char sentence[300];

        for (int d = DENIAL_NONE; d < DENIAL_MAX; d++) {
                size_t len =
                        denial_text((enum denial)d, text, 443, text, sentence, sizeof sentence);

                must(len == strlen(sentence) && len < sizeof sentence);
                for (size_t i = 0; i < len; i++)
                        must(sentence[i] >= ' ' && sentence[i] <= '~');
        }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
        static struct arena arena;
        char text[TEXT_MAX + 1], host[EGRESS_HOST_MAX + 1];
        struct admit_decision decision;

        if (arena.limit == 0) {
                arena_init(&arena, 1 << 16);
                must(admit_policy_make(&arena, &policy) == 0);
        }

        if (len > TEXT_MAX)
                return 0;
        memcpy(text, data, len);
        text[len] = '\0';
        if (egress_host_read(text, host))
                name_check(text, host);
        address_check(text);
        admit_explain(&policy, text, &decision);
        question_check(data, len);
        words_check(text);
        return 0;
}
