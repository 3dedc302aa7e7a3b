/*
 * spec/metadata.c - free-form metadata by namespace, and Carrel's own typed namespace,
 * metadata.carrel.
 *
 * Room: spec (deciding, pure). Touches: mem.
 */
#include <string.h>

#include "base/name.h"
#include "spec/approve.h"
#include "spec/path.h"
#include "spec/provider.h"
#include "spec/sanitize.h"
#include "spec/section.h"

enum { TOOLS_MAX = 64, PATHS_MAX = 256, PATH_LEN_MAX = 4095, ACCEPT_MAX = 16 };

static const char *const strict_choices[] = { "strict", NULL };
static const char *const switch_choices[] = { "on", "off", NULL };

/*
 * What a machine may lack or do differently: the whole name, or its end, of each warning that a run
 * may print.
 */
static const char *const accept_choices[] = { "memory_mb",
                                              "cpu_ms",
                                              "cpu_millicores",
                                              "io_read_bps",
                                              "io_write_bps",
                                              "groups_kept",
                                              "mount_mode_narrowed",
                                              "egress_cap_narrowed",
                                              "lifecycle_ignored",
                                              "disk_watched",
                                              NULL };
/* In the order of enum spec_disk. */
static const char *const disk_choices[] = { "auto", "memory", "disk", "image", "directory", NULL };
static const struct field accept_row = { .kind = FIELD_CHOICE,
                                         .choices = accept_choices,
                                         .offset = 0 };
static const struct field_set accept_set = { &accept_row, 1, .code = ERROR_SCHEMA_INVALID };

static const struct field approve_row = { .kind = FIELD_CHOICE,
                                          .choices = spec_approve_words,
                                          .offset = 0 };
static const struct field_set approve_set = { &approve_row, 1, .code = ERROR_SCHEMA_INVALID };

static const struct field sanitize_row = { .kind = FIELD_CHOICE,
                                           .choices = spec_sanitize_words,
                                           .offset = 0 };
static const struct field_set sanitize_set = { &sanitize_row, 1, .code = ERROR_SCHEMA_INVALID };

static const struct field approve_document_rows[] = {
        { .name = "document",
          .kind = FIELD_TEXT,
          .flags = FIELD_REQUIRED,
          .min = 1,
          .max = PATH_LEN_MAX,
          .offset = FIELD_NOWHERE,
          .help = "A sandbox document (Geodocs): its tools.human_in_the_loop is the list." },
};
static const struct field_set approve_document_set = { FIELD_SET(approve_document_rows),
                                                       .code = ERROR_SCHEMA_INVALID };
static const struct field approve_forms_rows[] = {
        { .kind = FIELD_LIST, .max = SPEC_APPROVE_MAX, .item = &approve_row, .help = "operations" },
        { .kind = FIELD_MAP, .members = &approve_document_set, .help = "those of a document" },
};
static const struct field_set approve_forms = { FIELD_SET(approve_forms_rows),
                                                .code = ERROR_SCHEMA_INVALID };

static const struct field tool_row = { .kind = FIELD_TEXT,
                                       .min = 1,
                                       .max = PATH_LEN_MAX,
                                       .offset = 0,
                                       .pattern = "^/",
                                       .help = "an absolute directory of the host" };
static const struct field path_row = { .kind = FIELD_TEXT,
                                       .min = 1,
                                       .max = PATH_LEN_MAX,
                                       .offset = 0,
                                       .pattern = "^[^/]",
                                       .help = "a path relative to the workspace" };
static const struct field_set tool_set = { &tool_row, 1, .code = ERROR_SCHEMA_INVALID };
static const struct field_set path_set = { &path_row, 1, .code = ERROR_SCHEMA_INVALID };

static const struct {
        enum path_fault fault;
        const char *sentence;
} path_faults[] = {
        { PATH_CHARSET, "this path holds a control byte" },
        { PATH_NOT_ABSOLUTE, "this must be an absolute path of the host" },
        { PATH_NOT_RELATIVE, "this must be a path inside the workspace, without a leading \"/\"" },
        { PATH_DOTDOT, "this path must not hold \"..\"" },
        { PATH_RESERVED, "/, /proc, /sys and /dev cannot be tools" },
};

static const char *
path_read(struct judge *j, const struct node *item, const struct trail *at, bool is_tool)
{
        const char *path = NULL, *text = NULL;
        enum path_fault fault;

        if (!field_item_read(j, is_tool ? &tool_set : &path_set, item, at, &text))
                return NULL;
        fault = is_tool ? path_read_absolute(j->arena, text, &path)
                        : path_read_relative(j->arena, text, &path);
        for (size_t i = 0; i < sizeof path_faults / sizeof path_faults[0]; i++)
                if (path_faults[i].fault == fault)
                        judge_error(j, item, at, ERROR_SCHEMA_INVALID, "pattern", NULL, "%s",
                                    path_faults[i].sentence);
        return path;
}

static void
paths_read(struct judge *j, const struct node *list, const struct trail *at, bool is_tool,
           struct spec_names *ret)
{
        const char **items = arena_array(j->arena, const char *, list->len + 1);
        size_t count = 0, index = 0;

        if (!items)
                return;
        node_each(item, list)
        {
                struct trail here = { at, NULL, index++ };
                const char *path = path_read(j, item, &here, is_tool);

                if (path)
                        items[count++] = path;
        }
        *ret = (struct spec_names){ items, count };
}

static void
tools_read(struct judge *j, const struct node *list, const struct trail *at, void *base)
{
        paths_read(j, list, at, true, &((struct spec *)base)->carrel.tools);
}

static void
protect_read(struct judge *j, const struct node *list, const struct trail *at, void *base)
{
        struct spec_carrel *carrel = &((struct spec *)base)->carrel;

        carrel->is_strict = node_is_text(list, "strict");
        if (list->kind == NODE_LIST && list->len <= PATHS_MAX)
                paths_read(j, list, at, false, &carrel->protect);
        else if (list->kind == NODE_LIST)
                judge_error(j, list, at, ERROR_SCHEMA_INVALID, "range", NULL,
                            "this list has more than %d paths", PATHS_MAX);
        else if (!carrel->is_strict)
                judge_error(j, list, at, ERROR_SCHEMA_INVALID, "type", NULL,
                            "this must be a list of paths, or the word strict");
}

static void
unprotect_read(struct judge *j, const struct node *list, const struct trail *at, void *base)
{
        paths_read(j, list, at, false, &((struct spec *)base)->carrel.unprotect);
}

static void
accept_read(struct judge *j, const struct node *list, const struct trail *at, void *base)
{
        const char **items = arena_array(j->arena, const char *, list->len + 1);
        size_t count = 0, index = 0;

        (void)base;
        if (!items)
                return;
        node_each(item, list)
        {
                struct trail here = { at, NULL, index++ };

                if (field_item_read(j, &accept_set, item, &here, &items[count]))
                        count++;
        }
        j->findings->accepted = items;
        j->findings->accepted_count = count;
}

static void
sanitize_read(struct judge *j, const struct node *list, const struct trail *at, void *base)
{
        const char *word;
        size_t index = 0;

        node_each(item, list)
        {
                struct trail here = { at, NULL, index++ };

                if (field_item_read(j, &sanitize_set, item, &here, &word))
                        ((struct spec *)base)->carrel.sanitize |= spec_sanitize_bit(item);
        }
}

static void
approve_read(struct judge *j, const struct node *list, const struct trail *at, void *base)
{
        const char **items = arena_array(j->arena, const char *, list->len + 1);
        size_t count = 0, index = 0;

        if (list->kind == NODE_MAP) {
                ((struct spec *)base)->carrel.approve_document = list;
                (void)fields_read(j, &approve_document_set, list, at, NULL);
                return;
        }
        if (list->kind != NODE_LIST) {
                judge_error(j, list, at, ERROR_SCHEMA_INVALID, "type", NULL,
                            "this must be a list of operations, or {document: FILE}");
                return;
        }
        if (list->len > SPEC_APPROVE_MAX) {
                judge_error(j, list, at, ERROR_SCHEMA_INVALID, "range", NULL,
                            "this list has more than %d operations", SPEC_APPROVE_MAX);
                return;
        }
        if (!items)
                return;
        node_each(item, list)
        {
                struct trail here = { at, NULL, index++ };

                if (field_item_read(j, &approve_set, item, &here, &items[count]))
                        items[count] = spec_approve_operation(items[count]), count++;
        }
        ((struct spec *)base)->carrel.approve = (struct spec_names){ items, count };
}

static void
unix_read(struct judge *j, const struct node *value, const struct trail *at, void *base)
{
        (void)j, (void)at;
        ((struct spec *)base)->carrel.unix_sockets =
                node_is_text(value, "off") ? SPEC_UNIX_OFF : SPEC_UNIX_ON;
}

static void
home_read(struct judge *j, const struct node *value, const struct trail *at, void *base)
{
        struct spec *spec = base;

        (void)j, (void)at;
        spec->carrel.home = value->text;
        spec->carrel.home_place = (struct spec_place){ value->line, value->column };
}

static void
disk_read(struct judge *j, const struct node *value, const struct trail *at, void *base)
{
        (void)j, (void)at;
        for (int i = 0; disk_choices[i]; i++)
                if (node_is_text(value, disk_choices[i]))
                        ((struct spec *)base)->carrel.disk = (enum spec_disk)i;
}

static void
tier_read(struct judge *j, const struct node *value, const struct trail *at, void *base)
{
        struct spec_carrel *carrel = &((struct spec *)base)->carrel;

        (void)j, (void)at;
        carrel->tier = value->text;
        carrel->tier_place = (struct spec_place){ value->line, value->column };
}

static const struct field protect_forms_rows[] = {
        { .kind = FIELD_LIST, .max = PATHS_MAX, .item = &path_row, .help = "paths" },
        { .kind = FIELD_CHOICE, .choices = strict_choices, .help = "strict" },
};
static const struct field_set protect_forms = { FIELD_SET(protect_forms_rows),
                                                .code = ERROR_SCHEMA_INVALID };

static const struct field carrel_rows[] = {
        { .name = "limits",
          .kind = FIELD_MAP,
          .members = &carrel_limits_set,
          .offset = offsetof(struct spec, limits),
          .help = "Caps that AIP-36 has no field for." },
        { .name = "egress",
          .kind = FIELD_MAP,
          .members = &carrel_egress_set,
          .offset = FIELD_NOWHERE,
          .read = carrel_egress_read,
          .help = "The way to the hosts in network.egress: its caps, and whether it is routed. If "
                  "it is written, hosts can be added to a living sandbox." },
        { .name = "unix",
          .kind = FIELD_CHOICE,
          .choices = switch_choices,
          .offset = FIELD_NOWHERE,
          .read = unix_read,
          .help = "off closes Unix sockets inside; default on." },
        { .name = "home",
          .kind = FIELD_TEXT,
          .min = 1,
          .pattern = "^[a-z0-9][a-z0-9_.-]{0,63}$",
          .matches = name_is_valid,
          .offset = FIELD_NOWHERE,
          .read = home_read,
          .help = "A volume to use as the home, so that caches of npm, pip and cargo are kept. "
                  "Created on first use. Default: a private home, removed with the sandbox." },
        { .name = "disk",
          .kind = FIELD_CHOICE,
          .choices = disk_choices,
          .offset = FIELD_NOWHERE,
          .read = disk_read,
          .help = "Where /tmp and the home are stored. memory: files in them count against "
                  "memory_mb. disk: on the host's disk, where they do not count; an image as root, "
                  "otherwise a directory. image: a file system of fixed size in a file; it needs "
                  "root and adds about 2 ms to a start and end. directory: a private directory "
                  "below the state directory, removed with the sandbox; it is watched, not "
                  "capped: the sandbox is ended (policy_killed) after it took more than disk_mb. "
                  "auto (default): disk, if disk_mb is above memory_mb (or is written and above "
                  "half of the machine's memory); otherwise, or if no disk can be used, memory." },
        { .name = "tier",
          .kind = FIELD_CHOICE,
          .choices = provider_tiers,
          .offset = FIELD_NOWHERE,
          .read = tier_read,
          .help = "The least isolation tier that is accepted: a provider that does not reach it is "
                  "refused (sandbox_provider_untrusted). docs/KINDS.md lists their tiers." },
        { .name = "tools",
          .kind = FIELD_LIST,
          .max = TOOLS_MAX,
          .item = &tool_row,
          .read = tools_read,
          .help = "Host directories to bind read-only at the same path inside." },
        { .name = "protect",
          .kind = FIELD_ONE_OF,
          .members = &protect_forms,
          .read = protect_read,
          .help = "More workspace paths that commands may not change; or strict: tracked names are "
                  "read-only too, and making a guarded name ends the sandbox." },
        { .name = "unprotect",
          .kind = FIELD_LIST,
          .max = PATHS_MAX,
          .item = &path_row,
          .read = unprotect_read,
          .help = "Paths, protected by default, that commands may change." },
        { .name = "approve",
          .kind = FIELD_ONE_OF,
          .members = &approve_forms,
          .offset = FIELD_NOWHERE,
          .read = approve_read,
          .help = "Operations that wait until a person approves them: exec, file.write, "
                  "network.set, ... (none); or {document: FILE}: those that a sandbox document "
                  "lists as human_in_the_loop. docs/APPROVALS.md." },
        { .name = "approve_ms",
          .kind = FIELD_UINT,
          .min = 1000,
          .max = 86400000,
          .fallback = SPEC_APPROVE_MS,
          .offset = offsetof(struct spec, carrel.approve_ms),
          .help = "Without an answer for this long, an operation of `approve` is denied." },
        { .name = "sanitize_output",
          .kind = FIELD_LIST,
          .max = SANITIZE_BITS,
          .item = &sanitize_row,
          .offset = FIELD_NOWHERE,
          .read = sanitize_read,
          .help = "What is removed from the output of commands before anybody gets it (nothing): "
                  "control, hidden, secrets. docs/SANITIZE.md." },
        { .name = "commands",
          .kind = FIELD_MAP,
          .members = &commands_set,
          .offset = FIELD_NOWHERE,
          .read = commands_read,
          .help = "Which programs commands may run: docs/POLICY.md. Rules of the host file apply "
                  "too; the stricter verdict counts." },
        { .name = "tool_servers",
          .kind = FIELD_MAP,
          .offset = FIELD_NOWHERE,
          .read = tool_servers_read,
          .help = "MCP servers by name, each in a sandbox of its own: {files: {command: [...], "
                  "sandbox: {...}}}. `carrel tool-server NAME` starts one: docs/DOCUMENT.md." },
        { .name = "accept",
          .kind = FIELD_LIST,
          .max = ACCEPT_MAX,
          .item = &accept_row,
          .read = accept_read,
          .help = "Warnings that are known and not printed: a limit that some machine cannot "
                  "enforce (`memory_mb`), or the name of another warning." },
};
const struct field_set carrel_set = { FIELD_SET(carrel_rows), .code = ERROR_SCHEMA_INVALID };

void
metadata_read(struct judge *j, const struct node *metadata, const struct trail *at, void *base)
{
        ((struct spec *)base)->metadata = metadata;
        node_each(member, metadata)
        {
                struct trail here = { at, member->key, 0 };

                if (strcmp(member->key, "carrel") == 0)
                        (void)fields_read(j, &carrel_set, member, &here, base);
                else if (member->kind != NODE_MAP && !strpbrk(member->key, "./:"))
                        judge_warn(j, member, &here, "metadata_not_namespaced",
                                   "put the settings of a program into a map with its name, such "
                                   "as metadata.acme.note");
        }
}
