/*
 * carrel/carrel.h - libcarrel: sandboxes of a running `carrel serve`, from C.
 *
 * One connection (struct carrel) speaks to one daemon over its unix socket, and makes one call at a time: no threads are started, no
 * signal handlers set, and nothing is printed. A connection and what came from it belong to one thread at a time. Calls wait for their answer; where
 * a program has something else to wait for, carrel_exec_fd() and carrel_events_fd() can be polled.
 *
 * Every function that can fail gives 0 (or what it says) or -1, and then fills `*e`, which may be NULL. What a function gives
 * through a `ret` pointer belongs to the caller and is ended with carrel_free(), texts and all, unless it has an ending of its own;
 * it is written on success only. Texts given are UTF-8 and may hold control characters that a sandbox chose: escape
 * them for a terminal. Arguments are borrowed for the call. `id` is a sandbox's id or name, 1 to 64 bytes. Times are
 * milliseconds since 1970, spans milliseconds.
 *
 * This is version 0: names stay, structs may grow at their end. Zero a struct before filling it.
 */
#ifndef CARREL_CARREL_H
#define CARREL_CARREL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CARREL_VERSION_MAJOR 0
#define CARREL_NONE UINT64_MAX                 /* a time or span that is not set */

/* Why a call failed. `code` never changes: "sandbox_not_found", "daemon_unreachable", ...; docs/ERRORS.md lists them. */
struct carrel_error {
        char code[48];
        char reason[48];                       /* a word that narrows it, "" if none */
        char path[256];                        /* the place in the caller's own input: "network/egress/2", "timeout_ms", "" if none */
        char message[512];                     /* one sentence */
        char hint[256];                        /* what to do next */
        unsigned line, column;                 /* in the manifest; 0 if none */
        int sys;                               /* errno behind it, 0 if none */
        int exit_status;                       /* with which `carrel` would end: 124 to 127, 137 */
};

/* Ends anything that a function below gave and that has no ending of its own. Accepts NULL. */
void carrel_free(void *given);

/* -- the connection ------------------------------------------------------------------------------------------------ */

struct carrel;

/*
 * Connects to the daemon whose state directory is `state`; NULL: $CARREL_STATE, else /var/lib/carrel for root, else
 * $XDG_STATE_HOME/carrel or ~/.local/state/carrel. Errors: daemon_unreachable (its hint says how to start one; with the
 * reason "untrusted" another user than the caller and root listens there, whom $CARREL_DAEMON_UID does not name: nothing was sent).
 */
int carrel_open(const char *state, struct carrel **ret, struct carrel_error *e);

/* Ends the connection. Execs that were not detached and not started in the background die with their struct, not with this. Accepts NULL. */
void carrel_close(struct carrel *c);

/* The state directory it uses; lives as long as `c`. */
const char *carrel_state(const struct carrel *c);

/* How long a call waits for its answer at most, 0: for ever (as at the start). Then: daemon_unreachable, reason "timeout". */
void carrel_set_timeout(struct carrel *c, unsigned timeout_ms);

struct carrel_info {
        const char *version;
        const char *const *runtimes;  size_t runtime_count;    /* templates of this host */
        uint64_t sandboxes, pool;                              /* how many there are; how many stand ready */
};

int carrel_info(struct carrel *c, struct carrel_info **ret, struct carrel_error *e);

/* -- sandboxes ------------------------------------------------------------------------------------------------------- */

struct carrel_config {
        const char *name;                      /* 1 to 64 bytes; never stands for two of one owner's. NULL: none */
        const char *manifest_file;             /* path of a SANDBOX.md, WORKSPACE.md, .yaml or .json; or NULL */
        const char *manifest_text;             /* or its text, at most 256 KiB: a SANDBOX.md, or one JSON object that is the block */
        const char *workspace;                 /* directory that mounts of the workspace mean, and references start from; or NULL */
        const char *runtime;                   /* a template: "python3", "node24"; or NULL */
        uint64_t timeout_ms;                   /* until it stops by itself, up to a year; 0: as the daemon has it */
        uint64_t delete_at_ms;                 /* when it is deleted whatever else happens; 0: as the daemon has it */
        const char *const *env;  size_t env_count;             /* NAME=value */
        const uint16_t *ports;  size_t port_count;             /* may be reached through carrel_get_url() */
        const char *metadata;                  /* JSON, at most 64 KiB, given back as it came; or NULL */
        const char *key;                       /* idempotency key, 1 to 63 bytes: the same call again has one effect; or NULL */
        int is_started_now;                    /* else at its first use */
        /* Values laid over the manifest before it is judged: "limits/memory_mb=2048", "metadata/carrel/limits/disk_mb=4096", ".../pids=500" (not above what the manifest
           says), "network/egress=HOST", "mounts=DIR:PATH[:ro]" (one more each) */
        const char *const *overrides;  size_t override_count;
};

struct carrel_warning { const char *code, *path, *message; unsigned line, column; };

struct carrel_sandbox {
        const char *id;
        const char *status;                    /* pending, running, paused, stopping, stopped or failed */
        const char *name, *owner, *provider, *runtime, *workspace, *cause, *metadata;  /* each may be NULL */
        uint64_t created_at_ms;
        uint64_t remaining_ms;                 /* until it stops by itself, CARREL_NONE: does not */
        uint64_t delete_at_ms;                 /* CARREL_NONE: not scheduled */
        const uint16_t *ports;  size_t port_count;
        const struct carrel_warning *warnings;  size_t warning_count;  /* what was said of its manifest */
        int is_read_only;
};

struct carrel_sandboxes { const struct carrel_sandbox *items;  size_t count; };

/*
 * Declares a sandbox. Without a manifest: the standard one (no network, no mounts, a private home). A manifest that refers to another
 * file is resolved here, beneath the workspace (else the manifest's directory). Errors: every code of manifests, sandbox_mount_*,
 * runtime_unknown, quota_exceeded, name_taken.
 */
int carrel_create(struct carrel *c, const struct carrel_config *config, struct carrel_sandbox **ret, struct carrel_error *e);

/* The same out of the pool of ready ones. Errors: as above, and where none stands ready. */
int carrel_claim(struct carrel *c, const struct carrel_config *config, struct carrel_sandbox **ret, struct carrel_error *e);

/* One sandbox as it stands; *ret is NULL where there is none of this id. */
int carrel_get(struct carrel *c, const char *id, struct carrel_sandbox **ret, struct carrel_error *e);

/* The caller's sandboxes, oldest first. */
int carrel_list(struct carrel *c, struct carrel_sandboxes **ret, struct carrel_error *e);

/* Stops and destroys it. *ret_existed (may be NULL): was there one? */
int carrel_stop(struct carrel *c, const char *id, int *ret_existed, struct carrel_error *e);

/* Adds `duration_ms` (1 to a year) to the time it has left. `key`: idempotency key, or NULL. `ret` may be NULL, here and below. */
int carrel_extend_timeout(struct carrel *c, const char *id, uint64_t duration_ms, const char *key, struct carrel_sandbox **ret,
                          struct carrel_error *e);

/* Freezes every process, and lets them go on; no timer is reset. */
int carrel_pause(struct carrel *c, const char *id, struct carrel_sandbox **ret, struct carrel_error *e);
int carrel_resume(struct carrel *c, const char *id, struct carrel_sandbox **ret, struct carrel_error *e);

/*
 * Gives it another list of destinations (entries of network.egress), judged like the first, whole or not at all; what it no longer allows is closed. Errors:
 * sandbox_egress_invalid, sandbox_egress_not_permitted, sandbox_egress_unenforceable (it was made without a list).
 */
int carrel_set_network(struct carrel *c, const char *id, const char *const *egress, size_t count, struct carrel_sandbox **ret, struct carrel_error *e);

struct carrel_denial {
        uint64_t at_ms;                        /* since 1970, 0: not known */
        uint32_t exec;                         /* whose connection it was, 0: not known */
        uint32_t count;                        /* how often */
        unsigned port;                         /* 0: a name was asked for, no more */
        const char *reason;                    /* a word: "not_listed", ... */
        const char *host, *address, *said;     /* each may be NULL: the name asked for, the address, the name that contradicts */
        const char *message;                   /* what was refused, and what to do */
};

struct carrel_denials { const struct carrel_denial *items;  size_t count;  uint64_t more; /* requests that were refused and are not among them */ };

/* What its commands asked of the network and were refused, oldest first: the first 16 different things and the last 48. */
int carrel_list_denials(struct carrel *c, const char *id, struct carrel_denials **ret, struct carrel_error *e);

/*
 * A URL with a token that reaches a declared port (1 to 65535); *ret is NULL where sandbox or port is not there. The first resolves everywhere, and shares its
 * origin with every other port; the second, for browsers, has one of its own, and a name below localhost that many programs do not resolve.
 */
int carrel_get_url(struct carrel *c, const char *id, unsigned port, char **ret, struct carrel_error *e);
int carrel_get_browser_url(struct carrel *c, const char *id, unsigned port, char **ret, struct carrel_error *e);

/* What a model should know about this sandbox, in words. */
int carrel_instructions(struct carrel *c, const char *id, char **ret, struct carrel_error *e);

/* Tells it that something happened ("workspace-close", 1 to 128 bytes): its lifecycle decides what follows. */
int carrel_notify(struct carrel *c, const char *id, const char *event, struct carrel_error *e);

/* Begins a task (name of 1 to 63 bytes) whose execs are killed at its timeout, and ends it, killing what still runs for it. */
int carrel_task_begin(struct carrel *c, const char *id, const char *task, uint64_t timeout_ms, struct carrel_error *e);
int carrel_task_end(struct carrel *c, const char *id, const char *task, int *ret_existed, struct carrel_error *e);

/* -- commands -------------------------------------------------------------------------------------------------------- */

struct carrel_command {
        const char *const *argv;  size_t argc;         /* the command and its arguments */
        const char *line;                              /* or, in their place, a line for the sandbox's shell, at most 128 KiB */
        const char *cwd;                               /* inside; NULL: that of the sandbox */
        const char *const *env;  size_t env_count;     /* NAME=value, for this command */
        uint64_t timeout_ms;                           /* until its whole tree is killed; above what the manifest or the host sets it is refused; 0: as they set it */
        uint64_t cpu_ms;                               /* the most CPU time it may use; 0: as the manifest says */
        uint64_t keep_bytes;                           /* output kept for each stream, 4 KiB to 64 MiB; 0: as the daemon has it */
        uint64_t output_bytes;                         /* output beyond this is dropped and counted; 0: as the manifest says */
        const void *input;  size_t input_len;          /* standard input given at once, at most 64 KiB; or has_stdin */
        int has_stdin;                                 /* carrel_exec_write() follows */
        int has_terminal;  uint16_t rows, columns;     /* a pseudo-terminal; its output is all CARREL_STDOUT */
        int is_background;                             /* outlives its struct, and this program */
        int is_lossless;                               /* waits while nobody reads its output, instead of losing some */
        int kills_rest;                                /* what it leaves running is killed when it ends */
        int waits_ports;                               /* a piece CARREL_PORT comes when one of the declared ports begins to listen */
        const char *task;                              /* 1 to 63 bytes, or NULL */
        const char *key;                               /* idempotency key: the same call again meets the same exec */
        uint64_t wait_ports_ms;                        /* the longest time to wait for a port; 0: until the command ends */
};

/* Limits that refuse something and end nothing. The second is known where a control group counts. */
enum carrel_limit { CARREL_LIMIT_DISK = 1 /* disk_mb: the private disk was full when it ended */, CARREL_LIMIT_PIDS = 2 /* pids: a process or thread was not started */ };

/* How a command ended: exactly one of these words. */
struct carrel_end {
        const char *outcome;                   /* exited, signaled, timed_out, oom_killed, cpu_limit, killed, policy_killed or lost; static */
        int exit_code;                         /* of one that exited, 0 to 255; else -1 */
        int signal;                            /* of one that was signaled; else 0 */
        int exit_status;                       /* as a shell has it: its own, 128 + signal, 124 timed out, 137 killed, 125 lost */
        uint64_t duration_ms, cpu_ms, memory_peak_kb;
        uint64_t stdout_bytes, stderr_bytes, dropped_bytes;
        uint64_t denied_count;                 /* how often it was refused a way out before it ended */
        unsigned limits_reached;               /* enum carrel_limit: limits that it met and that did not end it */
};

/* CARREL_PORT comes once at most, where waits_ports was set: carrel_exec_port() listens, or the time to wait is over. The command goes on. */
enum carrel_piece_kind { CARREL_STARTED = 1, CARREL_STDOUT, CARREL_STDERR, CARREL_END, CARREL_PORT };

/* Bytes are valid until the next call with the same exec. `offset` counts from the stream's first byte: a jump tells of bytes dropped. */
struct carrel_piece { enum carrel_piece_kind kind;  const void *bytes;  size_t len;  uint64_t offset; };

struct carrel_exec;

/*
 * Starts a command and gives the exec, from which output is read. Errors: sandbox_not_found, sandbox_read_only, invalid_argument. That
 * there is no such command is told by the first carrel_exec_read(): command_not_found, command_not_executable.
 */
int carrel_exec(struct carrel *c, const char *id, const struct carrel_command *command, struct carrel_exec **ret, struct carrel_error *e);

/* Meets an exec again, running or ended, by its number; its output comes from these offsets on. Errors: sandbox_not_found, exec_not_found. */
int carrel_attach(struct carrel *c, const char *id, uint32_t exec, uint64_t stdout_offset, uint64_t stderr_offset, int is_lossless,
                  struct carrel_exec **ret, struct carrel_error *e);

/*
 * The limit on its time, milliseconds, and who set it: "call", "manifest" (limits.timeout_ms) or "host" (limits_max.timeout_ms of the host file). 0 and NULL
 * where there is none, and where it is not known: after carrel_attach(). `ret_by` may be NULL; its text is static.
 */
uint64_t carrel_exec_timeout(const struct carrel_exec *x, const char **ret_by);

/* Its number within the sandbox; its process id inside, 0 until CARREL_STARTED was read. */
uint32_t carrel_exec_number(const struct carrel_exec *x);
int carrel_exec_pid(const struct carrel_exec *x);

/* The declared port that was waited for and listens; 0: none. */
unsigned carrel_exec_port(const struct carrel_exec *x);

/* For poll(2): the descriptor, borrowed, and what to wait for (POLLIN, and POLLOUT while something is on its way out). */
int carrel_exec_fd(const struct carrel_exec *x);
short carrel_exec_events(const struct carrel_exec *x);

/*
 * The next piece of output, or its end. `timeout_ms` -1: waits; 0: does not. 1: a piece; 0: none in that time, or all is over. After
 * CARREL_END carrel_exec_end() tells how it ended. Also sends what is on its way out. Errors: command_not_found,
 * command_not_executable, sandbox_backend_failed, protocol_error, connection_lost (carrel_attach() continues where it stopped).
 */
int carrel_exec_read(struct carrel_exec *x, int timeout_ms, struct carrel_piece *ret, struct carrel_error *e);

/* How it ended; NULL before. Lives as long as `x`. */
const struct carrel_end *carrel_exec_end(const struct carrel_exec *x);

/* Where each stream goes on: what carrel_attach() takes. */
uint64_t carrel_exec_offset(const struct carrel_exec *x, enum carrel_piece_kind stream);

/*
 * Gives standard input, without waiting: the number of bytes taken, 0 when none can be taken now (wait for carrel_exec_events(), and
 * read meanwhile: a command that is waited for may be waiting for its reader). -1: connection_lost.
 */
long carrel_exec_write(struct carrel_exec *x, const void *bytes, size_t len, struct carrel_error *e);

/* After all that was written: the end of standard input; a signal (1 to 64) for its process group; a new size of its terminal. Never wait. */
int carrel_exec_write_end(struct carrel_exec *x, struct carrel_error *e);
int carrel_exec_signal(struct carrel_exec *x, int signal, struct carrel_error *e);
int carrel_exec_resize(struct carrel_exec *x, uint16_t rows, uint16_t columns, struct carrel_error *e);

/* Leaves it running without this reader (waits until that is sent), and ends the struct. A NULL is accepted. */
int carrel_exec_detach(struct carrel_exec *take_x, struct carrel_error *e);

/* Ends the struct. A command that still runs, was started with it and not in the background, is killed with its tree. Accepts NULL. */
void carrel_exec_free(struct carrel_exec *take_x);

/* Called for each piece of output; other than 0 ends the call with the error "canceled", and the command as carrel_exec_free() does. */
typedef int carrel_output_fn(void *ctx, const struct carrel_piece *piece);

struct carrel_result {
        struct carrel_end end;
        uint32_t exec;
        const char *out, *err;                 /* each with a NUL behind it, which its length does not count */
        size_t out_len, err_len;
        uint64_t out_lost, err_lost;           /* bytes past `keep`, or dropped by the sandbox */
        struct carrel_denials denied;          /* what it asked of the network and was refused: the first 16 different things, each once with how often */
        uint64_t denied_more;                  /* requests that were refused and are not among them */
        int is_running;                        /* it goes on: waits_ports was set, and `port` listens or (0) the time to wait is over. `end` says nothing yet */
        unsigned port;
        uint64_t timeout_ms;                   /* the limit on its time, and who set it: as carrel_exec_timeout() */
        const char *timeout_by;
};

/*
 * Runs a command to its end (with waits_ports, until a port listens or the time to wait is over): carrel_exec() and all its reading. With `output` NULL each stream is collected, `keep_max` bytes at most (0: 16 MiB). Any
 * ending of the command is a success of the call. Standard input is command->input, here of any length.
 */
int carrel_run(struct carrel *c, const char *id, const struct carrel_command *command, size_t keep_max, carrel_output_fn *output, void *ctx,
               struct carrel_result **ret, struct carrel_error *e);

struct carrel_exec_info {
        uint32_t exec;
        const char *state;                     /* starting, running, ended or failed */
        const char *command, *task, *key;      /* each may be NULL; the command is its beginning, for people */
        int pid, is_background, has_end;
        uint64_t started_at_ms;
        uint64_t stdout_offset, stderr_offset; /* oldest byte that is still kept */
        struct carrel_end end;                 /* where has_end; else the byte counts so far */
        unsigned port;                         /* that was waited for and listens; 0: none */
};

struct carrel_execs { const struct carrel_exec_info *items;  size_t count; };

/* The sandbox's execs, running and kept; one of them (*ret NULL where there is none of this number). */
int carrel_exec_list(struct carrel *c, const char *id, struct carrel_execs **ret, struct carrel_error *e);
int carrel_exec_get(struct carrel *c, const char *id, uint32_t exec, struct carrel_exec_info **ret, struct carrel_error *e);

/* What this one asked of the network and was refused, as struct carrel_result has it; not one where there is none of this number. */
int carrel_exec_denials(struct carrel *c, const char *id, uint32_t exec, struct carrel_denials **ret, struct carrel_error *e);

/* A signal for its process group at once, whatever input is still on its way; and the end of its whole tree. */
int carrel_signal(struct carrel *c, const char *id, uint32_t exec, int signal, struct carrel_error *e);
int carrel_kill(struct carrel *c, const char *id, uint32_t exec, int *ret_ran, struct carrel_error *e);

/* -- files ----------------------------------------------------------------------------------------------------------- */

/* Paths are of the sandbox, 1 to 4095 bytes; a relative one begins at its working directory. Nothing of the host is reachable through them. */

struct carrel_file { const char *path;  const void *bytes;  size_t len;  int mode; /* permission bits; -1: as it was, a new one 0644 */ };
struct carrel_bytes { const char *bytes;  size_t len;  uint64_t size; /* of the whole file */  uint64_t modified_at_ms;  unsigned mode; };

/*
 * Reads a regular file from `offset` on, `length` bytes at most (0: 64 MiB); one more NUL stands behind them. *ret is NULL where there is no such
 * file. Errors: file_unreadable (a directory, FIFO, device; too little permission), file_too_large (more than 64 MiB were left).
 */
int carrel_read_file(struct carrel *c, const char *id, const char *path, uint64_t offset, uint64_t length, struct carrel_bytes **ret,
                     struct carrel_error *e);

/* Writes files (at most 1024), each whole or not at all; none is put in place before all were received. `key`: idempotency key, or NULL. */
int carrel_write_files(struct carrel *c, const char *id, const struct carrel_file *files, size_t count, const char *key, struct carrel_error *e);

/* The same in pieces, for files of any length. A reader gives its bytes in order; 0: the end. */
struct carrel_reader;
int carrel_reader_open(struct carrel *c, const char *id, const char *path, uint64_t offset, uint64_t length, struct carrel_reader **ret,
                       struct carrel_error *e);
/* What it reads: whole size, mode, last change; *bytes is NULL. */
void carrel_reader_about(const struct carrel_reader *r, struct carrel_bytes *ret);
/* 1: bytes, valid until the next call; 0: the end; -1. Waits. */
int carrel_reader_next(struct carrel_reader *r, const void **ret_bytes, size_t *ret_len, struct carrel_error *e);
void carrel_reader_free(struct carrel_reader *take_r);

/* A writer: files one after another, each with exactly its announced length of bytes; commit puts all in place. Free without commit: nothing happened. */
struct carrel_writer;
int carrel_writer_open(struct carrel *c, const char *id, const char *key, struct carrel_writer **ret, struct carrel_error *e);
int carrel_writer_file(struct carrel_writer *w, const char *path, int mode, uint64_t len, struct carrel_error *e);
int carrel_writer_bytes(struct carrel_writer *w, const void *bytes, size_t len, struct carrel_error *e);
int carrel_writer_commit(struct carrel_writer *w, struct carrel_error *e);
void carrel_writer_free(struct carrel_writer *take_w);

struct carrel_entry {
        const char *path;                      /* relative to what was listed; of stat: as given */
        const char *kind;                      /* file, directory, link, fifo, socket or device; static */
        const char *target;                    /* of a link; else NULL */
        uint64_t size, modified_at_ms;
        unsigned mode;
        int sys;                               /* of a directory that could not be entered: why (errno) */
};
struct carrel_entries { const struct carrel_entry *items;  size_t count;  int is_cut; /* there are more */ };

/* What is in a directory, `depth` levels down (1 to 16). Errors: file_not_found, file_unreadable. */
int carrel_list_files(struct carrel *c, const char *id, const char *path, unsigned depth, struct carrel_entries **ret, struct carrel_error *e);

/* What a path is; links are not followed. *ret is NULL where it is not there. */
int carrel_stat(struct carrel *c, const char *id, const char *path, struct carrel_entry **ret, struct carrel_error *e);

int carrel_mkdir(struct carrel *c, const char *id, const char *path, unsigned mode, int with_parents, struct carrel_error *e);
int carrel_move(struct carrel *c, const char *id, const char *from, const char *to, struct carrel_error *e);
int carrel_remove(struct carrel *c, const char *id, const char *path, int is_recursive, int *ret_existed, struct carrel_error *e);

/* -- what happens ---------------------------------------------------------------------------------------------------- */

struct carrel_event {
        const char *event;                     /* "exec-ended", "stopped", ... */
        uint64_t at_ms;
        const char *id, *status, *cause, *outcome;     /* each may be NULL */
        uint32_t exec;                         /* 0: of no exec */
        int exit_code;                         /* of an exec that exited; else -1 */
        const char *slug, *actor, *purpose, *granted_by;       /* of "secret-revealed", "secret-denied"; else NULL. Never a value */
        const char *host_path, *kept_at;       /* of "name-moved", "content-changed", ...: a name on the host that programs there act on, and where it is now; else NULL */
        const char *reason;                    /* of "config-restored": the key that may not change; else NULL */
};

/* Events of one sandbox, or of all of the caller's (`id` NULL), from now on, over a connection of their own. */
struct carrel_events;
int carrel_watch(struct carrel *c, const char *id, struct carrel_events **ret, struct carrel_error *e);
int carrel_events_fd(const struct carrel_events *w);

/*
 * 1: an event, valid until the next call; 0: none within `timeout_ms` (-1: waits). -1: connection_lost, protocol_error. "overflow" is the last event: others came
 * faster than they were read, and were lost. Watch anew, and ask what there is.
 */
int carrel_events_next(struct carrel_events *w, int timeout_ms, struct carrel_event *ret, struct carrel_error *e);
void carrel_events_free(struct carrel_events *take_w);

/* -- tokens, for clients that come over TCP ------------------------------------------------------------------------------ */

struct carrel_token { const char *id, *owner, *scope; const char *token; /* its value, only where it was just made */ uint64_t created_at_ms; };
struct carrel_tokens { const struct carrel_token *items;  size_t count; };

/* For the daemon's own user. `scope`: "all", or "read" (get and list only); NULL: all. `owner` NULL: the caller. */
int carrel_token_create(struct carrel *c, const char *owner, const char *scope, struct carrel_token **ret, struct carrel_error *e);
int carrel_token_list(struct carrel *c, struct carrel_tokens **ret, struct carrel_error *e);
int carrel_token_revoke(struct carrel *c, const char *token_id, int *ret_existed, struct carrel_error *e);

#ifdef __cplusplus
}
#endif
#endif
