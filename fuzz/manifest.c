/*
 * fuzz/manifest.c - any bytes as a manifest, on every surface: what is read keeps manifest.h's
 * promises, and what is refused says why and leaves a finding.
 *
 * The first byte is not spent on choosing: each input is read as a standalone file, a parent and a
 * block, in YAML and in JSON, so that seeds are ordinary files.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "manifest/manifest.h"
#include "text/yaml.h"

enum { MEMORY_MAX = 32 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* A broken promise ends the process, in every build type. */
static void
must(int holds)
{
        if (!holds)
                abort();
}

static void
accepted_check(const struct manifest *m, const struct findings *findings)
{
        int has_block = m->form == MANIFEST_INLINE || m->form == MANIFEST_BARE;
        int has_ref = m->form == MANIFEST_REF || m->form == MANIFEST_FILE;

        must(findings->error_count == 0);
        must(findings->warning_count == (m->form == MANIFEST_BARE));
        must(m->root && m->root->kind == NODE_MAP && m->block_path);
        must(!has_block == !m->block && !has_ref == !m->ref);
        must(!m->block || m->block->kind == NODE_MAP);
        must(!m->ref || m->ref_line >= 1);
        must(m->kind == MANIFEST_PARENT || (m->block == m->root && !m->runner));
        must(!m->runner || m->runner->kind == NODE_MAP);
}

static void
read_once(const char *bytes, size_t len, enum manifest_kind kind, enum manifest_syntax syntax)
{
        struct manifest m = { 0 };
        struct findings findings;
        struct error e = { 0 };
        struct arena arena;

        arena_init(&arena, MEMORY_MAX);
        findings_init(&findings, &arena);
        if (manifest_read(&arena, bytes, len, kind, syntax, &m, &findings, &e) == 0)
                accepted_check(&m, &findings);
        else
                must(e.code != ERROR_NONE && e.message[0] != '\0' && findings.error_count == 1 &&
                     !m.root);
        arena_fini(&arena);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
        for (enum manifest_kind kind = MANIFEST_STANDALONE; kind <= MANIFEST_BLOCK; kind++)
                read_once((const char *)data, len, kind, MANIFEST_YAML);
        read_once((const char *)data, len, MANIFEST_PARENT, MANIFEST_JSON);
        return 0;
}
