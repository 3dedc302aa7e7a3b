/*
 * fuzz/hello.c - any bytes as the beginning of a TLS connection.
 *
 * Beyond not crashing: byte by byte the verdict is the same as in one piece; once told it stays; a
 * name holds only what names are made of; and nothing is waited for beyond the bound.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proto/greeting.h"
#include "proto/hello.h"

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
        struct hello whole, pieces;
        enum hello_verdict verdict, verdict_of_pieces = HELLO_MORE;
        enum greeting greeting = greeting_read(data, len);

        hello_init(&whole);
        verdict = hello_read(&whole, data, len);
        hello_init(&pieces);
        for (size_t there = 0; there <= len && verdict_of_pieces == HELLO_MORE; there++)
                verdict_of_pieces = hello_read(&pieces, data, there);
        must(verdict == verdict_of_pieces && (verdict != HELLO_MORE || len <= HELLO_WIRE_MAX));
        must((greeting == GREETING_TLS) == (verdict != HELLO_NOT_TLS) || len < 2);
        must(greeting != GREETING_MORE || len < GREETING_MAX);
        if (verdict == HELLO_TLS) {
                must(strcmp(whole.name, pieces.name) == 0 && whole.has_ech == pieces.has_ech &&
                     whole.alpn_len == pieces.alpn_len);
                must(strspn(whole.name,
                            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") ==
                             strlen(whole.name) &&
                     strlen(whole.name) <= HELLO_NAME_MAX);
                (void)hello_offers(&whole, "h2");
                must(hello_read(&whole, data, len) == HELLO_TLS);
        }
        return 0;
}
