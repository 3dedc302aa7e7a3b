/*
 * daemon/children.c - starts, signals and awaits spawner, keeper, door, fetcher, recorder, files,
 * judge, validators and gate together.
 *
 * Room: daemon (joining). Touches: processes, sockets.
 * Theory: the graph's table lists the links. Each link becomes a descriptor at both ends, and no
 * other process holds one.
 */
#include "daemon/children.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/switches.h"
#include "changes/server.h"
#include "daemon/child.h"
#include "daemon/fetcher.h"
#include "programs/programs.h"
#include "recorder/server.h"
#include "wire/message.h"

enum { NUMBER_ROOM = 16, LINK_MAX = 32 };

#ifdef CARREL_TEST_SWITCHES
static const bool tests_environment = true; /* tests use it to make processes misbehave */
#else
static const bool tests_environment = false;
#endif

/* -- starting ---------------------------------------------------------------------------------- */

static void
say(struct child_request *r, const char *option, const char *value)
{
        assert(r->word_count + 2 <= CHILD_WORDS_MAX);
        r->words[r->word_count++] = option;
        r->words[r->word_count++] = value;
}

/* Arguments other than descriptors. */
static void
add_words(const struct children_given *g, struct child_request *r)
{
        if (r->process != PROCESS_KEEPER)
                return;
        say(r, "--state", g->state);
        say(r, "--guest", program_init_id());
        if (g->ingress[0] != '\0')
                say(r, "--ingress", g->ingress);
        if (g->pool)
                say(r, "--pool", g->pool);
        if (g->delete_after_ms)
                say(r, "--delete-after", g->delete_after_ms);
}

/* Is this process started? */
static bool
is_wanted(const struct children_given *g, enum graph_process process)
{
        return (process != PROCESS_FETCHER || g->sources) &&
               (process != PROCESS_VALIDATORS || g->validate);
}

/* Both ends of the pair of each link that has one. */
struct pairs {
        int ends[LINK_MAX][2];
};

static void
add_descriptors(const struct listeners *l, const struct pairs *pairs, struct child_request *r,
                char numbers[CHILD_FDS_MAX][NUMBER_ROOM])
{
        const struct graph_link_row *link;

        for (size_t i = 0; (link = graph_link_at(i)) != NULL; i++) {
                bool is_from = link->from == r->process;
                const char *option = is_from ? link->from_option : link->to_option;
                int fd = link->slot == SLOT_PAIR || link->slot == SLOT_GATES
                                 ? pairs->ends[i][is_from ? 0 : 1]
                                 : l->fds[link->slot];

                if ((!is_from && link->to != r->process) || link->slot == SLOT_ELSEWHERE || fd < 0)
                        continue;
                assert(r->fd_count < CHILD_FDS_MAX);
                if (option) {
                        (void)snprintf(numbers[r->fd_count], NUMBER_ROOM, "%d",
                                       CHILD_FD_FIRST + (int)r->fd_count);
                        say(r, option, numbers[r->fd_count]);
                }
                r->fds[r->fd_count++] = fd;
        }
}

static int
make_pairs(const struct children_given *g, struct pairs *pairs, struct error *e)
{
        const struct graph_link_row *link;

        for (size_t i = 0; i < LINK_MAX; i++)
                pairs->ends[i][0] = pairs->ends[i][1] = -1;
        for (size_t i = 0; (link = graph_link_at(i)) != NULL; i++)
                if ((link->slot == SLOT_PAIR || link->slot == SLOT_GATES) &&
                    is_wanted(g, link->to) &&
                    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pairs->ends[i]) < 0)
                        return fail_sys(e, ERROR_BACKEND_FAILED, errno, "making a pair of sockets");
        return 0;
}

/*
 * Only the two linked processes may hold an end: an end that closes tells each that the other has
 * exited.
 */
static void
close_pairs(struct pairs *pairs)
{
        for (size_t i = 0; i < LINK_MAX; i++)
                for (int end = 0; end < 2; end++)
                        if (pairs->ends[i][end] >= 0)
                                (void)close(pairs->ends[i][end]);
}

/* -- the gate ---------------------------------------------------------------------------------- */

/* Keeps the launcher's end of the pair. */
static void
keep_gates(struct children *c, struct pairs *pairs)
{
        const struct graph_link_row *link;

        children_close(c);
        for (size_t i = 0; (link = graph_link_at(i)) != NULL; i++)
                if (link->slot == SLOT_GATES) {
                        c->gates = pairs->ends[i][0];
                        pairs->ends[i][0] = -1;
                }
}

int
children_start_gate(struct children *c, struct error *e)
{
        struct child_request r = { .process = PROCESS_GATE,
                                   .environment = tests_environment ? environ : NULL,
                                   .fd_count = 1 };
        char number[NUMBER_ROOM];
        int pair[2], result;

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "making a pair of sockets");
        (void)snprintf(number, sizeof number, "%d", CHILD_FD_FIRST);
        say(&r, "--keeper-fd", number);
        r.fds[0] = pair[1];
        result = child_start(&r, &c->pids[PROCESS_GATE], e);
        if (result == 0 && wire_send(c->gates, WIRE_GATE_STARTED, NULL, 0, &pair[0], 1) < 0)
                result = fail(e, ERROR_BACKEND_FAILED, "the keeper does not hear of a gate");
        (void)close(pair[0]);
        (void)close(pair[1]);
        return result;
}

void
children_close(struct children *c)
{
        if (c->gates >= 0)
                (void)close(c->gates);
        c->gates = -1;
}

/* -- all children ------------------------------------------------------------------------------ */

int
children_start(struct children *c, const struct children_given *g, const struct listeners *l,
               struct error *e)
{
        struct pairs pairs;
        int result = make_pairs(g, &pairs, e);

        for (int p = 0; p < PROCESS_CHILDREN && result == 0; p++) {
                char numbers[CHILD_FDS_MAX][NUMBER_ROOM];
                bool has_environment =
                        tests_environment || graph_process((enum graph_process)p)->has_environment;
                struct child_request r = { .process = (enum graph_process)p,
                                           .environment = has_environment ? environ : NULL };

                /* the gate starts later, when the keeper can be sent its socket */
                if (p == PROCESS_GATE || !is_wanted(g, r.process))
                        continue;
                add_words(g, &r);
                add_descriptors(l, &pairs, &r, numbers);
                if (p == PROCESS_RECORDER)
                        result = recorder_serve(
                                g->state, r.fds[0],
                                &(struct recorder_rules){ g->audit_keep_ms, g->redact_off },
                                g->forget, g->ctx, &c->pids[p], e);
                else if (p == PROCESS_FILES)
                        result = changes_serve(r.fds[0], g->forget, g->ctx, &c->pids[p], e);
                else if (p == PROCESS_VALIDATORS)
                        result = validators_start(g->validate, g->validate_ctx, g->forget_values,
                                                  g->ctx, r.fds[0], &c->pids[p], e);
                else if (p == PROCESS_FETCHER)
                        result = fetcher_start(g->sources, g->ctx, r.fds[0], &c->pids[p], e);
                else
                        result = child_start(&r, &c->pids[p], e);
        }
        keep_gates(c, &pairs);
        close_pairs(&pairs);
        return result;
}

/* -- the group --------------------------------------------------------------------------------- */

bool
children_any(const struct children *c)
{
        for (int p = 0; p < PROCESS_CHILDREN; p++)
                if (c->pids[p] > 0)
                        return true;
        return false;
}

void
children_signal(const struct children *c, int number)
{
        /* the door first, so that no new client connects */
        for (int p = PROCESS_CHILDREN; p-- > 0;)
                if (c->pids[p] > 0)
                        (void)kill(c->pids[p], number);
}

void
children_wait(const struct children *c)
{
        for (int p = 0; p < PROCESS_CHILDREN; p++)
                if (c->pids[p] > 0)
                        while (waitpid(c->pids[p], NULL, 0) < 0 && errno == EINTR)
                                continue;
}
