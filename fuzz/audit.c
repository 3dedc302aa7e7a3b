/*
 * fuzz/audit.c - any bytes as a line of an audit log, as a checkpoint, as JSON that is brought into
 * canonical form, and as a text that is redacted.
 *
 * Beyond not crashing: the canonical form read again has the same canonical form; a line that is
 * accepted has every member, and follows itself in no chain.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "audit/checkpoint.h"
#include "audit/entry.h"
#include "audit/redact.h"
#include "text/jcs.h"
#include "text/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void
must(int holds)
{
        if (!holds)
                abort();
}

/* The canonical form of `len` bytes of JSON; false if they have none. */
static int
canonical(const char *bytes, size_t len, struct buffer *ret)
{
        const struct node *root;
        struct arena arena;
        struct error e;
        int result;

        arena_init(&arena, 16u << 20);
        result = json_read(&arena, bytes, len, &text_limits_manifest, &root, &e) == 0 &&
                 jcs_write(root, NULL, 0, SIZE_MAX / 2, ret, &e) == 0;
        arena_fini(&arena);
        return result;
}

static void
canonical_try(const char *bytes, size_t len)
{
        struct buffer once = { 0 }, twice = { 0 };

        /* escapes make a text longer, never longer than the reader takes */
        if (canonical(bytes, len, &once) && once.len <= text_limits_manifest.bytes_max) {
                must(canonical(once.bytes, once.len, &twice));
                must(once.len == twice.len && memcmp(once.bytes, twice.bytes, once.len) == 0);
        }
        buffer_fini(&once);
        buffer_fini(&twice);
}

static void
line_try(const char *bytes, size_t len)
{
        struct audit_entry entry;
        struct audit_head head;
        struct arena arena;
        struct error e;

        arena_init(&arena, 64u << 20);
        if (audit_entry_read(&arena, bytes, len, &entry, &e) == 0) {
                audit_head_init(&head, entry.chain, entry.key_id);
                head.next = entry.seq;
                if (audit_entry_follow(&entry, NULL, &head, &e) == 0)
                        must(audit_entry_follow(&entry, NULL, &head, &e) < 0);
        } else {
                must(e.code == ERROR_AUDIT_BROKEN || e.code == ERROR_NO_MEMORY);
        }
        arena_fini(&arena);
}

/* A text without what the rules find is a text again, and JSON stays JSON. */
static void
redact_try(const char *bytes, size_t len)
{
        size_t counts[64] = { 0 };
        struct buffer out = { 0 }, again = { 0 }, form = { 0 };
        char *text = malloc(len + 1);
        struct error e;

        must(text != NULL);
        memcpy(text, bytes, len);
        text[len] = '\0';
        must(redact_text(text, counts, &out, &e) == 0);
        must(!out.bytes || strlen(out.bytes) == out.len);
        if (redact_json(text, &(struct audit_key){ .bytes = { 1 } }, &again, &e) == 0 &&
            again.len > 0)
                (void)canonical(again.bytes, again.len, &form);
        buffer_fini(&form);
        buffer_fini(&out);
        buffer_fini(&again);
        free(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
        struct audit_checkpoint checkpoint;
        char *copy = malloc(len + (len == 0));
        struct error e;

        must(copy != NULL);
        if (len > 0)
                memcpy(copy, data, len);
        canonical_try(copy, len);
        line_try(copy, len);
        redact_try(copy, len);
        if (audit_checkpoint_read(copy, len, &checkpoint, &e) == 0)
                must(checkpoint.chain[0] != '\0' || checkpoint.hash[0] != '\0');
        free(copy);
        return 0;
}
