/*
 * bridge/message.c - reads and writes the messages of the bridge protocol.
 *
 * Room: bridge (joining). Touches: mem.
 * Theory: one row for each member of each kind. What has no row is refused, so a message has one
 * meaning or none.
 */
#include "bridge/message.h"

#include <string.h>

#include "codec/encode.h"

enum value_kind {
        VALUE_ID,
        VALUE_VERSION,
        VALUE_NAME,
        VALUE_ABILITIES,
        VALUE_MAP,
        VALUE_CODE,
        VALUE_TEXT,
        VALUE_STREAM,
        VALUE_DATA,
        VALUE_STATUS,
        VALUE_SIGNAL,
        VALUE_BYTES
};

enum { MEMBERS_MAX = 4, NODES_MAX = 4096, DEPTH_MAX = 8, SIGNAL_MAX = 64, STATUS_MAX = 255 };

static const struct text_limits limits = { BRIDGE_LINE_MAX, DEPTH_MAX, NODES_MAX };

struct member {
        const char *name;
        enum value_kind kind;
        unsigned is_optional;
};

static const struct kind_row {
        const char *word;
        struct member members[MEMBERS_MAX];
} kinds[BRIDGE_KINDS] = {
        [BRIDGE_HELLO] = { "hello",
                           { { "protocol", VALUE_VERSION, 0 },
                             { "name", VALUE_NAME, 0 },
                             { "abilities", VALUE_ABILITIES, 0 } } },
        [BRIDGE_REPLY] = { "reply", { { "id", VALUE_ID, 0 }, { "result", VALUE_MAP, 0 } } },
        [BRIDGE_ERROR] = { "error",
                           { { "id", VALUE_ID, 0 },
                             { "code", VALUE_CODE, 0 },
                             { "message", VALUE_TEXT, 0 } } },
        [BRIDGE_STARTED] = { "started", { { "id", VALUE_ID, 0 } } },
        [BRIDGE_OUTPUT] = { "output",
                            { { "id", VALUE_ID, 0 },
                              { "stream", VALUE_STREAM, 0 },
                              { "data", VALUE_DATA, 0 } } },
        [BRIDGE_EXITED] = { "exited",
                            { { "id", VALUE_ID, 0 },
                              { "status", VALUE_STATUS, 1 },
                              { "signal", VALUE_SIGNAL, 1 } } },
        [BRIDGE_CREDIT_GIVEN] = { "credit",
                                  { { "id", VALUE_ID, 0 }, { "bytes", VALUE_BYTES, 0 } } },
};

static const char *const codes[BRIDGE_CODES] = {
        [BRIDGE_CODE_AUTH] = "auth",
        [BRIDGE_CODE_NOT_FOUND] = "not_found",
        [BRIDGE_CODE_INVALID] = "invalid",
        [BRIDGE_CODE_UNSUPPORTED] = "unsupported",
        [BRIDGE_CODE_UNAVAILABLE] = "unavailable",
        [BRIDGE_CODE_CANCELLED] = "cancelled",
        [BRIDGE_CODE_FAILED] = "failed",
        [BRIDGE_CODE_EXISTS] = "exists",
};

const char *
bridge_kind_word(enum bridge_kind kind)
{
        return kinds[kind].word;
}

const char *
bridge_code_word(enum bridge_code code)
{
        return codes[code];
}

int
bridge_data_read(struct arena *arena, const struct node *value, const void **ret, size_t *ret_len)
{
        char *bytes;

        if (!value || value->kind != NODE_STRING || value->len > BRIDGE_LINE_MAX)
                return -1;
        bytes = arena_alloc(arena, value->len + 1);
        if (!bytes || base64_read(value->text, value->len, bytes, ret_len) < 0 ||
            *ret_len > BRIDGE_DATA_MAX)
                return -1;
        *ret = bytes;
        return 0;
}

/* -- reading ----------------------------------------------------------------------------------- */

static int
is_number(const struct node *n, int64_t least, int64_t most)
{
        return n->kind == NODE_INT && n->integer >= least && n->integer <= most;
}

static int
is_text(const struct node *n, size_t most)
{
        return n->kind == NODE_STRING && n->len > 0 && n->len <= most;
}

static int
read_abilities(const struct node *list, struct bridge_message *m)
{
        if (list->kind != NODE_LIST)
                return -1;
        node_each(word, list)
        {
                enum bridge_ability found = word->kind == NODE_STRING
                                                    ? bridge_ability_find(word->text)
                                                    : BRIDGE_ABILITIES;

                if (found == BRIDGE_ABILITIES)
                        return -1;
                m->abilities |= 1u << found;
        }
        return 0;
}

static int
read_code(const struct node *n, struct bridge_message *m)
{
        for (size_t i = 0; i < BRIDGE_CODES; i++)
                if (node_is_text(n, codes[i])) {
                        m->code = (enum bridge_code)i;
                        return 0;
                }
        return -1;
}

static int
read_number(const struct node *n, enum value_kind kind, struct bridge_message *m)
{
        switch (kind) {
        case VALUE_ID:
                m->id = (uint32_t)n->integer;
                return is_number(n, 1, UINT32_MAX) ? 0 : -1;
        case VALUE_VERSION:
                m->protocol = (uint64_t)n->integer;
                return is_number(n, 0, INT64_MAX) ? 0 : -1;
        case VALUE_STATUS:
                m->status = n->integer;
                return is_number(n, 0, STATUS_MAX) ? 0 : -1;
        case VALUE_SIGNAL:
                m->signal = n->integer;
                return is_number(n, 1, SIGNAL_MAX) ? 0 : -1;
        default:
                m->bytes = (uint64_t)n->integer;
                return is_number(n, 1, INT32_MAX) ? 0 : -1;
        }
}

static int
read_value(struct arena *arena, const struct node *n, enum value_kind kind,
           struct bridge_message *m)
{
        switch (kind) {
        case VALUE_NAME:
                m->name = n->text;
                return is_text(n, BRIDGE_NAME_MAX) ? 0 : -1;
        case VALUE_ABILITIES:
                return read_abilities(n, m);
        case VALUE_MAP:
                m->result = n;
                return n->kind == NODE_MAP ? 0 : -1;
        case VALUE_CODE:
                return read_code(n, m);
        case VALUE_TEXT:
                m->text = n->text;
                return is_text(n, BRIDGE_TEXT_MAX) ? 0 : -1;
        case VALUE_STREAM:
                m->is_stderr = node_is_text(n, "stderr");
                return m->is_stderr || node_is_text(n, "stdout") ? 0 : -1;
        case VALUE_DATA:
                return bridge_data_read(arena, n, &m->data, &m->len) == 0 && m->len > 0 ? 0 : -1;
        default:
                return read_number(n, kind, m);
        }
}

static int
wrong(struct error *e, const char *reason, const char *kind, const char *member)
{
        return fail_at(e, ERROR_PROTOCOL, "provider", reason,
                       "the provider's program broke the bridge protocol: %s: %s of \"%.40s\"",
                       reason, member, kind);
}

static const struct member *
member_of(const struct kind_row *row, const char *name)
{
        for (size_t i = 0; i < MEMBERS_MAX && row->members[i].name; i++)
                if (strcmp(row->members[i].name, name) == 0)
                        return &row->members[i];
        return NULL;
}

static int
read_members(struct arena *arena, const struct node *root, const struct kind_row *row,
             struct bridge_message *m, struct error *e)
{
        for (size_t i = 0; i < MEMBERS_MAX && row->members[i].name; i++)
                if (!row->members[i].is_optional && !node_find(root, row->members[i].name))
                        return wrong(e, "missing", row->word, row->members[i].name);
        node_each(n, root)
        {
                const struct member *member = member_of(row, n->key);

                if (strcmp(n->key, "kind") == 0)
                        continue;
                if (!member)
                        return wrong(e, "unknown_field", row->word, "a member");
                if (read_value(arena, n, member->kind, m) < 0)
                        return wrong(e, "range", row->word, member->name);
        }
        if (m->kind == BRIDGE_EXITED && (m->status >= 0) == (m->signal > 0))
                return wrong(e, "missing", row->word, "either status or signal");
        return 0;
}

int
bridge_message_read(struct arena *arena, const char *line, size_t len, struct bridge_message *ret,
                    struct error *e)
{
        const struct node *root, *kind;
        struct error inner;

        if (json_read(arena, line, len, &limits, &root, &inner) < 0)
                return inner.code == ERROR_NO_MEMORY
                               ? fail(e, ERROR_NO_MEMORY, "no memory for a message of a provider")
                               : wrong(e, "json", "?", "not JSON: a line");
        kind = root->kind == NODE_MAP ? node_find(root, "kind") : NULL;
        if (!kind || kind->kind != NODE_STRING)
                return wrong(e, "unknown_kind", "?", "no object with a kind: a line");
        for (int i = 0; i < BRIDGE_KINDS; i++) {
                if (strcmp(kinds[i].word, kind->text) != 0)
                        continue;
                *ret = (struct bridge_message){ .kind = (enum bridge_kind)i, .status = -1 };
                return read_members(arena, root, &kinds[i], ret, e);
        }
        return wrong(e, "unknown_kind", kind->text, "a message");
}

/* -- writing ----------------------------------------------------------------------------------- */

void
bridge_begin(struct json_writer *w, const char *kind, uint32_t id)
{
        json_open_map(w);
        json_member_text(w, "kind", kind);
        if (id > 0)
                json_member_int(w, "id", id);
}

void
bridge_member_data(struct json_writer *w, const char *key, const void *bytes, size_t len)
{
        static char text[BRIDGE_DATA_MAX / 3 * 4 + 8];

        json_key(w, key);
        if (len > BRIDGE_DATA_MAX)
                w->is_broken = true;
        else
                json_bytes(w, text, base64_write(bytes, len, text));
}

void
bridge_end(struct json_writer *w)
{
        json_close_map(w);
}
