/*
 * cli/provider.c - `carrel provider test`: runs the bridge protocol against a provider's program,
 * and prints TAP.
 *
 * Room: cli (joining, program). Touches: fd, processes.
 * Theory: one step a line of the specification (docs/BRIDGE.md). A program that breaks the protocol
 * is not asked further: what it says is not believed any more.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/finding_print.h"
#include "cli/options.h"
#include "cli/provider_trial.h"

enum { CONFIG_ARENA_MAX = 1 << 20, MUCH = 4 * BRIDGE_CREDIT };

struct step {
        const char *name;
        bool (*run)(struct trial *t);
        int needs; /* enum bridge_ability, or -1 */
};

/* -- what a step waits for --------------------------------------------------------------------- */

static bool
has_greeted(const struct trial *t)
{
        return t->provider.session.has_greeted;
}

static bool
first_ended(const struct trial *t)
{
        return t->asked[0].has_ended;
}

static bool
both_ended(const struct trial *t)
{
        return t->asked[0].has_ended && t->asked[1].has_ended;
}

static bool
first_started(const struct trial *t)
{
        return t->asked[0].is_started || t->asked[0].has_ended;
}

static bool
first_used_credit(const struct trial *t)
{
        return t->asked[0].out[0].len >= BRIDGE_CREDIT / 2 || t->asked[0].has_ended;
}

static bool
replied(struct trial *t)
{
        return trial_wait(t, first_ended) && t->asked[0].end == BRIDGE_REPLY;
}

static bool
exited(struct trial *t, int64_t status)
{
        return trial_wait(t, first_ended) && t->asked[0].end == BRIDGE_EXITED &&
               t->asked[0].status == status;
}

static void
ask_about_sandbox(struct trial *t, const char *kind)
{
        struct json_writer w;

        trial_begin(t, 0, &w, kind);
        json_member_text(&w, "sandbox", t->sandbox);
        trial_send(t, &w);
}

/* -- the steps --------------------------------------------------------------------------------- */

static bool
step_greeting(struct trial *t)
{
        return trial_wait(t, has_greeted);
}

static bool
step_create(struct trial *t)
{
        struct json_writer w;

        trial_begin(t, 0, &w, "create");
        json_key(&w, "config");
        json_node(&w, t->config);
        json_key(&w, "limits");
        json_open_map(&w);
        json_member_int(&w, "timeout_ms", TRIAL_STEP_MS);
        json_close_map(&w);
        json_key(&w, "egress");
        json_open_list(&w);
        json_close_list(&w);
        trial_send(t, &w);
        if (!replied(t) || t->asked[0].text[0] == '\0' ||
            strlen(t->asked[0].text) > BRIDGE_NAME_MAX)
                return false;
        (void)snprintf(t->sandbox, sizeof t->sandbox, "%.*s", BRIDGE_NAME_MAX, t->asked[0].text);
        return true;
}

static bool
step_alive(struct trial *t)
{
        ask_about_sandbox(t, "isAlive");
        return replied(t) && t->asked[0].alive == 1;
}

static bool
step_connect(struct trial *t)
{
        ask_about_sandbox(t, "connect");
        return replied(t) && strcmp(t->asked[0].text, t->sandbox) == 0;
}

static bool
step_output(struct trial *t)
{
        trial_command(t, 0, "echo out; echo err >&2; exit 3");
        return exited(t, 3) && trial_printed(t, 0, 0, "out\n") && trial_printed(t, 0, 1, "err\n");
}

static bool
step_words(struct trial *t)
{
        trial_command(t, 0, "printf '%s|%s' \"$1\" \"$CARREL_TRIAL\"");
        return exited(t, 0) &&
               trial_printed(t, 0, 0, "two  words; $HOME 'quoted' \"twice\" \\|a b $c 'd'");
}

static bool
step_not_found(struct trial *t)
{
        struct json_writer w;

        trial_begin(t, 0, &w, "runCommand");
        json_key(&w, "argv");
        json_open_list(&w);
        json_text(&w, "/nonexistent/carrel-trial");
        json_close_list(&w);
        json_key(&w, "env");
        json_open_map(&w);
        json_close_map(&w);
        json_member_bool(&w, "stdin", false);
        trial_send(t, &w);
        if (!trial_wait(t, first_ended))
                return false;
        return t->asked[0].end == BRIDGE_ERROR ? t->asked[0].code == BRIDGE_CODE_NOT_FOUND
                                               : t->asked[0].status == 127;
}

/* The first one waits for the second. */
static bool
step_two_at_once(struct trial *t)
{
        trial_command(t, 0,
                      "until [ -e carrel-trial-two ]; do sleep 0.1; done; rm carrel-trial-two; "
                      "echo slow");
        trial_command(t, 1, ": > carrel-trial-two; echo quick");
        return trial_wait(t, both_ended) && trial_printed(t, 0, 0, "slow\n") &&
               trial_printed(t, 1, 0, "quick\n");
}

static bool
second_started(const struct trial *t)
{
        return t->asked[1].is_started || t->asked[1].has_ended;
}

static bool
second_ended(const struct trial *t)
{
        return t->asked[1].has_ended;
}

/* While another command runs for a second, nothing more may come than the credit. */
static bool
step_credit(struct trial *t)
{
        trial_command(t, 0, "head -c 1048576 /dev/zero");
        t->asked[0].is_withheld = true;
        if (!trial_wait(t, first_used_credit) || t->asked[0].has_ended)
                return false;
        trial_command(t, 1, "sleep 1");
        if (!trial_wait(t, second_ended))
                return false;
        t->asked[0].is_withheld = false;
        bridge_session_find(&t->provider.session, t->asked[0].id)->credit += BRIDGE_CREDIT;
        trial_about(t, 0, "credit", "bytes", BRIDGE_CREDIT);
        return exited(t, 0) && t->asked[0].out[0].len == MUCH;
}

static bool
step_cancel(struct trial *t)
{
        trial_command(t, 0, "sleep 1000");
        if (!trial_wait(t, first_started))
                return false;
        trial_about(t, 0, "cancel", NULL, 0);
        if (!trial_wait(t, first_ended))
                return false;
        return t->asked[0].end == BRIDGE_ERROR ? t->asked[0].code == BRIDGE_CODE_CANCELLED
                                               : t->asked[0].signal == SIGKILL;
}

static bool
step_input(struct trial *t)
{
        static char part[BRIDGE_DATA_MAX];
        struct json_writer w;

        trial_command(t, 0, "wc -c");
        memset(part, 'i', sizeof part);
        for (int i = 0; i < BRIDGE_CREDIT / BRIDGE_DATA_MAX; i++) {
                json_init(&w, false);
                bridge_begin(&w, "stdin", t->asked[0].id);
                bridge_member_data(&w, "data", part, sizeof part);
                trial_send(t, &w);
        }
        trial_about(t, 0, "stdinEnd", NULL, 0);
        if (!exited(t, 0) || t->asked[0].out[0].len == 0)
                return false;
        if (bytes_put(&t->asked[0].out[0], "", 1) < 0)
                return false;
        return strtol(t->asked[0].out[0].at + t->asked[0].out[0].first, NULL, 10) ==
                       BRIDGE_CREDIT &&
               t->asked[0].given == BRIDGE_CREDIT;
}

static bool
step_signal(struct trial *t)
{
        trial_command(t, 0, "sleep 1000");
        if (!trial_wait(t, first_started))
                return false;
        trial_about(t, 0, "signal", "signal", SIGTERM);
        return trial_wait(t, first_ended) && t->asked[0].end == BRIDGE_EXITED &&
               t->asked[0].signal == SIGTERM;
}

static bool
shows_first_size(const struct trial *t)
{
        return trial_shows(t, 0, "33 77") || t->asked[0].has_ended;
}

static bool
shows_second_size(const struct trial *t)
{
        return trial_shows(t, 0, "44 88") || t->asked[0].has_ended;
}

/* The size is polled, so that the order of a signal and of input does not count. */
static bool
step_terminal(struct trial *t)
{
        trial_terminal(t, 0,
                       "[ -t 0 ] && [ -t 1 ] && [ -t 2 ] || exit 4; stty size; "
                       "while [ \"$(stty size)\" = '33 77' ]; do sleep 0.1; done; stty size; "
                       "read word; echo \"got-$word\"; exit 5",
                       33, 77);
        if (!trial_wait(t, shows_first_size) || t->asked[0].has_ended)
                return false;
        trial_resize(t, 0, 44, 88);
        if (!trial_wait(t, shows_second_size) || t->asked[0].has_ended)
                return false;
        trial_input(t, 0, "word\n");
        return exited(t, 5) && trial_shows(t, 0, "got-word") && t->asked[0].out[1].len == 0;
}

static bool
has_echoed(const struct trial *t)
{
        return t->asked[1].out[0].len > 0 || t->asked[1].has_ended;
}

/* Request 1 runs across requests of index 0, whose answers are its own. */
static bool
ask_beside(struct trial *t, const char *kind)
{
        struct json_writer w;

        t->asked[0] = (struct asked){ .size = -1, .alive = -1 };
        t->asked[0].id = bridge_session_open(&t->provider.session, 0);
        json_init(&w, false);
        bridge_begin(&w, kind, t->asked[0].id);
        json_member_text(&w, "sandbox", t->sandbox);
        trial_send(t, &w);
        return replied(t);
}

/* Of a program that is paused, nothing comes for a tenth of the longest wait for an answer. Without
 * input, only the answers count. */
static bool
step_pause(struct trial *t)
{
        bool has_input = (t->provider.session.abilities & 1u << BRIDGE_CAN_STDIN) != 0, is_quiet;
        uint64_t step_ms = t->step_ms;

        trial_forget(t);
        trial_command(t, 1, "cat");
        if (!trial_wait(t, second_started) || t->asked[1].has_ended || !ask_beside(t, "pause"))
                return false;
        if (!has_input)
                return ask_beside(t, "resume") && trial_wait(t, second_ended);
        trial_input(t, 1, "word\n");
        t->step_ms = step_ms / 10;
        is_quiet = !trial_wait(t, has_echoed);
        t->step_ms = step_ms;
        if (!is_quiet || t->is_broken || !ask_beside(t, "resume") || !trial_wait(t, has_echoed) ||
            !trial_printed(t, 1, 0, "word\n"))
                return false;
        trial_about(t, 1, "stdinEnd", NULL, 0);
        return trial_wait(t, second_ended) && t->asked[1].status == 0;
}

static bool
write_part(struct trial *t, const char *text, bool is_more)
{
        struct json_writer w;

        trial_begin(t, 0, &w, "writeFile");
        json_member_text(&w, "path", "carrel-trial.txt");
        bridge_member_data(&w, "data", text, strlen(text));
        json_member_bool(&w, "append", is_more);
        trial_send(t, &w);
        return replied(t);
}

static void
ask_file(struct trial *t, const char *path, int64_t offset, int64_t length)
{
        struct json_writer w;

        trial_begin(t, 0, &w, "readFile");
        json_member_text(&w, "path", path);
        json_member_int(&w, "offset", offset);
        json_member_int(&w, "length", length);
        trial_send(t, &w);
}

static bool
step_files(struct trial *t)
{
        if (!write_part(t, "earlier, and longer", false) || !write_part(t, "first ", false) ||
            !write_part(t, "second", true))
                return false;
        ask_file(t, "carrel-trial.txt", 2, 6);
        return replied(t) && trial_printed(t, 0, 0, "rst se") && t->asked[0].size == 12;
}

static bool
step_no_file(struct trial *t)
{
        ask_file(t, "carrel-nonexistent.txt", 0, 1);
        return trial_wait(t, first_ended) && t->asked[0].end == BRIDGE_ERROR &&
               t->asked[0].code == BRIDGE_CODE_NOT_FOUND;
}

static const char trial_directory[] = "carrel-trial.d";

static bool
ask_directory(struct trial *t, const char *kind, const char *path, const char *member,
              const char *text, int flag)
{
        struct json_writer w;

        trial_begin(t, 0, &w, kind);
        json_member_text(&w, "path", path);
        if (text)
                json_member_text(&w, member, text);
        else if (member)
                json_member_bool(&w, member, flag != 0);
        if (strcmp(kind, "makeDirectory") == 0)
                json_member_int(&w, "mode", 0755);
        trial_send(t, &w);
        return trial_wait(t, first_ended);
}

static bool
was_refused(const struct trial *t, enum bridge_code code)
{
        return t->asked[0].end == BRIDGE_ERROR && t->asked[0].code == code;
}

static bool
was_done(const struct trial *t)
{
        return t->asked[0].end == BRIDGE_REPLY;
}

/* What is made is there, under its new name, and gone when it is removed. */
static bool
step_directories(struct trial *t)
{
        return ask_directory(t, "makeDirectory", trial_directory, "parents", NULL, 0) &&
               was_done(t) &&
               ask_directory(t, "makeDirectory", trial_directory, "parents", NULL, 0) &&
               was_refused(t, BRIDGE_CODE_EXISTS) &&
               ask_directory(t, "makeDirectory", "carrel-trial.d/a", "parents", NULL, 0) &&
               was_done(t) &&
               ask_directory(t, "rename", "carrel-trial.d/a", "target", "carrel-trial.d/b", 0) &&
               was_done(t) && ask_directory(t, "list", trial_directory, "after", "", 0) &&
               was_done(t) && strcmp(t->asked[0].text, "b") == 0 && t->asked[0].size == 1 &&
               ask_directory(t, "list", trial_directory, "after", "b", 0) && was_done(t) &&
               t->asked[0].size == 0 && ask_directory(t, "stat", trial_directory, NULL, NULL, 0) &&
               was_done(t) && strcmp(t->asked[0].text, "directory") == 0 &&
               ask_directory(t, "remove", trial_directory, "recursive", NULL, 0) &&
               was_refused(t, BRIDGE_CODE_EXISTS) &&
               ask_directory(t, "remove", trial_directory, "recursive", NULL, 1) && was_done(t) &&
               ask_directory(t, "stat", trial_directory, NULL, NULL, 0) &&
               was_refused(t, BRIDGE_CODE_NOT_FOUND);
}

static bool
step_url(struct trial *t)
{
        struct json_writer w;

        trial_begin(t, 0, &w, "getUrl");
        json_member_int(&w, "port", 8080);
        trial_send(t, &w);
        return replied(t) && (strncmp(t->asked[0].text, "https://", 8) == 0 ||
                              strncmp(t->asked[0].text, "http://", 7) == 0);
}

static bool
step_unknown(struct trial *t)
{
        struct json_writer w;

        trial_begin(t, 0, &w, "levitate");
        trial_send(t, &w);
        return trial_wait(t, first_ended) && t->asked[0].end == BRIDGE_ERROR &&
               t->asked[0].code == BRIDGE_CODE_UNSUPPORTED;
}

static bool
step_kill(struct trial *t)
{
        ask_about_sandbox(t, "kill");
        if (!replied(t))
                return false;
        ask_about_sandbox(t, "isAlive");
        return trial_wait(t, first_ended) &&
               (t->asked[0].end == BRIDGE_ERROR ? t->asked[0].code == BRIDGE_CODE_NOT_FOUND
                                                : t->asked[0].alive == 0);
}

static bool
has_closed(const struct trial *t)
{
        return t->is_broken;
}

/* Its output ends, and nothing else comes. */
static bool
step_hang_up(struct trial *t)
{
        provider_hang_up(&t->provider);
        (void)trial_wait(t, has_closed);
        return t->is_broken && strcmp(t->why.reason, "ended") == 0;
}

static const struct step steps[] = {
        { "it greets, in version 1", step_greeting, -1 },
        { "create makes a sandbox", step_create, -1 },
        { "isAlive says that it is there", step_alive, -1 },
        { "connect finds it", step_connect, BRIDGE_CAN_CONNECT },
        { "a command has two outputs and an exit status", step_output, -1 },
        { "words and variables arrive as they were sent", step_words, -1 },
        { "a program that does not exist is reported", step_not_found, -1 },
        { "two commands run at once", step_two_at_once, -1 },
        { "output beyond the credit waits", step_credit, -1 },
        { "cancel ends a command with SIGKILL or cancelled", step_cancel, -1 },
        { "standard input arrives, is credited, and ends", step_input, BRIDGE_CAN_STDIN },
        { "a signal ends a command", step_signal, BRIDGE_CAN_SIGNALS },
        { "a command has a terminal, which changes its size", step_terminal, BRIDGE_CAN_TERMINAL },
        { "pause stops commands, and resume continues them", step_pause, BRIDGE_CAN_PAUSE },
        { "files are written, continued and read", step_files, BRIDGE_CAN_FILES },
        { "a file that does not exist is reported", step_no_file, BRIDGE_CAN_FILES },
        { "directories are made, renamed, listed and removed", step_directories,
          BRIDGE_CAN_DIRECTORIES },
        { "getUrl gives an address", step_url, BRIDGE_CAN_URL },
        { "an unknown request is unsupported", step_unknown, -1 },
        { "kill ends the sandbox", step_kill, -1 },
        { "it ends when its input does", step_hang_up, -1 },
};

enum { STEP_COUNT = sizeof steps / sizeof steps[0] };

/* -- the run ----------------------------------------------------------------------------------- */

static void
say_why(const struct trial *t)
{
        if (t->is_broken)
                (void)printf("# %s\n", t->why.message);
        else if (t->is_late)
                (void)printf("# hang: no answer in time\n");
        else if (t->asked[0].has_ended && t->asked[0].end == BRIDGE_ERROR)
                (void)printf("# it answered %s: %s\n", bridge_code_word(t->asked[0].code),
                             t->asked[0].text);
        else
                (void)printf("# it answered something else\n");
}

static int
run_steps(struct trial *t)
{
        size_t failed = 0;

        (void)printf("TAP version 13\n1..%d\n", STEP_COUNT);
        for (size_t i = 0; i < STEP_COUNT; i++) {
                const struct step *s = &steps[i];
                bool is_last = i + 1 == STEP_COUNT;
                bool is_skipped =
                        s->needs >= 0 && (t->provider.session.abilities & 1u << s->needs) == 0;
                bool is_good = is_skipped || s->run(t);

                (void)printf("%s %zu - %s%s%s\n", is_good ? "ok" : "not ok", i + 1, s->name,
                             is_skipped ? " # SKIP its greeting does not have the ability " : "",
                             is_skipped ? bridge_ability_word((enum bridge_ability)s->needs) : "");
                failed += !is_good;
                if (!is_good)
                        say_why(t);
                (void)fflush(stdout);
                if (!is_last && (t->is_broken || (!is_good && i < 2))) {
                        (void)printf("Bail out! %s\n",
                                     t->is_broken ? t->why.reason : "without a sandbox");
                        return 1;
                }
        }
        return failed > 0 ? 1 : 0;
}

struct asking {
        const char *config;
        uint64_t step_ms;
};

static int
read_config(struct arena *arena, const char *text, const struct node **ret, struct error *e)
{
        if (json_read(arena, text, strlen(text), &text_limits_manifest, ret, e) < 0)
                return error_wrap(e, "--config");
        if ((*ret)->kind != NODE_MAP)
                return fail_at(e, ERROR_INVALID_ARGUMENT, "--config", NULL,
                               "--config must be a JSON object, as {\"template\": \"base\"}");
        return 0;
}

static int
test_program(struct arena *arena, const struct asking *a, char **argv, int *ret_status,
             struct error *e)
{
        struct sigaction ignored = { .sa_handler = SIG_IGN };
        static struct trial t;

        t = (struct trial){ .clock = { .due_ms = LOOP_NEVER }, .step_ms = a->step_ms };
        if (read_config(arena, a->config, &t.config, e) < 0)
                return -1;
        if (loop_new(&t.loop) < 0)
                return fail(e, ERROR_NO_MEMORY, "no memory to wait for a program");
        (void)sigaction(SIGPIPE, &ignored, NULL);
        if (provider_start(&t.provider, t.loop, &trial_news, argv, environ, e) < 0) {
                loop_free(t.loop);
                return -1;
        }
        *ret_status = run_steps(&t);
        trial_forget(&t);
        provider_stop(&t.provider);
        loop_free(t.loop);
        return 0;
}

static int
cmd_provider(int argc, char **argv)
{
        struct asking a = { .config = "{}", .step_ms = TRIAL_STEP_MS };
        struct words words;
        struct arena arena;
        struct error e;
        int status = 0, result;

        if (options_read(&command_provider, argc, argv, &a, &words, &e) < 0)
                return print_failure(NULL, &e, false);
        if (words.count < 1 || strcmp(words.items[0], "test") != 0 || words.rest_count == 0 ||
            !strchr(words.rest[0], '/')) {
                (void)fail(&e, ERROR_INVALID_ARGUMENT,
                           "the path of a program to test is missing: carrel provider test -- "
                           "./PROGRAM");
                return print_failure(NULL, &e, false);
        }
        arena_init(&arena, CONFIG_ARENA_MAX);
        result = test_program(&arena, &a, words.rest, &status, &e);
        arena_fini(&arena);
        return result < 0 ? print_failure(NULL, &e, false) : status;
}

static const struct option options[] = {
        OPTION_TEXT(struct asking, config, VALUE_TEXT, "--config", "JSON",
                    "config of the sandbox that it is asked for (default: {})"),
        OPTION_NUMBER(struct asking, step_ms, VALUE_DURATION, "--timeout", "T",
                      "longest wait for an answer (default: 30s)"),
        OPTION_END,
};

static const struct operand operands[] = {
        { "test [--] PROGRAM", VALUE_TEXT,
          "run the bridge protocol against it, and print TAP; exit with 0 if every step passed",
          true },
        { NULL },
};

const struct command command_provider = {
        .name = "provider",
        .help = "Test a provider's program against the bridge protocol.",
        .options = options,
        .operands = operands,
        .words_max = 1,
        .rest = "",
        .notes = "PROGRAM runs here, with your rights and your environment, in no sandbox. "
                 "docs/BRIDGE.md\nis the specification.\n",
        .example = "carrel provider test -- examples/provider-ssh/provider.py --ssh "
                   "test/rig/bridge_ssh here",
        .run = cmd_provider,
};
