/*
 * fuzz/dns.c - any bytes as a question of a sandbox.
 *
 * Beyond not crashing: every answer that we write fits what the client takes, echoes the question,
 * and is read by a resolver's library (c-ares) as what was meant.
 */
#include <ares.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proto/dns.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* A broken promise ends the process, in every build type. */
static void
must(int holds)
{
        if (!holds)
                abort();
}

/* The answer to `q`, as a client reads it: `address` alone, or no address. */
static void
answer_check(const struct dns_query *q, const uint8_t *bytes, size_t len, const uint8_t *address)
{
        struct ares_addrttl four[4];
        struct ares_addr6ttl six[4];
        int count = 4, result;

        if (q->type != DNS_A && q->type != DNS_AAAA)
                return;
        result = q->type == DNS_A ? ares_parse_a_reply(bytes, (int)len, NULL, four, &count)
                                  : ares_parse_aaaa_reply(bytes, (int)len, NULL, six, &count);
        must(result == (address ? ARES_SUCCESS : ARES_ENODATA) && (!address || count == 1));
        if (address && q->type == DNS_A)
                must(memcmp(&four[0].ipaddr, address, 4) == 0 && four[0].ttl == 60);
        else if (address)
                must(memcmp(&six[0].ip6addr, address, 16) == 0 && six[0].ttl == 60);
}

static void
question_check(const struct dns_query *q, enum dns_verdict verdict, enum dns_rcode rcode)
{
        static const uint8_t address[16] = { 0xfd, 0x63, [15] = 1 };
        const struct dns_answer answers[] = {
                { .rcode = rcode,
                  .ttl_s = 60,
                  .reason = DNS_REASON_BLOCKED,
                  .reason_text = "not in network.egress of this sandbox" },
                { .rcode = DNS_NXDOMAIN, .ttl_s = 60 },
                { .address = address, .address_len = q->type == DNS_A ? 4 : 16, .ttl_s = 60 },
        };
        uint8_t out[DNS_ANSWER_MAX];

        must(q->udp_size >= DNS_UDP_MIN && q->udp_size <= DNS_UDP_MAX &&
             strlen(q->name) <= DNS_NAME_MAX);
        must(strspn(q->name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") ==
             strlen(q->name));
        for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
                for (int is_udp = 0; is_udp < 2; is_udp++) {
                        size_t len = dns_answer_write(q, &answers[i], is_udp, out, sizeof out);

                        must(len >= DNS_HEADER_LEN + q->question_len &&
                             len <= (is_udp ? q->udp_size : sizeof out));
                        must(memcmp(out + DNS_HEADER_LEN, q->question, q->question_len) == 0);
                        if (verdict == DNS_ASKED)
                                answer_check(q, out, len, answers[i].address);
                }
        }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
        struct dns_query q;
        enum dns_rcode rcode;
        enum dns_verdict verdict = dns_query_read(data, len, &q, &rcode);

        if (verdict != DNS_DROPPED)
                question_check(&q, verdict, rcode);
        must((verdict == DNS_ASKED) == (rcode == DNS_NOERROR));
        return 0;
}
