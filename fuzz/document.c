/*
 * fuzz/document.c - any bytes as a sandbox document, in YAML, in JSON and as a page.
 *
 * Beyond not crashing: every finding has a code with a hint, and a place that is a path; a document
 * without an error admits low risk; and a document that is compared with itself has no change.
 */
#include <stdint.h>
#include <stdlib.h>

#include "document/admit.h"
#include "document/check.h"
#include "document/read.h"

enum { MEMORY_MAX = 32 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void
must(int holds)
{
        if (!holds)
                abort();
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
