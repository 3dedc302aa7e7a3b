/*
 * document/findings.c - everything that is wrong with a document.
 *
 * Room: document (deciding, pure). Touches: mem.
 */
#include "document/findings.h"

#include <string.h>

static const struct {
        const char *code, *hint;
} codes[] = {
#define CODE(code, hint) { code, hint },
#include "document/codes.def"
};

const char *
document_code_hint(const char *code)
{
        for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
                if (strcmp(codes[i].code, code) == 0)
                        return codes[i].hint;
        return "";
}

void
document_findings_init(struct document_findings *f, struct arena *arena)
{
        *f = (struct document_findings){ .arena = arena };
        f->end = &f->first;
}

static bool
is_known(const struct document_findings *f, const char *code, const char *path)
{
        for (const struct document_finding *old = f->first; old; old = old->next)
                if (strcmp(old->code, code) == 0 && strcmp(old->path, path) == 0)
                        return true;
        return false;
}

void
document_find(struct document_findings *f, bool is_error, const char *code, const char *path,
              const struct node *where, const char *message)
{
        struct document_finding *added = NULL;

        if (path && is_known(f, code, path))
                return;
        if (f->error_count + f->warning_count < DOCUMENT_FINDINGS_MAX && path && message)
                added = arena_new(f->arena, struct document_finding);
        *(is_error ? &f->error_count : &f->warning_count) += 1;
        if (!added)
                return;
        *added = (struct document_finding){
                .code = code,
                .path = arena_text(f->arena, path),
                .message = arena_text(f->arena, message),
                .hint = document_code_hint(code),
                .line = where ? where->line : 0,
                .column = where ? where->column : 0,
                .is_error = is_error,
        };
        if (!added->path || !added->message)
                return;
        *f->end = added;
        f->end = &added->next;
}
