/*
 * cli/exec.c - `carrel exec`: runs one command in a sandbox of the daemon, as if it ran here.
 *
 * Room: cli (joining, program). Touches: fd (standard streams), signals, the caller's terminal, the
 * environment (TERM, LANG); libcarrel does the rest.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/ask.h"
#include "cli/back.h"
#include "cli/commands.h"
#include "cli/ending.h"
#include "cli/exec.h"
#include "cli/finding_print.h"
#include "cli/left.h"
#include "cli/live.h"
#include "cli/prepare.h"
#include "cli/value.h"
#include "client/record.h"
#include "codec/codec.h"
#include "run/terminal.h"

enum {
        STATUS_READER_GONE = 128 + 13,
        STATUS_TIMED_OUT = 124,
        CAPTURE_MAX = 1 << 20,
        FORWARD_MAX = 64 /* bytes of a value, as in carrel run */,
        FORWARD_ROOM = 72
};

/*
 * Variables that `carrel run -t` also takes from this terminal, because the daemon's environment
 * does not have them. An -e of the same name overrides them. Called once; the texts stay valid.
 */
static void
forward_terminal(struct executing *x)
{
        static const char *const names[] = { "TERM", "LANG" };
        static char texts[sizeof names / sizeof *names][FORWARD_ROOM];

        for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
                const char *value = getenv(names[n]);
                size_t len = strlen(names[n]);
                bool is_given = false;

                for (size_t i = 0; i < x->env.count; i++)
                        is_given = is_given || (strncmp(x->env.items[i], names[n], len) == 0 &&
                                                x->env.items[i][len] == '=');
                if (!value || value[0] == '\0' || is_given || x->env.count == OPTION_LIST_MAX ||
                    strlen(value) >= FORWARD_MAX)
                        continue;
                (void)snprintf(texts[n], FORWARD_ROOM, "%s=%.63s", names[n], value);
                x->env.items[x->env.count++] = texts[n];
        }
}

static int
read_arguments(int argc, char **argv, struct executing *x, struct error *e)
{
        struct words words;

        if (options_read(&command_exec, argc, argv, x, &words, e) < 0)
                return -1;
        x->ask.words = words.items;
        x->ask.word_count = words.count;
        if (x->ask.word_count == 0 || words.rest_count == 0 || words.rest[0][0] == '\0') {
                (void)fail(e, ERROR_INVALID_ARGUMENT,
                           x->ask.word_count == 0 ? "exec needs the id of a sandbox, and a command"
                                                  : "there is no command to run");
                error_hint(e, "For example: carrel exec %.64s -- python3 -V",
                           x->ask.word_count == 0 ? "ID" : x->ask.words[0]);
                return -1;
        }
        if (x->has_terminal)
                forward_terminal(x);
        x->command = (struct carrel_command){ .argv = (const char *const *)words.rest,
                                              .argc = words.rest_count,
                                              .cwd = x->cwd,
                                              .env = x->env.items,
                                              .env_count = x->env.count,
                                              .has_terminal = x->has_terminal,
                                              .is_background = x->is_background,
                                              .is_lossless = !x->is_background,
                                              .kills_rest = x->kills_rest,
                                              .waits_ports = x->waits_ports,
                                              .task = x->task,
                                              .timeout_ms = x->timeout_ms,
                                              .wait_ports_ms = x->wait_timeout_ms,
                                              .key = x->key,
                                              .has_stdin = !x->is_background && !x->has_no_input };
        return 0;
}

static int
check(const struct executing *x, struct error *e)
{
        const char *what = x->has_terminal && x->is_background
                                   ? "-t shows a terminal, and -d leaves it"
                           : x->has_terminal && x->ask.is_json
                                   ? "-t shows a terminal, and --json collects the output"
                           : x->has_terminal && !isatty(STDIN_FILENO)
                                   ? "-t needs a terminal, but standard input is not one"
                                   : NULL;

        if (what) {
                (void)fail(e, ERROR_INVALID_ARGUMENT, "%s", what);
                error_hint(e, "Leave out -t where input or output is not a person's terminal.");
                return -1;
        }
        if (x->has_terminal && x->waits_ports) {
                (void)fail(e, ERROR_INVALID_ARGUMENT,
                           "-t shows a terminal until the command ends, and --wait-ports leaves it "
                           "before");
                error_hint(e, "Leave out -t, or wait for the port in another terminal.");
                return -1;
        }
        if (x->wait_timeout_ms > 0 && !x->waits_ports) {
                (void)fail(
                        e, ERROR_INVALID_ARGUMENT,
                        "--wait-timeout limits the wait for a port, and --wait-ports is not given");
                error_hint(e, "Add --wait-ports, or use --timeout to limit the command.");
                return -1;
        }
        return 0;
}

/* -- waiting for a port ------------------------------------------------------------------------ */

/* The wait is over; the command still runs. `port` 0: no port listened in time. */
static int
print_wait(const struct executing *x, uint32_t number, unsigned port)
{
        char span[SPAN_TEXT];

        if (port > 0) {
                (void)fprintf(
                        stderr,
                        "carrel: port %u is listening; the command keeps running as exec %" PRIu32
                        "\n",
                        port, number);
                return 0;
        }
        (void)fprintf(stderr,
                      "carrel: no declared port listened within %s; the command keeps running as "
                      "exec %" PRIu32 "\n"
                      "    Next: `carrel output %.64s %" PRIu32
                      "` shows what it printed, `carrel kill %.64s %" PRIu32 "` ends it\n",
                      span_text(x->wait_timeout_ms, span), number, x->ask.words[0], number,
                      x->ask.words[0], number);
        return STATUS_TIMED_OUT;
}

/* -- in the background ------------------------------------------------------------------------- */

/*
 * Waits until the command has started, so that a missing command is reported here. With
 * --wait-ports it waits until a port listens, the time is over or the command has ended.
 */
static int
wait_until_there(const struct executing *x, struct carrel_exec *exec, struct carrel_error *e)
{
        struct carrel_piece p = { .kind = CARREL_END };

        do {
                if (carrel_exec_read(exec, -1, &p, e) < 0)
                        return -1;
        } while (x->waits_ports && p.kind != CARREL_PORT && p.kind != CARREL_END);
        return 0;
}

static int
print_left(const struct executing *x, uint32_t number, int pid, unsigned port, bool has_ended)
{
        struct json_writer w;

        if (!x->ask.is_json) {
                (void)printf("%" PRIu32 "\n", number);
                return 0;
        }
        json_init(&w, true);
        json_open_map(&w);
        json_member_int(&w, "exec", number);
        json_member_int(&w, "pid", pid);
        json_member_text(&w, "state", has_ended ? "ended" : "running");
        if (port > 0)
                json_member_int(&w, "port", port);
        json_close_map(&w);
        return json_print(&w, stdout);
}

static int
start_and_leave(struct executing *x)
{
        struct carrel_exec *exec;
        struct carrel_error e;
        const struct carrel_end *end;
        uint32_t number;
        int pid, status, waited = 0;
        unsigned port;

        if (carrel_exec(x->ask.c, x->ask.words[0], &x->command, &exec, &e) < 0)
                return ask_failed(&x->ask, NULL, &e);
        number = carrel_exec_number(exec);
        if (wait_until_there(x, exec, &e) < 0) {
                carrel_exec_free(exec);
                return ask_failed(&x->ask, NULL, &e);
        }
        pid = carrel_exec_pid(exec);
        port = carrel_exec_port(exec);
        end = x->waits_ports ? carrel_exec_end(exec) : NULL;
        if (end) {
                (void)fprintf(stderr,
                              "carrel: exec %" PRIu32
                              " ended (%s, status %d) before a declared port listened\n"
                              "    Next: `carrel output %.64s %" PRIu32 "` shows what it printed\n",
                              number, end->outcome, end->exit_status, x->ask.words[0], number);
                waited = end->exit_status;
        } else if (x->waits_ports) {
                waited = print_wait(x, number, port);
        }
        status = print_left(x, number, pid, port, end != NULL);
        if (carrel_exec_detach(exec, &e) < 0)
                return ask_failed(&x->ask, NULL, &e);
        return status != 0 ? status : waited;
}

/* -- as one JSON object ------------------------------------------------------------------------ */

/* The ending, with the bytes that this call did not keep among the dropped ones. */
static struct ending
ending_of_result(const struct carrel_result *r)
{
        struct ending x = { ending_of_carrel(&r->end),
                            live_time_limit(r->timeout_ms, r->timeout_by),
                            r->out,
                            r->err,
                            r->out_len,
                            r->err_len };
        uint64_t came = x.outcome.stdout_bytes + x.outcome.stderr_bytes,
                 shown = r->out_len + r->err_len;

        if (came > shown && x.outcome.dropped_bytes < came - shown)
                x.outcome.dropped_bytes = came - shown;
        return x;
}

static void
json_still_running(struct json_writer *w, const struct carrel_result *r)
{
        json_member_text(w, "state", "running");
        json_key(w, "stdout");
        json_bytes(w, r->out, r->out_len);
        json_key(w, "stderr");
        json_bytes(w, r->err, r->err_len);
        json_member_bool(w, "truncated", r->out_lost + r->err_lost > 0);
}

static void
json_result(struct json_writer *w, const struct carrel_result *r, const struct carrel_lefts *left)
{
        struct ending ending = ending_of_result(r);
        struct record denied = client_record(r), found = { NULL, 0 };

        json_open_map(w);
        json_member_int(w, "exec", r->exec);
        if (r->audit_ref)
                json_member_text(w, "audit_ref", r->audit_ref);
        if (r->port > 0)
                json_member_int(w, "port", r->port);
        if (r->is_running) {
                json_still_running(w, r);
        } else {
                ending_write_json(w, &ending);
                ending_write_error(w, &ending);
        }
        if (r->denied.count > 0)
                codec_write_list(w, "denied", FIELD_DENIED, &denied, 0);
        if (r->denied_more > 0)
                json_member_int(w, "denied_more", (int64_t)r->denied_more);
        if (left)
                found = client_record(left);
        codec_write(w, operation(OP_LEFT_TAKE), &found, 0);
        json_close_map(w);
}

static int
run_to_json(struct executing *x)
{
        struct carrel_lefts *left = NULL;
        struct carrel_result *result;
        struct carrel_error e;
        struct json_writer w;
        int status;

        x->command.has_stdin = 0;
        if (carrel_run(x->ask.c, x->ask.words[0], &x->command, CAPTURE_MAX, NULL, NULL, &result,
                       &e) < 0)
                return ask_failed(&x->ask, NULL, &e);
        if (!result->is_running && result->end.left_count > 0 &&
            carrel_take_left(x->ask.c, x->ask.words[0], &left, NULL) < 0)
                left = NULL;
        json_init(&w, true);
        json_result(&w, result, left);
        status = json_print(&w, stdout);
        carrel_free(left);
        if (status == 0)
                status = result->is_running ? print_wait(x, result->exec, result->port)
                                            : result->end.exit_status;
        carrel_free(result);
        return status;
}

/* -- live -------------------------------------------------------------------------------------- */

static void
print_refusal(const struct carrel_denial *d, uint32_t times)
{
        (void)fputs("carrel: refused", stderr);
        if (times > 1)
                (void)fprintf(stderr, ", %" PRIu32 " times", times);
        (void)fputs(": ", stderr);
        print_escaped(stderr, d->message, false);
        (void)fputc('\n', stderr);
}

/* Prints the first refusal while the command runs. */
static void
say_first(const struct live_options *o)
{
        struct carrel_denials *all;

        if (carrel_exec_denials(o->c, o->id, carrel_exec_number(o->x), &all, NULL) < 0)
                return;
        if (all->count > 0)
                print_refusal(&all->items[0], 1);
        carrel_free(all);
}

/* Prints what the wall refused, as `carrel run` does. */
static void
print_denied(const struct executing *x, const struct live_options *o)
{
        struct carrel_denials *all;

        if (carrel_exec_end(o->x)->denied_count == 0 ||
            carrel_exec_denials(x->ask.c, o->id, carrel_exec_number(o->x), &all, NULL) < 0)
                return;
        for (size_t i = 0; i < all->count; i++)
                print_refusal(&all->items[i], all->items[i].count);
        if (all->more > 0)
                (void)fprintf(stderr,
                              "carrel: refused: %" PRIu64
                              " more requests; the last are in `carrel denials %s`\n",
                              all->more, o->id);
        carrel_free(all);
}

/* What is known by now: this command's, and that of commands before it. */
static void
print_found(const struct executing *x, const struct live_options *o)
{
        struct carrel_lefts *all;

        if (carrel_exec_end(o->x)->left_count == 0 ||
            carrel_take_left(x->ask.c, o->id, &all, NULL) < 0)
                return;
        left_print_all(all, o->id, true);
        carrel_free(all);
}

static int
run_live(struct executing *x)
{
        struct live_options o = { .c = x->ask.c,
                                  .id = x->ask.words[0],
                                  .is_owner = true,
                                  .has_input = x->command.has_stdin != 0,
                                  .has_terminal = x->has_terminal,
                                  .is_raw = x->is_raw,
                                  .refused = say_first,
                                  .stdout_end = CARREL_NONE,
                                  .stderr_end = CARREL_NONE };
        enum live_result result;
        struct carrel_error e;
        int status = 137;

        if (x->has_terminal)
                terminal_size(STDIN_FILENO, &x->command.rows, &x->command.columns);
        else if (o.has_input)
                print_no_prompt(x->command.argv, x->command.argc, "exec", o.id);
        if (isatty(STDERR_FILENO) && !x->has_terminal &&
            carrel_watch(x->ask.c, o.id, &o.events, NULL) < 0)
                o.events = NULL;
        if (live_begin(&e) < 0 ||
            carrel_exec(x->ask.c, x->ask.words[0], &x->command, &o.x, &e) < 0) {
                carrel_events_free(o.events);
                return ask_failed(&x->ask, NULL, &e);
        }
        result = live_follow(&o, &e);
        if (result == LIVE_ENDED) {
                live_print_end(o.x);
                print_denied(x, &o);
                print_found(x, &o);
                status = carrel_exec_end(o.x)->exit_status;
        }
        if (result == LIVE_PORT) {
                status = print_wait(x, carrel_exec_number(o.x), carrel_exec_port(o.x));
                if (carrel_exec_detach(o.x, &e) < 0)
                        status = ask_failed(&x->ask, NULL, &e);
                carrel_events_free(o.events);
                return status;
        }
        if (result == LIVE_READER_GONE)
                status = STATUS_READER_GONE;
        else if (result == LIVE_UNWRITTEN)
                status = 125;
        else if (result == LIVE_FAILED)
                status = ask_failed(&x->ask, NULL, &e);
        if (x->has_terminal)
                print_back(o.id, result != LIVE_ENDED ||
                                         strcmp(carrel_exec_end(o.x)->outcome, "exited") != 0);
        carrel_exec_free(o.x);
        carrel_events_free(o.events);
        return status;
}

int
exec_command(struct executing *x)
{
        int status = ask_open(&x->ask);

        if (status == 0)
                status = x->is_background ? start_and_leave(x)
                         : x->ask.is_json ? run_to_json(x)
                                          : run_live(x);
        return ask_close(&x->ask, status);
}

static int
cmd_exec(int argc, char **argv)
{
        static struct executing x;
        struct error e;

        if (read_arguments(argc, argv, &x, &e) < 0 || check(&x, &e) < 0)
                return ask_wrong(&x.ask, &e);
        return exec_command(&x);
}

static const struct option options[] = {
        OPTION_FLAG(struct executing, has_terminal, "-t",
                    "run it in a terminal inside, connected to this one"),
        OPTION_FLAG(struct executing, is_background, "-d",
                    "run it in the background, and print its number"),
        OPTION_FLAG(struct executing, is_background, "--background", NULL),
        OPTION_TEXT(struct executing, cwd, VALUE_TEXT, "--cwd", "DIR", "working directory inside"),
        OPTION_LIST(struct executing, env, VALUE_VARIABLE, "-e", "NAME=VALUE",
                    "set an environment variable"),
        OPTION_NUMBER(struct executing, timeout_ms, VALUE_DURATION, "--timeout", "T",
                      "time limit: 1500ms, 30s, 5m, 2h (default: limits.timeout_ms of the "
                      "manifest, else none); at most limits.timeout_ms"),
        OPTION_FLAG(struct executing, has_no_input, "--no-input",
                    "do not forward standard input (default: forwarded)"),
        OPTION_FLAG(struct executing, kills_rest, "--kill-rest",
                    "when it ends, kill the processes that it left running"),
        OPTION_FLAG(struct executing, waits_ports, "--wait-ports",
                    "return when one of the sandbox's declared ports begins to listen; the "
                    "command keeps running"),
        OPTION_NUMBER(struct executing, wait_timeout_ms, VALUE_DURATION, "--wait-timeout", "T",
                      "maximum time to wait for a port: 1500ms, 30s, 5m, 2h (default: until the "
                      "command ends); then exit with status 124"),
        OPTION_TEXT(struct executing, task, VALUE_TEXT, "--task", "T",
                    "task of the command; ending the task kills it"),
        OPTION_TEXT(struct executing, key, VALUE_TEXT, "--key", "K",
                    "idempotency key: repeating the call returns the existing exec"),
        OPTION_FLAG(struct executing, is_raw, "--raw", RAW_DOC),
        ASK_OPTIONS(struct executing, ask),
        OPTION_END,
};

const struct command command_exec = {
        .name = "exec",
        .help = "Run a command in a sandbox, as if it ran here.",
        .options = options,
        .operands = ask_sandbox,
        .rest = "[--] COMMAND [ARGUMENTS]",
        .example = "carrel exec demo -- echo hello",
        .run = cmd_exec,
};
