/*
 * mcp/fixture.c - fixed answers for the MCP conformance suite; empty in the shipped program.
 *
 * Room: mcp (joining). Touches: mem.
 * Theory: names and texts come from the suite (0.1.16 and 0.2.0-alpha.12). Features that Carrel
 * does not have are left out, so that no row of test/npm/mcp_conformance_table.mjs passes by a
 * feature that is not shipped: completion, logging, subscriptions, elicitation, sampling, tasks.
 */
#include "mcp/fixture.h"

#include "base/switches.h"

#ifdef CARREL_TEST_SWITCHES
#include <string.h>

#include "mcp/server.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))
#define PNG                                                                         \
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/" \
        "pLvAAAAAElFTkSuQmCC"
#define WAV "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="
#define TEXT(s) "{\"type\":\"text\",\"text\":\"" s "\"}"
#define IMAGE "{\"type\":\"image\",\"data\":\"" PNG "\",\"mimeType\":\"image/png\"}"
#define AUDIO "{\"type\":\"audio\",\"data\":\"" WAV "\",\"mimeType\":\"audio/wav\"}"
#define RESOURCE(uri, type, s)                                                          \
        "{\"type\":\"resource\",\"resource\":{\"uri\":\"" uri "\",\"mimeType\":\"" type \
        "\",\"text\":\"" s "\"}}"
#define USER(content) "{\"role\":\"user\",\"content\":" content "}"
#define ENTRY(uri, name, type)                  \
        "{\"uri\":\"" uri "\",\"name\":\"" name \
        "\",\"description\":\"For conformance tests.\",\"mimeType\":\"" type "\"}"
#define PROMPT(name, arguments) \
        "{\"name\":\"" name     \
        "\",\"description\":\"For conformance tests.\",\"arguments\":[" arguments "]}"
#define REQUIRED(name) "{\"name\":\"" name "\",\"required\":true}"

/*
 * The result has one member, `key`. `name` is the name in params; NULL: none. In `value`, <word> is
 * replaced by the argument with that name. <id> is replaced by the part of the template's URI at
 * <id> in `name`.
 */
static const struct answer {
        const char *method, *name, *key, *value;
        bool is_cached; /* in the modern era it has a caching hint */
} answers[] = {
        { "tools/call", "test_image_content", "content", "[" IMAGE "]", false },
        { "tools/call", "test_audio_content", "content", "[" AUDIO "]", false },
        { "tools/call", "test_embedded_resource", "content",
          "[" RESOURCE("test://embedded-resource", "text/plain",
                       "This is an embedded resource content.") "]",
          false },
        { "tools/call", "test_multiple_content_types", "content",
          "[" TEXT("Multiple content types test:") "," IMAGE "," RESOURCE(
                  "test://mixed-content-resource", "application/json",
                  "{\\\"test\\\":\\\"data\\\",\\\"value\\\":123}") "]",
          false },
        { "resources/list", NULL, "resources",
          "[" ENTRY("test://static-text", "static-text", "text/plain") "," ENTRY(
                  "test://static-binary", "static-binary", "image/png") "]",
          true },
        { "resources/templates/list", NULL, "resourceTemplates",
          "[{\"uriTemplate\":\"test://template/{id}/"
          "data\",\"name\":\"template\",\"description\":\"For conformance "
          "tests.\",\"mimeType\":\"application/json\"}]",
          true },
        { "resources/read", "test://static-text", "contents",
          "[{\"uri\":\"test://static-text\",\"mimeType\":\"text/plain\",\"text\":\"This is the "
          "content of the static text resource.\"}]",
          true },
        { "resources/read", "test://static-binary", "contents",
          "[{\"uri\":\"test://static-binary\",\"mimeType\":\"image/png\",\"blob\":\"" PNG "\"}]",
          true },
        { "resources/read", "test://template/<id>/data", "contents",
          "[{\"uri\":\"test://template/<id>/data\",\"mimeType\":\"application/"
          "json\",\"text\":\"Data for ID: <id>\"}]",
          true },
        { "prompts/list", NULL, "prompts",
          "[" PROMPT("test_simple_prompt", "") "," PROMPT(
                  "test_prompt_with_arguments",
                  REQUIRED("arg1") "," REQUIRED(
                          "arg2")) "," PROMPT("test_prompt_with_embedded_resource",
                                              REQUIRED("resourceUri")) "," PROMPT("test_prompt_"
                                                                                  "with_image",
                                                                                  "") "]",
          true },
        { "prompts/get", "test_simple_prompt", "messages",
          "[" USER(TEXT("This is a simple prompt for testing.")) "]", false },
        { "prompts/get", "test_prompt_with_arguments", "messages",
          "[" USER(TEXT("Prompt with arguments: arg1='<arg1>', arg2='<arg2>'")) "]", false },
        { "prompts/get", "test_prompt_with_embedded_resource", "messages",
          "[" USER(RESOURCE(
                  "<resourceUri>", "text/plain",
                  "Embedded resource content for testing.")) "," USER(TEXT("Please process the "
                                                                           "embedded resource "
                                                                           "above.")) "]",
          false },
        { "prompts/get", "test_prompt_with_image", "messages",
          "[" USER(IMAGE) "," USER(TEXT("Please analyze the image above.")) "]", false },
};

/* -- answers ----------------------------------------------------------------------------------- */

/* Does `given` in params match the row's `name`? Then *ret_id, *ret_len are the part at <id>. */
static bool
is_named(const char *name, const char *given, const char **ret_id, size_t *ret_len)
{
        const char *at = strstr(name, "<id>"), *rest;
        size_t before = at ? (size_t)(at - name) : 0, len = strlen(given);

        if (!at)
                return strcmp(name, given) == 0;
        rest = at + strlen("<id>");
        if (strncmp(name, given, before) != 0 || len <= before + strlen(rest) ||
            strcmp(given + len - strlen(rest), rest) != 0)
                return false;
        *ret_id = given + before;
        *ret_len = len - before - strlen(rest);
        return true;
}

/* Appends one word of the answer, escaped for a JSON string. */
static void
put_word(struct mcp_bytes *to, const struct mcp_request *r, const char *word, size_t len,
         const char *id, size_t id_len)
{
        const struct node *given = node_find(r->message.params, "arguments");
        struct json_writer w;

        json_init(&w, false);
        if (len == 2 && memcmp(word, "id", len) == 0)
                json_bytes(&w, id, id_len);
        for (const struct node *n = given && given->kind == NODE_MAP ? given->first : NULL; n;
             n = n->next)
                if (strlen(n->key) == len && memcmp(n->key, word, len) == 0 &&
                    n->kind == NODE_STRING)
                        json_bytes(&w, n->text, n->len);
        if (w.len > 2)
                mcp_bytes_put(to, w.text + 1, w.len - 2);
        json_fini(&w);
}

static void
answer(struct mcp_request *r, const struct answer *a, const char *id, size_t id_len)
{
        struct mcp_bytes value = { 0 };
        struct json_writer w;

        for (const char *at = a->value; *at != '\0';) {
                size_t plain = strcspn(at, "<"),
                       word = at[plain] ? strcspn(at + plain + 1, ">") : 0;

                mcp_bytes_put(&value, at, plain);
                if (at[plain])
                        put_word(&value, r, at + plain + 1, word, id, id_len);
                at += plain + (at[plain] ? word + 2 : 0);
        }
        request_result(r, &w);
        json_key(&w, a->key);
        json_raw(&w, value.text, value.len);
        if (a->is_cached && r->message.is_modern)
                request_cache_hint(&w);
        mcp_result_close(&w);
        mcp_bytes_fini(&value);
        request_answer(r, &w);
}

/*
 * Answers with the row that this request names, if there is one. *ret_is_known: the method belongs
 * to the fixture.
 */
static bool
answer_by_name(struct mcp_request *r, const struct node *name, bool *ret_is_known)
{
        const char *id = "";
        size_t id_len = 0;

        for (size_t i = 0; i < COUNT(answers); i++) {
                if (strcmp(answers[i].method, r->message.method) != 0)
                        continue;
                *ret_is_known = true;
                if (answers[i].name && !(name && name->kind == NODE_STRING &&
                                         is_named(answers[i].name, name->text, &id, &id_len)))
                        continue;
                answer(r, &answers[i], id, id_len);
                return true;
        }
        return false;
}

/* -- tools ------------------------------------------------------------------------------------- */

static void
run_content(struct mcp_request *r)
{
        bool is_known;

        (void)answer_by_name(r, node_find(r->message.params, "name"), &is_known);
}

static void
run_text(struct mcp_request *r)
{
        static const char text[] = "This is a simple text response for testing.";

        request_text(r, text, sizeof text - 1, false);
}

static void
run_error(struct mcp_request *r)
{
        struct error e;

        (void)fail(&e, ERROR_COMMAND_NOT_FOUND,
                   "this tool intentionally returns an error for testing");
        request_fail(r, &e);
}

static void
run_progress(struct mcp_request *r)
{
        static const char *const parts[] = { "begun", "half way", "ended" };

        for (size_t i = 0; i < COUNT(parts); i++)
                request_progress(r, 1, parts[i], strlen(parts[i]));
        request_text(r, parts[2], strlen(parts[2]), false);
}

#define NONE "{\"type\":\"object\"}"
#define HELP "For conformance tests."

static const char schema[] =
        "{\"$schema\":\"https://json-schema.org/draft/2020-12/"
        "schema\",\"type\":\"object\",\"$defs\":{\"address\":{\"$anchor\":\"addressDef\",\"type\":"
        "\"object\","
        "\"properties\":{\"street\":{\"type\":\"string\"},\"city\":{\"type\":\"string\"}}}},"
        "\"properties\":{\"name\":{\"type\":\"string\"},"
        "\"address\":{\"$ref\":\"#/$defs/"
        "address\"},\"contactMethod\":{\"type\":\"string\",\"enum\":[\"phone\",\"email\"]},"
        "\"phone\":{\"type\":\"string\"},"
        "\"email\":{\"type\":\"string\"}},\"allOf\":[{\"anyOf\":[{\"required\":[\"phone\"]},{"
        "\"required\":[\"email\"]}]}],"
        "\"if\":{\"properties\":{\"contactMethod\":{\"const\":\"phone\"}},\"required\":["
        "\"contactMethod\"]},\"then\":{\"required\":[\"phone\"]},"
        "\"else\":{\"required\":[\"email\"]},\"additionalProperties\":false}";

const struct tool *
fixture_tools(unsigned flags, size_t *ret_count)
{
        static const struct tool tools[] = {
                { "test_simple_text", "Text", HELP, TOOL_READ_ONLY, 0, NULL, NONE, run_text },
                { "test_image_content", "Image", HELP, TOOL_READ_ONLY, 0, NULL, NONE, run_content },
                { "test_audio_content", "Audio", HELP, TOOL_READ_ONLY, 0, NULL, NONE, run_content },
                { "test_embedded_resource", "Resource", HELP, TOOL_READ_ONLY, 0, NULL, NONE,
                  run_content },
                { "test_multiple_content_types", "Several", HELP, TOOL_READ_ONLY, 0, NULL, NONE,
                  run_content },
                { "test_error_handling", "Error", HELP, TOOL_READ_ONLY, 0, NULL, NONE, run_error },
                { "test_tool_with_progress", "Progress", HELP, TOOL_READ_ONLY, 0, NULL, NONE,
                  run_progress },
                { "json_schema_2020_12_tool", "Schema", HELP, TOOL_READ_ONLY, 0, NULL, schema,
                  run_text },
        };

        *ret_count = flags & MCP_FIXTURE ? COUNT(tools) : 0;
        return tools;
}

/* -- resources and prompts --------------------------------------------------------------------- */

bool
fixture_is_asked(const char *pair, size_t len)
{
        static const char word[] = "test_fixture=true";

        return len == sizeof word - 1 && memcmp(pair, word, len) == 0;
}

void
fixture_capabilities(struct json_writer *w, unsigned flags)
{
        static const char *const names[] = { "resources", "prompts" };

        for (size_t i = 0; i < COUNT(names) && flags & MCP_FIXTURE; i++) {
                json_key(w, names[i]);
                json_open_map(w);
                json_close_map(w);
        }
}

bool
fixture_serve(struct mcp_request *r)
{
        const struct node *name =
                node_find(r->message.params,
                          strcmp(r->message.method, "resources/read") == 0 ? "uri" : "name");
        bool is_known = false;
        struct mcp_refusal why;

        if (!(r->flags & MCP_FIXTURE))
                return false;
        if (answer_by_name(r, name, &is_known) || !is_known)
                return is_known;
        (void)mcp_refuse(&why, 200, MCP_INVALID_PARAMS, "Not found");
        request_refuse(r, &why);
        return true;
}
#else
typedef int fixture_is_none; /* a C file must contain a declaration */
#endif
