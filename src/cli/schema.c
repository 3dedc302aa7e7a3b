/*
 * cli/schema.c - `carrel schema`: the JSON Schema of a sandbox block.
 *
 * Room: cli (joining, program). Touches: fd (standard output).
 * Theory: the schema is printed from the same tables of fields that the reader decodes by.
 */
#include "cli/commands.h"
#include "cli/finding_print.h"
#include "cli/options.h"
#include "spec/schema.h"

int
cmd_schema(int argc, char **argv)
{
        struct json_writer w;
        struct error e;
        size_t count;

        if (options_read(argc, argv, NULL, 0, NULL, 0, &count, &e) < 0)
                return print_failure(NULL, &e, false);
        json_init(&w, true);
        spec_schema_write(&w);
        return json_print(&w, stdout);
}
