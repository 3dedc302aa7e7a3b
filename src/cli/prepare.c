/*
 * cli/prepare.c - from words on the command line to a plan.
 *
 * Room: cli (joining). Touches: fd, clock, random, the environment.
 * Knows the order of the way. Knows nothing of how any part of it decides.
 */
#include "cli/prepare.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/scoped.h"
#include "host/facts.h"
#include "ref/places.h"

/* What most runs need at most lies in memory that is there already: some 40 page faults and 30 system calls less. */
enum { ARENA_MAX = 64 << 20, FIRST_LEN = 1 << 20 };

/* Outside ids reserved for sandboxes of root: no system hands these out (they lie past systemd's ranges). */
enum { RESERVED_FIRST = 1900000000, RESERVED_COUNT = 65536 };

/* -- options -------------------------------------------------------------------------------------------------- */

enum word_kind { WORD_TEXT, WORD_FLAG, WORD_LIST };

struct word_row {
        const char *name, *other;      /* "--file", "-f" */
        size_t offset;
        enum word_kind kind;
};

static const struct word_row words[] = {
        { "--file", "-f", offsetof(struct prepare_options, file), WORD_TEXT },
        { "--workspace", "-w", offsetof(struct prepare_options, workspace), WORD_TEXT },
        { "--host", NULL, offsetof(struct prepare_options, host_file), WORD_TEXT },
        { "--env", "-e", 0, WORD_LIST },
        { "--timeout", NULL, offsetof(struct prepare_options, timeout), WORD_TEXT },
        { "--tty", "-t", offsetof(struct prepare_options, wants_terminal), WORD_FLAG },
        { "--json", NULL, offsetof(struct prepare_options, is_json), WORD_FLAG },
        { "--raw", NULL, offsetof(struct prepare_options, is_raw), WORD_FLAG },
};

static const struct word_row *
find_word(const char *arg, size_t len)
{
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
                if ((strlen(words[i].name) == len && strncmp(arg, words[i].name, len) == 0) ||
                    (words[i].other && strlen(words[i].other) == len && strncmp(arg, words[i].other, len) == 0))
                        return &words[i];
        return NULL;
}

static int
add_extra(struct prepare_options *o, const char *text, struct error *e)
{
        if (o->extra_count == PREPARE_EXTRA_MAX)
                return fail(e, ERROR_INVALID_ARGUMENT, "more than %d -e options", PREPARE_EXTRA_MAX);
        o->extra[o->extra_count++] = text;
        return 0;
}

/* One option at argv[*at]; moves past it. */
static int
read_option(char **argv, int argc, int *at, struct prepare_options *o, struct error *e)
{
        const char *arg = argv[*at];
        const char *equals = strncmp(arg, "--", 2) == 0 ? strchr(arg, '=') : NULL;
        size_t len = equals ? (size_t)(equals - arg) : strlen(arg);
        const struct word_row *row = find_word(arg, len);
        const char *value = equals ? equals + 1 : NULL;

        if (!row) {
                (void)fail(e, ERROR_INVALID_ARGUMENT, "there is no option %.64s; put -- before a command that starts with a dash", arg);
                error_hint(e, "`carrel help %.16s` shows the options.", argv[0]);
                return -1;
        }
        (*at)++;
        if (row->kind == WORD_FLAG) {
                *(bool *)((char *)o + row->offset) = true;
                return value ? fail(e, ERROR_INVALID_ARGUMENT, "%s takes no value", row->name) : 0;
        }
        if (!value && *at < argc)
                value = argv[(*at)++];
        if (!value)
                return fail(e, ERROR_INVALID_ARGUMENT, "%.64s needs a value", arg);
        if (row->kind == WORD_LIST)
                return add_extra(o, value, e);
        *(const char **)((char *)o + row->offset) = value;
        return 0;
}

int
prepare_options_read(int argc, char **argv, struct prepare_options *ret, struct error *e)
{
        int at = 1;

        *ret = (struct prepare_options){ .file = NULL };
        while (at < argc && argv[at][0] == '-' && strcmp(argv[at], "--") != 0)
                if (read_option(argv, argc, &at, ret, e) < 0)
                        return -1;
        if (at < argc && strcmp(argv[at], "--") == 0)
                at++;
        ret->command = argv + at;
        ret->command_count = argc - at;
        return 0;
}

int
prepare_duration_read(const char *text, uint64_t *ret_ms, struct error *e)
{
        static const struct { const char *unit; uint64_t ms; } units[] = { { "", 1000 }, { "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 } };
        char *end;
        uint64_t number;

        errno = 0;
        number = strtoull(text, &end, 10);
        for (size_t i = 0; i < sizeof units / sizeof *units; i++)
                if (text[0] >= '0' && text[0] <= '9' && errno == 0 && strcmp(end, units[i].unit) == 0 && number > 0 &&
                    number < UINT64_MAX / units[i].ms / 2) {
                        *ret_ms = number * units[i].ms;
                        return 0;
                }
        return fail(e, ERROR_INVALID_ARGUMENT, "\"%.32s\" is no duration; write 1500ms, 30s, 5m or 2h", text);
}

/* -- the way -------------------------------------------------------------------------------------------------- */

#ifdef CARREL_TEST_LAYERS
static const struct { const char *name; uint32_t layer; } layers[] = {
        { "filter", LAYER_FILTER }, { "landlock", LAYER_LANDLOCK }, { "caps", LAYER_CAPS }, { "no_new_privs", LAYER_NO_NEW_PRIVS },
        { "mask", LAYER_MASK }, { "read_only", LAYER_READ_ONLY }, { "net", LAYER_NET }, { "pid", LAYER_PID }, { "ipc", LAYER_IPC },
        { "uts", LAYER_UTS }, { "cgroup_ns", LAYER_CGROUP_NS }, { "limits", LAYER_LIMITS }, { "rlimits", LAYER_RLIMITS },
        { "hide", LAYER_HIDE }, { "protect", LAYER_PROTECT }, { "overlay", LAYER_OVERLAY }, { "user_ns", LAYER_USER_NS },
        { "nosuid", LAYER_NOSUID }, { "nodev", LAYER_NODEV }, { "size", LAYER_SIZE }, { "reset", LAYER_RESET },
        { "close_fds", LAYER_CLOSE_FDS }, { "env", LAYER_ENV }, { "seal", LAYER_SEAL },
        { "identity", LAYER_IDENTITY }, { "private_tmp", LAYER_PRIVATE_TMP },
};

static uint32_t
layers_off(void)
{
        const char *text = getenv("CARREL_TEST_DISABLE");
        uint32_t off = 0;

        for (size_t i = 0; text && i < sizeof layers / sizeof *layers; i++) {
                size_t len = strlen(layers[i].name);

                for (const char *at = text; (at = strstr(at, layers[i].name)) != NULL; at += len)
                        if ((at == text || at[-1] == ',') && (at[len] == '\0' || at[len] == ','))
                                off |= layers[i].layer;
        }
        return off;
}
#else
static uint32_t
layers_off(void)
{
        return 0;
}
#endif

static int
make_id(char id[17], struct error *e)
{
        uint64_t number;

        if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "asking for randomness");
        (void)snprintf(id, 17, "%016" PRIx64, number);
        return 0;
}

static int
find_manifest(const struct prepare_options *o, struct prepared *p, struct error *e)
{
        int result = o->file ? ref_manifest_open(&p->arena, o->file, &p->manifest, e)
                             : ref_manifest_find(&p->arena, o->workspace ? o->workspace : ".", &p->manifest, e);

        p->file_name = result == 0 ? p->manifest.name : o->file;
        return result;
}

/* The workspace is the directory named, else the one the manifest lies in. Absolute, without links; in the arena. */
static const char *
workspace_path(const struct prepare_options *o, struct prepared *p, struct error *e)
{
        const char *slash = o->file ? strrchr(o->file, '/') : NULL;
        const char *named = o->workspace ? o->workspace : !slash ? "." : arena_copy(&p->arena, o->file, (size_t)(slash - o->file) + 1);
        char *real = named ? realpath(named, NULL) : NULL;
        const char *copy = real ? arena_text(&p->arena, real) : NULL;

        free(real);
        if (!copy)
                (void)fail_sys(e, ERROR_WORKSPACE_NOT_FOUND, errno, "the workspace %.200s", named ? named : "");
        return copy;
}

/* The planner warns of limits with the reason at hand, so the judge of the provider need not. */
static struct host_ability
all_limits(struct host_ability can)
{
        can.caps_time = can.caps_memory = can.caps_cpu = can.caps_millicores = can.caps_pids = true;
        can.is_isolated = true;        /* the planner refuses a host that cannot isolate, and names what is missing */
        can.caps_files = can.caps_io = can.caps_disk = can.caps_output = true;
        return can;
}

static int
judge(const struct prepare_options *o, struct prepared *p, int workspace, struct error *e)
{
        struct host_ability real = all_limits(host_file_local_ability(&p->facts));
        struct ref_places places = { .workspace = workspace };
        struct verdict_host host = { .now_s = (int64_t)time(NULL) };

        if (host_file_load(&p->arena, o->host_file, &real, true, &p->host, e) < 0) {
                p->file_name = o->host_file;
                return -1;
        }
        places.host = p->host.tree;
        host.rules = p->host.rules;
        host.reader = ref_places_reader(&places);
        if (verdict_reach(&p->arena, &p->manifest, VERDICT_AUTHORISE, &host, &p->verdict, &p->findings, e) < 0)
                return -1;
        if (p->verdict.written.form == MANIFEST_NONE)
                return fail(e, ERROR_NOT_CONFIGURED, "%s declares no sandbox, so no command may run", p->manifest.name);
        p->spec = p->verdict.allowed;
        return 0;
}

static bool
is_local(const struct spec *spec)
{
        return strcmp(spec->provider, "local") == 0;
}

/* Whom the payload is outside: ourselves, or, as root, an id that is nobody else's while the lease of its name is held. */
static int
choose_identity(struct prepared *p, struct plan_request *request, struct error *e)
{
        uint64_t number = strtoull(p->id, NULL, 16);

        request->outside_uid = p->facts.uid;
        request->outside_gid = p->facts.gid;
        for (int tries = 0; p->facts.is_privileged && tries < RESERVED_COUNT; tries++) {
                uint32_t uid = (uint32_t)(RESERVED_FIRST + (number + (uint64_t)tries) % RESERVED_COUNT);
                const char *lease = arena_format(&p->arena, "%s/%u.lease", p->facts.runtime_dir, uid);

                if (!lease)
                        return fail(e, ERROR_NO_MEMORY, "no memory for a name");
                if (access(lease, F_OK) == 0)
                        continue;
                request->outside_uid = request->outside_gid = uid;
                request->lease_path = lease;
                return 0;
        }
        if (p->facts.is_privileged)
                return fail(e, ERROR_QUOTA_EXCEEDED, "all %d ids for sandboxes are taken", RESERVED_COUNT);
        return 0;
}

static bool
has_groups(const struct host_facts *facts)
{
        for (int c = 0; c < CGROUP_CONTROLLER_MAX; c++)
                if (facts->cgroup.place[c].version != 0)
                        return true;
        return facts->cgroup.unified[0] != '\0';
}

static int
make_plan(struct prepared *p, struct error *e)
{
        struct plan_request request = { .id = p->id, .sources = p->sources.items, .source_count = p->sources.count,
                                        .mounts = p->sources.mounts, .mount_count = p->sources.count, .disks = p->sources.disks,
                                        .disk_count = p->sources.disk_count, .layers_off = p->layers_off };

        if (choose_identity(p, &request, e) < 0)
                return -1;
        if (!request.lease_path && (p->sources.has_placeholders || has_groups(&p->facts)))
                request.lease_path = arena_format(&p->arena, "%s/%s.lease", p->facts.runtime_dir, p->id);
        return plan_build(&p->arena, p->spec, &p->facts, &request, &p->plan, &p->findings, e);
}

static const char *
manifest_path(struct prepared *p, const struct prepare_options *o, const char *workspace)
{
        char *real = o->file ? realpath(o->file, NULL) : NULL;
        const char *path = o->file ? (real ? arena_text(&p->arena, real) : NULL)
                                   : arena_format(&p->arena, "%s/%s", workspace, strrchr(p->manifest.name, '/') ? strrchr(p->manifest.name, '/') + 1 : p->manifest.name);

        free(real);
        return path;
}

int
prepared_init(struct prepared *p, struct error *e)
{
        static _Alignas(16) unsigned char first[FIRST_LEN];

        arena_init_in(&p->arena, ARENA_MAX, first, sizeof first);
        findings_init(&p->findings, &p->arena);
        p->layers_off = layers_off();
        return host_facts_read(&p->facts, e);
}

int
prepare(const struct prepare_options *options, struct prepared *ret, struct error *e)
{
        scoped_fd int workspace_fd = -1;
        const char *workspace;

        if (make_id(ret->id, e) < 0 || find_manifest(options, ret, e) < 0)
                return -1;
        workspace = workspace_path(options, ret, e);
        if (!workspace)
                return -1;
        workspace_fd = open(workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (workspace_fd < 0)
                return fail_sys(e, ERROR_WORKSPACE_NOT_FOUND, errno, "opening the workspace %.200s", workspace);
        if (judge(options, ret, workspace_fd, e) < 0)
                return -1;
        if (ret->spec->is_read_only)
                return fail_at(e, ERROR_READ_ONLY, "read_only", NULL, "%s says read_only: true, so no command may run", ret->file_name);
        if (!is_local(ret->spec))
                return fail_at(e, ERROR_PROVIDER_UNKNOWN, "provider", NULL, "this program has no engine for the provider %.64s", ret->spec->provider);
        if (sources_open(&ret->arena, ret->spec, ret->host.rules, workspace, manifest_path(ret, options, workspace),
                         ret->facts.is_privileged, &ret->sources, e) < 0)
                return -1;
        return make_plan(ret, e);
}

void
prepared_fini(struct prepared *p)
{
        sources_fini(&p->sources);
        arena_fini(&p->arena);
}
