/*
 * document/kind.c - the tables of kinds and fields.
 *
 * Room: document (deciding, pure). Touches: nothing.
 */
#include "document/kind.h"

#include <string.h>

#define DURATION "^[1-9][0-9]*(ms|s|m|h|d|w|y)$"

const char document_duration_pattern[] = DURATION;

static const char *const tiers[] = { "T1", "T2", "T3", "T4", NULL };
static const char *const deny[] = { "deny", NULL };
static const char *const protocols[] = { "tcp", "udp", "http", "https", "tls", NULL };
static const char *const persistence[] = { "ephemeral", "session", "persistent", "snapshot", NULL };
static const char *const provisioning[] = { "cold_start", "warm_pool", "claim", NULL };
static const char *const resumability[] = { "same_provider", "cross_provider", "none", NULL };
static const char *const streams[] = { "stdout", "stderr", "network", "file_writes", "exec", NULL };
static const char *const enforcement[] = { "discovery", "observation", "selective",
                                           "full_least_privilege", NULL };

/* -- scalars ----------------------------------------------------------------------------------- */

static const struct document_kind kind_FREE = { .shape = DOCUMENT_FREE, .expects = "a value" };
static const struct document_kind kind_ANY = { .shape = DOCUMENT_ANY, .expects = "a value" };
static const struct document_kind kind_TEXT = { .shape = DOCUMENT_TEXT,
                                                .expects = "a text that is not blank" };
static const struct document_kind kind_TEXT_OR_MAP = { .shape = DOCUMENT_TEXT_OR_MAP,
                                                       .expects = "a text, or a map of details" };
static const struct document_kind kind_BOOL = { .shape = DOCUMENT_BOOL,
                                                .expects = "true or false" };
static const struct document_kind kind_NUMBER = { .shape = DOCUMENT_NUMBER,
                                                  .expects = "a number, 0 or more" };
static const struct document_kind kind_COUNT = { .shape = DOCUMENT_INTEGER,
                                                 .max = INT64_MAX,
                                                 .expects = "an integer, 1 or more" };
static const struct document_kind kind_PORT = { .shape = DOCUMENT_INTEGER,
                                                .max = 65535,
                                                .expects = "a port, 1 to 65535" };
static const struct document_kind kind_ID = { .shape = DOCUMENT_PATTERN,
                                              .pattern = "^[A-Za-z0-9._~:/@-]+$",
                                              .expects = "letters, digits and . _ ~ : / @ -" };
static const struct document_kind kind_VERSION = {
        .shape = DOCUMENT_PATTERN,
        .pattern = "^[0-9]+\\.[0-9]+\\.[0-9]+([-+][0-9A-Za-z.+-]+)?$",
        .expects = "a version such as 1.2.0"
};
static const struct document_kind kind_URL = { .shape = DOCUMENT_PATTERN,
                                               .pattern = "^[A-Za-z][A-Za-z0-9+.-]*://[!-~]+$",
                                               .expects = "a URL such as https://example.com/x" };
static const struct document_kind kind_DURATION = { .shape = DOCUMENT_PATTERN,
                                                    .pattern = DURATION,
                                                    .expects = "a duration such as 30s" };
static const struct document_kind kind_QUANTITY = {
        .shape = DOCUMENT_AMOUNT,
        .pattern = "^[0-9]+(\\.[0-9]+)?(k|M|G|T|Ki|Mi|Gi|Ti)?$",
        .expects = "a quantity such as 10Gi, above zero"
};
static const struct document_kind kind_CPU = {
        .shape = DOCUMENT_AMOUNT,
        .pattern = "^([1-9][0-9]*m|[0-9]+(\\.[0-9]+)?)$",
        .expects = "millicores such as 2000m, or cores such as 2"
};
static const struct document_kind kind_RATE = {
        .shape = DOCUMENT_PATTERN,
        .pattern = "^[0-9]+(\\.[0-9]+)?((k|M|G)?bps|(k|M|G|Ki|Mi|Gi)?B/s)$",
        .expects = "a rate such as 10Mbps or 1MB/s"
};
static const struct document_kind kind_TERM = {
        .shape = DOCUMENT_TERM,
        .pattern = DURATION,
        .expects = "a duration such as 30d, forever, or {default: 30d}"
};
static const struct document_kind kind_PATH = { .shape = DOCUMENT_PATH,
                                                .expects = "an absolute path without .." };
static const struct document_kind kind_HOST = { .shape = DOCUMENT_HOST,
                                                .expects = "a host name or an address" };
static const struct document_kind kind_AUTH = { .shape = DOCUMENT_AUTH,
                                                .expects = "the way of authentication" };
static const struct document_kind kind_TIER = { .shape = DOCUMENT_WORD,
                                                .choices = tiers,
                                                .expects = "exactly one of T1, T2, T3, T4" };
static const struct document_kind kind_DENY = { .shape = DOCUMENT_WORD,
                                                .choices = deny,
                                                .expects = "deny" };

#define CHOICE(upper, lower, words)                                                  \
        static const struct document_kind kind_##upper = { .shape = DOCUMENT_CHOICE, \
                                                           .choices = (lower),       \
                                                           .expects = (words) }
CHOICE(PERSISTENCE, persistence, "one of ephemeral, session, persistent, snapshot");
CHOICE(RESUMABILITY, resumability, "one of same_provider, cross_provider, none");
CHOICE(ENFORCEMENT, enforcement, "one of discovery, observation, selective, full_least_privilege");
CHOICE(PROTOCOL, protocols, "one of tcp, udp, http, https, tls");
CHOICE(STREAM, streams, "one of stdout, stderr, network, file_writes, exec");

static const struct document_kind kind_PROVISIONING = {
        .shape = DOCUMENT_CHOICES,
        .choices = provisioning,
        .expects = "one or more of cold_start, warm_pool, claim"
};

/* -- lists and maps ---------------------------------------------------------------------------- */

#define MEMBERS(rows) .members = (rows), .member_count = sizeof(rows) / sizeof((rows)[0])
#define LIST(upper, of, least, words)                                                          \
        static const struct document_kind kind_##upper = {                                     \
                .shape = DOCUMENT_LIST, .item = &kind_##of, .min = (least), .expects = (words) \
        }
#define ENTRIES(upper, rows, words)                                                       \
        static const struct document_kind kind_##upper##_ENTRY = { .shape = DOCUMENT_MAP, \
                                                                   MEMBERS(rows),         \
                                                                   .expects = "a map" };  \
        LIST(upper, upper##_ENTRY, 0, words)

LIST(TEXTS, TEXT, 0, "a list of texts");
LIST(SOME_TEXTS, TEXT, 1, "a list of at least one text");
LIST(PATHS, PATH, 0, "a list of absolute paths without ..");
LIST(STREAMS, STREAM, 1, "a list of some of stdout, stderr, network, file_writes, exec");

static const struct document_field egress_rows[] = {
        { "host", true, &kind_HOST, "egress_entry_invalid", "egress_entry_invalid" },
        { "port", true, &kind_PORT, "egress_entry_invalid", "egress_entry_invalid" },
        { "protocol", false, &kind_PROTOCOL, "egress_entry_invalid", "egress_entry_invalid" },
};
ENTRIES(ALLOWLIST, egress_rows, "a list of {host, port, protocol}; [] if nothing is allowed");

static const struct document_field ingress_rows[] = {
        { "port", true, &kind_PORT, "ingress_invalid", "ingress_invalid" },
        { "auth", true, &kind_AUTH, "ingress_no_auth", "ingress_no_auth" },
};
ENTRIES(INGRESS, ingress_rows, "a list of {port, auth}; [] if no port is exposed");

static const struct document_field mounted_rows[] = {
        { "name", true, &kind_ANY, "mounted_data_incomplete", "mounted_data_incomplete" },
        { "provenance", true, &kind_ANY, "mounted_data_incomplete", "mounted_data_incomplete" },
        { "retention", true, &kind_ANY, "mounted_data_incomplete", "mounted_data_incomplete" },
};
ENTRIES(MOUNTED, mounted_rows, "a list of {name, provenance, retention}");

static const struct document_field server_rows[] = {
        { "name", true, &kind_ANY, "tool_server_incomplete", "tool_server_incomplete" },
        { "permissions", true, &kind_ANY, "tool_server_incomplete", "tool_server_incomplete" },
        { "auth_scopes", true, &kind_ANY, "tool_server_incomplete", "tool_server_incomplete" },
};
ENTRIES(SERVERS, server_rows, "a list of {name, permissions, auth_scopes}");

static const struct document_field timeout_rows[] = {
        { "per_tool_call", true, &kind_DURATION, "timeout_missing", "timeout_not_concrete" },
        { "per_task_loop", true, &kind_DURATION, "timeout_missing", "timeout_not_concrete" },
        { "per_sandbox_lifetime", true, &kind_DURATION, "timeout_missing", "timeout_not_concrete" },
};
static const struct document_kind kind_TIMEOUTS = {
        .shape = DOCUMENT_MAP,
        MEMBERS(timeout_rows),
        .is_parts = true,
        .expects = "a map of per_tool_call, per_task_loop, per_sandbox_lifetime"
};

static const struct document_field gpu_rows[] = {
        { "type", false, &kind_ANY, "missing_field", "invalid_value" },
        { "count", false, &kind_ANY, "missing_field", "invalid_value" },
        { "sharing", false, &kind_ANY, "missing_field", "invalid_value" },
};
static const struct document_kind kind_GPU = { .shape = DOCUMENT_MAP,
                                               MEMBERS(gpu_rows),
                                               .expects = "a map of type, count, sharing" };

static const struct document_field io_rows[] = {
        { "iops", false, &kind_ANY, "missing_field", "invalid_value" },
        { "bandwidth", false, &kind_ANY, "missing_field", "invalid_value" },
};
static const struct document_kind kind_DISK_IO = { .shape = DOCUMENT_MAP,
                                                   MEMBERS(io_rows),
                                                   .expects = "a map of iops, bandwidth" };

/* rules.c checks the values; a control can also be a name alone */
static const struct document_field control_rows[] = {
        { "control", true, &kind_FREE, "invalid_value", "invalid_value" },
        { "enforced", false, &kind_FREE, "invalid_value", "invalid_value" },
};
static const struct document_kind kind_CONTROL = { .shape = DOCUMENT_MAP,
                                                   MEMBERS(control_rows),
                                                   .expects = "a control" };
static const struct document_kind kind_CONTROLS = {
        .shape = DOCUMENT_CONTROLS,
        .item = &kind_CONTROL,
        .min = 1,
        .expects = "a list of at least one control, such as egress_allowlist"
};

/* -- the document ------------------------------------------------------------------------------ */

#define SOURCE_BUILD DOCUMENT_BUILD
#define SOURCE_PLAN DOCUMENT_PLAN
#define SOURCE_HOST DOCUMENT_FROM_HOST
#define SOURCE_MEASURED DOCUMENT_MEASURED
#define SOURCE_ROOT DOCUMENT_ROOT
#define SOURCE_OPERATOR DOCUMENT_OPERATOR
#define SOURCE_OFFERED DOCUMENT_OFFERED
#define NEED_REQUIRED true
#define NEED_RECOMMENDED false

static const struct document_field rows[] = {
#define FIELD(section, name, need, kind, missing, invalid, source, help) \
        { #name, NEED_##need, &kind_##kind, missing, invalid, SOURCE_##source, help },
#include "document/fields.def"
};

/* Where the rows of each section begin and end. */
enum {
#define SECTION(upper, name, help) BEGIN_##upper, REWOUND_##upper = BEGIN_##upper - 1,
#define FIELD(section, name, need, kind, missing, invalid, source, help) AT_##section##_##name,
#define SECTION_END(upper) END_##upper, CLOSED_##upper = END_##upper - 1,
#include "document/fields.def"
};

#define SECTION(upper, name, help)                            \
        static const struct document_kind section_##upper = { \
                .shape = DOCUMENT_MAP,                        \
                .members = rows + BEGIN_##upper,              \
                .member_count = END_##upper - BEGIN_##upper,  \
                .expects = "a map",                           \
        };
#include "document/fields.def"

static const struct document_field top_rows[] = {
#define SECTION(upper, name, help) \
        { name, true, &section_##upper, "missing_section", "type", DOCUMENT_BUILD, help },
#include "document/fields.def"
#define BESIDE(name, kind, source, help) \
        { #name, false, &kind_##kind, "missing_field", "invalid_value", SOURCE_##source, help },
#include "document/fields.def"
};

const struct document_kind document_kind = { .shape = DOCUMENT_MAP,
                                             MEMBERS(top_rows),
                                             .expects = "a map of the ten sections" };

const struct document_field *
document_field_find(const struct document_kind *map, const char *name)
{
        for (size_t i = 0; i < map->member_count; i++)
                if (strcmp(map->members[i].name, name) == 0)
                        return &map->members[i];
        return NULL;
}

bool
document_is_section(const struct document_field *field)
{
        return field >= top_rows && field < top_rows + DOCUMENT_SECTIONS;
}
