/*
 * mcp/message.c - reads a message, and checks everything that must hold before its method is used.
 *
 * Room: mcp (joining). Touches: mem.
 * Theory: the checks are in the order of their errors: JSON, shape, era, envelope, headers. A
 * message with a malformed claim to the modern era is refused, never served as a legacy message.
 * Headers alone do not select an era, but must not contradict the body.
 */
#include "mcp/message.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "mcp/message_id.h"

static const struct text_limits limits = { MCP_MESSAGE_MAX, MCP_DEPTH_MAX, MCP_NODES_MAX };
static const char *const legacy_versions[] = { "2024-10-07", "2024-11-05", "2025-03-26",
                                               "2025-06-18", MCP_LEGACY_LATEST };

/* The methods with an Mcp-Name header, and the member of params that it must equal. */
static const struct {
        const char *method, *member;
} named[] = {
        { "tools/call", "name" },  { "prompts/get", "name" },    { "resources/read", "uri" },
        { "tasks/get", "taskId" }, { "tasks/update", "taskId" }, { "tasks/cancel", "taskId" },
};

#define COUNT(a) (sizeof(a) / sizeof *(a))

int
mcp_refuse(struct mcp_refusal *why, int status, enum mcp_code code, const char *fmt, ...)
{
        va_list ap;

        *why = (struct mcp_refusal){ .status = status, .code = code };
        va_start(ap, fmt);
        (void)vsnprintf(why->message, sizeof why->message, fmt, ap);
        va_end(ap);
        return -1;
}

bool
mcp_is_legacy_version(const char *version)
{
        for (size_t i = 0; i < COUNT(legacy_versions); i++)
                if (strcmp(legacy_versions[i], version) == 0)
                        return true;
        return false;
}

/* Revisions are dates: the first modern one and all later ones belong to the modern era. */
static bool
names_modern(const char *version)
{
        return version && strcmp(version, MCP_MODERN) >= 0;
}

/* -- shape ------------------------------------------------------------------------------------- */

static int
read_shape(const struct node *root, struct mcp_message *ret, struct mcp_refusal *why)
{
        const struct node *id = node_find(root, "id"), *method = node_find(root, "method");

        if (root->kind == NODE_LIST)
                return mcp_refuse(why, 400, MCP_INVALID_REQUEST,
                                  "Batches are not accepted: send one message at a time");
        if (id && (id->kind == NODE_INT || id->kind == NODE_STRING))
                ret->id = id;
        if (root->kind != NODE_MAP || !node_is_text(node_find(root, "jsonrpc"), "2.0"))
                return mcp_refuse(why, 400, MCP_INVALID_REQUEST, "Not a JSON-RPC 2.0 message");
        ret->params = node_find(root, "params");
        if (id && !method && (node_find(root, "result") || node_find(root, "error"))) {
                ret->kind = MCP_RESPONSE;
                ret->result = node_find(root, "result");
                if (ret->result && ret->result->kind != NODE_MAP)
                        ret->result = NULL;
                return 0;
        }
        if (!method || method->kind != NODE_STRING)
                return mcp_refuse(why, 400, MCP_INVALID_REQUEST, "A message has a method");
        if (id && !ret->id)
                return mcp_refuse(why, 400, MCP_INVALID_REQUEST,
                                  "The id of a request is a string or an integer");
        if (ret->params && ret->params->kind != NODE_MAP)
                return mcp_refuse(why, 400, MCP_INVALID_REQUEST, "params must be an object");
        ret->kind = id ? MCP_REQUEST : MCP_NOTIFICATION;
        ret->method = method->text;
        ret->meta = node_find(ret->params, "_meta");
        if (ret->meta && ret->meta->kind != NODE_MAP)
                return mcp_refuse(why, 400, MCP_INVALID_PARAMS, "params._meta must be an object");
        return 0;
}

/* -- era and envelope -------------------------------------------------------------------------- */

static int
mismatch(struct mcp_refusal *why, const char *header, const char *says, const char *body)
{
        return mcp_refuse(why, 400, MCP_HEADER_MISMATCH,
                          "Bad Request: the request headers and body disagree: %s is %.100s, the "
                          "body says %.100s",
                          header, says ? says : "absent", body ? body : "nothing");
}

static int
bad_envelope(struct mcp_refusal *why, const char *key, const char *problem)
{
        return mcp_refuse(why, 400, MCP_INVALID_PARAMS,
                          "Invalid _meta envelope for protocol revision %s: %s: %s", MCP_MODERN,
                          key, problem);
}

static int
check_envelope(const struct mcp_message *m, struct mcp_refusal *why)
{
        const struct node *version = node_find(m->meta, MCP_META_VERSION),
                          *capabilities = node_find(m->meta, MCP_META_CAPABILITIES);
        const struct node *client = node_find(m->meta, MCP_META_CLIENT);

        if (!version || version->kind != NODE_STRING)
                return bad_envelope(why, MCP_META_VERSION,
                                    version ? "expected a string" : "missing");
        if (m->kind == MCP_NOTIFICATION)
                return 0;
        if (!capabilities || capabilities->kind != NODE_MAP)
                return bad_envelope(why, MCP_META_CAPABILITIES,
                                    capabilities ? "expected an object" : "missing");
        if (client && (client->kind != NODE_MAP || !node_find(client, "name") ||
                       node_find(client, "name")->kind != NODE_STRING))
                return bad_envelope(why, MCP_META_CLIENT,
                                    "expected an object with a name and a version");
        return 0;
}

static int
check_version(const char *version, struct mcp_refusal *why)
{
        if (strcmp(version, MCP_MODERN) == 0)
                return 0;
        (void)mcp_refuse(why, 400, MCP_UNSUPPORTED_VERSION, "Unsupported protocol version: %.64s",
                         version);
        (void)snprintf(why->requested, sizeof why->requested, "%s", version);
        return -1;
}

/*
 * A name with characters that a header cannot carry is sent as =?base64?...?=. No Carrel tool has
 * such a name, so it never matches.
 */
static int
check_name(const struct mcp_message *m, const char *header, struct mcp_refusal *why)
{
        for (size_t i = 0; i < COUNT(named); i++) {
                const struct node *member = node_find(m->params, named[i].member);

                if (strcmp(named[i].method, m->method) != 0 || !member ||
                    member->kind != NODE_STRING)
                        continue;
                if (!header || strcmp(header, member->text) != 0)
                        return mismatch(why, "Mcp-Name", header, member->text);
        }
        return 0;
}

static int
check_headers(const struct mcp_message *m, const struct mcp_headers *h, struct mcp_refusal *why)
{
        const struct node *version = node_find(m->meta, MCP_META_VERSION);

        if (h->version && version && strcmp(h->version, version->text) != 0)
                return mismatch(why, "MCP-Protocol-Version", h->version, version->text);
        if (h->method && strcmp(h->method, m->method) != 0)
                return mismatch(why, "Mcp-Method", h->method, m->method);
        return 0;
}

static int
check_required_headers(const struct mcp_message *m, const struct mcp_headers *h,
                       struct mcp_refusal *why)
{
        if (!h->is_http || m->kind != MCP_REQUEST)
                return 0;
        if (!h->version)
                return mismatch(why, "MCP-Protocol-Version", NULL, MCP_MODERN);
        if (!h->method)
                return mismatch(why, "Mcp-Method", NULL, m->method);
        return check_name(m, h->name, why);
}

static int
check_modern(const struct mcp_message *m, const struct mcp_headers *h, struct mcp_refusal *why)
{
        const struct node *version = node_find(m->meta, MCP_META_VERSION);

        if (check_headers(m, h, why) < 0 || check_version(version->text, why) < 0)
                return -1;
        return check_required_headers(m, h, why);
}

static int
check_legacy(const struct mcp_message *m, const struct mcp_headers *h, struct mcp_refusal *why)
{
        bool is_initialize = m->kind == MCP_REQUEST && strcmp(m->method, "initialize") == 0;

        if (!h->version)
                return 0;
        if (names_modern(h->version) && is_initialize)
                return mismatch(why, "MCP-Protocol-Version", h->version,
                                "initialize, which that revision does not have");
        if (names_modern(h->version) && m->kind == MCP_REQUEST)
                return mcp_refuse(why, 400, MCP_INVALID_PARAMS,
                                  "Invalid params: the MCP-Protocol-Version header names protocol "
                                  "revision %.64s, but the request is missing the required "
                                  "per-request envelope key(s): %s",
                                  h->version, m->meta ? MCP_META_VERSION : "_meta");
        if (!names_modern(h->version) && !is_initialize && !mcp_is_legacy_version(h->version))
                return mcp_refuse(
                        why, 400, MCP_SERVER_ERROR,
                        "Bad Request: Unsupported protocol version: %.64s (the latest here is %s)",
                        h->version, MCP_LEGACY_LATEST);
        return 0;
}

/*
 * initialize belongs to the legacy era. With a complete envelope of the modern era it is a modern
 * message, and that era has no such method.
 */
static int
read_era(struct mcp_message *m, const struct mcp_headers *h, struct mcp_refusal *why)
{
        bool has_claim = node_find(m->meta, MCP_META_VERSION) != NULL;
        struct mcp_refusal ignored;

        if (m->kind == MCP_RESPONSE)
                return 0;
        if (m->kind == MCP_NOTIFICATION && !has_claim) {
                m->is_modern = names_modern(h->version);
                return m->is_modern ? check_headers(m, h, why) : check_legacy(m, h, why);
        }
        if (has_claim && strcmp(m->method, "initialize") == 0 && check_envelope(m, &ignored) < 0)
                has_claim = false;
        if (!has_claim)
                return check_legacy(m, h, why);
        m->is_modern = true;
        return check_envelope(m, why) < 0 ? -1 : check_modern(m, h, why);
}

int
mcp_message_read(struct arena *arena, const char *bytes, size_t len,
                 const struct mcp_headers *headers, struct mcp_message *ret,
                 struct mcp_refusal *ret_why)
{
        struct mcp_id_scan scan = { 0 };
        const struct node *root;
        struct error e;

        *ret = (struct mcp_message){ 0 };
        if (json_read(arena, bytes, len, &limits, &root, &e) < 0) {
                mcp_id_scan_put(&scan, bytes, len);
                ret->id = mcp_id_scan_end(&scan, arena);
                return mcp_refuse(ret_why, 400,
                                  e.code == ERROR_NO_MEMORY ? MCP_INTERNAL_ERROR : MCP_PARSE_ERROR,
                                  "Parse error: %.240s", e.message);
        }
        if (read_shape(root, ret, ret_why) < 0)
                return -1;
        return read_era(ret, headers, ret_why);
}

/* -- answers ----------------------------------------------------------------------------------- */

static void
open_message(struct json_writer *w, const struct node *id)
{
        json_open_map(w);
        json_member_text(w, "jsonrpc", "2.0");
        json_key(w, "id");
        if (id)
                json_node(w, id);
        else
                json_none(w);
}

void
mcp_error_write(struct json_writer *w, const struct node *id, const struct mcp_refusal *why)
{
        open_message(w, id);
        json_key(w, "error");
        json_open_map(w);
        json_member_int(w, "code", why->code);
        json_member_text(w, "message", why->message);
        if (why->code == MCP_UNSUPPORTED_VERSION) {
                json_key(w, "data");
                json_open_map(w);
                json_key(w, "supported");
                json_open_list(w);
                json_text(w, MCP_MODERN);
                json_close_list(w);
                json_member_text(w, "requested", why->requested);
                json_close_map(w);
        }
        json_close_map(w);
        json_close_map(w);
}

void
mcp_result_open(struct json_writer *w, const struct mcp_message *m, const char *server_version)
{
        mcp_result_open_as(w, m, server_version, "complete");
}

void
mcp_result_open_as(struct json_writer *w, const struct mcp_message *m, const char *server_version,
                   const char *type)
{
        open_message(w, m->id);
        json_key(w, "result");
        json_open_map(w);
        if (!m->is_modern)
                return;
        json_member_text(w, "resultType", type);
        json_key(w, "_meta");
        json_open_map(w);
        json_key(w, MCP_META_SERVER);
        json_open_map(w);
        json_member_text(w, "name", "carrel");
        json_member_text(w, "version", server_version);
        json_close_map(w);
        json_close_map(w);
}

void
mcp_result_close(struct json_writer *w)
{
        json_close_map(w);
        json_close_map(w);
}
