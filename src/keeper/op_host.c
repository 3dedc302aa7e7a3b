/*
 * keeper/op_host.c - tokens, and facts about the daemon and its host.
 *
 * Room: keeper (joining). Touches: random, the store.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "keeper/op.h"
#include "keeper/sandbox.h"
#include "plan/disk.h"
#include "plan/plan.h"
#include "plan/wall.h"

/* NAMED_MAX: destinations listed in text. */
enum { NAMED_MAX = 16, TOKEN_ID_LEN = 17, SCRATCH_MAX = 64 * 1024 };

enum call_state
op_token_create(struct call *c, struct error *e)
{
        const char *scope = record_get_text(&c->record, FIELD_SCOPE, "all");
        char token[TOKEN_TEXT_LEN], id[TOKEN_ID_LEN];
        unsigned char hash[STORE_HASH_LEN];
        struct store_token row = { .id = id,
                                   .owner = record_get_text(&c->record, FIELD_OWNER,
                                                            c->caller.owner),
                                   .scope = scope,
                                   .created_ms = loop_wall_ms() };
        struct record_writer w;

        if (strcmp(scope, "all") != 0 && strcmp(scope, "read") != 0 &&
            strcmp(scope, "approve") != 0)
                return fail_at(e, ERROR_INVALID_ARGUMENT, "scope", "unknown",
                               "a scope is all, read or approve"),
                       CALL_FAILED;
        if (token_make(token, e) < 0 || random_hex(id, TOKEN_ID_LEN - 1, e) < 0)
                return CALL_FAILED;
        token_hash(token, hash);
        if (store_token_add(c->keeper->store, &row, hash, e) < 0)
                return CALL_FAILED;
        w = reply_begin(c);
        record_text(&w, FIELD_ID, id);
        record_text(&w, FIELD_TOKEN, token);
        record_text(&w, FIELD_OWNER, row.owner);
        record_text(&w, FIELD_SCOPE, scope);
        record_uint(&w, FIELD_CREATED_AT, row.created_ms);
        reply_send(c, &w, 0, -1);
        explicit_bzero(token, sizeof token);
        return CALL_DONE;
}

static void
write_token(struct record_writer *w, const void *of, const void *item)
{
        const struct store_token *token = item;

        (void)of;
        record_text(w, FIELD_ID, token->id);
        record_text(w, FIELD_OWNER, token->owner);
        record_text(w, FIELD_SCOPE, token->scope);
        record_uint(w, FIELD_CREATED_AT, token->created_ms);
}

struct token_list {
        struct call *call;
        struct record_writer w;
        uint64_t number;
        bool waits, is_full;
};

static int
list_token(void *context, const struct store_token *token)
{
        struct token_list *l = context;

        l->number++; /* a revoked token between two parts can hide a later one */
        if (l->number <= l->call->cursor || !page_has(l->call, token->created_ms, token->id))
                return 0;
        l->is_full = page_is_full(l->call, &l->w);
        if (l->is_full)
                return 1;
        l->waits = !parts_add(l->call, &l->w, write_token, NULL, token, l->number);
        if (!l->waits)
                page_add(l->call, token->created_ms, token->id);
        return l->waits;
}

enum call_state
op_token_list(struct call *c, struct error *e)
{
        struct token_list list = { .call = c };
        struct record_writer w;

        if (page_begin(c, e) < 0)
                return CALL_FAILED;
        if (!parts_begin(c, &list.w))
                return CALL_WAITS;
        if (store_token_each(c->keeper->store, list_token, &list, e) < 0 && !list.waits &&
            !list.is_full)
                return CALL_FAILED;
        if (list.waits)
                return CALL_WAITS;
        w = list.w;
        reply_send(c, &w, 0, -1);
        return CALL_DONE;
}

enum call_state
op_token_revoke(struct call *c, struct error *e)
{
        int found =
                store_token_remove(c->keeper->store, record_get_text(&c->record, FIELD_ID, ""), e);
        struct record_writer w = reply_begin(c);

        if (found < 0)
                return CALL_FAILED;
        record_bool(&w, FIELD_EXISTED, found > 0);
        reply_send(c, &w, 0, -1);
        return CALL_DONE;
}

enum call_state
op_caller(struct call *c, struct error *e)
{
        struct record_writer w = reply_begin(c);

        (void)e;
        record_text(&w, FIELD_OWNER, c->caller.owner);
        reply_send(c, &w, 0, -1);
        return CALL_DONE;
}

enum call_state
op_info(struct call *c, struct error *e)
{
        const struct runtimes *runtimes = &c->keeper->host.runtimes;
        struct record_writer w = reply_begin(c);
        struct arena scratch;
        uint64_t count = 0;

        (void)e;
        arena_init(&scratch, SCRATCH_MAX);
        record_text(&w, FIELD_VERSION, CARREL_VERSION);
        for (size_t i = 0; i < runtimes->count; i++)
                record_text(&w, FIELD_RUNTIMES, runtime_name(&scratch, &runtimes->items[i]));
        for (const struct sandbox *s = c->keeper->first; s; s = s->next)
                count += sandbox_belongs(s, &c->caller);
        record_uint(&w, FIELD_SANDBOXES, count);
        record_uint(&w, FIELD_POOL, pool_ready(c->keeper));
        reply_send(c, &w, 0, -1);
        arena_fini(&scratch);
        return CALL_DONE;
}

/* -- text for a model -------------------------------------------------------------------------- */

struct words {
        char text[8192];
        size_t len;
};

static void __attribute__((format(printf, 2, 3))) say(struct words *w, const char *fmt, ...)
{
        va_list ap;
        int len;

        va_start(ap, fmt);
        len = vsnprintf(w->text + w->len, sizeof w->text - w->len, fmt, ap);
        va_end(ap);
        if (len > 0)
                w->len = w->len + (size_t)len < sizeof w->text ? w->len + (size_t)len
                                                               : sizeof w->text - 1;
}

static void
say_limit(struct words *w, const char *fmt_name, uint64_t value, const char *unit)
{
        if (value != SPEC_UNSET)
                say(w, "- %s: %llu%s%s.\n", fmt_name, (unsigned long long)value,
                    *unit != '\0' ? " " : "", unit);
}

static void
say_limits(struct words *w, const struct spec *spec, const struct host_facts *facts)
{
        const struct spec_limits *l = &spec->limits;
        uint64_t most = l->is_timeout_given ? l->timeout_ms : l->timeout_max_ms;

        if (most == SPEC_UNSET)
                say(w,
                    "- A command has no limit on its time unless it asks for one (timeout_ms).\n");
        say_limit(w, "A command is killed, with everything it started, after", most,
                  "ms unless it asks for less");
        say_limit(w, "CPU time of one command, at most", l->cpu_ms, "ms");
        say_limit(w, "Memory of the whole sandbox, at most", l->memory_mb, "MiB");
        say_limit(w, "Processes and threads at once, at most", plan_pids(spec, facts), "");
        say_limit(w, "Private disk space (/tmp, home), at most",
                  plan_disk_form(spec, facts) == SPEC_DISK_MEMORY ? plan_memory_disk_mb(spec, facts)
                                                                  : plan_disk_mb(spec),
                  "MiB");
        say_limit(w, "Output beyond this is dropped", l->output_bytes, "bytes");
}

static void
say_network(struct words *words, const struct spec *spec, bool has_low_ports)
{
        char text[EGRESS_TEXT_ROOM];

        say(words, has_low_ports
                           ? "- Servers may listen on any port, those below 1024 included.\n"
                           : "- Servers may listen on ports from 1024 on; on lower ones bind fails "
                             "with EACCES (metadata.carrel.egress.routed: true opens them).\n");
        if (spec->egress_count == 0) {
                say(words, "- There is no network: no destination outside can be reached.\n");
                return;
        }
        say(words, "- Of the network only this can be reached, by name:");
        for (size_t i = 0; i < spec->egress_count && i < NAMED_MAX; i++)
                say(words, "%s %s", i > 0 ? "," : "", egress_text(&spec->egress[i], text));
        if (spec->egress_count > NAMED_MAX)
                say(words, " and %zu more", spec->egress_count - NAMED_MAX);
        say(words, ". Anything else is refused; `denials` tells what was, and what to ask for.\n");
        say_limit(words, "Connections to it at once, at most", spec->egress_caps.connections, "");
        say_limit(words, "Names in use at once, at most", spec->egress_caps.names, "");
        say_limit(words, "Sent there in all, at most", spec->egress_caps.bytes_out, "bytes");
        say_limit(words, "Received from there in all, at most", spec->egress_caps.bytes_in,
                  "bytes");
        say_limit(words, "Sent and received each second, at most",
                  spec->egress_caps.bytes_per_second, "bytes each way");
}

enum call_state
op_instructions(struct call *c, struct error *e)
{
        const struct sandbox *s = registry_of_call(c, e);
        const struct store_port *ports;
        const struct spec *spec;
        struct record_writer w;
        struct words words = { .len = 0 };

        if (!s || sandbox_judge((struct sandbox *)(uintptr_t)s, e) < 0)
                return CALL_FAILED;
        spec = s->prepared->spec;
        say(&words, "Commands run in a sandbox (%s), as an ordinary user, in %s.\n", s->id,
            s->row.cwd ? s->row.cwd : PLAN_HOME);
        if (spec->is_read_only)
                say(&words, "- It is read-only: no command runs and no file is written; files can "
                            "be read and listed.\n");
        say_network(&words, spec, plan_has_low_ports(spec, &s->keeper->host.facts));
        for (size_t i = 0; i < spec->mount_count; i++)
                say(&words, "- %s is the caller's own directory, %s.\n", spec->mounts[i].at,
                    spec->mounts[i].is_read_only ? "read-only" : "and what is written there stays");
        say(&words, "- Everything else that is written is private to this sandbox and gone when it "
                    "stops.\n");
        if (s->prepared->runtime)
                say(&words, "- Its template is %s.\n", s->row.runtime);
        ports = s->row.ports.bytes;
        for (size_t i = 0; i < s->row.ports.len / sizeof *ports; i++)
                say(&words,
                    ports[i].port >= PLAN_LOW_PORT ||
                                    plan_has_low_ports(spec, &s->keeper->host.facts)
                            ? "- A server on port %u can be reached from outside.\n"
                            : "- Port %u was to be reached from outside, but no server may listen "
                              "on ports below 1024 here.\n",
                    ports[i].port);
        say_limits(&words, spec, &s->keeper->host.facts);
        w = reply_begin(c);
        record_text(&w, FIELD_TEXT, words.text);
        reply_send(c, &w, 0, -1);
        return CALL_DONE;
}
