/*
 * cli/prepare.c - from the command line to a plan.
 *
 * Room: cli (joining). Touches: fd, clock, random, the environment.
 * Knows the order of the stages. Knows nothing of how any part of it decides.
 */
#include "cli/prepare.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/scoped.h"
#include "base/switches.h"
#include "cli/options.h"
#include "clock/clock.h"
#include "daemon/state.h"
#include "prepare/host_file.h"
#include "prepare/lacking.h"
#include "programs/programs.h"
#include "ref/places.h"

/* Static memory that is enough for most runs: it saves about 40 page faults and 30 system calls. */
enum { FIRST_LEN = 1 << 20 };

int
prepare_options_read(const struct command *c, int argc, char **argv, struct prepare_options *ret,
                     struct error *e)
{
        struct words words;

        *ret = (struct prepare_options){ .file = NULL };
        if (options_read(c, argc, argv, ret, &words, e) < 0)
                return -1;
        ret->command = words.rest;
        ret->command_count = words.rest_count;
        return 0;
}

/* -- the way ----------------------------------------------------------------------------------- */

#ifdef CARREL_TEST_SWITCHES
static const struct {
        const char *name;
        uint32_t part;
} switches[] = {
        { "filter", SWITCH_FILTER },
        { "landlock", SWITCH_LANDLOCK },
        { "caps", SWITCH_CAPS },
        { "no_new_privs", SWITCH_NO_NEW_PRIVS },
        { "mask", SWITCH_MASK },
        { "read_only", SWITCH_READ_ONLY },
        { "net", SWITCH_NET },
        { "pid", SWITCH_PID },
        { "ipc", SWITCH_IPC },
        { "uts", SWITCH_UTS },
        { "cgroup_ns", SWITCH_CGROUP_NS },
        { "limits", SWITCH_LIMITS },
        { "rlimits", SWITCH_RLIMITS },
        { "hide", SWITCH_HIDE },
        { "protect", SWITCH_PROTECT },
        { "overlay", SWITCH_OVERLAY },
        { "user_ns", SWITCH_USER_NS },
        { "nosuid", SWITCH_NOSUID },
        { "nodev", SWITCH_NODEV },
        { "size", SWITCH_SIZE },
        { "reset", SWITCH_RESET },
        { "close_fds", SWITCH_CLOSE_FDS },
        { "env", SWITCH_ENV },
        { "seal", SWITCH_SEAL },
        { "identity", SWITCH_IDENTITY },
        { "private_tmp", SWITCH_PRIVATE_TMP },
};

static uint32_t
switched_off(void)
{
        const char *text = getenv("CARREL_TEST_DISABLE");
        uint32_t off = 0;

        for (size_t i = 0; text && i < sizeof switches / sizeof *switches; i++) {
                size_t len = strlen(switches[i].name);

                for (const char *at = text; (at = strstr(at, switches[i].name)) != NULL; at += len)
                        if ((at == text || at[-1] == ',') && (at[len] == '\0' || at[len] == ','))
                                off |= switches[i].part;
        }
        return off;
}
#else
static uint32_t
switched_off(void)
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
find_manifest(const struct prepare_options *o, struct run_way *w, struct error *e)
{
        int result = o->file ? ref_manifest_open(&w->p.arena, o->file, &w->reads, &w->manifest, e)
                             : ref_manifest_find(&w->p.arena, o->workspace ? o->workspace : ".",
                                                 &w->reads, &w->manifest, e);

        if (result < 0 && e->code == ERROR_NOT_CONFIGURED && o->otherwise) {
                w->manifest = (struct ref_manifest_file){ .name = "the default sandbox",
                                                          .bytes = o->otherwise,
                                                          .len = strlen(o->otherwise),
                                                          .kind = MANIFEST_BLOCK,
                                                          .syntax = MANIFEST_YAML };
                result = 0;
        }
        if (result == 0 && o->saved) /* carrel image machine wrote it */
                w->manifest.name = "the sandbox of the machine";
        w->file_name = result == 0 ? w->manifest.name : o->file;
        return result;
}

/*
 * The workspace: the named directory, else the manifest's directory. Absolute, without links; in
 * the arena.
 */
static const char *
workspace_path(const struct prepare_options *o, struct run_way *w, struct error *e)
{
        const char *slash = o->file ? strrchr(o->file, '/') : NULL;
        const char *named =
                o->workspace ? o->workspace
                : !slash     ? "."
                             : arena_copy(&w->p.arena, o->file, (size_t)(slash - o->file) + 1);
        char *real = named ? realpath(named, NULL) : NULL;
        const char *copy = real ? arena_text(&w->p.arena, real) : NULL;

        free(real);
        if (!copy)
                (void)fail_sys(e, ERROR_WORKSPACE_NOT_FOUND, errno, "the workspace %.200s",
                               named ? named : "");
        return copy;
}

/*
 * The rules of the host. What the machine's own file says of the audit log holds with --host too:
 * no caller turns it off.
 */
static int
load_rules(const struct prepare_options *o, struct run_way *w, struct error *e)
{
        struct host_ability real = prepare_planned_ability(&w->host.facts, false);
        struct host_file file;

        if (host_file_load(&w->p.arena, o->host_file, &real, HOST_FILE_BOUND, &w->reads, &file, e) <
            0) {
                w->file_name = file.name;
                return -1;
        }
        w->host.rules = file.rules;
        lacking_note(&w->host.facts, file.rules);
        w->host_tree = file.tree;
        w->is_audited = file.rules->audits_run;
        w->audit_keep_ms = file.rules->audit_keep_ms;
        w->redact_off = file.rules->redact_off;
        w->keeps_content = file.rules->keeps_content;
        if (!o->host_file || !o->may_be_audited || access(HOST_FILE_MACHINE, F_OK) < 0)
                return 0;
        if (host_file_load(&w->p.arena, HOST_FILE_MACHINE, &real, HOST_FILE_BOUND, NULL, &file, e) <
            0) {
                w->file_name = file.name;
                return -1;
        }
        w->is_audited |= file.rules->audits_run;
        w->keeps_content |= file.rules->keeps_content;
        w->redact_off &= file.rules->redact_off;
        /* no caller shortens it */
        if (w->audit_keep_ms > 0 && file.rules->audit_keep_ms > w->audit_keep_ms)
                w->audit_keep_ms = file.rules->audit_keep_ms;
        return 0;
}

static int
judge(const struct prepare_options *o, struct run_way *w, int workspace, int64_t now_s,
      struct error *e)
{
        struct ref_places places = { .workspace = workspace, .reads = &w->reads };
        struct verdict_host host = { .now_s = now_s,
                                     .overrides = o->overrides.items,
                                     .override_count = o->overrides.count };

        places.host = w->host_tree;
        host.rules = w->host.rules;
        host.reader = ref_places_reader(&places);
        if (o->tool_server) {
                if (tool_server_find(&w->p.arena, &w->manifest, o->tool_server, &host, &w->server,
                                     e) < 0)
                        return -1;
                w->manifest = w->server.block;
                w->file_name = w->manifest.name;
        }
        if (verdict_reach(&w->p.arena, &w->manifest, VERDICT_AUTHORISE, &host, &w->verdict,
                          &w->p.findings, e) < 0) {
                if (override_explain(&o->overrides, e->path, e->line, e->message,
                                     sizeof e->message))
                        w->file_name = NULL;
                return -1;
        }
        if (w->verdict.written.form == MANIFEST_NONE)
                return fail(e, ERROR_NOT_CONFIGURED,
                            "%s declares no sandbox, so no command may run", w->manifest.name);
        return 0;
}

int
run_way_make_hidden(const struct prepare_options *o, struct run_way *w, struct error *e)
{
        const char *workspace = workspace_path(o, w, e), *state = w->host.volumes;
        const struct spec_names mounted = { &workspace, 1 };

        /* a workspace that is missing is refused later */
        if (!workspace || !state || !host_path_is_below(&mounted, state))
                return 0;
        if (state_make(state, e) == 0)
                return 0;
        /* then no command of this user can create it either */
        return e->sys == EACCES || e->sys == EROFS || e->sys == EPERM ? 0 : -1;
}

/* No sandbox is shown the audit log of its user: it holds the keys. A mount that contains the state
 * directory shows it empty; a mount of the log, or of a directory between the two, is refused. */
static int
guard_log(struct run_way *w, struct error *e)
{
        const char *state = w->host.volumes, *logs;
        char real[PATH_MAX];

        if (!state || access(state, F_OK) < 0)
                return 0;
        if (!realpath(state, real))
                return fail_sys(e, ERROR_STATE_UNUSABLE, errno,
                                "looking at the state directory %.200s", state);
        w->host.hidden = arena_text(&w->p.arena, real);
        logs = arena_format(&w->p.arena, "%s/audit", state);
        if (!w->host.hidden || !logs)
                return fail(e, ERROR_NO_MEMORY, "no memory for a path");
        return access(logs, F_OK) == 0 ? prepare_host_guard(&w->host, logs, e) : 0;
}

/* The user's own state directory; NULL if the environment does not give one. */
static const char *
keeping(struct arena *arena)
{
        const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

        if (state && state[0] == '/')
                return arena_format(arena, "%s/carrel/kept", state);
        return home && home[0] == '/' ? arena_format(arena, "%s/.local/state/carrel/kept", home)
                                      : NULL;
}

int
run_way_init(struct run_way *w, struct error *e)
{
        static _Alignas(16) unsigned char first[FIRST_LEN];
        struct error nowhere;

        prepared_init_in(&w->p, first, sizeof first);
        w->host.home = getenv("HOME");
        w->host.xdg = getenv("XDG_CONFIG_HOME");
        w->host.guest = program_init_id();
        w->switched_off = switched_off();
        (void)snprintf(w->owner, sizeof w->owner, "uid:%u", (unsigned)geteuid());
        if (state_choose(&w->p.arena, NULL, &w->host.volumes, &nowhere) < 0)
                w->host.volumes = NULL;
        return prepare_host_init(&w->host, e);
}

static int
choose_time(const struct prepare_options *o, struct run_way *w, struct error *e)
{
        return time_allowed_choose(
                &w->verdict.allowed->limits, o->timeout_ms > 0 ? o->timeout_ms : SPEC_UNSET,
                o->wants_terminal || o->tool_server ? SPEC_UNSET : TIME_ALLOWED_RUN_MS, &w->limit,
                e);
}

int
prepare(const struct prepare_options *options, struct run_way *ret, struct error *e)
{
        struct prepare_request request = { .id = ret->id,
                                           .owner = ret->owner,
                                           .caller_uid = PREPARE_UID_ANY,
                                           .now_s = (int64_t)(clock_wall_ms() / 1000),
                                           .is_living =
                                                   options->replay && options->replay->count > 1,
                                           .switched_off = ret->switched_off,
                                           .saved = options->saved };
        scoped_fd int workspace_fd = -1;

        if (make_id(ret->id, e) < 0 || load_rules(options, ret, e) < 0 ||
            find_manifest(options, ret, e) < 0)
                return -1;
        request.workspace = workspace_path(options, ret, e);
        if (!request.workspace)
                return -1;
        ret->workspace = request.workspace;
        workspace_fd = open(request.workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (workspace_fd < 0)
                return fail_sys(e, ERROR_WORKSPACE_NOT_FOUND, errno, "opening the workspace %.200s",
                                request.workspace);
        if (judge(options, ret, workspace_fd, request.now_s, e) < 0)
                return -1;
        if (ret->verdict.allowed->is_read_only)
                return fail_at(e, ERROR_READ_ONLY, "read_only", NULL,
                               "%s says read_only: true, so no command may run", ret->file_name);
        if (choose_time(options, ret, e) < 0)
                return -1;
        request.keeping = keeping(&ret->p.arena);
        request.reads = ret->reads.paths;
        request.read_count = ret->reads.count;
        if (guard_log(ret, e) < 0 ||
            prepare_take(&ret->host, &request, ret->verdict.allowed, &ret->p, e) < 0)
                return -1;
        request.watches_exec = options->audits || ret->is_audited;
        request.timeout_ms = ret->limit.ms == SPEC_UNSET ? 0 : ret->limit.ms;
        return prepare_plan(&ret->host, &request, &ret->p, e);
}

void
run_way_fini(struct run_way *w)
{
        prepared_fini(&w->p);
        prepare_host_fini(&w->host);
}
