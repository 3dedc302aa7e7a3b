/*
 * fuzz/spec.c - any bytes as a sandbox block: a spec that keeps its promises, or errors that say
 * where and why.
 *
 * The first byte chooses the surface and the kind of file. Beyond not crashing: what is accepted is
 * whole and writes as JSON; what is refused names a code, a reason and a place; no sentence and no
 * path holds a word with the shape of a credential; the rest of the bytes, read as a reference,
 * stays inside its workspace.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "spec/credential.h"
#include "spec/norm.h"
#include "spec/reference.h"
#include "text/yaml.h"

enum { MEMORY_MAX = 32 << 20, REFERENCE_MAX = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* A broken promise ends the process, in every build type. */
static void
must(int holds)
{
        if (!holds)
                abort();
}

static void
findings_check(const struct findings *findings)
{
        for (const struct finding *f = findings->errors; f; f = f->next) {
                must(f->error.code != ERROR_NONE && f->error.message[0] != '\0');
                must(!credential_shape_find(f->error.path) &&
                     !credential_shape_find(f->error.message));
                must(f->error.reason[0] != '\0' || f->error.code == ERROR_NO_MEMORY);
        }
        for (const struct warning *w = findings->warnings; w; w = w->next)
                must(!credential_shape_find(w->path) && !credential_shape_find(w->message));
}

static void
spec_check(const struct spec *spec)
{
        struct json_writer w;

        must(spec->provider && spec->config && spec->shell && spec->block_path);
        must(spec->limits.timeout_ms >= 1 && spec->limits.timeout_ms <= 9007199254740991);
        for (size_t i = 0; i < spec->egress_count; i++)
                must(egress_allows(spec->egress, spec->egress_count, spec->egress[i].host,
                                   spec->egress[i].ports[0]) ||
                     spec->egress[i].is_wildcard);
        for (size_t i = 0; i < spec->mount_count; i++) {
                const char *at = spec->mounts[i].at;

                must(at[0] == '/' && at[1] != '\0' && !strstr(at, "//") && !strstr(at, "/../") &&
                     !strstr(at, "/./"));
                for (size_t k = 0; k < i; k++)
                        must(strcmp(at, spec->mounts[k].at) != 0);
        }
        json_init(&w, false);
        spec_norm_write(&w, spec);
        must(!w.is_broken && w.text[0] == '{' && w.text[w.len - 1] == '}');
        json_fini(&w);
}

static void
reference_check(struct arena *arena, const uint8_t *data, size_t len)
{
        struct reference r = { 0 };
        struct error e;
        char text[REFERENCE_MAX + 1];

        if (len > REFERENCE_MAX)
                return;
        memcpy(text, data, len);
        text[len] = '\0';
        if (reference_read(arena, text, NULL, &r, &e) < 0) {
                must(e.reason[0] != '\0' || e.code == ERROR_NO_MEMORY);
                return;
        }
        if (r.kind == REFERENCE_SLUG)
                return;
        must(r.path[0] != '\0' && r.path[0] != '/' && strcmp(r.path, "..") != 0 &&
             strncmp(r.path, "../", 3) != 0);
        must(!strstr(r.path, "/../") && !strstr(r.path, "//"));
        must(r.kind == REFERENCE_PATH || (!strchr(r.sibling, '/') && strcmp(r.sibling, "..") != 0));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
        struct manifest m = { .block_path = "" };
        struct spec *spec = NULL;
        struct findings findings;
        struct arena arena;
        struct error e;

        if (len == 0)
                return 0;
        m.kind = (enum manifest_kind)(data[0] % 3);
        m.syntax = data[0] & 0x40 ? MANIFEST_JSON : MANIFEST_YAML;
        arena_init(&arena, MEMORY_MAX);
        findings_init(&findings, &arena);
        reference_check(&arena, data + 1, len - 1);
        if (yaml_read(&arena, (const char *)data + 1, len - 1, 1, &text_limits_manifest, &m.block,
                      &e) == 0) {
                if (spec_read(&arena, &m, &spec, &findings, &e) == 0)
                        spec_check(spec);
                findings_check(&findings);
        }
        arena_fini(&arena);
        return 0;
}
