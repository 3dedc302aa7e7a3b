/*
 * cli/completion.c - `carrel completion`: shell completion, from the tables of the commands.
 *
 * Room: cli (joining, program). Touches: fd (standard output), clock; the daemon by libcarrel.
 * Theory: a shell's script passes the words of a command line to `carrel completion --words -- ...`
 * and gets candidates for the last one, a line each: the word, a tab, what it is. A line that
 * begins with a colon names what the shell completes itself. Names are asked of a running daemon.
 * Without one there are none; errors are not printed, and after two seconds the call ends.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "carrel/carrel.h"
#include "cli/commands.h"
#include "cli/completion_scripts.h"
#include "cli/finding_print.h"
#include "cli/options.h"
#include "cli/volumes.h"
#include "spec/preset.h"

enum { TIME_MAX_S = 2, NUMBER_ROOM = 16 };

struct asked {
        bool gives_words;
};

struct completing {
        const char *word;  /* the word to complete */
        const char *typed; /* its part before `word`: "--state=" */
        int typed_len;
        const char *state; /* --state, or NULL */
        const char *first; /* the first word beside the options; "" if missing */
};

/* Prints a candidate if it continues the word. */
static void
offer(const struct completing *c, const char *word, const char *after, const char *doc)
{
        if (strncmp(word, c->word, strlen(c->word)) != 0)
                return;
        (void)printf("%.*s", c->typed_len, c->typed);
        print_escaped(stdout, word, false);
        (void)printf("%s\t", after);
        print_escaped(stdout, doc ? doc : "", false);
        (void)fputc('\n', stdout);
}

/* -- names of the daemon ----------------------------------------------------------------------- */

static void
offer_sandboxes(const struct completing *c, const char *after)
{
        struct carrel_sandboxes *all = NULL;
        struct carrel *daemon = NULL;
        struct carrel_error ignored;

        if (carrel_open(c->state, &daemon, &ignored) == 0 &&
            carrel_list(daemon, &all, &ignored) == 0)
                for (size_t i = 0; i < all->count; i++) {
                        const struct carrel_sandbox *s = &all->items[i];

                        offer(c, s->name ? s->name : s->id, after, s->status);
                }
        carrel_free(all);
        carrel_close(daemon);
}

static void
offer_execs(const struct completing *c)
{
        struct carrel_execs *all = NULL;
        struct carrel *daemon = NULL;
        struct carrel_error ignored;

        if (carrel_open(c->state, &daemon, &ignored) == 0 &&
            carrel_exec_list(daemon, c->first, &all, &ignored) == 0)
                for (size_t i = 0; i < all->count; i++) {
                        char number[NUMBER_ROOM];

                        (void)snprintf(number, sizeof number, "%u", (unsigned)all->items[i].exec);
                        offer(c, number, "", all->items[i].command);
                }
        carrel_free(all);
        carrel_close(daemon);
}

static void
offer_runtimes(const struct completing *c)
{
        struct carrel_info *info = NULL;
        struct carrel *daemon = NULL;
        struct carrel_error ignored;

        if (carrel_open(c->state, &daemon, &ignored) == 0 &&
            carrel_info(daemon, &info, &ignored) == 0)
                for (size_t i = 0; i < info->runtime_count; i++)
                        offer(c, info->runtimes[i], "", NULL);
        carrel_free(info);
        carrel_close(daemon);
}

struct volume_names {
        const struct completing *c;
        const char *after;
};

static int
offer_volume(void *ctx, const struct volume_info *info)
{
        const struct volume_names *names = ctx;

        offer(names->c, info->name, names->after, info->users > 0 ? "in use" : "volume");
        return 0;
}

static void
offer_volumes(const struct completing *c, const char *after)
{
        struct volume_names names = { c, after };
        struct volumes v;
        struct error ignored;

        if (volumes_open(&v, c->state, &ignored) == 0)
                (void)volume_list(v.place, 0, offer_volume, &names);
        volumes_close(&v);
}

/* -- values ------------------------------------------------------------------------------------ */

static void
offer_presets(const struct completing *c)
{
        const struct egress_preset *preset;

        for (size_t i = 0; (preset = egress_preset_at(i)) != NULL; i++)
                offer(c, preset->name, "", preset->help);
}

static void
offer_commands(const struct completing *c)
{
        const struct command *command;

        for (size_t i = 0; (command = command_at(i)) != NULL; i++)
                offer(c, command->name, "", command->help);
}

static void
offer_value(const struct completing *c, enum value_kind kind)
{
        const char *const *words = value_words(kind);

        switch (kind) {
        case VALUE_FILE:
                (void)puts(":file");
                return;
        case VALUE_DIRECTORY:
                (void)puts(":directory");
                return;
        case VALUE_PATHS:
                offer_sandboxes(c, ":");
                (void)puts(":file");
                return;
        case VALUE_MOUNT:
                offer_volumes(c, ":");
                (void)puts(":directory");
                return;
        case VALUE_SANDBOX:
                offer_sandboxes(c, "");
                return;
        case VALUE_EXEC:
                offer_execs(c);
                return;
        case VALUE_VOLUME:
                offer_volumes(c, "");
                return;
        case VALUE_RUNTIME:
                offer_runtimes(c);
                return;
        case VALUE_HOST:
                offer_presets(c);
                return;
        case VALUE_COMMAND:
                offer_commands(c);
                return;
        default:
                for (; *words; words++)
                        offer(c, *words, "", NULL);
        }
}

/* -- one command line -------------------------------------------------------------------------- */

static void
offer_options(const struct completing *c, const struct command *command)
{
        for (const struct option *row = command->options; row && row->name; row++)
                if (row->doc)
                        offer(c, row->name, "", row->doc);
        offer(c, "--help", "", "show the help of this command");
}

static void
offer_actions(const struct completing *c, const struct command *command)
{
        for (const struct operand *o = command->operands; o && o->name; o++) {
                char name[NUMBER_ROOM];

                (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(o->name, " "), o->name);
                if (o->is_action)
                        offer(c, name, "", o->doc);
        }
}

static void
offer_word(const struct completing *c, const struct command *command, size_t position)
{
        const struct operand *o = operand_at(command, c->first, position);

        if (position == 0)
                offer_actions(c, command);
        if (o)
                offer_value(c, o->kind);
        else if (command->rest && *command->rest != '\0')
                (void)puts(":command");
}

/* "--state=" and what follows: the value is completed, and its option is printed before it. */
static const struct option *
split_option(struct completing *c, const struct command *command)
{
        const char *value = NULL;
        const struct option *row = c->word[0] == '-' ? option_find(command, c->word, &value) : NULL;

        if (!row || !value)
                return NULL;
        c->typed = c->word;
        c->typed_len = (int)(value - c->word);
        c->word = value;
        return row;
}

/* What the words before the last one mean for it. */
struct place {
        const struct option *pending; /* the last one before it is an option that needs a value */
        bool is_ended;                /* "--" was there */
        bool is_rest;                 /* it belongs to the command that is run */
        size_t position;              /* among the words beside the options, or of that command */
};

static void
read_option(struct completing *c, const struct command *command, const char *word, struct place *p)
{
        const char *value = NULL;
        const struct option *row;

        if (strcmp(word, "--") == 0) {
                p->is_ended = true;
                p->is_rest = command->rest != NULL;
                p->position = p->is_rest ? 0 : p->position;
                return;
        }
        row = option_find(command, word, &value);
        if (row && value && strcmp(row->name, "--state") == 0)
                c->state = value;
        p->pending = row && row->store != OPTION_BOOL && !value ? row : NULL;
}

static void
read_word(struct completing *c, const struct command *command, const char *word, struct place *p)
{
        if (p->pending) {
                if (strcmp(p->pending->name, "--state") == 0)
                        c->state = word;
                p->pending = NULL;
        } else if (!p->is_ended && !p->is_rest && word[0] == '-' && word[1] != '\0') {
                read_option(c, command, word, p);
        } else {
                if (command->rest && !p->is_rest && !operand_at(command, c->first, p->position)) {
                        p->is_rest = true;
                        p->position = 0;
                }
                if (p->position == 0 && !p->is_rest)
                        c->first = word;
                p->position++;
        }
}

/* Completes the last of these words, which follow the command's name. */
static void
offer_next(struct completing *c, const struct command *command, char **words, size_t count)
{
        struct place p = { .position = 0 };

        for (size_t i = 0; i + 1 < count; i++)
                read_word(c, command, words[i], &p);
        if (!p.pending && !p.is_ended && !p.is_rest)
                p.pending = split_option(c, command);
        if (p.is_rest)
                (void)puts(p.position == 0 ? ":command" : ":file");
        else if (p.pending)
                offer_value(c, p.pending->kind);
        else if (c->word[0] == '-' && !p.is_ended)
                offer_options(c, command);
        else
                offer_word(c, command, p.position);
}

/* A daemon that does not answer must not stop the shell: what was not printed is dropped. */
static void
end_quietly(int number)
{
        (void)number;
        _exit(0);
}

static int
print_words(char **words, size_t count)
{
        struct completing c = { .word = "", .typed = "", .first = "" };
        const struct command *command;

        (void)signal(SIGALRM, end_quietly); /* taste: one handler that only ends the process */
        (void)alarm(TIME_MAX_S);
        if (count > 0)
                c.word = words[count - 1];
        if (count < 2) {
                offer_commands(&c);
                return 0;
        }
        command = command_find(words[0]);
        if (command)
                offer_next(&c, command, words + 1, count - 1);
        return 0;
}

/* -- the command ------------------------------------------------------------------------------- */

static int
wrong(const char *shell, const char *extra)
{
        struct error e;

        if (extra) {
                (void)fail(&e, ERROR_INVALID_ARGUMENT, "completion: unexpected argument \"%.100s\"",
                           extra);
                error_hint(&e, "`carrel completion --help` shows how it is used.");
        } else if (shell) {
                (void)value_word_check(VALUE_SHELL, (struct value_place){ "completion", NULL },
                                       shell, &e);
        } else {
                (void)fail(&e, ERROR_INVALID_ARGUMENT,
                           "completion needs the name of a shell: bash, zsh or fish");
                error_hint(&e, "For example: source <(carrel completion bash)");
        }
        return print_failure(NULL, &e, false);
}

static int
cmd_completion(int argc, char **argv)
{
        struct asked a = { .gives_words = false };
        const char *script;
        struct words words;
        struct error e;

        if (options_read(&command_completion, argc, argv, &a, &words, &e) < 0)
                return print_failure(NULL, &e, false);
        if (a.gives_words)
                return print_words(words.rest, words.rest_count);
        if (words.count == 0 || words.rest_count > 0)
                return wrong(NULL, words.rest_count > 0 ? words.rest[0] : NULL);
        script = completion_script(words.items[0]);
        return script ? fputs(script, stdout) < 0 : wrong(words.items[0], NULL);
}

static const struct option options[] = {
        OPTION_FLAG(struct asked, gives_words, "--words", NULL),
        OPTION_END,
};

static const struct operand operands[] = {
        { "bash", VALUE_TEXT, "source <(carrel completion bash), in ~/.bashrc", true },
        { "zsh", VALUE_TEXT, "source <(carrel completion zsh), in ~/.zshrc after compinit", true },
        { "fish", VALUE_TEXT, "carrel completion fish | source, in ~/.config/fish/config.fish",
          true },
        { NULL },
};

const struct command command_completion = {
        .name = "completion",
        .help = "Print a script for a shell, which completes commands, options and names of "
                "sandboxes.",
        .options = options,
        .operands = operands,
        .words_max = 1,
        .rest = "",
        .example = "carrel completion bash",
        .run = cmd_completion,
};
