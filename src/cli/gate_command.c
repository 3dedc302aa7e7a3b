/*
 * cli/gate_command.c - `carrel gate`: the wall alone, around any program; and `carrel gate
 * explain`.
 *
 * Room: cli (joining, program). Touches: fd (standard streams).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "boxstate/wall_state.h"
#include "cli/commands.h"
#include "cli/finding_print.h"
#include "cli/gate.h"
#include "cli/ladder.h"
#include "cli/maker.h"
#include "cli/options.h"
#include "egress/address.h"
#include "egress/admit.h"
#include "policy/host_rules.h"
#include "text/json.h"

enum { GATE_ARENA_MAX = 64 << 20, RULES_MAX = 8 << 20, TEXT_MAX = 900 };

struct asked {
        const char *policy, *host_file;
        uint64_t connections, bytes_out, bytes_in, bandwidth; /* 0: no bound of its own */
        struct option_list resolvers, networks;
        bool is_json, is_routed, is_plan;
        const char *read; /* the file that is being read, for errors */
        struct arena *arena;
};

static int
wrong_option(struct error *e, const char *option, const char *text, const char *what)
{
        (void)fail_at(e, ERROR_INVALID_ARGUMENT, option, NULL, "%s: \"%.100s\" %s", option, text,
                      what);
        error_hint(e, "`carrel gate --help` shows every option.");
        return -1;
}

static int
check_networks(const struct asked *a, struct error *e)
{
        for (size_t i = 0; i < a->networks.count; i++) {
                struct egress_network network;

                if (!egress_network_read(a->networks.items[i], &network))
                        return wrong_option(e, "--private-network", a->networks.items[i],
                                            "is no network: for example 10.0.0.0/8 or fd00::/8");
        }
        return 0;
}

static int
check_resolvers(const struct asked *a, struct error *e)
{
        for (size_t i = 0; i < a->resolvers.count; i++)
                if (!host_resolver_check(a->resolvers.items[i]))
                        return wrong_option(e, "--resolver", a->resolvers.items[i],
                                            "is no address and port: for example 192.0.2.1:53 or "
                                            "[2001:db8::1]:53");
        return 0;
}

/* The destinations of the command line, beside the host's. */
static int
add_networks(struct arena *arena, const struct asked *a, struct spec_names *networks,
             struct error *e)
{
        const char **items =
                arena_array(arena, const char *, networks->count + a->networks.count + 1);
        size_t count = 0;

        if (!items)
                return fail(e, ERROR_NO_MEMORY, "no memory for the networks");
        for (size_t i = 0; i < networks->count; i++)
                items[count++] = networks->items[i];
        for (size_t i = 0; i < a->networks.count; i++)
                items[count++] = a->networks.items[i];
        *networks = (struct spec_names){ items, count };
        return 0;
}

static uint64_t
or_unset(uint64_t value)
{
        return value == 0 ? SPEC_UNSET : value;
}

static int
get_list(struct arena *arena, struct asked *a, struct gate_list *ret, struct error *e)
{
        if (!a->policy) {
                (void)fail(e, ERROR_INVALID_ARGUMENT,
                           "which destinations may be reached is missing: --policy FILE");
                error_hint(e, "For example: carrel gate --policy SANDBOX.md -- curl "
                              "https://api.example.com");
                return -1;
        }
        if (check_networks(a, e) < 0 || check_resolvers(a, e) < 0)
                return -1;
        a->read = a->policy;
        if (gate_list_read(arena, a->policy, a->host_file, ret, &a->read, e) < 0)
                return -1;
        a->read = NULL;
        if (a->resolvers.count > 0)
                ret->rules.resolvers =
                        (struct spec_names){ a->resolvers.items, a->resolvers.count };
        if (add_networks(arena, a, &ret->rules.networks, e) < 0)
                return -1;
        ret->spec.egress_caps =
                (struct spec_egress_caps){ .connections = or_unset(a->connections),
                                           .names = SPEC_UNSET,
                                           .bytes_out = or_unset(a->bytes_out),
                                           .bytes_in = or_unset(a->bytes_in),
                                           .bytes_per_second = or_unset(a->bandwidth) };
        /* the host's cap applies if it is smaller */
        egress_caps_narrow(&ret->spec.egress_caps, &ret->rules.egress_caps);
        ret->spec.wall.is_routed = a->is_routed;
        return 0;
}

/* -- explain ----------------------------------------------------------------------------------- */

/* Does this rule apply? For a name with a port, only the first one. */
static bool
is_rule_of(const struct egress_policy *p, const struct admit_decision *d, size_t i)
{
        return d->denial == DENIAL_NONE &&
               (d->port != 0 ? (int)i == d->entry
                             : egress_allows(&p->allow[i], 1, d->host.text, 0));
}

static void
print_rule(const struct egress_policy *p, const struct gate_list *list,
           const struct admit_decision *d, size_t i, const char *asked)
{
        const struct spec_egress *entry = &p->allow[i];
        char text[EGRESS_TEXT_ROOM];
        uint16_t port = d->port != 0 ? d->port : entry->ports[0];
        char ports[32] = "";

        if (!is_rule_of(p, d, i))
                return;
        if (d->port == 0)
                (void)snprintf(ports, sizeof ports,
                               entry->port_count == 1 ? " on port %u" : " on ports %u and %u",
                               entry->ports[0], entry->ports[1]);
        (void)printf("%s: allowed%s by network.egress/%zu, \"%s\" (%s:%u); %s%s\n", asked, ports, i,
                     egress_text(entry, text), list->file, entry->line,
                     admit_needs_look(p, &d->host, port) ? "its TLS or HTTP must be for this name"
                                                         : "any protocol passes",
                     admit_may_be_private(p, &d->host, port) ? "; its addresses may be private ones"
                                                             : "");
}

/* The texts are written for sandboxes: here another file may hold the list. */
static void
write_refusal(enum denial reason, const char *host, unsigned port, const char *other,
              const char *file, char text[TEXT_MAX])
{
        static const char place[] = "network.egress in SANDBOX.md";
        char words[TEXT_MAX];
        char *at;

        (void)denial_text(reason, host, (uint16_t)port, other, text, TEXT_MAX);
        at = file && !(strlen(file) > 3 && strcmp(file + strlen(file) - 3, ".md") == 0)
                     ? strstr(text, place)
                     : NULL;
        if (!at)
                return;
        (void)snprintf(words, sizeof words, "%.*s%.200s%s", (int)(at - text), text, file,
                       at + strlen(place));
        memcpy(text, words, sizeof words);
}

static void
print_explained(const struct egress_policy *p, const struct gate_list *list,
                const struct admit_decision *d, const char *asked, bool is_json)
{
        char text[TEXT_MAX] = "", rule[EGRESS_TEXT_ROOM];
        const struct spec_egress *decides = d->entry >= 0 ? &p->allow[d->entry] : NULL;
        struct json_writer w;

        if (d->denial != DENIAL_NONE)
                write_refusal(d->denial, d->host.text[0] != '\0' ? d->host.text : asked, d->port,
                              "", list->file, text);
        if (!is_json && d->denial == DENIAL_NONE) {
                for (size_t i = 0; i < p->allow_count; i++)
                        print_rule(p, list, d, i, asked);
                return;
        }
        if (!is_json) {
                (void)fputs("denied: ", stdout);
                print_escaped(stdout, text, true);
                (void)fputc('\n', stdout);
                return;
        }
        json_init(&w, true);
        json_open_map(&w);
        json_member_text(&w, "asked", asked);
        json_member_bool(&w, "allowed", d->denial == DENIAL_NONE);
        json_member_text(&w, "code", d->denial == DENIAL_NONE ? NULL : denial_name(d->denial));
        json_member_text(&w, "message", d->denial == DENIAL_NONE ? NULL : text);
        json_member_int(&w, "entry", d->entry);
        json_member_text(&w, "rule", decides ? egress_text(decides, rule) : NULL);
        json_member_int(&w, "line", decides ? (int64_t)decides->line : 0);
        json_key(&w, "rules");
        json_open_list(&w);
        for (size_t i = 0; i < p->allow_count; i++)
                if (is_rule_of(p, d, i))
                        json_text(&w, egress_text(&p->allow[i], rule));
        json_close_list(&w);
        json_close_map(&w);
        (void)json_print(&w, stdout);
}

static int
explain(const struct gate_list *list, const char *asked, bool is_json)
{
        struct egress_policy policy = { .allow = list->spec.egress,
                                        .allow_count = list->spec.egress_count,
                                        .private_names = list->rules.private_names,
                                        .private_count = list->rules.private_name_count,
                                        .generation = 1 };
        struct admit_decision decision = { .denial = DENIAL_FAILED, .entry = -1 };
        struct arena arena;

        arena_init(&arena, RULES_MAX);
        if (admit_policy_make(&arena, &policy) == 0)
                admit_explain(&policy, asked, &decision);
        print_explained(&policy, list, &decision, asked, is_json);
        arena_fini(&arena);
        return decision.denial == DENIAL_NONE ? 0 : 1;
}

/* -- what was refused -------------------------------------------------------------------------- */

/* The sentence; `address` becomes the address that was connected to, or "". */
static void
describe(const struct wire_wall_denied *d, const char *file, char address[WALL_STATE_ADDRESS_ROOM],
         char text[TEXT_MAX])
{
        (void)wall_state_address_text(d, address);
        write_refusal((enum denial)d->reason, d->host[0] != '\0' ? d->host : address, d->port,
                      d->other, file, text);
}

static void
report_words(const struct run_result *r, const char *file)
{
        for (size_t i = 0; i < r->denial_count; i++) {
                const struct refusal *d = &r->denials[i];
                char text[TEXT_MAX], address[WALL_STATE_ADDRESS_ROOM];

                describe(&d->d, file, address, text);
                (void)fprintf(stderr, "carrel gate: refused%s", "");
                if (d->count > 1)
                        (void)fprintf(stderr, " %llu times", (unsigned long long)d->count);
                (void)fputs(": ", stderr);
                print_escaped(stderr, text, true);
                (void)fputc('\n', stderr);
        }
        if (r->denied_more > 0)
                (void)fprintf(stderr, "carrel gate: refused %llu times more\n",
                              (unsigned long long)r->denied_more);
        if (r->has_no_gate)
                (void)fputs("carrel gate: the gate could not be kept running; nothing passed from "
                            "then on\n",
                            stderr);
        if (r->outcome.word != OUTCOME_EXITED && r->outcome.word != OUTCOME_SIGNALED)
                (void)fputs("carrel gate: the end of the command was not seen\n", stderr);
}

static void
report_json(const struct run_result *r, const char *file)
{
        struct json_writer w;

        json_init(&w, false);
        json_open_map(&w);
        json_member_int(&w, "status", outcome_status(&r->outcome));
        json_member_bool(&w, "gate_failed", r->has_no_gate);
        json_key(&w, "denials");
        json_open_list(&w);
        for (size_t i = 0; i < r->denial_count; i++) {
                const struct wire_wall_denied *d = &r->denials[i].d;
                char text[TEXT_MAX], address[WALL_STATE_ADDRESS_ROOM];

                describe(d, file, address, text);
                json_open_map(&w);
                json_member_text(&w, "code", denial_name((enum denial)d->reason));
                json_member_text(&w, "host", d->host[0] != '\0' ? d->host : NULL);
                json_member_int(&w, "port", d->port);
                json_member_text(&w, "address", address[0] != '\0' ? address : NULL);
                json_member_text(&w, "other", d->other[0] != '\0' ? d->other : NULL);
                json_member_int(&w, "cgroup", (int64_t)d->cgroup);
                json_key(&w, "count");
                json_uint(&w, r->denials[i].count);
                json_member_text(&w, "message", text);
                json_close_map(&w);
        }
        json_close_list(&w);
        json_member_int(&w, "left_out", (int64_t)r->denied_more);
        json_close_map(&w);
        (void)json_print(&w, stderr);
}

/* -- the command ------------------------------------------------------------------------------- */

/* A socket of the outside network that the command inherits could connect to any address. */
static int
check_streams(struct error *e)
{
        static const char *const names[] = { "input", "output", "error" };

        for (int fd = 0; fd <= 2; fd++) {
                int domain = AF_UNIX;
                socklen_t len = sizeof domain;

                if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) < 0 || domain == AF_UNIX)
                        continue;
                (void)fail(e, ERROR_INVALID_ARGUMENT,
                           "standard %s is a socket of the network outside, which would lead "
                           "around the wall",
                           names[fd]);
                error_hint(e, "Put a pipe between, for example: ... | carrel gate --policy FILE -- "
                              "COMMAND | ...");
                return -1;
        }
        return 0;
}

static int
print_plan(struct arena *arena, const struct plan *plan, bool is_json)
{
        struct json_writer out;
        const char *text;

        if (is_json) {
                json_init(&out, true);
                plan_write_json(&out, plan);
                return json_print(&out, stdout);
        }
        text = plan_text(arena, plan);
        if (!text)
                return 125;
        print_escaped(stdout, text, true);
        return 0;
}

static int
read_again(void *data, struct gate_list *ret, struct error *e)
{
        struct asked *a = data;

        return get_list(a->arena, a, ret, e);
}

static const struct option options[] = {
        OPTION_TEXT(struct asked, policy, VALUE_FILE, "--policy", "FILE",
                    "network.egress of a SANDBOX.md, or a list in YAML or JSON: "
                    "[\"api.example.com\", \"*.example.org\", \"db.example.com:5432\"]"),
        OPTION_TEXT(struct asked, host_file, VALUE_FILE, "--host", "FILE", HOST_FILE_DOC),
        OPTION_LIST(struct asked, resolvers, VALUE_ADDRESS, "--resolver", "ADDRESS:PORT",
                    "use this resolver instead of those of /etc/resolv.conf"),
        OPTION_LIST(struct asked, networks, VALUE_ADDRESS, "--private-network", "CIDR",
                    "allow these private addresses"),
        OPTION_NUMBER(struct asked, connections, VALUE_CONNECTIONS, "--connections", "N",
                      "maximum number of connections at once; more are accepted and reset"),
        OPTION_NUMBER(struct asked, bytes_out, VALUE_CAP_BYTES, "--bytes-out", "N",
                      "maximum number of bytes sent, in total"),
        OPTION_NUMBER(struct asked, bytes_in, VALUE_CAP_BYTES, "--bytes-in", "N",
                      "maximum number of bytes received, in total"),
        OPTION_NUMBER(struct asked, bandwidth, VALUE_CAP_BYTES, "--bandwidth", "N",
                      "maximum bytes per second, in each direction"),
        OPTION_FLAG(struct asked, is_routed, "--routed",
                    "keep every port free for the command: the filter listens in a second "
                    "namespace"),
        OPTION_FLAG(struct asked, is_plan, "--plan",
                    "print each step, why it is taken and how it is undone, and run nothing"),
        OPTION_FLAG(struct asked, is_json, "--json",
                    "print refusals as one JSON object on standard error; explain: on standard "
                    "output"),
        OPTION_END,
};

static const struct operand destination[] = { { "[HOST[:PORT]]", VALUE_HOST }, { NULL } };

/* `carrel gate explain`, with the same options. */
static const struct command gate_explain = { .name = "gate",
                                             .options = options,
                                             .operands = destination };

static int
gate(struct arena *arena, int argc, char **argv, struct asked *a, struct error *e)
{
        const struct gate_again again = { read_again, a };
        static struct gate_list list;
        const struct plan *plan;
        struct run_result result;
        struct words words;
        bool explains;
        int status;

        if (options_read(&command_gate, argc, argv, a, &words, e) < 0)
                return -1;
        explains = words.rest_count > 0 && strcmp(words.rest[0], "explain") == 0 &&
                   strcmp(words.rest[-1], "--") != 0;
        /* the words after it are its own options, and a destination */
        if (explains &&
            options_read(&gate_explain, (int)words.rest_count, words.rest, a, &words, e) < 0)
                return -1;
        if (explains ? words.count == 0 : words.rest_count == 0 && !a->is_plan) {
                (void)fail(e, ERROR_INVALID_ARGUMENT,
                           explains ? "explain needs a host name: HOST or HOST:PORT"
                                    : "there is no command to run");
                error_hint(e, "`carrel help gate` shows how it is used.");
                return -1;
        }
        /* the maker starts while the list is read */
        if (!explains && !a->is_plan &&
            (check_streams(e) < 0 || ladder_descriptors(e) < 0 || maker_prepare(e) < 0))
                return -1;
        if (get_list(arena, a, &list, e) < 0)
                return -1;
        if (explains)
                return explain(&list, words.items[0], a->is_json);
        if (gate_plan(arena, &list, &plan, e) < 0)
                return -1;
        if (a->is_plan)
                return print_plan(arena, plan, a->is_json);
        if (gate_run(arena, &list, plan, &again, words.rest, &result, e) < 0)
                return -1;
        if (a->is_json)
                report_json(&result, list.file);
        else
                report_words(&result, list.file);
        status = outcome_status(&result.outcome);
        run_result_fini(&result);
        return status;
}

static int
cmd_gate(int argc, char **argv)
{
        static struct asked a;
        struct arena arena;
        struct error e;
        int status;

        arena_init(&arena, GATE_ARENA_MAX);
        a.arena = &arena;
        status = gate(&arena, argc, argv, &a, &e);
        if (status < 0)
                status = print_failure(a.read, &e, a.is_json);
        arena_fini(&arena);
        return status;
}

static const struct operand operands[] = {
        { "explain HOST[:PORT]", VALUE_HOST,
          "print which rule decides, and why; exit status 0: allowed, 1: denied", true },
        { NULL },
};

const struct command command_gate = {
        .name = "gate",
        .help = "Run a program with the network filter only: it reaches the listed hosts, and "
                "nothing else on the network.",
        .options = options,
        .operands = operands,
        .rest = "[--] COMMAND [ARGUMENTS]",
        .notes = "SIGUSR1 from outside the filter reloads the policy; connections that it no "
                 "longer allows are reset.\n"
                 "Only the network is limited; files, unix sockets and other processes stay "
                 "accessible. For untrusted programs use `carrel run`.\n",
        .example = "carrel gate --policy examples/data-report/workspace/SANDBOX.md -- python3 -c "
                   "pass",
        .run = cmd_gate,
};
