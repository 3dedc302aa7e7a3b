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

#include "cli/commands.h"
#include "cli/finding_print.h"
#include "cli/gate.h"
#include "cli/ladder.h"
#include "cli/options.h"
#include "egress/address.h"
#include "egress/admit.h"
#include "policy/host_rules.h"
#include "sandbox/caps.h"
#include "text/json.h"

enum { GATE_ARENA_MAX = 64 << 20, RULES_MAX = 8 << 20, TEXT_MAX = 900 };

struct asked {
        const char *policy, *host_file;
        uint64_t connections, bytes_out, bytes_in, bandwidth; /* 0: no bound of its own */
        struct option_list resolvers, networks;
        bool is_json, is_routed;
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
add_networks(struct arena *arena, const struct asked *a, struct gate_list *list, struct error *e)
{
        const struct gate_texts host = list->networks;
        const char **items = arena_array(arena, const char *, host.count + a->networks.count + 1);

        if (!items)
                return fail(e, ERROR_NO_MEMORY, "no memory for the networks");
        for (size_t i = 0; i < host.count; i++)
                items[i] = host.items[i];
        for (size_t i = 0; i < a->networks.count; i++)
                items[host.count + i] = a->networks.items[i];
        list->networks = (struct gate_texts){ items, host.count + a->networks.count };
        return 0;
}

/* The host's cap applies if it is smaller. */
static void
narrow_caps(struct wire_gate_caps *caps, const struct spec_egress_caps *most)
{
        struct spec_egress_caps asked = { .connections = caps->connections,
                                          .names = caps->names,
                                          .bytes_out = caps->bytes_out,
                                          .bytes_in = caps->bytes_in,
                                          .bytes_per_second = caps->bytes_per_second };
        uint64_t *const values[] = { &asked.connections, &asked.names, &asked.bytes_out,
                                     &asked.bytes_in, &asked.bytes_per_second };

        for (size_t i = 0; i < sizeof values / sizeof *values; i++)
                if (*values[i] == 0)
                        *values[i] = SPEC_UNSET;
        egress_caps_narrow(&asked, most);
        *caps = wall_caps(&asked);
}

static int
get_list(struct arena *arena, struct asked *a, struct gate_list *ret, struct error *e)
{
        struct wire_gate_caps caps = { .connections = (uint32_t)a->connections,
                                       .bytes_out = a->bytes_out,
                                       .bytes_in = a->bytes_in,
                                       .bytes_per_second = a->bandwidth };

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
        ret->caps = caps;
        if (a->resolvers.count > 0)
                ret->resolvers = (struct gate_texts){ (const char **)(uintptr_t)a->resolvers.items,
                                                      a->resolvers.count };
        if (add_networks(arena, a, ret, e) < 0)
                return -1;
        narrow_caps(&ret->caps, &ret->caps_max);
        ret->is_routed = a->is_routed;
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
        uint16_t port = d->port != 0 ? d->port : entry->ports[0];
        char ports[32] = "";

        if (!is_rule_of(p, d, i))
                return;
        if (d->port == 0)
                (void)snprintf(ports, sizeof ports,
                               entry->port_count == 1 ? " on port %u" : " on ports %u and %u",
                               entry->ports[0], entry->ports[1]);
        (void)printf("%s: allowed%s by network.egress/%zu, \"%s\" (%s:%u); %s%s\n", asked, ports, i,
                     list->allow.items[i], list->file, entry->line,
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
        char text[TEXT_MAX] = "";
        struct json_writer w;

        if (d->denial != DENIAL_NONE)
                write_refusal(d->denial, d->host.text[0] != '\0' ? d->host.text : asked, d->port,
                              "", list->file, text);
        if (!is_json && d->denial == DENIAL_NONE) {
                for (size_t i = 0; i < list->allow.count; i++)
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
        json_member_text(&w, "rule", d->entry >= 0 ? list->allow.items[d->entry] : NULL);
        json_member_int(&w, "line", d->entry >= 0 ? (int64_t)list->entries[d->entry].line : 0);
        json_key(&w, "rules");
        json_open_list(&w);
        for (size_t i = 0; i < list->allow.count; i++)
                if (is_rule_of(p, d, i))
                        json_text(&w, list->allow.items[i]);
        json_close_list(&w);
        json_close_map(&w);
        (void)json_print(&w, stdout);
}

static int
explain(const struct gate_list *list, const char *asked, bool is_json)
{
        struct egress_policy policy = { .allow = list->entries,
                                        .allow_count = list->allow.count,
                                        .private_names = list->private_entries,
                                        .private_count = list->private_names.count,
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

static const char *
who(const struct gate_denial *d)
{
        return d->host[0] != '\0' ? d->host : d->address;
}

static void
report_words(const struct gate_report *r, const char *file)
{
        for (size_t i = 0; i < r->count; i++) {
                const struct gate_denial *d = &r->denials[i];
                char text[TEXT_MAX];

                write_refusal((enum denial)d->reason, who(d), d->port, d->other, file, text);
                (void)fprintf(stderr, "carrel gate: refused%s", "");
                if (d->count > 1)
                        (void)fprintf(stderr, " %llu times", (unsigned long long)d->count);
                (void)fputs(": ", stderr);
                print_escaped(stderr, text, true);
                (void)fputc('\n', stderr);
        }
        if (r->left_out > 0)
                (void)fprintf(stderr, "carrel gate: refused %llu times more\n",
                              (unsigned long long)r->left_out);
        if (r->is_broken)
                (void)fputs("carrel gate: the gate could not be kept running; nothing passed from "
                            "then on\n",
                            stderr);
}

static void
report_json(const struct gate_report *r, const char *file)
{
        struct json_writer w;

        json_init(&w, false);
        json_open_map(&w);
        json_member_int(&w, "status", r->status);
        json_member_bool(&w, "gate_failed", r->is_broken);
        json_key(&w, "denials");
        json_open_list(&w);
        for (size_t i = 0; i < r->count; i++) {
                const struct gate_denial *d = &r->denials[i];
                char text[TEXT_MAX];

                write_refusal((enum denial)d->reason, who(d), d->port, d->other, file, text);
                json_open_map(&w);
                json_member_text(&w, "code", denial_name((enum denial)d->reason));
                json_member_text(&w, "host", d->host[0] != '\0' ? d->host : NULL);
                json_member_int(&w, "port", d->port);
                json_member_text(&w, "address", d->address[0] != '\0' ? d->address : NULL);
                json_member_text(&w, "other", d->other[0] != '\0' ? d->other : NULL);
                json_member_int(&w, "cgroup", (int64_t)d->cgroup);
                json_key(&w, "count");
                json_uint(&w, d->count);
                json_member_text(&w, "message", text);
                json_close_map(&w);
        }
        json_close_list(&w);
        json_member_int(&w, "left_out", (int64_t)r->left_out);
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
        static struct gate_report report;
        struct gate_list list;
        struct words words;
        bool explains;

        if (options_read(&command_gate, argc, argv, a, &words, e) < 0)
                return -1;
        explains = words.rest_count > 0 && strcmp(words.rest[0], "explain") == 0 &&
                   strcmp(words.rest[-1], "--") != 0;
        /* the words after it are its own options, and a destination */
        if (explains &&
            options_read(&gate_explain, (int)words.rest_count, words.rest, a, &words, e) < 0)
                return -1;
        if (explains ? words.count == 0 : words.rest_count == 0) {
                (void)fail(e, ERROR_INVALID_ARGUMENT,
                           explains ? "explain needs a host name: HOST or HOST:PORT"
                                    : "there is no command to run");
                error_hint(e, "`carrel help gate` shows how it is used.");
                return -1;
        }
        if (get_list(arena, a, &list, e) < 0)
                return -1;
        if (explains)
                return explain(&list, words.items[0], a->is_json);
        if (check_streams(e) < 0 || ladder_descriptors(e) < 0 ||
            gate_run(&list, &again, words.rest, &report, e) < 0)
                return -1;
        if (a->is_json)
                report_json(&report, list.file);
        else
                report_words(&report, list.file);
        return report.status;
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
