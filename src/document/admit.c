/*
 * document/admit.c - what an agent may do in the sandbox that a document describes.
 *
 * Room: document (deciding, pure). Touches: nothing.
 * Theory: fail closed. A tier, list or timeout that is absent or malformed never allows.
 */
#include "document/admit.h"

#include <string.h>
#include <strings.h>

#include "document/value.h"

const char *const document_timeout_names[DOCUMENT_TIMEOUTS] = { "per_tool_call", "per_task_loop",
                                                                "per_sandbox_lifetime" };

static const struct document_verdict allow = { DOCUMENT_ALLOW, "allow",
                                               "nothing in the document refuses it" };

/* -- egress ------------------------------------------------------------------------------------ */

/* The length without a final dot. */
static size_t
name_len(const char *host)
{
        size_t len = strlen(host);

        return len > 1 && host[len - 1] == '.' ? len - 1 : len;
}

/* "*.x" allows one or more labels below x. */
static bool
is_host(const char *entry, const char *host)
{
        size_t entry_len = name_len(entry), len = name_len(host);

        if (entry_len > 2 && entry[0] == '*' && entry[1] == '.') {
                entry++;
                entry_len--;
                if (len <= entry_len)
                        return false;
                host += len - entry_len;
                len = entry_len;
        }
        return !memchr(entry, '*', entry_len) && len == entry_len &&
               strncasecmp(entry, host, len) == 0;
}

static bool
is_listed(const struct node *root, const char *host, uint16_t port)
{
        const struct node *list = node_find(node_find(root, "network"), "egress_allowlist");

        if (!list || list->kind != NODE_LIST)
                return false;
        node_each(entry, list)
        {
                const struct node *name = node_find(entry, "host");
                const struct node *number = node_find(entry, "port");

                if (name && name->kind == NODE_STRING && number && number->kind == NODE_INT &&
                    number->integer == port && is_host(name->text, host))
                        return true;
        }
        return false;
}

/* -- operations and time ----------------------------------------------------------------------- */

static bool
needs_person(const struct node *root, const char *operation)
{
        const struct node *list = node_find(node_find(root, "tools"), "human_in_the_loop");

        if (!list || list->kind != NODE_LIST)
                return true;
        node_each(item, list) if (item->kind != NODE_STRING ||
                                  document_is_name(item->text, operation)) return true;
        return false;
}

static bool
is_past(const struct node *root, size_t layer, uint64_t elapsed_ms)
{
        const struct node *timeouts = node_find(node_find(root, "resources"), "timeouts");
        const struct node *limit = node_find(timeouts, document_timeout_names[layer]);
        uint64_t ms;

        return !limit || limit->kind != NODE_STRING || !document_duration(limit->text, &ms) ||
               elapsed_ms > ms;
}

struct document_verdict
document_admit(const struct node *root, const struct document_request *request)
{
        static const unsigned needed[] = { 1, 3, 4 };
        static const struct document_verdict aborts[] = {
                { DOCUMENT_ABORT, "abort:per_tool_call", "the tool call is past its time" },
                { DOCUMENT_ABORT, "abort:per_task_loop", "the task is past its time" },
                { DOCUMENT_ABORT, "abort:per_sandbox_lifetime", "the sandbox is past its time" },
        };

        if (document_tier(node_find(node_find(root, "isolation"), "tier")) < needed[request->risk])
                return (struct document_verdict){ DOCUMENT_REFUSE, "refuse:tier",
                                                  "the isolation tier is too low for the risk" };
        if (request->host &&
            !is_listed(root, request->host, request->port ? request->port : DOCUMENT_HTTPS))
                return (struct document_verdict){ DOCUMENT_REFUSE, "refuse:egress",
                                                  "the host and port are not in the egress allow "
                                                  "list" };
        if (request->operation && needs_person(root, request->operation))
                return (struct document_verdict){ DOCUMENT_ASK_USER, "ask_user",
                                                  "the document lists the operation as one that a "
                                                  "person approves" };
        for (size_t i = 0; i < DOCUMENT_TIMEOUTS; i++)
                if (request->elapsed_ms[i] != DOCUMENT_NOT_ELAPSED &&
                    is_past(root, i, request->elapsed_ms[i]))
                        return aborts[i];
        return allow;
}
