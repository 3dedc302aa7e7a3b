/*
 * keeper/secret.c - secrets for one command.
 *
 * Room: keeper (joining). Touches: fd, memory that is locked and kept out of dumps.
 * Theory: the order is fixed (AIP-19): access, fetch, inject, record. The keeper holds a value from
 * the fetcher's answer until it sends the command's message in the same turn of the loop. S4:
 * nothing is cached, so a command started after a rotation gets the new value.
 */
#include "keeper/secret.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "wire/secret.h"

enum {
        MEMORY_MAX = 256 * 1024,
        BY_ROOM = 128,
        WAITING_MAX = 1024,
        /*
         * Concurrent requests of one owner: a source that hangs must not take all workers of the
         * fetcher.
         */
        OWNER_ASKS_MAX = 8
};

struct call_secrets {
        struct call_secrets *next; /* of those that wait, oldest first */
        struct call *call;
        struct arena memory; /* the names that are wanted */
        struct secret_bound *wanted;
        size_t count;
        uint32_t serial; /* 0: not requested yet */
        bool is_failed;
        struct secret_values *values;
        struct error why;
};

/* One for each keeper. */
static struct {
        struct peer peer; /* first */
        struct keeper *keeper;
        struct call_secrets *waiting;
        unsigned char *body; /* WIRE_BODY_MAX bytes, locked */
        uint32_t serial;
        bool is_there;
} fetcher;

/* -- reporting --------------------------------------------------------------------------------- */

static const char *
granted_by(const struct secret_bound *b, char text[BY_ROOM])
{
        if (b->grant)
                (void)snprintf(text, BY_ROOM, "%s:%.100s", host_grant_word(b->grant->kind),
                               b->grant->value);
        else
                (void)snprintf(text, BY_ROOM, "owner");
        return text;
}

static void
publish_revealed(struct sandbox *s, uint32_t exec, const struct secret_bound *b)
{
        char by[BY_ROOM];

        sandbox_publish(s, event_secret_revealed((struct event_secret_revealed){
                                   .exec = exec,
                                   .slug = b->slug,
                                   .actor = sandbox_user(s),
                                   .purpose = b->name,
                                   .granted_by = granted_by(b, by) }));
}

static void
publish_refused(struct sandbox *s, const char *slug, const char *purpose)
{
        sandbox_publish(s, event_secret_denied((struct event_secret_denied){
                                   .slug = slug, .actor = sandbox_user(s), .purpose = purpose }));
}

void
secret_tell(struct call *c, struct sandbox *s, uint32_t exec)
{
        const struct call_secrets *w = c->secrets;

        for (size_t i = 0; w && i < w->count; i++)
                publish_revealed(s, exec, &w->wanted[i]);
}

/* The path of the error says which one was refused: env/auth/state/env/N. */
static void
tell_denied(struct sandbox *s, const struct error *e)
{
        static const char prefix[] = "env/auth/state/env/";
        const struct spec_env *env = &s->prepared->spec->env;
        const struct host_inventory *inventory =
                env->auth_ref ? host_rules_inventory(s->prepared->rules, env->auth_ref) : NULL;
        size_t index = strncmp(e->path, prefix, sizeof prefix - 1) == 0
                               ? strtoul(e->path + sizeof prefix - 1, NULL, 10)
                               : 0;
        struct arena memory;
        const char *slug;

        arena_init(&memory, 4096);
        if (index < env->auth_count) {
                slug = inventory ? host_inventory_slug(inventory, &memory, env->auth[index].name)
                                 : NULL;
                publish_refused(s, slug ? slug : "", env->auth[index].name);
        }
        arena_fini(&memory);
}

/* -- requesting -------------------------------------------------------------------------------- */

static enum call_state
refuse(struct call *c, struct sandbox *s, struct error *e)
{
        tell_denied(s, e);
        secret_forget(c);
        return CALL_FAILED;
}

static int
ask(struct call_secrets *w, struct error *e)
{
        struct wire_secret_ask head = { .serial = ++fetcher.serial, .count = (uint32_t)w->count };
        size_t at = sizeof head;

        memcpy(fetcher.body, &head, sizeof head);
        for (size_t i = 0; i < w->count; i++) {
                size_t len = strlen(w->wanted[i].slug) + 1;

                /* SECRET_ASKED_MAX names of at most 128 bytes fit */
                memcpy(fetcher.body + at, w->wanted[i].slug, len);
                at += len;
        }
        if (peer_send(&fetcher.peer, WIRE_SECRET_ASK, fetcher.body, at, NULL, 0) < 0)
                return fail(e, ERROR_UNAVAILABLE,
                            "the process that asks the sources of secrets does not answer");
        w->serial = head.serial;
        return 0;
}

static size_t
count_asked(const char *owner)
{
        size_t count = 0;

        for (const struct call_secrets *w = fetcher.waiting; w; w = w->next)
                count += w->serial != 0 && strcmp(w->call->caller.owner, owner) == 0;
        return count;
}

/* Adds it to those that wait. Requests it at once unless its owner has too many open requests. */
static int
join_waiting(struct call_secrets *w, struct error *e)
{
        struct call_secrets **at = &fetcher.waiting;
        size_t count = 0;

        for (; *at; at = &(*at)->next)
                count++;
        if (count >= WAITING_MAX)
                return fail(e, ERROR_QUOTA_EXCEEDED, "more than %d commands wait for secrets",
                            WAITING_MAX);
        *at = w;
        return count_asked(w->call->caller.owner) < OWNER_ASKS_MAX ? ask(w, e) : 0;
}

/* A request was answered: sends the oldest one that waits for its turn. */
static void
ask_next(void)
{
        struct error e;

        for (struct call_secrets *w = fetcher.waiting; w; w = w->next)
                if (w->serial == 0 && count_asked(w->call->caller.owner) < OWNER_ASKS_MAX &&
                    ask(w, &e) < 0)
                        return; /* the fetcher is gone, so the keeper ends too */
}

/* The access check, before any request is sent. */
static int
want(struct call *c, struct sandbox *s, struct error *e)
{
        struct call_secrets *w = calloc(1, sizeof *w);

        if (!w)
                return fail(e, ERROR_NO_MEMORY, "no memory for secrets");
        c->secrets = w;
        w->call = c;
        arena_init(&w->memory, MEMORY_MAX);
        if (prepare_secrets_wanted(&w->memory, s->prepared, sandbox_actor(s), &w->wanted, &w->count,
                                   e) < 0) {
                w->count = 0;
                return -1;
        }
        if (w->count > SECRET_ASKED_MAX)
                return fail(e, ERROR_QUOTA_EXCEEDED, "a sandbox has at most %d secrets",
                            SECRET_ASKED_MAX);
        if (!fetcher.is_there) {
                (void)fail_at(
                        e, ERROR_AUTH_UNRESOLVABLE, "env/auth/state/env/0", "not_found",
                        "the secret \"%.80s\" has no value: no source of secrets is configured",
                        w->wanted[0].slug);
                error_hint(e, "Name a source under secret_sources in the daemon's host file: "
                              "docs/SECRETS.md.");
                return -1;
        }
        return join_waiting(w, e);
}

enum call_state
secret_need(struct call *c, struct sandbox *s, struct error *e)
{
        struct call_secrets *w = c->secrets;

        if (s->prepared->spec->env.auth_count == 0)
                return CALL_DONE;
        if (!w)
                return want(c, s, e) < 0 ? refuse(c, s, e) : CALL_WAITS;
        if (!w->is_failed)
                return CALL_DONE;
        *e = w->why;
        return refuse(c, s, e);
}

const struct secret_values *
secret_of_call(const struct call *c)
{
        return c->secrets ? c->secrets->values : NULL;
}

void
secret_forget(struct call *c)
{
        struct call_secrets *w = c->secrets;

        if (!w)
                return;
        for (struct call_secrets **at = &fetcher.waiting; *at; at = &(*at)->next)
                if (*at == w) {
                        *at = w->next;
                        break;
                }
        secret_values_free(w->values);
        arena_fini(&w->memory);
        free(w);
        c->secrets = NULL;
}

/* -- receiving --------------------------------------------------------------------------------- */

static const char *
next_text(size_t *at, size_t len)
{
        const char *text = (const char *)fetcher.body + *at;
        /* lint: there is a body, or no message was received */
        const char *end = memchr(text, '\0', len - *at);

        if (!end)
                return NULL;
        *at += (size_t)(end - text) + 1;
        return text;
}

static int
take_values(struct call_secrets *w, size_t len, struct error *e)
{
        size_t at = sizeof(struct wire_secret_told);

        w->values = secret_values_new();
        if (!w->values)
                return fail(e, ERROR_NO_MEMORY, "no memory for the values of secrets");
        for (size_t i = 0; i < w->count; i++) {
                const char *value = next_text(&at, len);

                if (!value)
                        return fail(e, ERROR_PROTOCOL, "the fetcher's answer is cut short");
                if (!secret_value_look(w->values, w->wanted[i].slug) &&
                    secret_values_add(w->values, w->wanted[i].slug, value, strlen(value),
                                      "the fetcher", e) < 0)
                        return -1;
        }
        return 0;
}

static int
take_failure(const struct call_secrets *w, const struct wire_secret_told *told, size_t len,
             struct error *e)
{
        size_t at = sizeof *told;
        const char *reason = next_text(&at, len), *message = reason ? next_text(&at, len) : NULL,
                   *hint = message ? next_text(&at, len) : NULL;
        char path[64];

        if (!hint || told->index >= w->count)
                return fail(e, ERROR_PROTOCOL, "the fetcher's answer is cut short");
        (void)snprintf(path, sizeof path, "env/auth/state/env/%u", told->index);
        (void)fail_at(e, told->code == ERROR_NO_MEMORY ? ERROR_NO_MEMORY : ERROR_AUTH_UNRESOLVABLE,
                      path, reason, "%s", message);
        error_hint(e, "%s", hint);
        return -1;
}

static void
take_answer(size_t len)
{
        struct wire_secret_told told;
        struct call_secrets **at = &fetcher.waiting, *w;

        memcpy(&told, fetcher.body, sizeof told);
        while (*at && (*at)->serial != told.serial)
                at = &(*at)->next;
        w = *at;
        if (!w)
                return; /* its call is gone */
        *at = w->next;
        w->is_failed = (told.code != ERROR_NONE ? take_failure(w, &told, len, &w->why)
                                                : take_values(w, len, &w->why)) < 0;
        explicit_bzero(fetcher.body, len);
        ask_next();
        if (w->call->is_cancelled)
                call_end(w->call);
        else
                call_begin(w->call);
}

static void
on_words(struct peer *p, uint32_t events)
{
        struct wire_message m;
        int result = 0;

        (void)events;
        for (int i = 0; i < PEER_BURST; i++) {
                result = wire_receive(p->fd, 0, &m, fetcher.body, WIRE_BODY_MAX);
                if (result <= 0)
                        break;
                wire_message_close(&m);
                if (m.kind == WIRE_SECRET_TOLD && m.len >= sizeof(struct wire_secret_told))
                        take_answer(m.len);
                explicit_bzero(fetcher.body, m.len);
        }
        if (!p->is_broken && (result == -EAGAIN || result > 0))
                return;
        (void)fprintf(stderr, "carrel-keeper: the process that asks the sources of secrets has "
                              "ended; so does this one, to be started again\n");
        fetcher.keeper->is_stopping = true;
        loop_stop(fetcher.keeper->loop);
}

int
secret_open(struct keeper *k, int take_fd, struct error *e)
{
        int result;

        fetcher.keeper = k;
        if (take_fd < 0)
                return 0;
        fetcher.body = mmap(NULL, WIRE_BODY_MAX, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (fetcher.body == MAP_FAILED)
                return fail(e, ERROR_NO_MEMORY, "no memory for secrets");
        (void)madvise(fetcher.body, WIRE_BODY_MAX, MADV_DONTDUMP);
        (void)mlock(fetcher.body, WIRE_BODY_MAX);
        result = peer_open(&fetcher.peer, k->loop, take_fd, on_words);
        if (result < 0)
                return fail_sys(e, ERROR_INTERNAL, -result, "beginning to wait for secrets");
        fetcher.is_there = true;
        return 0;
}
