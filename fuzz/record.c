/*
 * fuzz/record.c - any bytes as a call to the keeper, and any bytes as a packed tree.
 *
 * Beyond not crashing: what record_check() lets pass can be walked to its end by every reader, what
 * operation_check() lets pass has its required fields, and a tree that was unpacked packs into
 * bytes that unpack into the same.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/operation.h"
#include "text/tree_pack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void
must(int holds)
{
        if (!holds)
                abort();
}

/* Bytes of exactly their length, aligned: a sanitizer sees one too many. */
static void *
copy_of(const uint8_t *data, size_t len)
{
        void *copy = malloc(len + (len == 0));

        must(copy != NULL);
        if (len > 0)
                memcpy(copy, data, len);
        return copy;
}

static const struct operation *
nth(unsigned index)
{
        size_t at = 0;

        for (unsigned i = 0; i < index % OPERATIONS_COUNT; i++)
                (void)operation_next(&at);
        return operation_next(&at);
}

static void
record_try(const uint8_t *data, size_t len, unsigned op)
{
        struct record r = { copy_of(data, len), len };
        const struct operation *o = nth(op);
        struct record_entry entry;
        struct error e, back;
        size_t at = 0;
        int got;

        if (record_check(&r) == 0) {
                while ((got = record_next(&r, &at, &entry)) > 0)
                        continue;
                must(got == 0 && at == len);
                api_error_read(&r, &back);
                must(back.code != ERROR_NONE);
        }
        if (!o) { /* a number without an operation */
                free((void *)r.bytes);
                return;
        }
        if (operation_check(o, &r, op % 2 == 0, &e) == 0) {
                must(record_check(&r) == 0);
                for (size_t i = 0; i < o->param_count; i++)
                        if ((o->params[i].flags & PARAM_REQUIRED) != 0)
                                must(record_find(&r, o->params[i].tag, &entry));
        } else {
                must(e.code != ERROR_NONE && e.message[0] != '\0');
        }
        free((void *)(uintptr_t)r.bytes);
}

static void
tree_try(const uint8_t *data, size_t len)
{
        struct arena arena;
        const struct node *root, *again;
        struct error e;
        void *bytes = copy_of(data, len), *packed;
        size_t packed_len;

        arena_init(&arena, 8 << 20);
        if (tree_unpack(&arena, bytes, len, &text_limits_manifest, &root, &e) == 0) {
                packed_len = tree_pack_len(root);
                packed = malloc(packed_len);
                must(packed != NULL);
                tree_pack(root, packed);
                must(tree_unpack(&arena, packed, packed_len, &text_limits_manifest, &again, &e) ==
                     0);
                must(tree_pack_len(again) == packed_len);
                free(packed);
        }
        arena_fini(&arena);
        free(bytes);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
        if (len < 1)
                return 0;
        if (data[0] >= 128)
                tree_try(data + 1, len - 1);
        else
                record_try(data + 1, len - 1, data[0]);
        return 0;
}
