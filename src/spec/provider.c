/*
 * spec/provider.c - the table of providers.
 *
 * Room: spec (deciding, pure). Touches: nothing.
 * Knows which settings each accepts, and what each can enforce. Knows nothing of which ids this
 * host has.
 */
#include "spec/provider.h"

#include <string.h>

#include "base/switches.h"
#include "spec/field.h"
#include "spec/section.h"
#include "text/nearest.h"

enum { IMAGE_TEXT_MAX = 300 };

const char *const provider_tiers[] = { "T1", "T2", "T3", "T4", NULL };

#define SETTING(word, flag, sentence)                                          \
        {                                                                      \
                .name = (word), .kind = FIELD_TEXT, .flags = (flag), .min = 1, \
                .offset = FIELD_NOWHERE, .help = (sentence)                    \
        }

static const char *const shells[] = { "/bin/bash", "/bin/sh", NULL };
static const char *const regions[] = { "us-east-1", "eu-west-1", NULL };

static const char *const users[] = { "agent", SPEC_USER_ROOT, NULL };

#define CWD_ROW(sentence)                                                                          \
        {                                                                                          \
                .name = "cwd", .kind = FIELD_TEXT, .min = 1, .offset = offsetof(struct spec, cwd), \
                .help = (sentence)                                                                 \
        }
#define SHELL_ROW                                                         \
        {                                                                 \
                .name = "shell", .kind = FIELD_CHOICE, .choices = shells, \
                .offset = offsetof(struct spec, shell),                   \
                .help = "Shell for command lines; default /bin/sh."       \
        }

static const struct field local_rows[] = {
        CWD_ROW("Working directory inside the sandbox; relative to the workspace mount."),
        SHELL_ROW,
};
#define IMAGE_ROW(flag, sentence)                                                       \
        {                                                                               \
                .name = "image", .kind = FIELD_TEXT, .flags = (flag), .min = 1,         \
                .max = IMAGE_TEXT_MAX, .offset = offsetof(struct spec, image),          \
                .help = "Image of the root directory: a name of `carrel image ls`, or " \
                        "its digest." sentence                                          \
        }
#define USER_ROW                                                                         \
        {                                                                                \
                .name = "user", .kind = FIELD_CHOICE, .choices = users,                  \
                .offset = offsetof(struct spec, user),                                   \
                .help = "Who runs commands in an image: agent (default; uid 1000, the "  \
                        "image is read-only), or root (uid 0 in the sandbox's own user " \
                        "namespace; may change and install files)."                      \
        }

static const struct field container_rows[] = {
        IMAGE_ROW(FIELD_REQUIRED, ""),
        USER_ROW,
        CWD_ROW("Working directory inside the sandbox; relative to the workspace mount. Default: "
                "the workspace mount, otherwise the image's working directory."),
        SHELL_ROW,
};
static const struct field machine_rows[] = {
        { .name = "image",
          .kind = FIELD_TEXT,
          .flags = FIELD_REQUIRED,
          .min = 1,
          .max = IMAGE_TEXT_MAX,
          .offset = offsetof(struct spec, image),
          .help = "Image of the root directory: a name of `carrel image ls`, or its digest. "
                  "`carrel image disk NAME` makes the disk that the machine gets." },
        CWD_ROW("Working directory inside the sandbox. Default: the image's working directory."),
        SHELL_ROW,
};
static const struct field e2b_rows[] = {
        SETTING("template", FIELD_REQUIRED, "Template id."),
        SETTING("api_key_ref", FIELD_SECRET, "Slug of the E2B key; the host's own key if absent."),
        { .name = "region",
          .kind = FIELD_CHOICE,
          .choices = regions,
          .offset = FIELD_NOWHERE,
          .help = "Region." },
};
static const struct field modal_rows[] = {
        SETTING("app_name", FIELD_REQUIRED, "Modal application."),
        SETTING("function_name", FIELD_REQUIRED, "Modal function."),
        SETTING("api_token_ref", FIELD_SECRET,
                "Slug of the Modal token; the host's own if absent."),
};
static const struct field daytona_rows[] = {
        SETTING("workspace_id", FIELD_REQUIRED, "Daytona workspace."),
        SETTING("api_key_ref", FIELD_SECRET, "Slug of the Daytona key; the host's own if absent."),
};
static const struct field blaxel_rows[] = {
        SETTING("workspace", FIELD_REQUIRED, "Blaxel workspace."),
        SETTING("api_key_ref", FIELD_SECRET, "Slug of the Blaxel key; the host's own if absent."),
};

static const char *const runtimes[] = { "runc", "crun", PROVIDER_RUNSC, NULL };

static const struct field oci_rows[] = {
        IMAGE_ROW(0, " Without it: the programs of this machine."),
        USER_ROW,
        CWD_ROW("Working directory inside the sandbox; relative to the workspace mount. Default: "
                "the workspace mount, otherwise the image's working directory."),
        SHELL_ROW,
        { .name = "runtime",
          .kind = FIELD_CHOICE,
          .choices = runtimes,
          .offset = FIELD_NOWHERE,
          .help = "Container runtime of the host; default runc." },
};

/* What it can be made of decides: a setting that one kind has alone excludes the others. */
static const struct field auto_rows[] = {
        { .name = "image",
          .kind = FIELD_TEXT,
          .min = 1,
          .max = IMAGE_TEXT_MAX,
          .offset = offsetof(struct spec, image),
          .help = "Image of the root directory: only a provider with images is chosen then." },
        { .name = "user",
          .kind = FIELD_CHOICE,
          .choices = users,
          .offset = offsetof(struct spec, user),
          .help = "Who runs commands: only a provider with this setting is chosen then." },
        CWD_ROW("Working directory inside the sandbox; relative to the workspace mount."),
        SHELL_ROW,
};

static const struct field_set auto_set = { FIELD_SET(auto_rows), .code = ERROR_CONFIG_INVALID };
static const struct field_set local_set = { FIELD_SET(local_rows), .code = ERROR_CONFIG_INVALID };
static const struct field_set container_set = { FIELD_SET(container_rows),
                                                .code = ERROR_CONFIG_INVALID };
static const struct field_set oci_set = { FIELD_SET(oci_rows), .code = ERROR_CONFIG_INVALID };
static const struct field_set machine_set = { FIELD_SET(machine_rows),
                                              .code = ERROR_CONFIG_INVALID };
static const struct field_set e2b_set = { FIELD_SET(e2b_rows), .code = ERROR_CONFIG_INVALID };
static const struct field_set modal_set = { FIELD_SET(modal_rows), .code = ERROR_CONFIG_INVALID };
static const struct field_set daytona_set = { FIELD_SET(daytona_rows),
                                              .code = ERROR_CONFIG_INVALID };
static const struct field_set blaxel_set = { FIELD_SET(blaxel_rows), .code = ERROR_CONFIG_INVALID };

/* Where a program of the host file makes the sandbox: what the host file says that it can. */
#define ELSEWHERE                                                                               \
        (PROVIDER_ISOLATES | PROVIDER_PAUSES | PROVIDER_TIME | PROVIDER_MEMORY | PROVIDER_CPU | \
         PROVIDER_MILLICORES | PROVIDER_PIDS | PROVIDER_FILES | PROVIDER_IO | PROVIDER_DISK |   \
         PROVIDER_OUTPUT | PROVIDER_EGRESS)

#define MASTRA(id, settings, destroyed_on, sentence)                                        \
        {                                                                                   \
                (id), (settings), (destroyed_on), (sentence), PROVIDER_ENGINE_BRIDGE, NULL, \
                        "elsewhere", ELSEWHERE, 0, false,                                   \
                {                                                                           \
                        NULL                                                                \
                }                                                                           \
        }

/* pids: by group, else by RLIMIT_NPROC, which the box's own user namespace counts. disk: private
 * file systems have a size; the workspace's own disk does not */
#define LOCAL_ALWAYS                                                                        \
        (PROVIDER_MOUNTS | PROVIDER_TIME | PROVIDER_PIDS | PROVIDER_FILES | PROVIDER_DISK | \
         PROVIDER_OUTPUT)
#define LOCAL_IF_HOST                                                           \
        (PROVIDER_ISOLATES | PROVIDER_PAUSES | PROVIDER_MEMORY | PROVIDER_CPU | \
         PROVIDER_MILLICORES | PROVIDER_IO | PROVIDER_EGRESS)

static const char *const local_tier[] = { "user_namespace",
                                          "mount_namespace",
                                          "pid_namespace",
                                          "ipc_namespace",
                                          "uts_namespace",
                                          "cgroup_namespace",
                                          "net_namespace",
                                          "loopback",
                                          "fresh_proc",
                                          "pivot_root",
                                          "tmpfs",
                                          "mount_api",
                                          "seccomp",
                                          "no_new_privs",
                                          "landlock",
                                          "rlimit",
                                          NULL };
static const char *const container_tier[] = {
        "user_namespace", "mount_namespace", "pid_namespace",
        "ipc_namespace",  "uts_namespace",   "cgroup_namespace",
        "net_namespace",  "loopback",        "fresh_proc",
        "pivot_root",     "tmpfs",           "mount_api",
        "seccomp",        "no_new_privs",    "landlock",
        "rlimit",         "overlay",         NULL
};
static const char *const container_extra[] = { "limit_pids", "cgroup_kill", "pidfd",    "clone3",
                                               "openat2",    "close_range", "devpts",   "wall",
                                               "routed",     "idmap",       "id_range", NULL };
static const char *const local_limit[] = { "limit_memory", "limit_swap", "limit_cpu",
                                           "limit_io",     "cpu_time",   NULL };
static const char *const local_extra[] = { "limit_pids", "cgroup_kill", "pidfd",  "clone3",
                                           "openat2",    "close_range", "devpts", "overlay",
                                           "wall",       "routed",      "idmap",  NULL };

/* The runtime needs the same mechanisms. */
static const char *const oci_tier[] = { "container_runtime", "user_namespace", "mount_namespace",
                                        "pid_namespace",     "ipc_namespace",  "uts_namespace",
                                        "cgroup_namespace",  "net_namespace",  "loopback",
                                        "fresh_proc",        "pivot_root",     "tmpfs",
                                        "mount_api",         "seccomp",        "no_new_privs",
                                        "landlock",          "rlimit",         NULL };

/* Of QEMU's own box; the machine has a kernel of its own. */
static const char *const machine_tier[] = { "qemu",
                                            "user_namespace",
                                            "mount_namespace",
                                            "pid_namespace",
                                            "ipc_namespace",
                                            "net_namespace",
                                            "pivot_root",
                                            "tmpfs",
                                            "mount_api",
                                            "seccomp",
                                            "no_new_privs",
                                            "landlock",
                                            "rlimit",
                                            NULL };

static const char *const machine_extra[] = { "wall", "tap", "machine_disk", "machine_mounts",
                                             NULL };

/* If the provider's sandbox lives for one call, the end of that call is AIP-37's tool-result. */
const struct provider providers[] = {
        { PROVIDER_STANDARD,
          &local_set,
          "workspace-close",
          "Carrel's own engine on this machine, isolated by the kernel.",
          PROVIDER_ENGINE_NS,
          "T1",
          "namespaces",
          LOCAL_ALWAYS,
          LOCAL_IF_HOST,
          true,
          { local_tier, local_limit, local_extra },
          .cost = 1 },
        { "container",
          &container_set,
          "workspace-close",
          "Carrel's own engine on the root directory of an image, isolated by the kernel.",
          PROVIDER_ENGINE_NS,
          "T2",
          "oci",
          LOCAL_ALWAYS,
          LOCAL_IF_HOST,
          true,
          { container_tier, local_limit, container_extra },
          .cost = 2 },
        MASTRA("mastra-e2b", &e2b_set, "tool-result", "E2B through Mastra's class."),
        MASTRA("mastra-modal", &modal_set, NULL, "Modal through Mastra's class."),
        MASTRA("mastra-daytona", &daytona_set, NULL, "Daytona through Mastra's class."),
        MASTRA("mastra-blaxel", &blaxel_set, "tool-result", "Blaxel through Mastra's class."),
        { "node-permission",
          NULL,
          "tool-result",
          "Node's --permission inside the local engine.",
          PROVIDER_ENGINE_NS,
          "T1",
          "namespaces",
          LOCAL_ALWAYS,
          LOCAL_IF_HOST,
          true,
          { local_tier, local_limit, NULL },
          "node" },
        { PROVIDER_AUTO,
          &auto_set,
          "workspace-close",
          "The cheapest provider of this machine that reaches the least tier and fits the "
          "manifest.",
          PROVIDER_ENGINE_NONE,
          NULL,
          NULL,
          0,
          0,
          false,
          { NULL } },
        { "oci",
          &oci_set,
          "workspace-close",
          "A container of an OCI runtime on this machine (runc).",
          PROVIDER_ENGINE_OCI,
          "T2",
          "oci",
          LOCAL_ALWAYS,
          LOCAL_IF_HOST,
          true,
          /* options are those of the standard provider */
          { oci_tier, local_limit, NULL },
          .cost = 3 },
        { "microvm",
          &machine_set,
          "workspace-close",
          "A virtual machine of QEMU with an image as its root. The processor is emulated, so its "
          "tier is T3.",
          PROVIDER_ENGINE_MACHINE,
          "T3",
          "qemu",
          LOCAL_ALWAYS | PROVIDER_MEMORY,
          PROVIDER_ISOLATES | PROVIDER_MILLICORES | PROVIDER_EGRESS,
          true,
          { machine_tier, NULL, machine_extra },
          .cost = 4,
          .is_routed = true },
#ifdef CARREL_TEST_SWITCHES
        { "example-fake", NULL, "workspace-close", "Plays a script: for tests.",
          PROVIDER_ENGINE_FAKE, "T4", "script",
          PROVIDER_ISOLATES | PROVIDER_PAUSES | PROVIDER_TIME | PROVIDER_MEMORY | PROVIDER_CPU |
                  PROVIDER_PIDS | PROVIDER_FILES | PROVIDER_DISK | PROVIDER_OUTPUT,
          0 },
#endif
};
const size_t provider_count = sizeof providers / sizeof providers[0];

const struct provider *
provider_find(const char *id)
{
        for (size_t i = 0; i < provider_count; i++)
                if (strcmp(providers[i].id, id) == 0)
                        return &providers[i];
        return NULL;
}

/* Geodocs, tier table: on the host's own root an isolation by the shared kernel is T1. */
const char *
provider_tier(const struct provider *p, const struct node *config)
{
        if (p->engine != PROVIDER_ENGINE_OCI)
                return p->tier;
        if (node_is_text(node_find(config, "runtime"), PROVIDER_RUNSC))
                return "T3";
        return node_find(config, "image") ? p->tier : "T1";
}

const char *
provider_class(const struct provider *p, const struct node *config)
{
        const char *tier = provider_tier(p, config);

        if (p->engine != PROVIDER_ENGINE_OCI || tier == p->tier)
                return p->runtime_class;
        return strcmp(tier, "T1") == 0 ? "namespaces" : PROVIDER_RUNSC;
}

const char *
provider_of_machines(void)
{
        for (size_t i = 0; i < provider_count; i++)
                if (providers[i].engine == PROVIDER_ENGINE_MACHINE)
                        return providers[i].id;
        return NULL;
}

bool
provider_is_elsewhere(const struct provider *provider)
{
        return provider && provider->engine == PROVIDER_ENGINE_BRIDGE;
}

bool
provider_needs_config(const struct provider *p)
{
        for (size_t i = 0; p->config && i < p->config->count; i++)
                if ((p->config->rows[i].flags & FIELD_REQUIRED) != 0)
                        return true;
        return false;
}

bool
provider_reaches(const char *tier, const char *least)
{
        return !least || (tier && strcmp(tier, least) >= 0);
}

bool
spec_is_root(const struct spec *spec)
{
        return spec->user && strcmp(spec->user, SPEC_USER_ROOT) == 0;
}

bool
provider_is_reserved(const char *id)
{
        for (size_t i = 0; i < provider_count; i++)
                if (strlen(id) == strlen(providers[i].id) &&
                    nearest_edits(id, providers[i].id) == 0)
                        return true;
        return false;
}

bool
provider_id_check(const char *id)
{
        size_t len = strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789-");

        return len > 0 && len <= 63 && id[len] == '\0' && id[0] != '-';
}

void
provider_read(struct judge *j, const struct node *value, const struct trail *at, void *base)
{
        struct spec *spec = base;
        const struct provider *provider = provider_find(value->text);

        (void)j, (void)at;
        spec->provider = value->text;
        spec->provider_place = (struct spec_place){ value->line, value->column };
        spec->lifecycle.destroy_on = provider ? provider->destroy_on : "workspace-close";
}

/* On the programs of the host every command is the agent's. */
static void
refuse_user(struct judge *j, const struct node *config, const struct trail *at)
{
        const struct trail place = { at, "user", 0 };

        judge_error(j, node_find(config, "user"), &place, ERROR_CONFIG_INVALID, "image",
                    "Add config.image, or remove config.user.",
                    "config.user is about an image, and config has none");
}

void
config_read(struct judge *j, const struct node *config, const struct trail *at, void *base)
{
        struct spec *spec = base;
        const struct provider *provider = spec->provider ? provider_find(spec->provider) : NULL;

        spec->config = config;
        if (provider && provider->config)
                (void)fields_read(j, provider->config, config, at, base);
        if (spec->user && !spec->image)
                refuse_user(j, config, at);
}
