/*
 * cli/schema.c - `carrel schema`: the JSON Schema of a sandbox block, or of a host file.
 *
 * Room: cli (joining, program). Touches: fd (standard output).
 * Theory: the schema is printed from the same tables of fields that the reader decodes by.
 */
#include "spec/schema.h"
#include "cli/commands.h"
#include "cli/finding_print.h"
#include "cli/options.h"
#include "policy/host_fields.h"

int
cmd_schema(int argc, char **argv)
{
        struct json_writer w;
        struct error e;
        bool is_hosts = false;
        const struct option_row rows[] = { { "--host", NULL, &is_hosts } };
        size_t count;

        if (options_read(argc, argv, rows, 1, NULL, 0, &count, &e) < 0)
                return print_failure(NULL, &e, false);
        json_init(&w, true);
        if (is_hosts)
                host_schema_write(&w);
        else
                spec_schema_write(&w);
        return json_print(&w, stdout);
}
