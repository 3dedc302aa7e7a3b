/*
 * cli/serve.c - `carrel serve`: the daemon, in the foreground.
 *
 * Room: cli (joining, program). Touches: fd (standard streams), the files its options name.
 * Knows options, and how the operator's files are read. Knows nothing of processes: that is the
 * room daemon.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/finding_print.h"
#include "cli/ladder.h"
#include "cli/options.h"
#include "cli/prepare.h"
#include "cli/run.h"
#include "cli/systemd_scope.h"
#include "cli/validator_run.h"
#include "cli/value.h"
#include "daemon/graph.h"
#include "daemon/launcher.h"
#include "daemon/log.h"
#include "daemon/state.h"
#include "host/facts.h"
#include "prepare/host.h"
#include "prepare/host_file.h"
#include "prepare/interpreters.h"
#include "prepare/verdict.h"
#include "ref/file.h"
#include "text/tree_pack.h"

enum { ARENA_MAX = 64 << 20, OPTIONS_ARENA_MAX = 1 << 20 };

struct serving {
        const char *state, *tcp, *ports, *host_file, *pool, *pool_manifest, *socket_mode;
        uint64_t delete_after_ms;
        bool is_json, wants_graph;
        struct arena files; /* the result of the last load() */
        const char *about;  /* the file that is being read, for errors */
};

/* An octal mode that keeps the owner's access to the sockets and gives no right to execute. */
static int
read_mode(const char *text, mode_t *ret, struct error *e)
{
        char *end;
        unsigned long mode = text ? strtoul(text, &end, 8) : 0600;

        if (text && (*text < '0' || *text > '7' || *end != '\0' || (mode & ~0666ul) != 0 ||
                     (mode & 0600) != 0600))
                return value_wrong(VALUE_MODE, (struct value_place){ "serve", "--socket-mode" },
                                   text, e);
        *ret = (mode_t)mode;
        return 0;
}

static int
check_pool(const struct serving *s, struct error *e)
{
        uint64_t count = 0;

        if (value_number_read(VALUE_POOL, (struct value_place){ "serve", "--pool" }, s->pool,
                              &count, e) < 0)
                return -1;
        if (s->pool_manifest && count == 0)
                return fail_at(e, ERROR_INVALID_ARGUMENT, "--pool-manifest", NULL,
                               "--pool-manifest says what a pool is made of: add --pool N");
        return 0;
}

/* -- the operator's files ---------------------------------------------------------------------- */

static int
list_host_ports(struct arena *arena, const struct host_rules *rules, struct launcher_files *ret,
                struct error *e)
{
        uint16_t *ports = arena_array(arena, uint16_t, rules->host_port_count + 1);

        if (!ports)
                return fail(e, ERROR_NO_MEMORY, "no memory for the ports of this machine");
        for (size_t i = 0; i < rules->host_port_count; i++)
                ports[i] = rules->host_ports[i].ports[0];
        ret->host_ports = ports;
        ret->host_port_count = rules->host_port_count;
        return 0;
}

static int
load_host(struct serving *s, struct launcher_files *ret, struct error *e)
{
        struct host_facts *facts = arena_new(&s->files, struct host_facts);
        struct ref_reads *reads = arena_new(&s->files, struct ref_reads);
        struct host_ability real;
        struct host_file file;
        struct runtimes runtimes;

        if (!facts || !reads)
                return fail(e, ERROR_NO_MEMORY, "no memory for the facts of this machine");
        if (host_facts_read(facts, e) < 0)
                return -1;
        real = prepare_planned_ability(facts, true);
        if (host_file_load(&s->files, s->host_file, &real, HOST_FILE_BOUND | HOST_FILE_SHARED,
                           reads, &file, e) < 0) {
                s->about = s->host_file;
                return file.name ? error_wrap(e, "host file %.200s", file.name) : -1;
        }
        if (list_host_ports(&s->files, file.rules, ret, e) < 0)
                return -1;
        for (size_t i = 0; i < file.rules->providers.count; i++)
                ret->has_programs |= file.rules->providers.items[i].program.argv.count > 0;
        ret->has_validators = commands_find_program(file.rules->commands) != NULL;
        ret->audit_keep_ms = file.rules->audit_keep_ms;
        ret->redact_off = file.rules->redact_off;
        ret->secrets =
                (struct secret_sources){ file.rules->sources, file.rules->secrets_file, NULL };
        if (interpreters_look(&s->files, file.rules, NULL, &runtimes, e) < 0)
                return -1;
        return prepare_host_pack(
                &s->files,
                &(struct prepare_host_source){ file.tree, file.rules->allow, reads, &runtimes },
                &ret->host, &ret->host_len, e);
}

static int
load_pool(struct serving *s, struct launcher_files *ret, struct error *e)
{
        struct ref_manifest_file file;
        struct findings findings;
        struct verdict verdict;
        void *bytes;

        if (!s->pool_manifest)
                return 0;
        findings_init(&findings, &s->files);
        s->about = s->pool_manifest;
        if (ref_manifest_open(&s->files, s->pool_manifest, NULL, &file, e) < 0 ||
            verdict_reach(&s->files, &file, VERDICT_VALIDATE, NULL, &verdict, &findings, e) < 0)
                return error_wrap(e, "pool manifest %.200s", s->pool_manifest);
        s->about = NULL;
        ret->pool_len = tree_pack_len(verdict.written.root);
        bytes = arena_alloc(&s->files, ret->pool_len);
        if (!bytes)
                return fail(e, ERROR_NO_MEMORY, "no memory for the pool's manifest");
        tree_pack(verdict.written.root, bytes);
        ret->pool = bytes;
        return 0;
}

static int
load(void *ctx, struct launcher_files *ret, struct error *e)
{
        struct serving *s = ctx;
        struct arena before = s->files;

        arena_init(&s->files, ARENA_MAX);
        *ret = (struct launcher_files){ .host = NULL };
        if (load_host(s, ret, e) == 0 && load_pool(s, ret, e) == 0) {
                arena_fini(&before);
                return 0;
        }
        arena_fini(&s->files);
        s->files = before; /* the old files stay in use */
        return -1;
}

/* ---------------------------------------------------------------------------------------------------------------------
 */

static int
serve(struct serving *s, struct arena *arena, int *ret_status, struct error *e)
{
        struct validator_run validators = { s->host_file, run_command };
        struct launcher_options options = {
                .tcp = s->tcp,
                .ports = s->ports,
                .pool = s->pool,
                .load = load,
                .ctx = s,
                .validate = validator_run_job,
                .validate_ctx = &validators,
        };
        char delete_after_ms[24];

        (void)snprintf(delete_after_ms, sizeof delete_after_ms, "%" PRIu64, s->delete_after_ms);
        options.delete_after_ms = s->delete_after_ms > 0 ? delete_after_ms : NULL;
        if (read_mode(s->socket_mode, &options.socket_mode, e) < 0 || check_pool(s, e) < 0 ||
            state_choose(arena, s->state, &options.state, e) < 0)
                return -1;
        log_json(s->is_json);
        return launcher_run(&options, ret_status, e);
}

static int
cmd_serve(int argc, char **argv)
{
        struct serving s = { .state = NULL };
        struct words words;
        struct arena arena;
        struct error e;
        int status = 0;

        if (options_read(&command_serve, argc, argv, &s, &words, &e) < 0)
                return print_failure(NULL, &e, s.is_json);
        if (s.wants_graph)
                return graph_print(stdout, s.is_json) < 0 ? 125 : 0;
        systemd_scope_enter_for_daemon(argc, argv);
        if (ladder_descriptors(&e) < 0)
                return print_failure(NULL, &e, s.is_json);
        arena_init(&arena, OPTIONS_ARENA_MAX);
        if (serve(&s, &arena, &status, &e) < 0)
                status = print_failure(e.line > 0 ? s.about : NULL, &e, s.is_json);
        arena_fini(&s.files);
        arena_fini(&arena);
        return status;
}

static const struct option options[] = {
        OPTION_TEXT(struct serving, state, VALUE_DIRECTORY, "--state", "DIR",
                    "directory for state and sockets (default: CARREL_STATE; /var/lib/carrel as "
                    "root; else ~/.local/state/carrel)"),
        OPTION_TEXT(struct serving, tcp, VALUE_ADDRESS, "--listen", "ADDRESS:PORT",
                    "also serve HTTP on a loopback address, with the token in DIR/token; "
                    "127.0.0.1:0 selects a free port"),
        OPTION_TEXT(struct serving, ports, VALUE_ADDRESS, "--ports", "ADDRESS:PORT",
                    "address for ports of sandboxes (default: a free port that stays the same); "
                    "off: none"),
        OPTION_TEXT(struct serving, host_file, VALUE_FILE, "--host", "FILE",
                    HOST_FILE_DOC "; read again on SIGHUP"),
        OPTION_TEXT(struct serving, pool, VALUE_POOL, "--pool", "N", "keep N sandboxes ready"),
        OPTION_TEXT(struct serving, pool_manifest, VALUE_FILE, "--pool-manifest", "FILE",
                    "manifest of the sandboxes of --pool (default: no network and no mounts)"),
        OPTION_NUMBER(struct serving, delete_after_ms, VALUE_DURATION, "--delete-after", "T",
                      "delete every sandbox this long after its creation, unless its caller sets "
                      "another time: 24h"),
        OPTION_TEXT(struct serving, socket_mode, VALUE_MODE, "--socket-mode", "MODE",
                    "mode of the unix sockets (default: 0600); users with write access can create "
                    "sandboxes"),
        OPTION_FLAG(struct serving, is_json, "--json",
                    "log to standard error as JSON, one object a line"),
        OPTION_FLAG(struct serving, wants_graph, "--graph",
                    "print the daemon's processes and their connections, and exit"),
        OPTION_END,
};

const struct command command_serve = {
        .name = "serve",
        .help = "Run the daemon in the foreground. It keeps sandboxes for the commands below.",
        .options = options,
        .example = "carrel serve --state ~/carrel-state",
        .run = cmd_serve,
};
