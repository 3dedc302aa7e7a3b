/*
 * text/yaml_write.c - writes a tree as YAML.
 *
 * Room: text (words). Touches: mem.
 */
#include "text/yaml_write.h"

#include <string.h>
#include <strings.h>
#include <yaml.h>

#include "text/scalar.h"

struct target {
        struct buffer *out;
        size_t max;
};

static int
take(void *data, unsigned char *bytes, size_t len)
{
        struct target *t = data;

        return buffer_add(t->out, bytes, len, t->max) == 0;
}

/* Would it be read as something else than a text, by this reader or by one of YAML 1.1? */
static bool
needs_quotes(const struct node *n)
{
        static const char *const words[] = { "y", "n", "yes", "no", "on", "off" };
        struct node plain = { .text = n->text, .len = n->len };

        scalar_resolve(&plain);
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
                if (strcasecmp(n->text, words[i]) == 0)
                        return true;
        return plain.kind != NODE_STRING || strspn(n->text, "0123456789+-.:_") == n->len;
}

static int
scalar_write(yaml_emitter_t *emitter, const struct node *n)
{
        bool is_quoted = n->kind == NODE_STRING && needs_quotes(n), is_null = n->kind == NODE_NULL;
        const char *text = is_null ? "null" : n->text; /* an empty value is null too */
        int len = (int)(is_null ? strlen(text) : n->len);
        yaml_event_t event;

        return yaml_scalar_event_initialize(
                       &event, NULL, NULL, (const yaml_char_t *)text, len, 1, 1,
                       is_quoted ? YAML_DOUBLE_QUOTED_SCALAR_STYLE : YAML_ANY_SCALAR_STYLE) &&
               yaml_emitter_emit(emitter, &event);
}

static bool
is_short(const struct node *n)
{
        node_each(child, n) if (child->kind == NODE_LIST || child->kind == NODE_MAP) return false;
        return n->len <= 4;
}

static int
value_write(yaml_emitter_t *emitter, const struct node *n, unsigned depth)
{
        bool is_map = n->kind == NODE_MAP, is_flow = depth > 1 && is_short(n);
        yaml_event_t event;

        if (n->kind != NODE_LIST && !is_map)
                return scalar_write(emitter, n);
        if (!(is_map ? yaml_mapping_start_event_initialize(&event, NULL, NULL, 1,
                                                           is_flow ? YAML_FLOW_MAPPING_STYLE
                                                                   : YAML_BLOCK_MAPPING_STYLE)
                     : yaml_sequence_start_event_initialize(&event, NULL, NULL, 1,
                                                            is_flow ? YAML_FLOW_SEQUENCE_STYLE
                                                                    : YAML_BLOCK_SEQUENCE_STYLE)) ||
            !yaml_emitter_emit(emitter, &event))
                return 0;
        node_each(child, n)
        {
                const struct node key = { .kind = NODE_STRING,
                                          .text = child->key,
                                          .len = child->key ? strlen(child->key) : 0 };

                if ((is_map && !scalar_write(emitter, &key)) ||
                    !value_write(emitter, child, depth + 1))
                        return 0;
        }
        return (is_map ? yaml_mapping_end_event_initialize(&event)
                       : yaml_sequence_end_event_initialize(&event)) &&
               yaml_emitter_emit(emitter, &event);
}

int
yaml_write(const struct node *root, struct buffer *out, size_t max, struct error *e)
{
        struct target target = { out, max };
        yaml_emitter_t emitter;
        yaml_event_t event;
        int is_good;

        if (!yaml_emitter_initialize(&emitter))
                return fail(e, ERROR_NO_MEMORY, "no memory for YAML");
        yaml_emitter_set_output(&emitter, take, &target);
        yaml_emitter_set_unicode(&emitter, 1);
        yaml_emitter_set_width(&emitter, 100);
        is_good = yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING) &&
                  yaml_emitter_emit(&emitter, &event) &&
                  yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1) &&
                  yaml_emitter_emit(&emitter, &event) && value_write(&emitter, root, 0) &&
                  yaml_document_end_event_initialize(&event, 1) &&
                  yaml_emitter_emit(&emitter, &event) && yaml_stream_end_event_initialize(&event) &&
                  yaml_emitter_emit(&emitter, &event) && yaml_emitter_flush(&emitter);
        yaml_emitter_delete(&emitter);
        return is_good ? 0 : fail(e, ERROR_NO_MEMORY, "the YAML text is too long, or no memory");
}
