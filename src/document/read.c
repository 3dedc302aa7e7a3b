/*
 * document/read.c - from the bytes of a sandbox document to its tree.
 *
 * Room: document (deciding, pure). Touches: mem.
 */
#include "document/read.h"

#include <string.h>
#include <strings.h>

#include "manifest/frontmatter.h"
#include "text/json.h"
#include "text/yaml.h"

static bool
ends_in(const char *name, const char *tail)
{
        size_t len = strlen(name), tail_len = strlen(tail);

        return len >= tail_len && strcasecmp(name + len - tail_len, tail) == 0;
}

int
document_read(struct arena *arena, const char *name, const char *bytes, size_t len,
              const struct node **ret, struct error *e)
{
        struct frontmatter front = { .text = bytes, .len = len, .first_line = 1 };

        if (ends_in(name, ".json") || ends_in(name, ".jsonld"))
                return json_read(arena, bytes, len, &text_limits_manifest, ret, e);
        if (ends_in(name, ".md") && frontmatter_find(bytes, len, &front, e) < 0)
                return -1;
        return yaml_read(arena, front.text, front.len, front.first_line, &text_limits_manifest, ret,
                         e);
}
