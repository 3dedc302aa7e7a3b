/*
 * carrel/carrel.h - libcarrel: sandboxes of a running `carrel serve`, from C.
 *
 * A connection (struct carrel) uses the unix socket of one daemon and makes one call at a time. The
 * library starts no threads, sets no signal handlers and prints nothing. Use a connection, and
 * objects from it, in one thread at a time. Calls block until the answer arrives. To wait for other
 * events too, poll carrel_exec_fd() and carrel_events_fd().
 *
 * A function that can fail returns 0 (or what is documented), or -1 and then fills `*e`, which may
 * be NULL. An object returned through a `ret` pointer belongs to the caller, who frees it and its
 * texts with carrel_free(), unless there is a special function for it. `ret` is written on success
 * only. Returned texts are UTF-8 and can contain control characters chosen by a sandbox: escape
 * them for a terminal. Arguments are borrowed during the call. `id` is the id or name of a sandbox,
 * 1 to 64 bytes. Times are milliseconds since 1970; durations are milliseconds.
 *
 * This is version 0: names are stable, structs may get more members at their end. Zero a struct
 * before you fill it.
 */
#ifndef CARREL_CARREL_H
#define CARREL_CARREL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CARREL_VERSION_MAJOR 0
#define CARREL_NONE UINT64_MAX /* a time or span that is not set */

/* Why a call failed. `code` never changes: "sandbox_not_found", "daemon_unreachable", ...;
 * docs/ERRORS.md lists them. */
struct carrel_error {
        char code[48];
        char reason[48]; /* more specific reason, "" if none */
        char path[256]; /* place in the caller's input: "network/egress/2", "timeout_ms", "" if none
                         */
        char message[512];     /* one sentence */
        char hint[256];        /* what to do next */
        unsigned line, column; /* in the manifest; 0 if none */
        int sys;               /* errno of the cause, 0 if none */
        int exit_status;       /* exit status of `carrel` for this error: 124 to 127, 137 */
};

/* Frees an object that a function below returned, unless there is a special function for it.
 * Accepts NULL. */
void carrel_free(void *given);

/* -- the connection
 * ------------------------------------------------------------------------------------------------
 */

struct carrel;

/*
 * Connects to the daemon whose state directory is `state`; NULL: $CARREL_STATE, else
 * /var/lib/carrel for root, else $XDG_STATE_HOME/carrel or ~/.local/state/carrel. Errors:
 * daemon_unreachable (the hint says how to start a daemon; reason "untrusted": the listener is
 * neither the caller, nor root, nor the user in $CARREL_DAEMON_UID, and nothing was sent).
 */
int carrel_open(const char *state, struct carrel **ret, struct carrel_error *e);

/* Closes the connection. Running execs are not affected: carrel_exec_free() ends them. Accepts
 * NULL. */
void carrel_close(struct carrel *c);

/* The state directory; valid as long as `c`. */
const char *carrel_state(const struct carrel *c);

/* Maximum time to wait for an answer; 0 (the default): no maximum. Then calls fail with
 * daemon_unreachable, reason "timeout". */
void carrel_set_timeout(struct carrel *c, unsigned timeout_ms);

/* Called when a call of this connection begins to wait until a person approves it (`approval`:
 * the id of the request); the call goes on waiting. NULL: not called. */
void carrel_on_approval(struct carrel *c, void (*waits)(void *data, const char *approval),
                        void *data);

struct carrel_info {
        const char *version;
        const char *const *runtimes;
        size_t runtime_count;     /* templates of this host */
        uint64_t sandboxes, pool; /* number of sandboxes; of ready ones in the pool */
};

int carrel_info(struct carrel *c, struct carrel_info **ret, struct carrel_error *e);

/* Totals since a sandbox started. CARREL_NONE: this machine does not measure it. */
struct carrel_usage {
        const char *id;    /* NULL: the sum of the owner */
        const char *owner; /* or NULL */
        uint64_t at_ms;    /* since 1970: when it was measured */
        uint64_t wall_ms;  /* without the time it was paused */
        uint64_t cpu_ms;
        uint64_t memory_peak_kb; /* of its largest command */
        uint64_t execs;
        uint64_t output_bytes;        /* standard output and error of all commands */
        uint64_t bytes_out, bytes_in; /* of connections out of the sandbox that have ended */
        uint64_t memory_byte_seconds; /* memory in use, summed over time */
        /* private places on a disk, and volumes, summed over time */
        uint64_t storage_byte_seconds;
};

struct carrel_usages {
        struct carrel_usage *items;
        size_t count;
};

/* What one sandbox has used. Errors: not_found, also for a sandbox that has ended. */
int carrel_get_usage(struct carrel *c, const char *id, struct carrel_usage **ret,
                     struct carrel_error *e);

/*
 * The sum of the caller, and each of its sandboxes, also those that ended; the daemon's own user
 * receives every owner's.
 */
int carrel_list_usage(struct carrel *c, struct carrel_usages **ret, struct carrel_error *e);

/* -- sandboxes
 * -------------------------------------------------------------------------------------------------------
 */

struct carrel_config {
        const char *name;          /* 1 to 64 bytes, unique for its owner. NULL: none */
        const char *manifest_file; /* path of a SANDBOX.md, WORKSPACE.md, .yaml or .json; or NULL */
        const char *manifest_text; /* or its text, at most 256 KiB: a SANDBOX.md, or one JSON object
                                      that is the block */
        const char
                *workspace;  /* directory for mounts of the workspace and for references; or NULL */
        const char *runtime; /* a template: "python3", "node24"; or NULL */
        uint64_t timeout_ms; /* time until it is stopped, at most a year; 0: the daemon's default */
        uint64_t delete_at_ms; /* time of its scheduled deletion; 0: the daemon's default */
        const char *const *env;
        size_t env_count; /* NAME=value */
        const uint16_t *ports;
        size_t port_count;    /* ports for carrel_get_url() */
        const char *metadata; /* JSON, at most 64 KiB, returned unchanged; or NULL */
        const char
                *key; /* idempotency key, 1 to 63 bytes: repeated calls have one effect; or NULL */
        int is_started_now; /* 0: started on first use */
        /* Values that override the manifest before it is checked: "limits/memory_mb=2048",
           "metadata/carrel/limits/disk_mb=4096", ".../pids=500" (not above what the manifest says),
           "network/egress=HOST", "mounts=DIR:PATH[:ro]" (one more each) */
        const char *const *overrides;
        size_t override_count;
        /* the risk of the work: "low", "medium", "high". The daemon refuses one that the isolation
           tier is too low for; NULL: not stated */
        const char *risk;
};

struct carrel_warning {
        const char *code, *path, *message;
        unsigned line, column;
};

/* What a command made or changed in the workspace that programs of the host act on. */
struct carrel_left {
        uint64_t at_ms;   /* when it was found */
        uint64_t count;   /* of how many names: `host_path` is the first */
        const char *what; /* "moved", "repository", ...: docs/API.md lists them */
        const char *host_path, *kept_at, *reason; /* the name; where it is now; what git would run.
                                                     The last two may be NULL */
        const char *message; /* for people: what happened, and the command to type */
        int was_shown;       /* carrel_take_left() returned it before */
};
struct carrel_lefts {
        const struct carrel_left *items;
        size_t count;
        uint64_t more; /* further ones, between the first 16 and the last 16 */
};

struct carrel_sandbox {
        const char *id;
        const char *status; /* pending, running, paused, stopping, stopped or failed */
        const char *name, *owner, *provider, *runtime, *workspace, *cause,
                *metadata;   /* each may be NULL */
        const char *disk;    /* where /tmp and the home are: memory, image, directory; or NULL */
        const char *disk_at; /* the host's directory that holds them; NULL: memory */
        uint64_t disk_mb;    /* how much they may hold, MiB; 0: unknown */
        const char *image;   /* NAME@sha256:HEX; NULL: the host's programs */
        const char *tier;    /* isolation of its provider, T1 to T4; or NULL */
        const char *chosen;  /* why `provider: auto` became its provider; NULL: it was named */
        const char *machine_start; /* of its virtual machine: saved, booted; NULL: it has none */
        const char *machine_why;   /* why it boots; or NULL */
        uint64_t created_at_ms;
        uint64_t remaining_ms; /* time until it is stopped; CARREL_NONE: no limit */
        uint64_t delete_at_ms; /* CARREL_NONE: not scheduled */
        const uint16_t *ports;
        size_t port_count;
        const struct carrel_warning *warnings;
        size_t warning_count; /* warnings about its manifest */
        int is_read_only;
        struct carrel_lefts left; /* what its commands left behind */
};

struct carrel_sandboxes {
        const struct carrel_sandbox *items;
        size_t count;
};

/*
 * Creates a sandbox; it starts on first use. Without a manifest: no network, no mounts, a private
 * home. References in a manifest to other files are resolved here, below the workspace (else the
 * manifest's directory). Errors: every code of manifests, sandbox_mount_*, runtime_unknown,
 * quota_exceeded, name_taken.
 */
int carrel_create(struct carrel *c, const struct carrel_config *config, struct carrel_sandbox **ret,
                  struct carrel_error *e);

/* Takes a ready sandbox out of the pool. Errors: as above, and if none is ready. */
int carrel_claim(struct carrel *c, const struct carrel_config *config, struct carrel_sandbox **ret,
                 struct carrel_error *e);

/* State of one sandbox; *ret is NULL if it does not exist. */
int carrel_get(struct carrel *c, const char *id, struct carrel_sandbox **ret,
               struct carrel_error *e);

/* The caller's sandboxes, oldest first. */
int carrel_list(struct carrel *c, struct carrel_sandboxes **ret, struct carrel_error *e);

/* Stops and deletes a sandbox. *ret_existed (may be NULL): whether it existed. */
int carrel_stop(struct carrel *c, const char *id, int *ret_existed, struct carrel_error *e);

/* The same, and what its commands left behind; it is searched for before the call returns. */
int carrel_stop_and_list(struct carrel *c, const char *id, int *ret_existed,
                         struct carrel_lefts **ret, struct carrel_error *e);

/*
 * What commands left behind since the last such call (of any client). The search begins 200 ms
 * after the last process of all commands has ended. carrel_get() lists all of it.
 */
int carrel_take_left(struct carrel *c, const char *id, struct carrel_lefts **ret,
                     struct carrel_error *e);

/* Adds `duration_ms` (1 ms to a year) to the remaining time. `key`: idempotency key, or NULL. `ret`
 * may be NULL, here and below. */
int carrel_extend_timeout(struct carrel *c, const char *id, uint64_t duration_ms, const char *key,
                          struct carrel_sandbox **ret, struct carrel_error *e);

/* Pauses all processes, and resumes them; timers are not reset. */
int carrel_pause(struct carrel *c, const char *id, struct carrel_sandbox **ret,
                 struct carrel_error *e);
int carrel_resume(struct carrel *c, const char *id, struct carrel_sandbox **ret,
                  struct carrel_error *e);

/*
 * Replaces the allow list (entries of network.egress). It is checked like the first one, and
 * applied completely or not at all. Connections that it does not allow are closed. Errors:
 * sandbox_egress_invalid, sandbox_egress_not_permitted, sandbox_egress_unenforceable (created
 * without a list).
 */
int carrel_set_network(struct carrel *c, const char *id, const char *const *egress, size_t count,
                       struct carrel_sandbox **ret, struct carrel_error *e);

/*
 * Limits of a sandbox, and what is used of them. CARREL_NONE: no limit, or not measured. memory_mb
 * to io_write_bps hold for the sandbox; timeout_ms and output_bytes for each command that begins
 * later.
 */
struct carrel_limits {
        const char *id, *status;
        uint64_t memory_mb, cpu_millicores, pids, io_read_bps, io_write_bps;
        uint64_t timeout_ms, output_bytes;
        uint64_t open_files, disk_mb;                  /* cannot be changed */
        uint64_t memory_used_bytes, pids_used, cpu_ms; /* now; cpu_ms: since it started */
        const char *const *not_enforced; /* names of limits that this machine cannot enforce */
        size_t not_enforced_count;
};

int carrel_get_limits(struct carrel *c, const char *id, struct carrel_limits **ret,
                      struct carrel_error *e);

/*
 * Changes the limits that are not 0, judged like those of a new sandbox; all of them or none. The
 * other members are not read. Nothing is killed. Errors: limit_in_use (memory that is in use),
 * capability_unavailable (a limit that cannot change here, at its name), sandbox_policy_denied
 * (above limits_max of the host file).
 */
int carrel_set_limits(struct carrel *c, const char *id, const struct carrel_limits *wanted,
                      struct carrel_limits **ret, struct carrel_error *e);

struct carrel_denial {
        uint64_t at_ms;     /* since 1970, 0: not known */
        uint32_t exec;      /* exec that opened the connection, 0: not known */
        uint32_t count;     /* number of refusals */
        unsigned port;      /* 0: only a name was looked up */
        const char *reason; /* "not_listed", ... */
        const char *host, *address,
                *said;       /* each may be NULL: requested name, address, contradicting name */
        const char *message; /* what was refused, and the fix */
};

struct carrel_denials {
        const struct carrel_denial *items;
        size_t count;
        uint64_t more; /* further refused requests */
};

/* Refused network requests of its commands, oldest first: the first 16 different ones and the
 * last 48. */
int carrel_list_denials(struct carrel *c, const char *id, struct carrel_denials **ret,
                        struct carrel_error *e);

/*
 * URL of a declared port (1 to 65535), with its token; *ret is NULL if sandbox or port does not
 * exist. The first form works in every program, and all ports share one origin. The second form is
 * for browsers: it has its own origin, and a name below localhost that many programs cannot
 * resolve.
 */
int carrel_get_url(struct carrel *c, const char *id, unsigned port, char **ret,
                   struct carrel_error *e);
int carrel_get_browser_url(struct carrel *c, const char *id, unsigned port, char **ret,
                           struct carrel_error *e);

/* Description of the sandbox for a language model. */
int carrel_instructions(struct carrel *c, const char *id, char **ret, struct carrel_error *e);

/* Reports an event ("workspace-close", 1 to 128 bytes) to a sandbox; its lifecycle rules decide
 * what follows. */
int carrel_notify(struct carrel *c, const char *id, const char *event, struct carrel_error *e);

/* Begins a task (name of 1 to 63 bytes), whose execs are killed at its timeout; ends a task and
 * kills its running execs. */
int carrel_task_begin(struct carrel *c, const char *id, const char *task, uint64_t timeout_ms,
                      struct carrel_error *e);
int carrel_task_end(struct carrel *c, const char *id, const char *task, int *ret_existed,
                    struct carrel_error *e);

/* -- commands
 * --------------------------------------------------------------------------------------------------------
 */

struct carrel_command {
        const char *const *argv;
        size_t argc;      /* the command and its arguments */
        const char *line; /* or instead: a line for the sandbox's shell, at most 128 KiB */
        const char *cwd;  /* working directory inside; NULL: that of the sandbox */
        const char *const *env;
        size_t env_count;      /* NAME=value, for this command */
        uint64_t timeout_ms;   /* time limit of its process tree; a value above that of the manifest
                                  or host file is an error; 0: their value */
        uint64_t cpu_ms;       /* maximum CPU time; 0: as in the manifest */
        uint64_t keep_bytes;   /* output kept for each stream, 4 KiB to 64 MiB; 0: the daemon's
                                  default */
        uint64_t output_bytes; /* output above this is dropped and counted; 0: as in the manifest */
        const void *input;
        size_t input_len; /* standard input in one piece, at most 64 KiB; or has_stdin */
        int has_stdin;    /* carrel_exec_write() follows */
        int has_terminal;
        uint16_t rows, columns; /* a pseudo-terminal; its output is all CARREL_STDOUT */
        int is_background; /* keeps running after carrel_exec_free() and after this program ends */
        int is_lossless;   /* blocks when its output is not read, instead of dropping output */
        int kills_rest;    /* when it ends, processes that it left running are killed */
        int waits_ports;   /* reports CARREL_PORT when a declared port begins to listen */
        const char *task;  /* 1 to 63 bytes, or NULL */
        const char *key;   /* idempotency key: a repeated call returns the same exec; or NULL */
        uint64_t wait_ports_ms; /* maximum time to wait for a port; 0: until the command ends */
        /* or instead of argv and line: code for the interpreter of a language ("python") inside,
         * at most 131,070 bytes */
        const char *language, *code;
};

/* Limits that do not end a command. The second is only known if a control group counts. The last
 * two end it, with the outcome timed_out; without them it was the command's own time limit. */
enum carrel_limit {
        CARREL_LIMIT_DISK = 1 /* disk_mb: the private disk was full when it ended */,
        CARREL_LIMIT_PIDS = 2 /* pids: a process or thread could not be started */,
        CARREL_LIMIT_TASK_TIME = 4 /* per_task_loop: the time of its task had passed */,
        CARREL_LIMIT_SANDBOX_TIME = 8 /* per_sandbox_lifetime: the time of the sandbox had passed */
};

/* Kinds of sanitize_output. */
enum carrel_sanitize {
        CARREL_SANITIZE_CONTROL = 1 << 0,
        CARREL_SANITIZE_HIDDEN = 1 << 1,
        CARREL_SANITIZE_SECRETS = 1 << 2
};

/* Outcome of a command. */
struct carrel_end {
        const char *outcome; /* exited, signaled, timed_out, oom_killed, cpu_limit, killed,
                                policy_killed or lost; static */
        int exit_code;       /* of one that exited, 0 to 255; else -1 */
        int signal;          /* of one that was signaled; else 0 */
        int exit_status;     /* as in a shell: its own, 128 + signal, 124 timed out, 137 killed, 125
                                lost */
        uint64_t duration_ms, cpu_ms, memory_peak_kb;
        uint64_t stdout_bytes, stderr_bytes, dropped_bytes;
        uint64_t denied_count;   /* number of refused network requests */
        unsigned limits_reached; /* enum carrel_limit: limits that it reached without being ended */
        unsigned left_count; /* known when it ended: what carrel_take_left() will return, at most
                                255 */
        /* sanitize_output: how many were removed from its output, for the kinds that are looked
         * for (enum carrel_sanitize) */
        unsigned sanitizes;
        uint64_t removed_controls, removed_hidden, removed_secrets;
};

/* CARREL_PORT occurs at most once, with waits_ports: carrel_exec_port() listens, or the time to
 * wait is over. The command keeps running. */
enum carrel_piece_kind {
        CARREL_STARTED = 1,
        CARREL_STDOUT,
        CARREL_STDERR,
        CARREL_END,
        CARREL_PORT
};

/* Bytes are valid until the next call with the same exec. `offset` counts from the first byte of
 * the stream; a gap means dropped bytes. */
struct carrel_piece {
        enum carrel_piece_kind kind;
        const void *bytes;
        size_t len;
        uint64_t offset;
};

struct carrel_exec;

/*
 * Starts a command and returns the exec, from which its output is read. Errors: sandbox_not_found,
 * sandbox_read_only, invalid_argument. If the command cannot be executed, the first
 * carrel_exec_read() fails: command_not_found, command_not_executable.
 */
int carrel_exec(struct carrel *c, const char *id, const struct carrel_command *command,
                struct carrel_exec **ret, struct carrel_error *e);

/* Connects to a running or ended exec by its number, and reads its output from these offsets on.
 * Errors: sandbox_not_found, exec_not_found. */
int carrel_attach(struct carrel *c, const char *id, uint32_t exec, uint64_t stdout_offset,
                  uint64_t stderr_offset, int is_lossless, struct carrel_exec **ret,
                  struct carrel_error *e);

/*
 * The time limit in milliseconds, and its source: "call", "manifest" (limits.timeout_ms) or "host"
 * (limits_max.timeout_ms of the host file). 0 and NULL if there is no limit, or if it is not known
 * (after carrel_attach()). `ret_by` may be NULL; its text is static.
 */
uint64_t carrel_exec_timeout(const struct carrel_exec *x, const char **ret_by);

/*
 * Where its start is in the audit log of the sandbox's owner: "audit://CHAIN/NUMBER", or NULL (not
 * recorded, or after carrel_attach() to one that ended before the daemon was restarted).
 */
const char *carrel_exec_audit_ref(const struct carrel_exec *x);

/* Its number within the sandbox; its process id inside, 0 until CARREL_STARTED was read. */
uint32_t carrel_exec_number(const struct carrel_exec *x);
int carrel_exec_pid(const struct carrel_exec *x);

/* The declared port that began to listen; 0: none. */
unsigned carrel_exec_port(const struct carrel_exec *x);

/* For poll(2): the descriptor (borrowed) and the events to wait for (POLLIN, and POLLOUT while data
 * is waiting to be sent). */
int carrel_exec_fd(const struct carrel_exec *x);
short carrel_exec_events(const struct carrel_exec *x);

/*
 * Reads the next piece of output, or the end. `timeout_ms` -1: no maximum; 0: do not wait. Returns
 * 1: a piece; 0: none in that time, or after the end. After CARREL_END, carrel_exec_end() has the
 * outcome. Also sends waiting data. Errors: command_not_found, command_not_executable,
 * sandbox_backend_failed, protocol_error, connection_lost (carrel_attach() continues where it
 * stopped).
 */
int carrel_exec_read(struct carrel_exec *x, int timeout_ms, struct carrel_piece *ret,
                     struct carrel_error *e);

/* Its outcome; NULL before the end. Valid as long as `x`. */
const struct carrel_end *carrel_exec_end(const struct carrel_exec *x);

/* Offset of the next byte of a stream, for carrel_attach(). */
uint64_t carrel_exec_offset(const struct carrel_exec *x, enum carrel_piece_kind stream);

/*
 * Writes standard input without waiting. Returns the number of bytes accepted, 0 if none can be
 * accepted now (wait for carrel_exec_events(), and keep reading, because the command may wait for
 * its reader). -1: connection_lost.
 */
long carrel_exec_write(struct carrel_exec *x, const void *bytes, size_t len,
                       struct carrel_error *e);

/* In order after earlier writes: end of standard input; a signal (1 to 64) for its process group; a
 * new terminal size. They never wait. */
int carrel_exec_write_end(struct carrel_exec *x, struct carrel_error *e);
int carrel_exec_signal(struct carrel_exec *x, int signal, struct carrel_error *e);
int carrel_exec_resize(struct carrel_exec *x, uint16_t rows, uint16_t columns,
                       struct carrel_error *e);

/* Disconnects and leaves the command running (waits until this is sent), and frees `take_x`.
 * Accepts NULL. */
int carrel_exec_detach(struct carrel_exec *take_x, struct carrel_error *e);

/* Frees `take_x`. If it started a command in the foreground that is still running, kills its
 * process tree. Accepts NULL. */
void carrel_exec_free(struct carrel_exec *take_x);

/* Called for each piece of output. A result other than 0 ends the call with the error "canceled",
 * and kills the command. */
typedef int carrel_output_fn(void *ctx, const struct carrel_piece *piece);

struct carrel_result {
        struct carrel_end end;
        uint32_t exec;
        const char *out, *err; /* each followed by a NUL, which the length does not include */
        size_t out_len, err_len;
        uint64_t out_lost, err_lost;  /* bytes above `keep_max`, or dropped by the sandbox */
        struct carrel_denials denied; /* refused network requests: the first 16 different ones, each
                                         with a count */
        uint64_t denied_more;         /* further refused requests */
        int is_running; /* still running: with waits_ports, `port` listens or (0) the time to wait
                           is over. `end` is not valid yet */
        unsigned port;
        uint64_t timeout_ms; /* time limit and its source, as carrel_exec_timeout() */
        const char *timeout_by;
        const char *audit_ref; /* as carrel_exec_audit_ref() */
};

/*
 * Runs a command to its end (with waits_ports: until a port listens or the time to wait is over),
 * and reads its output. If `output` is NULL, each stream is collected, at most `keep_max` bytes (0:
 * 16 MiB). The call succeeds with any outcome of the command. Standard input is command->input,
 * here of any length.
 */
int carrel_run(struct carrel *c, const char *id, const struct carrel_command *command,
               size_t keep_max, carrel_output_fn *output, void *ctx, struct carrel_result **ret,
               struct carrel_error *e);

struct carrel_exec_info {
        uint32_t exec;
        const char *state; /* starting, running, ended or failed */
        const char *command, *task,
                *key; /* each may be NULL; the beginning of the command line, for people */
        int pid, is_background, has_end;
        uint64_t started_at_ms;
        uint64_t stdout_offset, stderr_offset; /* offset of the oldest byte that is kept */
        struct carrel_end end;  /* valid with has_end; else only the byte counts so far */
        unsigned port;          /* declared port that began to listen; 0: none */
        uint64_t timeout_ms;    /* limit on its time; 0: none, or not known */
        const char *timeout_by; /* who set it: call, manifest or host; or NULL */
        const char *audit_ref;  /* as carrel_exec_audit_ref() */
};

struct carrel_execs {
        const struct carrel_exec_info *items;
        size_t count;
};

/* Execs of a sandbox: running ones, and ended ones that are kept; one of them (*ret is NULL if it
 * does not exist). */
int carrel_exec_list(struct carrel *c, const char *id, struct carrel_execs **ret,
                     struct carrel_error *e);
int carrel_exec_get(struct carrel *c, const char *id, uint32_t exec, struct carrel_exec_info **ret,
                    struct carrel_error *e);

/* Refused network requests of an exec, as in struct carrel_result; empty if it does not exist. */
int carrel_exec_denials(struct carrel *c, const char *id, uint32_t exec,
                        struct carrel_denials **ret, struct carrel_error *e);

/* Sends a signal to its process group at once, before waiting input; kills its process tree. */
int carrel_signal(struct carrel *c, const char *id, uint32_t exec, int signal,
                  struct carrel_error *e);
int carrel_kill(struct carrel *c, const char *id, uint32_t exec, int *ret_ran,
                struct carrel_error *e);

/* -- files
 * -----------------------------------------------------------------------------------------------------------
 */

/* Paths are inside the sandbox, 1 to 4095 bytes; a relative one starts at its working directory.
 * They cannot reach other files of the host. */

struct carrel_file {
        const char *path;
        const void *bytes;
        size_t len;
        int mode; /* permission bits; -1: unchanged, 0644 for a new file */
};
struct carrel_bytes {
        const char *bytes;
        size_t len;
        uint64_t size; /* of the whole file */
        uint64_t modified_at_ms;
        unsigned mode;
};

/*
 * Reads a regular file from `offset` on, at most `length` bytes (0: 64 MiB); a NUL follows them.
 * *ret is NULL if the file does not exist. Errors: file_unreadable (a directory, FIFO, device; too
 * little permission), file_too_large (more than 64 MiB remain).
 */
int carrel_read_file(struct carrel *c, const char *id, const char *path, uint64_t offset,
                     uint64_t length, struct carrel_bytes **ret, struct carrel_error *e);

/* Writes files (at most 1024), each completely or not at all; all are received before the first is
 * written. `key`: idempotency key, or NULL. */
int carrel_write_files(struct carrel *c, const char *id, const struct carrel_file *files,
                       size_t count, const char *key, struct carrel_error *e);

/* Reading and writing files of any length, in pieces. */
struct carrel_reader;
int carrel_reader_open(struct carrel *c, const char *id, const char *path, uint64_t offset,
                       uint64_t length, struct carrel_reader **ret, struct carrel_error *e);
/* The file: size, mode, last change; `bytes` is NULL. */
void carrel_reader_about(const struct carrel_reader *r, struct carrel_bytes *ret);
/* 1: bytes, valid until the next call; 0: end of file; -1: error. Waits. */
int carrel_reader_next(struct carrel_reader *r, const void **ret_bytes, size_t *ret_len,
                       struct carrel_error *e);
void carrel_reader_free(struct carrel_reader *take_r);

/* Files one after another, each with exactly the announced number of bytes. Commit writes all of
 * them; free without commit changes nothing. Under a policy with a validator of file.write, the
 * files (at most 8 MiB) stay in memory until the commit, which has them judged: open the writer
 * with carrel_writer_open_for() for longer ones. Where a rule must see the content, they stay in
 * memory in any case, and at most 64 KiB can be written. */
struct carrel_writer;
int carrel_writer_open(struct carrel *c, const char *id, const char *key,
                       struct carrel_writer **ret, struct carrel_error *e);
/* As carrel_writer_open(), and announces the files: exactly these, in this order, with this path
 * and `len`, must follow. A policy with a validator of file.write refuses this call without files
 * (capability_unavailable). Other members of `files` are not read. */
int carrel_writer_open_for(struct carrel *c, const char *id, const char *key,
                           const struct carrel_file *files, size_t count,
                           struct carrel_writer **ret, struct carrel_error *e);
int carrel_writer_file(struct carrel_writer *w, const char *path, int mode, uint64_t len,
                       struct carrel_error *e);
int carrel_writer_bytes(struct carrel_writer *w, const void *bytes, size_t len,
                        struct carrel_error *e);
int carrel_writer_commit(struct carrel_writer *w, struct carrel_error *e);
void carrel_writer_free(struct carrel_writer *take_w);

struct carrel_entry {
        const char *path;   /* relative to the listed directory; of stat: as given */
        const char *kind;   /* file, directory, link, fifo, socket or device; static */
        const char *target; /* of a link; else NULL */
        uint64_t size, modified_at_ms;
        unsigned mode;
        int sys; /* errno of a directory that could not be opened, else 0 */
};
struct carrel_entries {
        const struct carrel_entry *items;
        size_t count;
        int is_cut; /* there are more entries */
        const char
                *next_cursor; /* carrel_list_files_part(): of the next part; NULL in the last one */
};

/* Entries of a directory, `depth` levels deep (1 to 16). Errors: file_not_found, file_unreadable.
 */
int carrel_list_files(struct carrel *c, const char *id, const char *path, unsigned depth,
                      struct carrel_entries **ret, struct carrel_error *e);

/*
 * The same in parts of `limit` entries (1 to 1000), in the order of names, a directory before its
 * entries. `cursor`: next_cursor of the previous part; NULL: the first part. An entry that exists
 * the whole time is listed exactly once. Errors also: invalid_argument (not a cursor of a list).
 */
int carrel_list_files_part(struct carrel *c, const char *id, const char *path, unsigned depth,
                           unsigned limit, const char *cursor, struct carrel_entries **ret,
                           struct carrel_error *e);

/* Kind, size and mode of a path; links are not followed. *ret is NULL if it does not exist. */
int carrel_stat(struct carrel *c, const char *id, const char *path, struct carrel_entry **ret,
                struct carrel_error *e);

int carrel_mkdir(struct carrel *c, const char *id, const char *path, unsigned mode,
                 int with_parents, struct carrel_error *e);
int carrel_move(struct carrel *c, const char *id, const char *from, const char *to,
                struct carrel_error *e);
int carrel_remove(struct carrel *c, const char *id, const char *path, int is_recursive,
                  int *ret_existed, struct carrel_error *e);

/* -- events
 * ----------------------------------------------------------------------------------------------------------
 */

/* docs/EVENTS.md lists the events and their members. */
struct carrel_event {
        const char *event; /* "exec-ended", "stopped", ... */
        uint64_t at_ms;
        const char *id, *status, *cause, *outcome; /* each may be NULL */
        uint32_t exec;                             /* 0: not about an exec */
        int exit_code; /* of "exec-ended": the exit status, as in end.exit_status; else -1 */
        const char *slug, *actor, *purpose,
                *granted_by; /* of "secret-revealed", "secret-denied", else NULL; never a value */
        const char *host_path, *kept_at;   /* of "name-moved", "content-changed", ...: a protected
                                              name on the host, and where it is now; else NULL */
        const char *reason;                /* of "config-restored": the key that was restored; of
                                              "egress-denied": why; else NULL */
        int has_end;                       /* of "exec-ended" */
        struct carrel_end end;             /* valid with has_end */
        const char *task;                  /* of "task-timed-out", else NULL */
        const char *host, *address, *said; /* of "egress-denied": requested name, address, and the
                                              name that contradicts them; else NULL */
        unsigned port;                     /* of "egress-denied"; 0: none */
        uint64_t count;      /* of "egress-denied", and of finds that are one event: how many */
        const char *message; /* one sentence, or NULL */
        const char *approval, *operation; /* of "approval-requested", "approval-answered", else
                                             NULL */
        const char *answered_by;          /* of "approval-answered", or NULL */
        uint64_t expires_at;              /* of "approval-requested": since 1970; else 0 */
        const char *event_id;
        /* of "egress-ended": bytes that passed, and how long it was open, summed over `count`
         * connections */
        uint64_t bytes_out, bytes_in, open_ms;
        /* of "process-executed": process id inside, what it executes, its words as a shell would
         * write them, and their number */
        unsigned pid;
        const char *path, *command;
        uint64_t argc;
};

/* Events of one sandbox, or of all sandboxes of the caller (`id` NULL), from now on, over a
 * separate connection. */
struct carrel_events;
int carrel_watch(struct carrel *c, const char *id, struct carrel_events **ret,
                 struct carrel_error *e);
int carrel_events_fd(const struct carrel_events *w);

/*
 * 1: an event, valid until the next call; 0: none within `timeout_ms` (-1: no maximum). -1:
 * connection_lost, protocol_error. "overflow" is the last event: events were lost because they were
 * not read fast enough. List the sandboxes, and watch again.
 */
int carrel_events_next(struct carrel_events *w, int timeout_ms, struct carrel_event *ret,
                       struct carrel_error *e);
void carrel_events_free(struct carrel_events *take_w);

/* -- volumes: directories of the caller that outlive sandboxes
 * ------------------------------------------------------------- */

struct carrel_volume {
        const char *name;
        uint64_t size, file_count; /* bytes on disk, and number of entries, as far as counted */
        int is_partial;            /* only a part was counted */
        uint64_t used_at_ms; /* when a sandbox last started or stopped using it, or when it was
                                created; since 1970 */
        const char *used_by; /* id of a sandbox that uses it now, or NULL */
};
struct carrel_volumes {
        const struct carrel_volume *items;
        size_t count;
};

/* An existing volume is not changed. -1: invalid_argument (the name), quota_exceeded (the host's
 * volumes_max), storage_full. */
int carrel_volume_create(struct carrel *c, const char *name, struct carrel_volume **ret,
                         struct carrel_error *e);
int carrel_volume_list(struct carrel *c, struct carrel_volumes **ret, struct carrel_error *e);
/* With its content. -1: volume_in_use; the message names the sandbox. */
int carrel_volume_remove(struct carrel *c, const char *name, int *ret_existed,
                         struct carrel_error *e);

/* -- approvals: operations that wait for a person (docs/APPROVALS.md)
 * ------------------------------------------------------------------------- */

struct carrel_approval {
        const char *id,
                *state; /* "requested", "approved", "denied", "expired", "withdrawn", "used" */
        const char *operation, *sandbox, *name; /* name: of the sandbox, or NULL */
        const char *owner, *asked_by;
        const char *answered_by, *reason; /* NULL: not answered; no reason */
        uint64_t at_ms, expires_at_ms;    /* since 1970 */
        const char *digest, *policy_version;
        const char *const *bound; /* what the answer binds, escaped, a line each */
        size_t bound_count;
        /* who must approve, by the policy: a text for each requirement; none: everybody who may
         * answer */
        const char *const *approval_from;
        size_t approval_from_count;
};
struct carrel_approvals {
        const struct carrel_approval *items;
        size_t count;
};

/* Of the caller's sandboxes, oldest first: those that wait, and those that were answered lately. */
int carrel_approval_list(struct carrel *c, struct carrel_approvals **ret, struct carrel_error *e);
/* -1: approval_not_found. */
int carrel_approval_get(struct carrel *c, const char *id, struct carrel_approval **ret,
                        struct carrel_error *e);
/* `reason` may be NULL. -1: approval_not_found, approval_answered (it is over already). */
int carrel_approval_answer(struct carrel *c, const char *id, int is_approved, const char *reason,
                           struct carrel_approval **ret, struct carrel_error *e);

/* -- tokens, for clients over TCP
 * ------------------------------------------------------------------------------------ */

struct carrel_token {
        const char *id, *owner, *scope;
        const char *token; /* its value, only in the result of carrel_token_create() */
        uint64_t created_at_ms;
};
struct carrel_tokens {
        const struct carrel_token *items;
        size_t count;
};

/* For the daemon's own user. `scope`: "all", or "read" (get and list only); NULL: all. `owner`
 * NULL: the caller. */
int carrel_token_create(struct carrel *c, const char *owner, const char *scope,
                        struct carrel_token **ret, struct carrel_error *e);
int carrel_token_list(struct carrel *c, struct carrel_tokens **ret, struct carrel_error *e);
int carrel_token_revoke(struct carrel *c, const char *token_id, int *ret_existed,
                        struct carrel_error *e);

#ifdef __cplusplus
}
#endif
#endif
