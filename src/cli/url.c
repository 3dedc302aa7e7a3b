/*
 * cli/url.c - `carrel url`: prints where a port of a sandbox can be reached.
 *
 * Room: cli (joining, program). Touches: fd (standard streams); libcarrel does the rest.
 */
#include "cli/ask.h"
#include "cli/commands.h"
#include "cli/finding_print.h"
#include "cli/value.h"

static int
print_url(const struct ask *a, const char *url)
{
        struct json_writer w;

        if (!a->is_json) {
                print_escaped(stdout, url, false);
                (void)fputc('\n', stdout);
                return 0;
        }
        json_init(&w, true);
        json_open_map(&w);
        json_member_text(&w, "url", url);
        json_close_map(&w);
        return json_print(&w, stdout);
}

static int
no_port(const struct ask *a)
{
        struct error e;

        (void)fail_at(&e, ERROR_NOT_FOUND, "port", NULL,
                      "there is no sandbox %.64s with a port %.16s", a->words[0], a->words[1]);
        error_hint(
                &e,
                "Ports are declared with `carrel create -p PORT`; `carrel info %.64s` shows them.",
                a->words[0]);
        return ask_wrong(a, &e);
}

struct asked {
        struct ask ask;
        bool is_for_browser;
};

static int
cmd_url(int argc, char **argv)
{
        struct asked asked = { .is_for_browser = false };
        struct ask *a = &asked.ask;
        struct carrel_error failed;
        struct error e;
        int (*get)(struct carrel * c, const char *id, unsigned port, char **ret,
                   struct carrel_error *e);
        uint64_t port;
        char *url;
        int status;

        if (ask_parse(a, &command_url, argc, argv, &asked, &e) < 0 ||
            value_number_read(VALUE_PORT, (struct value_place){ "url", NULL }, a->words[1], &port,
                              &e) < 0)
                return ask_wrong(a, &e);
        status = ask_open(a);
        if (status != 0)
                return status;
        get = asked.is_for_browser ? carrel_get_browser_url : carrel_get_url;
        if (get(a->c, a->words[0], (unsigned)port, &url, &failed) < 0)
                return ask_close(a, ask_failed(a, NULL, &failed));
        status = url ? print_url(a, url) : no_port(a);
        carrel_free(url);
        return ask_close(a, status);
}

static const struct option options[] = {
        OPTION_FLAG(struct asked, is_for_browser, "--browser",
                    "a URL with its own origin, for browsers: pages share no cookies and storage "
                    "with other ports"),
        ASK_OPTIONS(struct asked, ask),
        OPTION_END,
};

static const struct operand operands[] = {
        { "ID", VALUE_SANDBOX },
        { "PORT", VALUE_PORT },
        { NULL },
};

const struct command command_url = {
        .name = "url",
        .help = "Print the URL of a port of a sandbox.",
        .options = options,
        .operands = operands,
        .needs = "the id of a sandbox and a port",
        .example = "carrel url demo 3000",
        .run = cmd_url,
};
