/*
 * fuzz/document.c - any bytes as a sandbox document, in YAML, in JSON and as a page.
 *
 * Beyond not crashing: every finding has a code with a hint, and a place that is a path; a document
 * without an error admits low risk; a document that is compared with itself has no change; and
 * what yaml_write() writes is read as the same document.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "document/admit.h"
#include "document/check.h"
#include "document/read.h"
#include "text/jcs.h"
#include "text/yaml.h"
#include "text/yaml_write.h"

enum { MEMORY_MAX = 32 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void
must(int holds)
{
        if (!holds)
                abort();
}

static void
write_again(struct arena *arena, const struct node *root)
{
        struct buffer text = { 0 }, one = { 0 }, other = { 0 };
        const struct node *again;
        struct error e;

        must(yaml_write(root, &text, SIZE_MAX / 2, &e) == 0);
        if (text.len <= text_limits_manifest.bytes_max) {
                must(yaml_read(arena, text.bytes, text.len, 1, &text_limits_manifest, &again, &e) ==
                             0 ||
                     e.code == ERROR_NO_MEMORY);
                if (!arena_is_full(arena) &&
                    jcs_write(root, NULL, 0, SIZE_MAX / 2, &one, &e) == 0) {
                        must(jcs_write(again, NULL, 0, SIZE_MAX / 2, &other, &e) == 0);
                        must(one.len == other.len && memcmp(one.bytes, other.bytes, one.len) == 0);
                }
        }
        buffer_fini(&text);
        buffer_fini(&one);
        buffer_fini(&other);
}

static void
try(const char *name, const char *bytes, size_t len, bool is_draft)
{
        const struct document_options options = { .is_draft = is_draft };
        const struct document_request request = {
                .elapsed_ms = { DOCUMENT_NOT_ELAPSED, DOCUMENT_NOT_ELAPSED, DOCUMENT_NOT_ELAPSED }
        };
        struct document_findings f;
        const struct node *root;
        struct arena arena;
        struct error e;

        arena_init(&arena, MEMORY_MAX);
        document_findings_init(&f, &arena);
        if (document_read(&arena, name, bytes, len, &root, &e) == 0) {
                document_check(root, &options, &f);
                for (const struct document_finding *found = f.first; found; found = found->next)
                        must(document_code_hint(found->code)[0] != '\0' &&
                             found->message[0] != '\0');
                must(f.error_count > 0 ||
                     document_admit(root, &request).decision == DOCUMENT_ALLOW);
                must(document_review(root, root, &f) == 0);
                write_again(&arena, root);
        } else {
                must(e.code == ERROR_MANIFEST_SYNTAX || e.code == ERROR_NO_MEMORY);
        }
        arena_fini(&arena);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
        try("a.yaml", (const char *)data, len, false);
        try("a.json", (const char *)data, len, true);
        try("a.md", (const char *)data, len, true);
        return 0;
}
