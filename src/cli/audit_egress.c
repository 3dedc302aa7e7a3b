/*
 * cli/audit_egress.c - the network of a recorded command, for `carrel audit replay`.
 *
 * Room: cli (joining). Touches: the audit log, files in memory, standard output.
 * Theory: the gate of the replay writes to a transcript of its own which recorded connection each
 * of its connections was, and where one differed. What no connection was remains.
 */
#include "cli/audit_egress.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "audit/content.h"
#include "base/scoped.h"
#include "base/write_all.h"

enum { SHOWN_MAX = 100 /* differences */ };

static bool
had_connections(const struct recordings *all)
{
        for (size_t i = 0; i < all->count; i++)
                if (all->of[i].connections > 0)
                        return true;
        return false;
}

/* Why what was kept is no transcript that can be replayed; NULL: it is one. */
static const char *
why_not(const struct audit_egress *g, const struct node *kept, int result)
{
        if (node_find(kept, "redacted"))
                return "redacted";
        if (result < 0)
                return "incomplete";
        if (g->t.stop)
                return g->t.stop;
        return g->t.is_complete ? NULL : "incomplete";
}

static int
read_kept(const struct audit_log *log, const struct node *kept, struct audit_egress *ret,
          struct error *e)
{
        const char *sha256 = recording_text(kept, "sha256");
        int result;

        if (!sha256) {
                ret->reason = "not_recorded";
                return 0;
        }
        if (audit_content_read(log, sha256, &ret->bytes, e) < 0)
                return -1;
        result = transcript_read(&ret->arena, ret->bytes.bytes ? ret->bytes.bytes : "",
                                 ret->bytes.len, &ret->t);
        if (result == -ENOMEM)
                return fail(e, ERROR_NO_MEMORY, "no memory for the answers of servers");
        ret->reason = why_not(ret, kept, result);
        ret->has_answers = !ret->reason;
        return 0;
}

int
audit_egress_read(const struct audit_log *log, const struct recordings *all,
                  struct audit_egress *ret, struct error *e)
{
        const struct recording *last = &all->of[all->count - 1];
        const struct node *kept = recording_stream(last, "egress");

        *ret = (struct audit_egress){ .reason = NULL };
        arena_init(&ret->arena, TRANSCRIPT_ARENA_MAX);
        if (kept && all->count == 1)
                return read_kept(log, kept, ret, e);
        if (had_connections(all))
                ret->reason =
                        recording_text(last->started, "norm_sha256") ? "daemon" : "not_recorded";
        return 0;
}

void
audit_egress_fini(struct audit_egress *g)
{
        arena_fini(&g->arena);
        buffer_fini(&g->bytes);
}

int
audit_egress_open(const struct audit_egress *g, int *ret, struct error *e)
{
        scoped_fd int fd = -1;

        *ret = -1;
        if (!g->has_answers)
                return 0;
        fd = memfd_create("egress", MFD_CLOEXEC);
        if (fd < 0 || write_all(fd, g->bytes.bytes, g->bytes.len) < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "writing a file in memory");
        *ret = fd_take(&fd);
        return 0;
}

/* -- comparison -------------------------------------------------------------------------------- */

static bool
was_made(const struct transcript *now, size_t number)
{
        for (size_t i = 0; i < now->replayed_count; i++)
                if (now->replayed[i] == number)
                        return true;
        return false;
}

static bool
are_all_made(const struct audit_egress *g, const struct transcript *now)
{
        for (size_t number = 1; number <= g->t.count; number++)
                if (!was_made(now, number))
                        return false;
        return true;
}

int
audit_egress_compare(struct audit_egress *g, const struct audit_log *mine,
                     const struct recording *now, struct audit_egress_again *ret, struct error *e)
{
        *ret = (struct audit_egress_again){ .is_equal = true };
        arena_init(&ret->now.arena, TRANSCRIPT_ARENA_MAX);
        if (!g->has_answers)
                return 0;
        if (read_kept(mine, recording_stream(now, "egress"), &ret->now, e) < 0)
                return -1;
        ret->is_equal =
                ret->now.has_answers && !ret->now.t.differences && are_all_made(g, &ret->now.t);
        return 0;
}

/* -- output ------------------------------------------------------------------------------------ */

struct shown {
        const char *what;
        const struct egress_host *host;
        uint16_t port;
        size_t recorded, turn; /* 0: none */
        uint64_t byte;
};

typedef void (*show)(void *ctx, const struct shown *s);

/* Every difference, at most SHOWN_MAX of each kind. */
static void
each_difference(const struct audit_egress *g, const struct audit_egress_again *a, show each,
                void *ctx)
{
        const struct transcript *now = &a->now.t;
        size_t count = 0;

        for (const struct transcript_difference *d = now->differences; d && count < SHOWN_MAX;
             d = d->next, count++)
                each(ctx, &(struct shown){ d->what, &d->host, d->port, d->recorded,
                                           d->recorded ? d->turn : 0, d->byte });
        count = 0;
        for (size_t number = 1; number <= g->t.count && count < SHOWN_MAX; number++) {
                const struct transcript_connection *c = g->t.connections[number - 1];

                if (was_made(now, number))
                        continue;
                each(ctx, &(struct shown){ "missing", &c->host, c->port, number, 0, 0 });
                count++;
        }
}

static void
print_one(void *ctx, const struct shown *s)
{
        (void)ctx;
        (void)printf("egress: %s:%u", s->host->text, s->port);
        if (s->recorded == 0)
                (void)puts(": a connection that was not recorded");
        else if (s->turn == 0)
                (void)printf(", connection %zu: was not made\n", s->recorded);
        else
                (void)printf(", connection %zu: %s in turn %zu (from byte %" PRIu64 " on)\n",
                             s->recorded,
                             strcmp(s->what, "ended") == 0  ? "the command sent less"
                             : strcmp(s->what, "more") == 0 ? "the command sent more"
                                                            : "the command sent something else",
                             s->turn, s->byte);
}

void
audit_egress_print(const struct audit_egress *g, const struct audit_egress_again *a)
{
        if (g->reason) {
                (void)printf("The recorded command had network connections that cannot be "
                             "replayed (%s",
                             g->reason);
                if (g->t.stop_host.text[0] != '\0')
                        (void)printf(", %s:%u", g->t.stop_host.text, g->t.stop_port);
                (void)puts("). A replay has no network.");
                return;
        }
        if (!g->has_answers)
                return;
        if (a->is_equal)
                (void)puts("egress: equal");
        else if (!a->now.has_answers)
                (void)printf("egress: not known (%s)\n", a->now.reason);
        else
                each_difference(g, a, print_one, NULL);
}

static void
write_one(void *ctx, const struct shown *s)
{
        struct json_writer *w = ctx;

        json_open_map(w);
        json_member_text(w, "what", s->what);
        json_member_text(w, "host", s->host->text);
        json_member_int(w, "port", s->port);
        if (s->recorded != 0)
                json_member_int(w, "connection", (int64_t)s->recorded);
        if (s->turn != 0) {
                json_member_int(w, "turn", (int64_t)s->turn);
                json_member_int(w, "byte", (int64_t)s->byte);
        }
        json_close_map(w);
}

static void
write_reason(struct json_writer *w, const struct audit_egress *g)
{
        json_key(w, "replay_egress");
        json_open_map(w);
        json_member_text(w, "reason", g->reason);
        if (g->t.stop_host.text[0] != '\0') {
                json_member_text(w, "host", g->t.stop_host.text);
                json_member_int(w, "port", g->t.stop_port);
        }
        json_close_map(w);
}

void
audit_egress_write(struct json_writer *w, const struct audit_egress *g,
                   const struct audit_egress_again *a)
{
        if (g->reason)
                write_reason(w, g);
        if (!g->has_answers)
                return;
        json_key(w, "egress");
        json_open_map(w);
        json_member_bool(w, "equal", a->is_equal);
        json_member_int(w, "connections", (int64_t)g->t.count);
        if (!a->is_equal && !a->now.has_answers)
                json_member_text(w, "reason", a->now.reason);
        if (!a->is_equal && a->now.has_answers) {
                json_key(w, "differences");
                json_open_list(w);
                each_difference(g, a, write_one, w);
                json_close_list(w);
        }
        json_close_map(w);
}
