/*
 * cli/run.c - `carrel run`: runs one command in its own sandbox.
 *
 * Room: cli (joining, program). Touches: fd (standard streams), the environment; run/run.h does
 * the rest.
 * Theory, the ladder: the caller's descriptors are marked close-on-exec. With privileges, the maker
 * is started and the privileges are dropped before any foreign text is read. Then manifest,
 * verdict, plan, command. The exit status is the command's own.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <termios.h>
#include <unistd.h>

#include "cli/back.h"
#include "cli/commands.h"
#include "cli/ending.h"
#include "cli/finding_print.h"
#include "cli/host_tool.h"
#include "cli/judge.h"
#include "cli/ladder.h"
#include "cli/left.h"
#include "cli/maker.h"
#include "cli/prepare.h"
#include "cli/run.h"
#include "cli/run_audit.h"
#include "cli/run_replay.h"
#include "cli/secret.h"
#include "cli/systemd_scope.h"
#include "cli/validator_run.h"
#include "cli/wall.h"
#include "judge/tool.h"
#include "policy/approval_from.h"
#include "prepare/commands.h"
#include "prepare/digest.h"
#include "prepare/environment.h"
#include "prepare/norm_digest.h"
#include "prepare/sanitize.h"
#include "recorder/recorder.h"
#include "run/run.h"
#include "run/series.h"
#include "spec/approve.h"
#include "wire/message.h"

extern char **environ;

enum { JUDGE_MEMORY = 8 << 20 };

/* Also the words, where the provider adds some. */
static int
make_environment(struct run_way *w, struct wire_command *asked, struct environment *ret,
                 struct error *e)
{
        const struct permission permission = prepared_permission(&w->p);
        struct prepare_command command = { .command = asked,
                                           .host = environ,
                                           .keeps_all = (w->switched_off & SWITCH_ENV) != 0 };
        struct secret_values *secrets;
        int result;

        if (prepare_secrets(&w->p.arena, &w->p, environ, secret_asker(), &secrets, e) < 0)
                return -1;
        secret_asker_end();
        if (secrets && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0) {
                secret_values_free(secrets);
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "closing its memory to others");
        }
        command.secrets = secrets;
        result = prepare_environment(&w->p.arena, &w->p, &command, ret, e);
        secret_values_free(secrets);
        return result < 0 ? result : permission_words(&w->p.arena, &permission, asked, e);
}

/* -- endings ----------------------------------------------------------------------------------- */

static void
print_json(const struct run_way *w, const struct run_result *r)
{
        struct ending ending = { r->outcome, w->limit, r->out, r->err, r->out_len, r->err_len };
        struct json_writer out;

        json_init(&out, true);
        json_open_map(&out);
        json_member_text(&out, "id", w->id);
        ending_write_json(&out, &ending);
        wall_write_json(&out, r);
        left_write_json(&out, r);
        if (run_audit_ref())
                json_member_text(&out, "audit_ref", run_audit_ref());
        if (r->outcome.word != OUTCOME_POLICY_KILLED || r->kept_count == 0)
                ending_write_error(&out, &ending);
        json_findings(&out, &w->p.findings);
        json_close_map(&out);
        (void)json_print(&out, stdout);
}

/* Prints on standard error why the command did not end by itself, and what to do. */
static void
print_ending(const struct run_way *w, const struct run_result *r)
{
        static const char *const sentences[OUTCOME_MAX] = {
                [OUTCOME_OOM_KILLED] = "the command ran into limits.memory_mb and was killed",
                [OUTCOME_CPU_LIMIT] =
                        "the command ran into limits.cpu_ms; its whole process tree was killed",
                [OUTCOME_KILLED] = "the command was killed",
                [OUTCOME_POLICY_KILLED] =
                        ("the disk behind a writable mount, or behind the private places, was "
                         "nearly full, of bytes or of inodes (df -i); the process tree was killed"),
                [OUTCOME_LOST] = "the end of the command was not seen",
        };
        bool is_strict = r->outcome.word == OUTCOME_POLICY_KILLED && r->kept_count > 0;
        const char *sentence = sentences[r->outcome.word];
        struct error e;

        wall_print(r);
        left_print(r);
        if (r->outcome.dropped_bytes > 0)
                (void)fprintf(stderr,
                              "carrel: %llu bytes of output were discarded: limits.output_bytes "
                              "was reached, or the output was not read\n",
                              (unsigned long long)r->outcome.dropped_bytes);
        if (outcome_is_over_disk(&r->outcome) && outcome_explain(&r->outcome, &w->limit, &e)) {
                print_error(stderr, w->file_name, &e);
                return;
        }
        print_limits_reached(r->outcome.reached);
        if (is_strict)
                sentence = "the command made a name that programs of the host act on; its whole "
                           "process tree was killed";
        if (r->outcome.word == OUTCOME_TIMED_OUT) {
                time_limit_passed(&w->limit, &e);
                print_error(stderr, "carrel", &e);
        }
        if (!sentence)
                return;
        if (is_strict || outcome_error(r->outcome.word) == ERROR_NONE) {
                (void)fprintf(stderr, "carrel: %s\n", sentence);
                return;
        }
        (void)fail(&e, outcome_error(r->outcome.word), "%s", sentence);
        print_error(stderr, w->file_name, &e);
}

/* -- rules for commands ------------------------------------------------------------------------ */

/*
 * A person at the terminal decides; everything but "y" is no. What was typed before the question
 * was printed is no answer to it, and is discarded before "[y/N]" invites one. Takes the terminal.
 */
static bool
is_answered_yes(FILE *take_terminal)
{
        char answer[8] = "";

        (void)fflush(stderr);
        if (tcflush(fileno(take_terminal), TCIFLUSH) == 0) {
                (void)fputs(" [y/N] ", stderr);
                (void)fflush(stderr);
                if (!fgets(answer, sizeof answer, take_terminal))
                        answer[0] = '\0';
        }
        (void)fclose(take_terminal);
        return strcmp(answer, "y\n") == 0 || strcmp(answer, "Y\n") == 0 ||
               strcmp(answer, "yes\n") == 0;
}

/* NULL: no terminal. */
static FILE *
open_terminal(void)
{
        return isatty(STDERR_FILENO) ? fopen("/dev/tty", "re") : NULL;
}

static bool
ask_person(const struct judgement *j)
{
        const struct judge_action *a = j->deciding < j->count ? &j->actions[j->deciding] : NULL;
        FILE *terminal = a ? open_terminal() : NULL;

        if (!terminal)
                return false;
        (void)fputs("carrel: ", stderr);
        print_escaped(stderr, a->program ? a->program : a->written, false);
        (void)fprintf(stderr, ": %s (%s)\nRun this command?", prepare_reason_meaning(a->reason),
                      a->reason);
        return is_answered_yes(terminal);
}

/* -- approval: `approve` of the manifest or the host file lists exec --------------------------- */

static bool
needs_approval(const struct run_way *w)
{
        return approval_from_waits(w->p.spec, w->p.rules, spec_approve_operation("exec"));
}

/* Only the user who runs it is at the terminal: can this user satisfy every requirement? */
static int
check_parties(const struct run_way *w, struct error *e)
{
        const struct spec *spec = w->p.spec;

        for (size_t i = 0; i < spec->approval_from_count; i++) {
                const struct spec_approval_from *r = &spec->approval_from[i];
                bool is_one = !approval_from_applies(spec, r, spec_approve_operation("exec"));

                for (size_t j = 0; j < r->parties.count && !is_one; j++)
                        is_one = approval_from_names(r->parties.items[j], w->owner,
                                                     w->p.rules->principal, w->owner);
                if (is_one)
                        continue;
                (void)fail_at(e, ERROR_APPROVAL_DENIED, "policy", "approval_from",
                              "the policy requires the approval of %.128s%s; %s may not give it",
                              r->parties.items[0], r->parties.count > 1 ? " or others" : "",
                              w->owner);
                error_hint(e, "Start `carrel serve` and use `carrel exec`: it waits until they "
                              "run `carrel approve`.");
                return -1;
        }
        return 0;
}

static void
show(const char *name, const char *text)
{
        (void)fprintf(stderr, "    %s: ", name);
        print_escaped(stderr, text, false);
        (void)fputc('\n', stderr);
}

/* Without a daemon only the person at the terminal can be asked. */
static int
approve(struct run_way *w, const struct prepare_options *o, struct error *e)
{
        FILE *terminal;

        if (check_parties(w, e) < 0)
                return -1;
        terminal = open_terminal();
        if (!terminal) {
                (void)fail_at(
                        e, ERROR_APPROVAL_DENIED, "metadata/carrel/approve", "no_terminal",
                        "a person must approve this command, and there is no terminal to ask");
                error_hint(e,
                           "Run it at a terminal. Or start `carrel serve`, use `carrel exec`, and "
                           "answer with `carrel approve`.");
                return -1;
        }
        (void)fputs("carrel: this command needs your approval:\n", stderr);
        for (size_t i = 0; i < o->command_count; i++)
                show("argv", o->command[i]);
        for (size_t i = 0; i < o->env.count; i++)
                show("env", o->env.items[i]);
        show("cwd", w->p.plan->cwd ? w->p.plan->cwd : "/");
        (void)fputs("Run it, once?", stderr);
        w->is_approved = is_answered_yes(terminal);
        if (w->is_approved)
                return 0;
        return fail_at(e, ERROR_APPROVAL_DENIED, "metadata/carrel/approve", "denied",
                       "the command was not approved");
}

/* The program that the host file names for commands, if it does. */
static int
validate(struct run_way *w, struct arena *arena, const struct judge_request *request,
         struct error *e)
{
        struct validator_program program;
        char sentence[QUESTION_SENTENCE_ROOM];
        int result;

        if (validator_run_find(arena, w->p.rules->commands, request, &program, e) < 0)
                return -1;
        if (program.command.count == 0)
                return 0;
        result = validator_run_ask(&program, request, sentence, e);
        return result > 0 ? question_deny(TOOL_SHELL, sentence, e) : result;
}

/* NULL: no judgement, or a validator denied. */
static const char *
denied_program(const struct judgement *j)
{
        const struct judge_action *a = j->verdict != COMMAND_ALLOW && j->deciding < j->count
                                               ? &j->actions[j->deciding]
                                               : NULL;

        return !a ? NULL : a->program ? a->program : a->written;
}

/* Nothing is started unless the rules of manifest and host file allow it. */
static int
permit(struct run_way *w, const struct prepare_options *o, struct error *e)
{
        const struct wire_command command = { { .argc = (uint32_t)o->command_count,
                                                .envc = (uint32_t)o->env.count },
                                              (const char *const *)o->command,
                                              o->env.items,
                                              w->p.plan->cwd };
        struct prepare_command asked = { .command = &command, .host = environ, .is_first = true };
        struct host_programs programs;
        struct judge_request request;
        struct judgement judgement = { .verdict = COMMAND_ALLOW };
        struct arena arena;
        size_t list;
        int result = -1;

        arena_init(&arena, JUDGE_MEMORY);
        if (prepare_judging(&arena, &w->p, &asked, &request, &programs, e) == 0) {
                result = judge_command(&arena, &request, &programs, &judgement, &list, e);
                if (result < 0)
                        (void)prepare_refuse_rules(w->p.spec, w->p.rules, list, e);
                else if (judgement.verdict != COMMAND_ALLOW &&
                         prepare_refuse_missing(&programs, &judgement, e))
                        /* lint: no person is asked about a program that is missing */
                        result = -1;
                else if (judgement.verdict == COMMAND_DENY)
                        /* lint: a validator and a person only look at what may run */
                        result = prepare_refuse(w->p.spec, w->p.rules, &judgement, e);
                else if (validate(w, &arena, &request, e) < 0)
                        result = -1;
                else if (judgement.verdict == COMMAND_ASK && !ask_person(&judgement))
                        result = prepare_refuse(w->p.spec, w->p.rules, &judgement, e);
                else
                        w->is_approved = judgement.verdict == COMMAND_ASK;
        }
        if (result < 0)
                run_audit_denied(denied_program(&judgement));
        host_programs_fini(&programs);
        arena_fini(&arena);
        return result;
}

static struct run_options
options_of(const struct run_way *w, const struct prepare_options *o)
{
        return (struct run_options){
                .start = maker_start,
                .plan = w->p.plan,
                .sources = w->p.sources,
                .command = { { .flags = o->wants_terminal ? WIRE_EXEC_TTY : 0,
                               .argc = (uint32_t)o->command_count,
                               .envc = (uint32_t)o->env.count },
                             (const char *const *)o->command,
                             o->env.items,
                             w->p.plan->cwd },
                .captures = o->is_json,
                .escapes = !o->is_raw,
                .in = STDIN_FILENO,
                .out = o->replay ? o->replay->sink : STDOUT_FILENO,
                .err = o->replay ? o->replay->sink : STDERR_FILENO,
                .timeout_ms = w->limit.ms,
                .cpu_ms = w->p.spec->limits.cpu_ms,
                .output_bytes = w->p.spec->limits.output_bytes,
                .cpu_count = w->host.facts.cpu_count,
                .switched_off = w->switched_off,
                .refused = isatty(STDERR_FILENO) && !o->wants_terminal && !o->is_json
                                   ? wall_print_first
                                   : NULL,
        };
}

static int
choose_wall(struct run_way *w, const struct prepare_options *o, struct run_options *options,
            struct error *e)
{
        if (wall_options(&w->p.arena, w->p.spec, w->p.rules, w->id, &options->wall, e) < 0)
                return -1;
        if (!o->replay || !options->wall)
                return 0;
        return run_replay_close_network(w, o->replay, options, e);
}

/* Everything but its start: it is judged, gets its environment, and its start is recorded. The
 * options borrow `env`. */
static int
begin(struct run_way *w, const struct prepare_options *o, struct run_options *options,
      struct environment *env, struct error *e)
{
        bool is_call = o->again && o->again->operation; /* no command: it was judged as a call */

        if (!o->is_validator && !is_call && prepare_has_rules(w->p.spec, w->p.rules) &&
            permit(w, o, e) < 0)
                return -1;
        if (!o->replay || o->again == o->replay->commands + o->replay->count - 1)
                validator_run_end();
        if (!o->is_validator && !is_call && needs_approval(w) && approve(w, o, e) < 0)
                return -1;
        if (make_environment(w, &options->command, env, e) < 0 || choose_wall(w, o, options, e) < 0)
                return -1;
        if (o->again && run_replay_check_environment(o->again, env, e) < 0)
                return -1;
        options->command.env = env->items;
        options->command.head.envc = (uint32_t)env->count;
        if (o->audits && o->keeps_output && run_audit_keep(w, o, options, e) < 0)
                return -1;
        options->sees_input &= !is_call; /* its input is kept already, redacted file by file */
        return o->audits ? run_audit_started(w, o, options, e) : 0;
}

static int
run(struct run_way *w, const struct prepare_options *o, struct run_result *ret, struct error *e)
{
        struct run_options options = options_of(w, o);
        struct environment env = { .count = 0 };

        if (o->replay && run_replay_check(w, o->replay, e) < 0)
                return -1;
        if (prepare_sanitize(w->p.spec, w->p.rules, o->wants_terminal, &options.sanitize, e) < 0)
                return -1;
        if (begin(w, o, &options, &env, e) < 0)
                return -1;
        if (sandbox_run(&options, ret, e) < 0) {
                /* what the host has says nothing about an image */
                if (!w->p.spec->image && o->not_found && e->code == ERROR_COMMAND_NOT_FOUND)
                        *e = *o->not_found;
                if (!w->p.spec->image)
                        host_tool_hint(o->command[0], w->p.rules, e);
                return -1;
        }
        return 0;
}

/* Records how it ended: `r`, or the error because of which the command never ran. Returns `status`,
 * or 125 if that could not be recorded and the status said success. */
static int
record(const struct run_way *w, const struct prepare_options *o, const struct run_result *r,
       const struct error *why, int status)
{
        struct error e;

        if (!o->audits || (r ? run_audit_ended(w, r, &e) : run_audit_failed(w, o, why, &e)) == 0)
                return status;
        (void)error_wrap(&e, r ? "the end of the command is not recorded"
                               : "the refusal is not recorded");
        if (r)
                error_hint(&e, "The command has run. `carrel audit verify` shows whether the log "
                               "is intact.");
        return print_failure(NULL, &e, false) != 0 && status == 0 ? 125 : status;
}

static int
no_command(const char *why, struct error *e)
{
        (void)fail(e, ERROR_INVALID_ARGUMENT, "%s", why);
        error_hint(e, "For example: carrel run -- python3 agent.py");
        return -1;
}

static int
checked(const struct prepare_options *o, struct error *e)
{
        if (o->command_count > 0 && o->command[0][0] == '\0')
                return no_command("the command's name is empty", e);
        if (o->keeps_output && !o->audits) {
                (void)fail(e, ERROR_INVALID_ARGUMENT, "--keep-output needs --audit");
                error_hint(e, "For example: carrel run --audit --keep-output -- python3 agent.py");
                return -1;
        }
        if (o->wants_terminal && !isatty(STDIN_FILENO)) {
                (void)fail(e, ERROR_INVALID_ARGUMENT,
                           "-t needs a terminal, but standard input is not one");
                error_hint(e, "Leave out -t where input or output is a pipe.");
                return -1;
        }
        return 0;
}

/* Several commands: each is recorded as it ends, and only the error of the last one is given. */
static int
run_series(struct run_way *w, struct prepare_options *o, struct error *e)
{
        struct run_options box = options_of(w, o);
        struct series *series = NULL;
        int result = run_replay_check(w, o->replay, e);

        if (result == 0)
                result = choose_wall(w, o, &box, e);
        if (result == 0)
                result = series_open(&box, &series, e);
        for (size_t i = 0; i < o->replay->count && result == 0; i++) {
                struct run_options options = box;
                struct environment env = { .count = 0 };
                struct run_result r;

                run_replay_choose(w, o, i, &options);
                result = begin(w, o, &options, &env, e);
                if (result == 0)
                        result = series_run(series, &options, o->again->kills_rest, &r, e);
                if (result == 0) {
                        result = run_audit_ended(w, &r, e);
                        run_result_fini(&r);
                        run_replay_say(o->replay);
                }
        }
        series_close(series);
        return result;
}

static void
print_warnings(const struct run_way *w, const struct prepare_options *o)
{
        if (!o->is_json)
                print_run_warnings(stderr, w->file_name, &w->p.findings);
}

/*
 * The recorder is started before the host file is read, because afterwards this process may not
 * open the log. If no rule asks for it, it ends without an entry.
 */
static int
begin_audit(struct prepare_options *o, struct error *why, struct error *e)
{
        if (o->is_validator)
                return 0;
        o->may_be_audited = run_audit_may_be_asked(o->host_file);
        if (o->audits)
                return run_audit_begin(e);
        if (o->may_be_audited)
                (void)run_audit_begin(why);
        return 0;
}

/* `result`: of prepare(); `why`: the recorder did not start. */
static int
choose_audit(struct prepare_options *o, const struct run_way *w, int result,
             const struct error *why, struct error *e)
{
        if (o->is_validator)
                return result;
        recorder_keep(w->audit_keep_ms, w->redact_off);
        o->keeps_output |= w->keeps_content;
        if (o->audits)
                return result;
        o->audits = w->is_audited;
        if (!o->audits)
                run_audit_end();
        if (result < 0 || !o->audits || run_audit_has_begun())
                return result;
        if (why->code != ERROR_NONE)
                *e = *why;
        else
                (void)fail(e, ERROR_AUDIT_UNAVAILABLE,
                           "the host file asks for an audit log in a way that was not seen: write "
                           "the field as `audit: [run]`");
        return -1;
}

/* Everything up to the plan. */
static int
get_ready(struct run_way *w, struct prepare_options *o, int argc, char **argv, struct error *e)
{
        struct error why = { 0 };
        int result;

        if (!o->is_validator && validator_run_may_be_needed(o->host_file) &&
            validator_run_start(o->host_file, run_command, e) < 0)
                return -1;
        if (run_way_init(w, e) < 0 || run_way_make_hidden(o, w, e) < 0)
                return -1;
        if (begin_audit(o, &why, e) < 0)
                return -1;
        maker_collect(w->host.facts.runtime_dir);
        if (secret_asker_start(o->host_file, e) < 0)
                return -1;
        if (ladder_climb(e) < 0)
                return -1;
        result = prepare(o, w, e);
        if (o->command_count == 0 && w->server.words) {
                o->command = w->server.words;
                o->command_count = w->server.word_count;
        }
        if (result == 0 && o->command_count == 0)
                result = prepared_command(&w->p, &o->command, &o->command_count, e);
        if (result == 0 && o->command_count == 0)
                result = no_command("there is no command to run", e);
        if (choose_audit(o, w, result, &why, e) < 0)
                return -1;
        if (!o->is_validator)
                systemd_scope_enter(w, argc, argv);
        return 0;
}

int
run_command(const struct prepare_options *asked, int argc, char **argv)
{
        struct prepare_options options = *asked, *o = &options;
        static struct run_way w; /* large, and zero if never written */
        struct run_result result;
        struct error e;
        int status;

        status = get_ready(&w, o, argc, argv, &e);
        print_warnings(&w, o);
        if (status >= 0 && !o->wants_terminal && !o->is_json)
                print_no_prompt((const char *const *)o->command, o->command_count, "run", NULL);
        if (status < 0) {
                status = print_failure(w.file_name, &e, o->is_json);
                if (!o->is_json)
                        print_more_errors(stderr, w.file_name, &w.p.findings);
                status = record(&w, o, NULL, &e, status);
        } else if (o->replay && o->replay->count > 1) {
                status = run_series(&w, o, &e) < 0
                                 ? record(&w, o, NULL, &e, print_failure(NULL, &e, false))
                                 : 0;
        } else if (run(&w, o, &result, &e) < 0) {
                if (e.code == ERROR_INVALID_ARGUMENT && e.hint[0] == '\0')
                        error_hint(&e, "`carrel run --help` shows an example.");
                /* of the command, or of a line of the manifest */
                status = print_failure(e.line > 0 ? w.file_name : NULL, &e, o->is_json);
                status = record(&w, o, NULL, &e, status);
        } else {
                status = record(&w, o, &result, NULL, outcome_status(&result.outcome));
                if (o->is_json)
                        print_json(&w, &result);
                else
                        print_ending(&w, &result);
                if (result.out_error != 0 && print_unwritten(result.out_error) != 0 &&
                    (status == 0 || status == 128 + SIGPIPE))
                        /* the command succeeded, but part of its output could not be written */
                        status = 125;
                if (o->wants_terminal && !o->is_json)
                        print_back(NULL, result.outcome.word != OUTCOME_EXITED);
                run_result_fini(&result);
        }
        if (o->replay && (status != 0 || o->replay->count == 1))
                run_replay_say(o->replay);
        run_audit_end();
        validator_run_end();
        run_way_fini(&w);
        return status;
}

static int
cmd_run(int argc, char **argv)
{
        struct prepare_options o;
        struct error e;

        if (prepare_options_read(&command_run, argc, argv, &o, &e) < 0 || checked(&o, &e) < 0) {
                if (e.hint[0] == '\0')
                        error_hint(&e, "`carrel run --help` shows an example.");
                return print_failure(NULL, &e, o.is_json);
        }
        return run_command(&o, argc, argv);
}

static const struct option options[] = {
        FIND_OPTIONS,
        OPTION_FLAG(struct prepare_options, audits, "--audit",
                    "record start and end of the command in your audit log; without a record, "
                    "nothing is started"),
        OPTION_FLAG(struct prepare_options, keeps_output, "--keep-output",
                    "with --audit: also keep what the command reads from standard input, and its "
                    "output"),
        OPTION_LIST(struct prepare_options, env, VALUE_VARIABLE, "-e", "NAME=VALUE",
                    "set an environment variable"),
        OPTION_LIST(struct prepare_options, env, VALUE_VARIABLE, "--env", "NAME=VALUE", NULL),
        OPTION_FLAG(struct prepare_options, wants_terminal, "-t",
                    "run it in a terminal inside, connected to this one; no time limit by default"),
        OPTION_FLAG(struct prepare_options, wants_terminal, "--tty", NULL),
        OPTION_NUMBER(struct prepare_options, timeout_ms, VALUE_DURATION, "--timeout", "T",
                      "time limit: 1500ms, 30s, 5m, 2h (default: limits.timeout_ms of the "
                      "manifest, else 10m); at most limits.timeout_ms"),
        OVERRIDE_OPTIONS(struct prepare_options, overrides),
        OPTION_FLAG(struct prepare_options, is_json, "--json",
                    "one JSON object with output, outcome and warnings"),
        OPTION_FLAG(struct prepare_options, is_raw, "--raw", RAW_DOC),
        OPTION_END,
};

const struct command command_run = {
        .name = "run",
        .help = "Run one command in a new sandbox, as declared in the manifest.",
        .options = options,
        .rest = "[--] COMMAND [ARGUMENTS]",
        .example = "carrel run -w examples/data-report/workspace -- python3 agent.py",
        .run = cmd_run,
};
