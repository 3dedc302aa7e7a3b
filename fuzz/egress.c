/*
 * fuzz/egress.c - any text as an entry of network.egress: a canonical host and ports, or a reason.
 *
 * What is accepted must read back as itself, cover itself, and permit its own host where it is no
 * wildcard: a matcher and a dialer that saw two different hosts in one entry would be a way out.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "spec/egress.h"

enum { MEMORY_MAX = 1 << 20, TEXT_MAX = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* A broken promise ends the process, in every build type. */
static void
must(int holds)
{
        if (!holds)
                abort();
}

static void
entry_check(const struct spec_egress *entry)
{
        char again[EGRESS_HOST_MAX + 1];

        must(strlen(entry->host) <= EGRESS_HOST_MAX && entry->port_count >= 1 &&
             entry->port_count <= 2);
        must(strspn(entry->host, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == strlen(entry->host));
        must(egress_host_read(entry->host, again) && strcmp(again, entry->host) == 0);
        must(egress_covers(entry, entry));
        must(egress_allows(entry, 1, entry->host, entry->ports[0]) == !entry->is_wildcard);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
        struct spec_egress entry = { 0 };
        struct error e = { 0 };
        struct arena arena;
        char text[TEXT_MAX + 1];

        if (len > TEXT_MAX)
                return 0;
        memcpy(text, data, len);
        text[len] = '\0';
        arena_init(&arena, MEMORY_MAX);
        if (egress_read(&arena, text, &entry, &e) == 0)
                entry_check(&entry);
        else
                must(e.code == ERROR_EGRESS_INVALID && e.reason[0] != '\0');
        arena_fini(&arena);
        return 0;
}
