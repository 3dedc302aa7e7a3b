/*
 * cli/key.c - `carrel key new|ls|rm`: tokens for clients that connect over TCP.
 *
 * Room: cli (joining, program). Touches: fd (standard streams); libcarrel does the rest.
 */
#include <string.h>

#include "cli/ask.h"
#include "cli/commands.h"
#include "cli/finding_print.h"
#include "cli/value.h"

static int
key_new(const struct ask *a, const char *owner, const char *scope)
{
        struct carrel_error e;
        struct carrel_token *t;
        int status = 0;

        if (carrel_token_create(a->c, owner, scope, &t, &e) < 0)
                return ask_failed(a, NULL, &e);
        if (a->is_json) {
                status = ask_json(OP_TOKEN_CREATE, t);
        } else {
                print_escaped(stdout, t->token ? t->token : "", false);
                (void)fputc('\n', stdout);
                (void)fprintf(stderr, "carrel: this is token ");
                print_escaped(stderr, t->id, false);
                (void)fprintf(stderr, "; it is not shown again\n");
        }
        carrel_free(t);
        return status;
}

static const char *const heads[] = { "ID", "OWNER", "SCOPE", "AGE" };

static void
print_row(struct table *t, FILE *out, const void *item)
{
        const struct carrel_token *token = item;
        char age[SPAN_TEXT];
        const char *cells[] = { token->id, token->owner ? token->owner : "-",
                                token->scope ? token->scope : "-",
                                span_text(span_since(token->created_at_ms), age) };

        table_row(t, out, cells, 4);
}

static int
key_ls(const struct ask *a)
{
        struct carrel_tokens *all;
        struct carrel_error e;
        int status = 0;

        if (carrel_token_list(a->c, &all, &e) < 0)
                return ask_failed(a, NULL, &e);
        if (a->is_json)
                status = ask_json(OP_TOKEN_LIST, all);
        else
                list_print(&(struct list){ all->items, all->count, sizeof *all->items,
                                           "There is no token. `carrel key new` makes one.", heads,
                                           4, print_row });
        carrel_free(all);
        return status;
}

static int
key_rm(const struct ask *a, const char *id)
{
        struct carrel_error e;
        int existed;

        if (carrel_token_revoke(a->c, id, &existed, &e) < 0)
                return ask_failed(a, NULL, &e);
        if (a->is_json)
                return ask_json_existed(existed);
        (void)puts(existed ? "token revoked" : "there was no such token");
        return 0;
}

static int
check_words(const struct ask *a, struct error *e)
{
        if (a->word_count == 0) {
                (void)fail(e, ERROR_INVALID_ARGUMENT,
                           "key needs to know what to do: new, ls or rm");
                error_hint(e, "For example: carrel key ls. `carrel key --help` shows the rest.");
                return -1;
        }
        if (strcmp(a->words[0], "rm") == 0
                    ? a->word_count == 2
                    : a->word_count == 1 &&
                              (strcmp(a->words[0], "new") == 0 || strcmp(a->words[0], "ls") == 0))
                return 0;
        if (value_word_check(VALUE_KEY_ACTION, (struct value_place){ "key", NULL }, a->words[0],
                             e) < 0)
                return -1;
        (void)fail(e, ERROR_INVALID_ARGUMENT,
                   a->word_count == 1 ? "key rm needs the id of a token"
                                      : "key %s takes nothing more",
                   a->words[0]);
        error_hint(e, "For example: carrel key rm TOKEN-ID. `carrel key ls` shows the ids.");
        return -1;
}

struct keying {
        struct ask ask;
        const char *owner, *scope;
};

static int
cmd_key(int argc, char **argv)
{
        struct keying k = { .owner = NULL };
        struct ask *a = &k.ask;
        struct error e;
        int status;

        if (ask_parse(a, &command_key, argc, argv, &k, &e) < 0 || check_words(a, &e) < 0)
                return ask_wrong(a, &e);
        status = ask_open(a);
        if (status != 0)
                return status;
        status = strcmp(a->words[0], "new") == 0  ? key_new(a, k.owner, k.scope)
                 : strcmp(a->words[0], "ls") == 0 ? key_ls(a)
                                                  : key_rm(a, a->words[1]);
        return ask_close(a, status);
}

static const struct option options[] = {
        OPTION_TEXT(struct keying, owner, VALUE_TEXT, "--owner", "NAME",
                    "owner of the sandboxes that it can use (default: you)"),
        OPTION_TEXT(struct keying, scope, VALUE_SCOPE, "--scope", "all|read|approve",
                    "all; read: get and list only; approve: get, list, and answers to requests for "
                    "approval"),
        ASK_OPTIONS(struct keying, ask),
        OPTION_END,
};

static const struct operand operands[] = {
        { "new", VALUE_TEXT, "create a token and print it", true },
        { "ls", VALUE_TEXT, "list tokens: id, owner, scope, age", true },
        { "rm TOKEN-ID", VALUE_TEXT, "revoke a token", true },
        { NULL },
};

const struct command command_key = {
        .name = "key",
        .help = "Create, list and revoke tokens for clients over TCP.",
        .options = options,
        .operands = operands,
        .words_max = 2,
        .example = "carrel key ls",
        .run = cmd_key,
};
