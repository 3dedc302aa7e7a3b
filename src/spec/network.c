/*
 * spec/network.c - the section `network`: the list of hosts that may be reached. Missing or empty means none.
 *
 * Room: spec (deciding, pure). Touches: mem. The grammar of an entry stands in egress.c.
 */
#include <string.h>

#include "spec/section.h"

enum { EGRESS_MAX = 1024 };

static const struct field entry_row = {
        .kind = FIELD_TEXT, .offset = FIELD_NOWHERE,
        .pattern = "^(\\*\\.)?[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?(\\.[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)*\\.?"
                   "(:[1-9][0-9]{0,4})?$",
        .help = "api.example.com, *.example.com (names below it, not itself), host:port; without a port 80 and 443."
};
static const struct field_set entry_set = { &entry_row, 1, .code = ERROR_SCHEMA_INVALID };

void
egress_list_read(struct judge *j, const struct node *list, const struct trail *at, void *base)
{
        struct spec *spec = base;
        struct spec_egress *entries = arena_array(j->arena, struct spec_egress, list->len + 1);
        size_t count = 0, index = 0;

        if (!entries)
                return;
        node_each(item, list) {
                struct trail here = { at, NULL, index++ };
                struct error e;

                if (!field_item_read(j, &entry_set, item, &here, NULL))
                        continue;
                if (egress_read(j->arena, item->text, &entries[count], &e) < 0) {
                        judge_error(j, item, &here, e.code, e.reason, e.hint[0] ? e.hint : NULL, "`%s`: %s",
                                    judge_quote(j, item->text), e.message);
                        continue;
                }
                entries[count].line = item->line;
                entries[count++].column = item->column;
        }
        spec->egress = entries;
        spec->egress_count = count;
}

static const struct field network_rows[] = {
        { .name = "egress", .kind = FIELD_LIST, .max = EGRESS_MAX, .item = &entry_row, .read = egress_list_read,
          .help = "Hosts that commands may reach; empty or missing: none." },
};

const struct field_set network_set = { FIELD_SET(network_rows), .code = ERROR_SCHEMA_INVALID };
