/*
 * mcp/tools.c - the table of tools, and how a client sees it.
 *
 * Room: mcp (joining). Touches: mem.
 * Theory: schemas of Carrel's own tools are generated from the operation table, so nothing is
 * stated twice. The schemas of Mastra's three tools are copies of its own texts (@mastra/core
 * 1.71.0, JSON Schema 2020-12), because agents were tuned with them.
 */
#include "mcp/tools.h"

#include <stdio.h>
#include <string.h>

#include "mcp/fixture.h"
#include "mcp/server.h"
#include "mcp/tools_fields.h"

static const char execute_help[] =
        "Execute a shell command in the workspace sandbox.\n\nExamples:\n  \"npm install && npm "
        "run build\"\n  \"ls -la src/\"\n"
        "  \"cat config.json | jq '.database'\"\n  \"cd /app && python main.py\"\n\nUsage:\n"
        "- Commands run in a shell, so pipes, redirects, and chaining (&&, ||, ;) all work.\n"
        "- Always quote file paths that contain spaces (e.g., cd \"/path/with spaces\").\n"
        "- Use the timeout parameter (in seconds) to limit execution time. Behavior when omitted "
        "depends on the sandbox provider.\n"
        "- Optionally use cwd to override the working directory. Commands run from the sandbox's "
        "configured workingDirectory (or the provider default) if omitted.\n\n"
        "Set background: true to run long-running commands (dev servers, watchers) without "
        "blocking. You'll get a PID to track the process.";
static const char output_help[] =
        "Get the current output (stdout, stderr) and status of a background process by its PID.\n\n"
        "Use this after starting a background command with execute_command (background: true) to "
        "check if the process is still running and read its output.";
static const char kill_help[] =
        "Kill a background process by its PID.\n\nUse this to stop a long-running background "
        "process that was started with execute_command (background: true). "
        "Returns the last 50 lines of output.";

#define SCHEMA                                                  \
        "{\"$schema\":\"https://json-schema.org/draft/2020-12/" \
        "schema\",\"type\":\"object\",\"properties\":{"
#define WHOLE "\"minimum\":-9007199254740991,\"maximum\":9007199254740991"

static const char execute_input[] = SCHEMA
        "\"command\":{\"type\":\"string\",\"description\":\"The shell command to execute (e.g., "
        "\\\"npm install\\\", \\\"ls -la src/\\\", \\\"cat file.txt | grep error\\\")\"},"
        "\"timeout\":{\"description\":\"Maximum execution time in seconds. Example: 60 for 1 "
        "minute.\",\"type\":[\"number\",\"null\"]},"
        "\"cwd\":{\"description\":\"Working directory for the "
        "command\",\"type\":[\"string\",\"null\"]},"
        "\"tail\":{\"description\":\"For foreground commands: limit output to the last N lines, "
        "similar to tail -n. Defaults to 200. Use 0 for no limit.\","
        "\"anyOf\":[{\"type\":\"integer\"," WHOLE "},{\"type\":\"null\"}]},"
        "\"background\":{\"description\":\"Run the command in the background. Returns a PID "
        "immediately instead of waiting for completion. "
        "Use get_process_output to check on it "
        "later.\",\"type\":\"boolean\"}},\"required\":[\"command\"]}";
static const char output_input[] = SCHEMA
        "\"pid\":{\"type\":\"string\",\"description\":\"The process ID returned when the "
        "background command was started\"},"
        "\"tail\":{\"description\":\"Number of lines to return, similar to tail -n. Positive or "
        "negative returns last N lines from end. Defaults to 200. Use 0 for no limit.\","
        "\"type\":\"integer\"," WHOLE "},"
        "\"wait\":{\"description\":\"If true, block until the process exits and return the final "
        "output. "
        "Useful for short-lived background commands where you want to wait for the "
        "result.\",\"type\":\"boolean\"}},\"required\":[\"pid\"]}";
static const char kill_input[] =
        SCHEMA "\"pid\":{\"type\":\"string\",\"description\":\"The process ID of the background "
               "process to kill\"}},\"required\":[\"pid\"]}";
static const char clear_input[] =
        SCHEMA "\"key\":{\"type\":\"string\",\"description\":\"The context's key; without one "
               "every context is forgotten.\"}}}";

static const uint16_t pages[] = { FIELD_LIMIT, FIELD_CURSOR, 0 };
static const uint16_t create_leaves[] = { FIELD_MANIFEST_NAME, FIELD_KEY, 0 };
static const uint16_t exec_leaves[] = {
        FIELD_TTY,        FIELD_ROWS,          FIELD_COLUMNS, FIELD_STDIN_OPEN, FIELD_LOSSLESS,
        FIELD_WAIT_PORTS, FIELD_WAIT_PORTS_MS, FIELD_CLIENT,  FIELD_KEY,        0
};
static const uint16_t attach_leaves[] = { FIELD_LOSSLESS, FIELD_STDOUT_OFFSET, FIELD_STDERR_OFFSET,
                                          FIELD_KEEP_BYTES, 0 };
static const uint16_t key_leaves[] = { FIELD_KEY, 0 };

#define MASTRA (TOOL_MASTRA | TOOL_CONFIGURED)

static const struct tool tools[] = {
        { "execute_command", "Execute command", execute_help, MASTRA | TOOL_DESTRUCTIVE, 0, NULL,
          execute_input, tool_execute_command },
        { "get_process_output", "Get process output", output_help,
          MASTRA | TOOL_READ_ONLY | TOOL_IDEMPOTENT, 0, NULL, output_input,
          tool_get_process_output },
        { "kill_process", "Kill process", kill_help, MASTRA | TOOL_DESTRUCTIVE | TOOL_IDEMPOTENT, 0,
          NULL, kill_input, tool_kill_process },
        { "sandbox_create", "Create a sandbox",
          "Creates an isolated sandbox to run commands in. Pass its id as sandbox_id to the other "
          "tools.",
          TOOL_MANAGE, OP_CREATE, create_leaves, NULL, tool_plain },
        { "sandbox_list", "List sandboxes", "Lists your sandboxes, oldest first.",
          TOOL_OWNED | TOOL_READ_ONLY | TOOL_IDEMPOTENT, OP_LIST, pages, NULL, tool_plain },
        { "sandbox_get", "Get a sandbox",
          "Tells how a sandbox stands: its state, and the time it has left.",
          TOOL_SANDBOX | TOOL_READ_ONLY | TOOL_IDEMPOTENT, OP_GET, NULL, NULL, tool_plain },
        { "sandbox_stop", "Stop a sandbox",
          "Stops and destroys a sandbox, with every process and everything that was only in it.",
          TOOL_SANDBOX | TOOL_DESTRUCTIVE | TOOL_IDEMPOTENT, OP_STOP, NULL, NULL, tool_plain },
        { "extend_timeout", "Extend the time left",
          "Adds milliseconds to the time a sandbox has left.", TOOL_SANDBOX, OP_EXTEND, key_leaves,
          NULL, tool_plain },
        { "get_url", "Get a URL",
          "Gives a URL, with a token in it, that reaches a port which the sandbox declared.",
          TOOL_SANDBOX | TOOL_READ_ONLY, OP_URL, NULL, NULL, tool_plain },
        { "exec", "Run a command",
          "Runs a command, a shell command line or a list of arguments, and answers with its "
          "output, how it ended, and what it used. "
          "With background: true it returns at once; use exec_output to read the output later.",
          TOOL_SANDBOX | TOOL_DESTRUCTIVE, OP_EXEC, exec_leaves, NULL, tool_exec },
        { "run_code", "Run code",
          "Runs code in a language (python, javascript, shell, ...) with the interpreter of the "
          "sandbox, and answers with its output, how it ended, and what it used. Nothing is kept "
          "from one call to the next but files.",
          TOOL_SANDBOX | TOOL_DESTRUCTIVE, OP_CODE, exec_leaves, NULL, tool_exec },
        { "exec_output", "Output of a command",
          "Tells the output of a command so far and how it stands.",
          TOOL_SANDBOX | TOOL_READ_ONLY | TOOL_IDEMPOTENT, OP_EXEC_ATTACH, attach_leaves, NULL,
          tool_exec_output },
        { "exec_kill", "Kill a command",
          "Kills a command's whole process tree; says whether it still ran.",
          TOOL_SANDBOX | TOOL_DESTRUCTIVE | TOOL_IDEMPOTENT, OP_EXEC_KILL, NULL, NULL, tool_plain },
        { "list_denials", "What the network refused",
          "Tells what the sandbox's commands asked of the network and were refused, which rule is "
          "missing, and how to ask for it.",
          TOOL_SANDBOX | TOOL_READ_ONLY | TOOL_IDEMPOTENT, OP_DENIALS, pages, NULL, tool_plain },
        { "read_file", "Read a file", "Reads a regular file, or a part of it.",
          TOOL_SANDBOX | TOOL_READ_ONLY | TOOL_IDEMPOTENT, OP_FILE_READ, NULL, NULL,
          tool_read_file },
        { "write_files", "Write files",
          "Writes files, each whole or not at all; none is put in place before all were received.",
          TOOL_SANDBOX | TOOL_DESTRUCTIVE | TOOL_IDEMPOTENT, OP_FILE_WRITE, key_leaves, NULL,
          tool_write_files },
        { "list_files", "List files", "Lists what is in a directory.",
          TOOL_SANDBOX | TOOL_READ_ONLY | TOOL_IDEMPOTENT, OP_FILE_LIST, NULL, NULL,
          tool_list_files },
        { "clear_sandbox_cache", "Forget contexts",
          "Clears the sandbox of a context; the next call chooses one again. Stops no sandbox.",
          TOOL_MANAGE | TOOL_IDEMPOTENT, 0, NULL, clear_input, tool_clear_cache },
};

#define COUNT(a) (sizeof(a) / sizeof *(a))
#define PREFIX "mastra_workspace_"

static const char *
tool_name(const struct tool *t, unsigned flags, char *room, size_t len)
{
        if (!(t->flags & TOOL_MASTRA) || flags & MCP_PLAIN_NAMES)
                return t->name;
        (void)snprintf(room, len, PREFIX "%s", t->name);
        return room;
}

const struct tool *
tool_find(const char *name, unsigned flags)
{
        size_t fixture_count;
        const struct tool *fixture = fixture_tools(flags, &fixture_count);
        char room[64];

        for (size_t i = 0; i < COUNT(tools); i++)
                if (strcmp(tool_name(&tools[i], flags, room, sizeof room), name) == 0)
                        return &tools[i];
        for (size_t i = 0; i < fixture_count; i++)
                if (strcmp(fixture[i].name, name) == 0)
                        return &fixture[i];
        return NULL;
}

/*
 * A model that runs in a sandbox must not choose its own limits, nor look into other sandboxes.
 * Only a model that may manage sandboxes can create them and use others than the configured one.
 */
static bool
is_permitted(const struct mcp_request *r, const struct tool *t)
{
        bool is_by_context = request_is_configured(r) && !r->sandbox;

        if (r->flags & MCP_MANAGE)
                return true;
        return !(t->flags & TOOL_MANAGE) && !(t->flags & TOOL_OWNED && is_by_context);
}

static bool
is_own(const struct mcp_request *r)
{
        const struct node *id = node_find(r->arguments, "sandbox_id");

        return !id || r->flags & MCP_MANAGE || !request_is_configured(r) ||
               (r->sandbox && node_is_text(id, r->sandbox));
}

void
tool_run(struct mcp_request *r)
{
        struct error e;

        if (is_permitted(r, r->tool) && is_own(r)) {
                if (!approval_resume(r))
                        r->tool->run(r);
                return;
        }
        (void)fail(&e, ERROR_FORBIDDEN,
                   is_own(r) ? "this connection does not manage sandboxes"
                             : "this connection is for one sandbox, and sandbox_id names another");
        error_hint(&e, "The person who configures it can allow that: carrel mcp --manage, or "
                       "manage=true in the URL.");
        request_fail(r, &e);
}

/* -- the list ---------------------------------------------------------------------------------- */

/* Schemas in this file are JSON text; the writer needs them as a tree. */
static void
write_text(struct json_writer *w, const char *json)
{
        static const struct text_limits limits = { 16 * 1024, 16, 1024 };
        const struct node *root;
        struct arena arena;
        struct error e;

        arena_init(&arena, 1u << 20);
        if (json_read(&arena, json, strlen(json), &limits, &root, &e) == 0)
                json_node(w, root);
        else
                w->is_broken = true;
        arena_fini(&arena);
}

static void
write_annotations(struct json_writer *w, const struct tool *t)
{
        json_key(w, "annotations");
        json_open_map(w);
        json_member_text(w, "title", t->title);
        json_member_bool(w, "readOnlyHint", t->flags & TOOL_READ_ONLY);
        json_member_bool(w, "destructiveHint", t->flags & TOOL_DESTRUCTIVE);
        json_member_bool(w, "idempotentHint", t->flags & TOOL_IDEMPOTENT);
        json_member_bool(w, "openWorldHint", false);
        json_close_map(w);
}

static void
write_tool(struct json_writer *w, const struct tool *t, const struct mcp_request *r)
{
        enum tools_id id = !request_is_configured(r) ? TOOLS_ID_REQUIRED
                           : r->flags & MCP_MANAGE   ? TOOLS_ID_OPTIONAL
                                                     : TOOLS_ID_NONE;
        char room[64];

        json_open_map(w);
        json_member_text(w, "name", tool_name(t, r->flags, room, sizeof room));
        json_member_text(w, "title", t->title);
        json_member_text(w, "description", t->help);
        json_key(w, "inputSchema");
        if (t->input)
                write_text(w, t->input);
        else
                tools_input_schema(w, t, id);
        if (t->op) {
                json_key(w, "outputSchema");
                tools_output_schema(w, t);
        }
        write_annotations(w, t);
        json_close_map(w);
}

void
tools_write(struct json_writer *w, const struct mcp_request *r)
{
        size_t fixture_count;
        const struct tool *fixture = fixture_tools(r->flags, &fixture_count);

        json_open_list(w);
        for (size_t i = 0; i < COUNT(tools); i++)
                if ((request_is_configured(r) || !(tools[i].flags & TOOL_CONFIGURED)) &&
                    is_permitted(r, &tools[i]))
                        write_tool(w, &tools[i], r);
        for (size_t i = 0; i < fixture_count; i++)
                write_tool(w, &fixture[i], r);
        json_close_list(w);
}
