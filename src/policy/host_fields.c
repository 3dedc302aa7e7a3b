/*
 * policy/host_fields.c - the fields of a host file as rows.
 *
 * Room: policy (deciding, pure). Touches: mem (the writer's).
 * Knows names, shapes and meanings. Knows nothing of what a value permits: that is host_file.c.
 */
#include "policy/host_fields.h"

#include <string.h>

#include "policy/host_limits.h"
#include "spec/approve.h"
#include "spec/provider.h"
#include "spec/sanitize.h"
#include "spec/schema.h"
#include "spec/section.h"

enum { ENTRIES_MAX = 4096 };

static const char *const audited_choices[] = { "run", "content", NULL };
static const char *const risk_choices[] = { "required", "optional", NULL };
static const char *const trust_choices[] = { "trusted", "untrusted", NULL };

static const struct field word_item = { .kind = FIELD_TEXT, .min = 1, .offset = FIELD_NOWHERE };
static const struct field directory_item = {
        .kind = FIELD_TEXT,
        .min = 1,
        .offset = FIELD_NOWHERE,
        .pattern = "^/",
        .help = "An absolute directory of the host, without \"..\", \".\" or \"//\"."
};
static const struct field destination_item = {
        .kind = FIELD_TEXT,
        .min = 1,
        .offset = FIELD_NOWHERE,
        .help = "As in network.egress: db.internal:5432; without a port 80 and 443."
};
static const struct field name_item = {
        .kind = FIELD_TEXT,
        .min = 1,
        .offset = FIELD_NOWHERE,
        .help = "db.internal:5432, *.corp.internal; without a port any port."
};
static const struct field port_item = { .kind = FIELD_UINT,
                                        .min = 1,
                                        .max = UINT16_MAX,
                                        .fallback = SPEC_UNSET,
                                        .offset = FIELD_NOWHERE };
static const struct field network_item = {
        .kind = FIELD_TEXT, .min = 1, .offset = FIELD_NOWHERE, .help = "10.0.0.0/8 or fd00::/8."
};
static const struct field resolver_item = { .kind = FIELD_TEXT,
                                            .min = 1,
                                            .offset = FIELD_NOWHERE,
                                            .help = "192.0.2.1:53 or [2001:db8::1]:53." };
static const struct field operation_item = { .kind = FIELD_CHOICE,
                                             .choices = spec_approve_words,
                                             .offset = FIELD_NOWHERE };
static const struct field document_rows[] = {
        { .name = "document",
          .kind = FIELD_TEXT,
          .flags = FIELD_REQUIRED,
          .min = 1,
          .offset = FIELD_NOWHERE,
          .help = "The absolute path of a sandbox document." },
};
static const struct field_set document_set = { FIELD_SET(document_rows),
                                               .code = ERROR_SCHEMA_INVALID };
static const struct field operations_rows[] = {
        { .kind = FIELD_LIST, .max = SPEC_APPROVE_MAX, .item = &operation_item, .help = "names" },
        { .kind = FIELD_MAP, .members = &document_set, .help = "of a document" },
};
static const struct field_set operations_forms = { FIELD_SET(operations_rows),
                                                   .code = ERROR_SCHEMA_INVALID };
static const struct field audited_item = { .kind = FIELD_CHOICE,
                                           .choices = audited_choices,
                                           .offset = FIELD_NOWHERE };
static const struct field sanitized_item = { .kind = FIELD_CHOICE,
                                             .choices = spec_sanitize_words,
                                             .offset = FIELD_NOWHERE };
static const struct field entry_item = { .kind = FIELD_MAP, .offset = FIELD_NOWHERE };

static const struct field workspace_rows[] = {
        { .name = "storage_read_only",
          .kind = FIELD_BOOL,
          .offset = FIELD_NOWHERE,
          .help = "The workspace lies on storage that is read-only." },
};
static const struct field redact_rows[] = {
#define REDACT_GROUP(word, can_be_off, text) \
        { .name = #word, .kind = FIELD_BOOL, .offset = FIELD_NOWHERE, .help = (text) },
#include "text/redact_group.def"
#undef REDACT_GROUP
};
static const struct field_set redact_set = { FIELD_SET(redact_rows), .code = ERROR_SCHEMA_INVALID };
static const struct field_set workspace_set = { FIELD_SET(workspace_rows),
                                                .code = ERROR_SCHEMA_INVALID };

/* One line for each shape that host_fields.def uses. */
#define SHAPE_CHOICE_TRUST .kind = FIELD_CHOICE, .choices = trust_choices
#define SHAPE_CHOICE_TIER .kind = FIELD_CHOICE, .choices = provider_tiers
#define SHAPE_CHOICE_RISK .kind = FIELD_CHOICE, .choices = risk_choices
#define SHAPE_WORD .kind = FIELD_TEXT, .min = 1
#define SHAPE_SANDBOXES \
        .kind = FIELD_UINT, .min = 1, .max = HOST_SANDBOXES_MAX, .fallback = SPEC_UNSET
#define SHAPE_COUNT .kind = FIELD_UINT, .min = 1, .max = HOST_EXECS_MAX, .fallback = SPEC_UNSET
#define SHAPE_VOLUMES .kind = FIELD_UINT, .max = HOST_VOLUMES_MAX, .fallback = SPEC_UNSET
#define SHAPE_WORDS .kind = FIELD_LIST, .max = ENTRIES_MAX, .item = &word_item
#define SHAPE_DIRECTORIES .kind = FIELD_LIST, .max = ENTRIES_MAX, .item = &directory_item
#define SHAPE_DESTINATIONS .kind = FIELD_LIST, .max = ENTRIES_MAX, .item = &destination_item
#define SHAPE_NAMES .kind = FIELD_LIST, .max = ENTRIES_MAX, .item = &name_item
#define SHAPE_PORTS .kind = FIELD_LIST, .max = ENTRIES_MAX, .item = &port_item
#define SHAPE_NETWORKS .kind = FIELD_LIST, .max = ENTRIES_MAX, .item = &network_item
#define SHAPE_RESOLVERS .kind = FIELD_LIST, .max = ENTRIES_MAX, .item = &resolver_item
#define SHAPE_OPERATIONS .kind = FIELD_ONE_OF, .members = &operations_forms
#define SHAPE_ENTRIES .kind = FIELD_LIST, .item = &entry_item
#define SHAPE_AUDITED .kind = FIELD_LIST, .max = ENTRIES_MAX, .item = &audited_item
#define SHAPE_SANITIZED .kind = FIELD_LIST, .max = SANITIZE_BITS, .item = &sanitized_item
#define SHAPE_AGE .kind = FIELD_TEXT, .min = 2, .max = 6, .pattern = "^[1-9][0-9]{0,4}d$"
#define SHAPE_EGRESS_CAPS .kind = FIELD_MAP, .members = &egress_caps_set
#define SHAPE_LIMITS_MAX .kind = FIELD_MAP
#define SHAPE_COMMANDS .kind = FIELD_MAP, .members = &commands_set
#define SHAPE_WORKSPACE .kind = FIELD_MAP, .members = &workspace_set
#define SHAPE_REDACT .kind = FIELD_MAP, .members = &redact_set
#define SHAPE_YES_NO .kind = FIELD_BOOL
#define SHAPE_MAP .kind = FIELD_MAP
#define SHAPE_ANY .kind = FIELD_MAP

static const struct field rows[] = {
#define HOST_FIELD(word, shape, is_users, text) \
        { .name = #word, .offset = FIELD_NOWHERE, SHAPE_##shape, .help = (text) },
#include "policy/host_fields.def"
#undef HOST_FIELD
};

static const bool of_users[] = {
#define HOST_FIELD(word, shape, is_users, text) is_users,
#include "policy/host_fields.def"
#undef HOST_FIELD
};

const struct field_set host_file_set = { FIELD_SET(rows), .code = ERROR_SCHEMA_INVALID };

const struct field *
host_field_row(enum host_field field)
{
        return &rows[field];
}

bool
host_field_is_users(enum host_field field)
{
        return of_users[field];
}

enum host_field
host_field_find(const char *name)
{
        for (int i = 0; i < HOST_FIELD_MAX; i++)
                if (strcmp(rows[i].name, name) == 0)
                        return (enum host_field)i;
        return HOST_FIELD_MAX;
}

void
host_schema_write(struct json_writer *w)
{
        json_open_map(w);
        json_member_text(w, "$schema", "https://json-schema.org/draft/2020-12/schema");
        json_member_text(w, "$id", "urn:carrel:schema:host-file:1");
        json_member_text(w, "title", "Host file of Carrel");
        spec_schema_members_write(w, &host_file_set);
        json_close_map(w);
}
