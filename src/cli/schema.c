/*
 * cli/schema.c - `carrel schema`: the JSON Schema of a sandbox block, a host file or a sandbox
 * document.
 *
 * Room: cli (joining, program). Touches: fd (standard output).
 * Theory: the schema is printed from the same tables of fields that the reader decodes by.
 */
#include "spec/schema.h"
#include "cli/commands.h"
#include "cli/finding_print.h"
#include "cli/options.h"
#include "document/schema.h"
#include "policy/host_fields.h"

struct asked {
        bool is_hosts, is_document;
};

static int
cmd_schema(int argc, char **argv)
{
        struct json_writer w;
        struct error e;
        struct asked a = { .is_hosts = false };
        struct words words;

        if (options_read(&command_schema, argc, argv, &a, &words, &e) < 0)
                return print_failure(NULL, &e, false);
        json_init(&w, true);
        if (a.is_hosts)
                host_schema_write(&w);
        else if (a.is_document)
                document_schema_write(&w);
        else
                spec_schema_write(&w);
        return json_print(&w, stdout);
}

static const struct option options[] = {
        OPTION_FLAG(struct asked, is_hosts, "--host", "of a host file"),
        OPTION_FLAG(struct asked, is_document, "--doc", "of a sandbox document"),
        OPTION_END,
};

const struct command command_schema = {
        .name = "schema",
        .help = "Print the JSON Schema of a manifest, a host file or a sandbox document.",
        .options = options,
        .example = "carrel schema > sandbox.schema.json",
        .run = cmd_schema,
};
