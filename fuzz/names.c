/*
 * fuzz/names.c - any bytes as a question to pid 1 of a sandbox without a network.
 *
 * Beyond not crashing: no answer names an address, none is longer than what a client takes, and
 * what is reported is a host's name.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "guest/names.h"
#include "proto/dns.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* A broken promise ends the process, in every build type. */
static void
must(int holds)
{
        if (!holds)
                abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
        uint8_t answer[DNS_ANSWER_MAX];
        char host[GATE_HOST_ROOM];
        bool is_refusal;
        size_t got = names_answer(data, len, answer, sizeof answer, host, &is_refusal);

        must(got == 0 || (got >= DNS_HEADER_LEN && got <= DNS_ANSWER_MAX && len >= DNS_HEADER_LEN));
        must(strlen(host) <= DNS_NAME_MAX &&
             strspn(host, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == strlen(host));
        if (got > 0)
                must((answer[2] & 0x80) != 0 && answer[6] == 0 && answer[7] == 0 &&
                     memcmp(answer, data, 2) == 0);
        if (is_refusal)
                must((answer[3] & 15) == DNS_NXDOMAIN || (answer[2] & 2) != 0);
        else
                must(host[0] == '\0');
        return 0;
}
