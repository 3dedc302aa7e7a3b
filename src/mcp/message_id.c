/*
 * mcp/message_id.c - follows strings and brackets of a message, and keeps its id.
 *
 * Room: mcp (joining). Touches: nothing.
 * Theory: only members of the outermost object count. The text of the id is parsed as JSON at the
 * end, so the id in the answer is always a valid string or integer.
 */
#include "mcp/message_id.h"

#include <string.h>

#include "text/json.h"

static void
keep(char *text, size_t *len, char byte)
{
        if (*len < MCP_ID_MAX)
                text[*len] = byte;
        if (*len <= MCP_ID_MAX)
                ++*len; /* one more than the space: too long */
}

static void
end_string(struct mcp_id_scan *s)
{
        s->is_in_string = false;
        if (s->depth != 1)
                return;
        if (!s->is_value) {
                s->is_id = s->token_len == 4 && memcmp(s->token, "\"id\"", 4) == 0;
        } else if (s->is_id) {
                memcpy(s->id, s->token, sizeof s->id);
                s->id_len = s->token_len;
        }
}

static void
put_in_string(struct mcp_id_scan *s, char byte)
{
        if (s->depth == 1)
                keep(s->token, &s->token_len, byte);
        if (s->is_escaped)
                s->is_escaped = false;
        else if (byte == '\\')
                s->is_escaped = true;
        else if (byte == '"')
                end_string(s);
}

static void
open_bracket(struct mcp_id_scan *s, char byte)
{
        if (s->depth == 0 && (s->is_over || byte != '{'))
                s->is_broken = true;
        if (s->depth == 1 && s->is_id)
                s->seen++; /* an invalid id */
        s->depth++;
}

static void
put(struct mcp_id_scan *s, char byte)
{
        if (byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n')
                return;
        if (byte == '{' || byte == '[') {
                open_bracket(s, byte);
        } else if (s->depth == 0) {
                s->is_broken = true;
        } else if (byte == '"') {
                s->is_in_string = true;
                s->token_len = 0;
                keep(s->token, &s->token_len, byte);
        } else if (byte == '}' || byte == ']') {
                s->is_over = --s->depth == 0;
        } else if (s->depth == 1 && (byte == ':' || byte == ',')) {
                s->is_value = byte == ':';
                s->is_id = s->is_id && s->is_value;
                s->seen += s->is_id;
        } else if (s->depth == 1 && s->is_id) {
                keep(s->id, &s->id_len, byte);
        }
}

void
mcp_id_scan_put(struct mcp_id_scan *s, const char *bytes, size_t len)
{
        for (size_t i = 0; i < len && !s->is_broken; i++)
                if (s->is_in_string)
                        put_in_string(s, bytes[i]);
                else
                        put(s, bytes[i]);
}

const struct node *
mcp_id_scan_end(const struct mcp_id_scan *s, struct arena *arena)
{
        static const struct text_limits limits = { MCP_ID_MAX, 1, 1 };
        const struct node *id;
        struct error e;

        if (s->is_broken || !s->is_over || s->seen != 1 || s->id_len > MCP_ID_MAX ||
            json_read(arena, s->id, s->id_len, &limits, &id, &e) < 0)
                return NULL;
        return id->kind == NODE_INT || id->kind == NODE_STRING ? id : NULL;
}
