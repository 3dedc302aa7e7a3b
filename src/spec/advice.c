/*
 * spec/advice.c - the next step after a mistake in a block: which line to write instead.
 *
 * Room: spec (deciding, pure). Touches: mem.
 * Knows the fields of other programs, units, and where Carrel's own fields belong. Knows nothing of
 * what is allowed: the reader of a field refuses first and then asks here.
 */
#include "spec/advice.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spec/provider.h"
#include "spec/section.h"
#include "text/nearest.h"

/* -- keys -------------------------------------------------------------------------------------- */

enum map {
        ANY,
        TOP,
        LIMITS,
        ENV,
        NETWORK,
        MOUNT,
        CONFIG,
        CARREL,
        CARREL_LIMITS,
        CARREL_EGRESS,
        MAPS
};

/* How a field of that map is written, from the top of the block. */
static const struct {
        const char *name, *open, *close;
} map_words[MAPS] = {
        [LIMITS] = { "limits", "limits: {", "}" },
        [ENV] = { "env", "env: {", "}" },
        [NETWORK] = { "network", "network: {", "}" },
        [CONFIG] = { "config", "config: {", "}" },
        [CARREL] = { "metadata.carrel", "metadata: {carrel: {", "}}" },
        [CARREL_LIMITS] = { "metadata.carrel.limits", "metadata: {carrel: {limits: {", "}}}" },
        [CARREL_EGRESS] = { "metadata.carrel.egress", "metadata: {carrel: {egress: {", "}}}" },
};

static const struct field_set *
set_of(enum map map)
{
        switch (map) {
        case TOP:
                return &block_set;
        case LIMITS:
                return &limits_set;
        case ENV:
                return &env_set;
        case NETWORK:
                return &network_set;
        case MOUNT:
                return mount_item.members;
        case CONFIG:
                return provider_find(PROVIDER_STANDARD)->config;
        case CARREL:
                return &carrel_set;
        case CARREL_LIMITS:
                return &carrel_limits_set;
        case CARREL_EGRESS:
                return &carrel_egress_set;
        default:
                return NULL;
        }
}

#define PORTS_HINT                                                                                 \
        "Ports are declared when a sandbox is created: `carrel create --name demo -p 3000`, then " \
        "`carrel url demo 3000`."
#define CPUS_HINT \
        "Write metadata: {carrel: {limits: {cpu_millicores: 2000}}}; 1000 is one processor."
#define VALUES_HINT                                                                              \
        "A manifest holds no values. Forward variables with env: {passthrough: [NAME]}, or set " \
        "one for a call: carrel run -e NAME=VALUE -- COMMAND"

/* Fields of other programs, with the Carrel setting that has the same effect. */
static const struct {
        enum map map;
        const char *keys[10], *hint;
} habits[] = {
        { ANY,
          { "image", "from", "rootfs", "container", "dockerfile", "template" },
          "Write `provider: container` and `config: {image: NAME}`, after `carrel image pull "
          "NAME`." },
        { ANY, { "ports", "port", "expose", "publish" }, PORTS_HINT },
        { ANY,
          { "command", "cmd", "entrypoint", "args", "script" },
          "Remove it: a manifest names no command. Give it to the call: carrel run -- COMMAND" },
        { ANY,
          { "user", "uid", "gid", "privileged", "capabilities", "cap_add", "devices", "gpus" },
          "Remove it: commands always run as an ordinary user (uid 1000), without capabilities and "
          "devices." },
        { ANY,
          { "workdir", "working_dir", "workingdir", "work_dir" },
          "Write config: {cwd: DIR}." },
        { ENV, { "set", "values", "vars", "variables" }, VALUES_HINT },
        { TOP, { "environment", "envs", "variables", "vars" }, VALUES_HINT },
        { TOP,
          { "secrets", "secret", "credentials" },
          "List names of secrets, never values: env: {auth: {ref: ./SECRETS.md, state: {env: "
          "[NAME]}}}. See docs/SECRETS.md." },
        { TOP,
          { "volumes", "volume", "binds", "files" },
          "Write mounts: [{source: workspace, at: /workspace}]. For another directory: carrel run "
          "-v ./DIR:/PATH -- COMMAND" },
        { TOP,
          { "name", "description", "title", "labels", "tags" },
          "Write it as text after the closing line `---`, or as metadata: {my: {name: demo}}." },
        { TOP,
          { "allow", "allowed_hosts", "internet", "net" },
          "Write network: {egress: [api.example.com]}: each host by its name." },
        { TOP, { "memory", "mem", "memory_limit", "ram" }, "Write limits: {memory_mb: 512}." },
        { TOP, { "timeout" }, "Write limits: {timeout_ms: 600000}." },
        { TOP, { "cpu", "cpus" }, CPUS_HINT },
        { TOP, { "disk", "storage" }, "Write metadata: {carrel: {limits: {disk_mb: 4096}}}." },
        { TOP, { "resources" }, "Write limits: {timeout_ms: 600000, memory_mb: 512}." },
        { LIMITS, { "cpu", "cpus", "cores", "vcpu", "vcpus", "cpu_count" }, CPUS_HINT },
        { LIMITS, { "mem", "ram", "memory" }, "Write memory_mb: 512." },
        { LIMITS, { "disk", "storage" }, "Write metadata: {carrel: {limits: {disk_mb: 4096}}}." },
        { LIMITS,
          { "processes", "nproc", "tasks", "threads" },
          "Write metadata: {carrel: {limits: {pids: 512}}}." },
        { LIMITS,
          { "nofile", "files" },
          "Write metadata: {carrel: {limits: {open_files: 65536}}}." },
        { NETWORK,
          { "allow", "allowed", "hosts", "domains", "allowed_hosts", "allowlist", "whitelist",
            "outbound" },
          "Write egress: [api.example.com]: each host by its name." },
        { NETWORK,
          { "mode", "enabled", "internet", "internet_access" },
          "Remove it: only hosts that egress lists can be reached, for example egress: "
          "[api.example.com]. Without egress, none can." },
        { NETWORK, { "ingress", "inbound" }, PORTS_HINT },
        { MOUNT,
          { "target", "dest", "destination", "dst", "to", "path", "mount_path", "mountPath" },
          "Write at: /PATH, an absolute path inside the sandbox." },
        { MOUNT, { "src", "from", "host", "host_path", "hostPath" }, "Write source: workspace." },
        { MOUNT, { "readonly", "read_only", "readOnly", "ro" }, "Write mode: read-only." },
};

static const char *
habit(enum map map, const char *key)
{
        for (size_t i = 0; i < sizeof habits / sizeof *habits; i++)
                for (size_t k = 0;
                     (habits[i].map == ANY || habits[i].map == map) &&
                     k < sizeof habits[i].keys / sizeof *habits[i].keys && habits[i].keys[k];
                     k++)
                        if (nearest_edits(habits[i].keys[k], key) == 0)
                                return habits[i].hint;
        return NULL;
}

static const struct field *
row_of(const struct field_set *set, const char *key)
{
        for (size_t i = 0; set && i < set->count; i++)
                if (set->rows[i].kind != FIELD_UNSUPPORTED &&
                    (strcmp(set->rows[i].name, key) == 0 ||
                     (set->rows[i].camel && strcmp(set->rows[i].camel, key) == 0)))
                        return &set->rows[i];
        return NULL;
}

static const char *
value_text(struct judge *j, const struct node *value)
{
        switch (value->kind) {
        case NODE_BOOL:
        case NODE_INT:
                return value->text ? judge_quote(j, value->text) : "...";
        case NODE_STRING:
                return arena_format(j->arena, "\"%s\"", judge_quote(j, value->text));
        case NODE_LIST:
                return "[...]";
        default:
                return "...";
        }
}

/* Another section in which that key is a field. */
static const char *
elsewhere(struct judge *j, enum map map, const struct node *member)
{
        for (enum map other = TOP; other < MAPS; other++) {
                if (other == map || other == MOUNT || !row_of(set_of(other), member->key))
                        continue;
                if (other == TOP)
                        return arena_format(
                                j->arena,
                                "`%s` belongs to the top of the block: remove its indentation.",
                                member->key);
                return arena_format(j->arena, "`%s` belongs under `%s`: %s%s: %s%s", member->key,
                                    map_words[other].name, map_words[other].open, member->key,
                                    value_text(j, member), map_words[other].close);
        }
        return NULL;
}

static const char *
advise_key(struct judge *j, const struct field_set *set, const struct node *member)
{
        const char *known;
        enum map map = TOP;

        while (map < MAPS && set_of(map) != set)
                map++;
        if (map == MAPS)
                return NULL;
        known = habit(map, member->key);
        return known ? known : elsewhere(j, map, member);
}

/* -- values ------------------------------------------------------------------------------------ */

static const struct {
        const char *name, *value;
} examples[] = {
        { "schema", "sandbox/v1" },
        { "provider", PROVIDER_STANDARD },
        { "config", "{}" },
        { "id", "\"@me/demo\"" },
        { "version", "\"1.0.0\"" },
        { "limits", "{timeout_ms: 600000, memory_mb: 512}" },
        { "env", "{passthrough: [NAME]}" },
        { "network", "{egress: [api.example.com]}" },
        { "mounts", "[{source: workspace, at: /workspace}]" },
        { "source", "workspace" },
        { "at", "/workspace" },
        { "egress", "[api.example.com]" },
        { "tools", "[/opt/NAME]" },
        { "carrel", "{limits: {pids: 512}}" },
        { "metadata", "{carrel: {limits: {pids: 512}}}" },
};

static const char *
example_of(struct judge *j, const char *name)
{
        for (size_t i = 0; name && i < sizeof examples / sizeof *examples; i++)
                if (strcmp(examples[i].name, name) == 0)
                        return arena_format(j->arena, "`%s: %s`", name, examples[i].value);
        return NULL;
}

struct unit {
        const char *word;
        double factor;
};

static const struct unit units_ms[] = {
        { "ms", 1 },    { "s", 1e3 },  { "sec", 1e3 }, { "m", 6e4 },
        { "min", 6e4 }, { "h", 36e5 }, { "d", 864e5 }, { NULL, 0 }
};
static const struct unit units_mib[] = { { "m", 1 },        { "mb", 1 },     { "mi", 1 },
                                         { "mib", 1 },      { "g", 1024 },   { "gb", 1024 },
                                         { "gi", 1024 },    { "gib", 1024 }, { "t", 1048576 },
                                         { "tb", 1048576 }, { NULL, 0 } };
static const struct unit units_none[] = { { NULL, 0 } };

static bool
ends_with(const char *text, const char *end)
{
        size_t len = strlen(text), end_len = strlen(end);

        return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

/* "512m" for memory_mb is 512; "90s" for timeout_ms is 90000; a number in quotes is that number. */
static const char *
number_of(struct judge *j, const struct field *row, const char *text)
{
        const struct unit *unit = ends_with(row->name, "_ms")   ? units_ms
                                  : ends_with(row->name, "_mb") ? units_mib
                                                                : units_none;
        double number;
        char *end;

        if (*text < '0' || *text > '9' || strlen(text) > 16)
                return NULL;
        number = strtod(text, &end);
        end += *end == ' ';
        if (*end != '\0') {
                while (unit->word && nearest_edits(unit->word, end) != 0)
                        unit++;
                if (!unit->word)
                        return NULL;
                number *= unit->factor;
        }
        if (number < (double)row->min || number > (double)row->max || number > 9e15 ||
            number != (double)(uint64_t)number)
                return NULL;
        return arena_format(j->arena, "Write `%s: %" PRIu64 "`, %s.", row->name, (uint64_t)number,
                            unit == units_none ? "without quotes"
                            : unit == units_ms || ends_with(row->name, "_ms")
                                    ? "in milliseconds and without a unit"
                                    : "in MiB and without a unit");
}

static const char *
boolean_of(struct judge *j, const struct field *row, const struct node *value)
{
        static const struct {
                const char *word, *means;
        } words[] = {
                { "yes", "true" }, { "on", "true" },   { "true", "true" },   { "1", "true" },
                { "no", "false" }, { "off", "false" }, { "false", "false" }, { "0", "false" }
        };

        for (size_t i = 0; value->text && i < sizeof words / sizeof *words; i++)
                if (strlen(words[i].word) == value->len &&
                    nearest_edits(words[i].word, value->text) == 0)
                        return arena_format(j->arena, "Write `%s: %s`.", row->name, words[i].means);
        return NULL;
}

/* A single value in place of a list. */
static const char *
list_of(struct judge *j, const struct field *row, const struct node *value)
{
        static const char *const everything[] = { "all", "any", "*", "true", "allow" },
                                 *const nothing[] = { "none", "no", "off", "false", "deny" };
        bool is_egress = strcmp(row->name, "egress") == 0;

        for (size_t i = 0; is_egress && value->text && i < sizeof everything / sizeof *everything;
             i++) {
                if (strcmp(value->text, everything[i]) == 0)
                        return "No entry allows every host. List each by its name: egress: "
                               "[api.example.com]";
                if (strcmp(value->text, nothing[i]) == 0)
                        return "Write `egress: []`: no host can be reached.";
        }
        if (value->kind == NODE_NULL)
                return arena_format(j->arena,
                                    "Write `%s: []` for an empty list, or indent its entries below "
                                    "it, each after \"- \".",
                                    row->name);
        if (value->kind == NODE_STRING && row->item && row->item->kind == FIELD_TEXT)
                return arena_format(j->arena, "Write a list: `%s: [\"%s\"]`.", row->name,
                                    judge_quote(j, value->text));
        return NULL;
}

/* Another kind of value in place of a map. */
static const char *
map_of(struct judge *j, const struct field_set *set, const struct field *row,
       const struct node *value)
{
        const char *example = example_of(j, row->name);

        if (set == mount_item.members)
                return "Write {source: workspace, at: /workspace}. For another directory: carrel "
                       "run -v ./DIR:/PATH -- COMMAND";
        if (!example)
                return NULL;
        if (value->kind == NODE_NULL)
                return arena_format(
                        j->arena,
                        "Indent the fields of `%s` below it, or write %s, or remove the line.",
                        row->name, example);
        if (strcmp(row->name, "network") == 0)
                return arena_format(j->arena,
                                    "Write %s: each host by its name. Without `network`, no host "
                                    "can be reached.",
                                    example);
        return arena_format(j->arena, "It takes a map, for example %s.", example);
}

static const char *
advise_type(struct judge *j, const struct field_set *set, const struct field *row,
            const struct node *value)
{
        switch (row->kind) {
        case FIELD_UINT:
                return row->name && value->text ? number_of(j, row, value->text) : NULL;
        case FIELD_BOOL:
                return row->name ? boolean_of(j, row, value) : NULL;
        case FIELD_LIST:
                return row->name ? list_of(j, row, value) : NULL;
        case FIELD_MAP:
                return map_of(j, set, row, value);
        default:
                return NULL;
        }
}

static const char *
advise_choice(struct judge *j, const struct field *row, const char *text)
{
        static const struct {
                const char *text, *choice;
        } short_forms[] = { { "rw", "read-write" },
                            { "write", "read-write" },
                            { "ro", "read-only" },
                            { "read", "read-only" } };
        struct nearest n = nearest_begin(text);

        for (const char *const *choice = row->choices; *choice; choice++) {
                (void)nearest_try(&n, *choice, *choice);
                for (size_t i = 0; i < sizeof short_forms / sizeof *short_forms; i++)
                        if (strcmp(short_forms[i].choice, *choice) == 0)
                                (void)nearest_try(&n, short_forms[i].text, *choice);
        }
        if (!n.found && !row->choices[1])
                n.found = row->choices[0];
        if (!n.found || !row->name)
                return n.found ? arena_format(j->arena, "Did you mean `%s`?", n.found) : NULL;
        return arena_format(j->arena, "Write `%s: %s`.", row->name, n.found);
}

const struct field_advice advice_of_block = {
        .key = advise_key, .type = advise_type, .choice = advise_choice, .example = example_of
};
