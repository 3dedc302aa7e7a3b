/*
 * cli/docs_api.c - prints the parts of the manual that come from the tables of operations and
 * events.
 *
 * Room: cli (joining, program). Touches: fd (standard output).
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/openapi.h"
#include "api/operation.h"
#include "cli/commands.h"
#include "cli/docs_api.h"
#include "cli/finding_print.h"
#include "event/event.h"
#include "text/json.h"

enum { WORD_MAX = 64, LINE_MAX_LEN = 512 };

static const char *const type_names[] = {
        [FIELD_TYPE_TEXT] = "text",           [FIELD_TYPE_UINT] = "number",
        [FIELD_TYPE_INT] = "number",          [FIELD_TYPE_BOOL] = "boolean",
        [FIELD_TYPE_BYTES] = "bytes",         [FIELD_TYPE_NESTED] = "object",
        [FIELD_TYPE_TREE] = "object or text", [FIELD_TYPE_JSON] = "any JSON",
};

/* "number, 1 to 65535; list; required" */
static void
describe(const struct api_field *f, const struct api_param *p, char *out, size_t room)
{
        const char *place = (p->flags & PARAM_IN_PATH) != 0     ? "; in the path"
                            : (p->flags & PARAM_IN_QUERY) != 0  ? "; in the query"
                            : (p->flags & PARAM_IN_HEADER) != 0 ? "; in the header Last-Event-ID"
                                                                : "";
        bool is_number = f->type == FIELD_TYPE_UINT || f->type == FIELD_TYPE_INT;
        char bounds[WORD_MAX] = "";

        if (p->max > 0)
                (void)snprintf(bounds, sizeof bounds, ", %" PRIu64 " to %" PRIu64 "%s", p->min,
                               p->max, is_number ? "" : " bytes");
        (void)snprintf(out, room, "%s%s%s%s%s", type_names[f->type], bounds,
                       (p->flags & PARAM_REPEATED) != 0 ? "; list" : "",
                       (p->flags & PARAM_REQUIRED) != 0 ? "; required" : "", place);
}

static void
print_params(struct doc_table *sheet, const struct operation *o)
{
        static const char *const heads[] = { "field", "value", "meaning", NULL };

        sheet->heads = heads;
        sheet->has_table = false;
        for (size_t i = 0; i < o->param_count; i++) {
                const struct api_field *f = api_field(o->params[i].tag);
                char value[LINE_MAX_LEN];
                const char *cells[] = { f->name, value, f->help, NULL };

                if ((o->params[i].flags & PARAM_DOOR_ONLY) != 0)
                        continue;
                describe(f, &o->params[i], value, sizeof value);
                doc_table_row(sheet, cells);
        }
}

static void
print_results(struct doc_table *sheet, const struct operation *o)
{
        char line[LINE_MAX_LEN * 2] = "Answer:";

        if (!o->result)
                return;
        for (size_t i = 0; i < o->result->count; i++)
                (void)snprintf(line + strlen(line), sizeof line - strlen(line), "%s `%s`",
                               i > 0 ? "," : "", api_field(o->result->members[i].tag)->name);
        doc_table_paragraph(sheet, line);
}

int
docs_api_print(struct doc_table *sheet)
{
        const struct operation *o;
        size_t at = 0;

        while ((o = operation_next(&at)) != NULL) {
                char line[LINE_MAX_LEN];

                if (!o->route)
                        continue;
                doc_table_title(sheet, 2, o->name);
                (void)snprintf(line, sizeof line, "`%s %s`. %s", o->method, o->route, o->help);
                doc_table_paragraph(sheet, line);
                print_results(sheet, o);
                if (o->param_count > 0)
                        print_params(sheet, o);
        }
        return 0;
}

/* -- events ------------------------------------------------------------------------------------ */

static const uint16_t member_tags[EVENT_MEMBERS] = {
#define MEMBER(TAG, member, TYPE) [EVENT_HAS_##member] = FIELD_##TAG,
#include "event/event.def"
};

/* "`exec`, `port`" */
static void
list_members(const struct event_row *row, char *out, size_t room)
{
        out[0] = '\0';
        for (size_t i = 0; i < EVENT_MEMBERS; i++) {
                size_t used = strlen(out);

                if ((row->members & 1u << i) != 0)
                        (void)snprintf(out + used, room - used, "%s`%s`%s", used > 0 ? ", " : "",
                                       api_field(member_tags[i])->name,
                                       i == EVENT_HAS_end ? " and all of an ending" : "");
        }
}

int
docs_api_print_events(struct doc_table *sheet)
{
        static const char *const heads[] = { "event", "meaning", "members", "who gets it", NULL };

        sheet->heads = heads;
        sheet->has_table = false;
        for (int kind = 0; kind < EVENT_KINDS; kind++) {
                const struct event_row *row = event_row((enum event_kind)kind);
                char list[LINE_MAX_LEN];
                const char *cells[] = { row->word ? row->word : "any other", row->meaning, list,
                                        (row->readers & EVENT_LOGGED) != 0  ? "watchers, log"
                                        : (row->readers & EVENT_ASKED) != 0 ? "one call"
                                                                            : "watchers",
                                        NULL };

                list_members(row, list, sizeof list);
                doc_table_row(sheet, cells);
        }
        return 0;
}

int
docs_api_print_openapi(struct doc_table *sheet)
{
        struct json_writer w;

        json_init(&w, true);
        openapi_write(&w, CARREL_VERSION);
        return json_print(&w, sheet->out) < 0 ? 125 : 0;
}
