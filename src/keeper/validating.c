/*
 * keeper/validating.c - asks programs whether calls may begin.
 *
 * Room: keeper (joining). Touches: fd.
 * Theory: each question has a socket of its own, whose other end is a process that runs the program
 * in a sandbox. The keeper never waits for it. When the call ends, its socket is closed, and that
 * process ends the sandbox. Everything but an answer denies. OWNER_MAX programs of one owner run at
 * once, and INSIDE_MAX of all.
 */
#include "keeper/validating.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "keeper/peer.h"
#include "keeper/seats.h"
#include "wire/validator.h"

enum { INSIDE_MAX = 8, OWNER_MAX = 2, OWNER_WAITING_MAX = 64, WAITING_MAX = 1024 };

struct call_validating {
        struct peer peer; /* first */
        struct seat seat; /* its call too */
        struct loop_timer timer;
        char program[128]; /* for errors */
        bool is_done;
        int result; /* of question_answer_read() */
        char sentence[QUESTION_SENTENCE_ROOM];
        struct error why;
};

/* One for each keeper. */
static struct {
        struct peer peer; /* first */
        struct keeper *keeper;
        struct seats seats;
} validators = { .seats = { .inside_max = INSIDE_MAX,
                            .owner_inside_max = OWNER_MAX,
                            .waiting_max = WAITING_MAX,
                            .owner_waiting_max = OWNER_WAITING_MAX,
                            .owner_reason = "validators",
                            .reason = "validators_all",
                            .says = "calls wait for a validator" } };

bool
validating_is_done(const struct call *c)
{
        return c->validating && c->validating->is_done;
}

/* The oldest whose owner has a place left begins again, and takes it. */
static void
wake_next(void)
{
        struct seat *seat = seats_next(&validators.seats);
        struct call *c = seat ? seat->call : NULL;

        if (!c)
                return;
        validating_forget(c);
        call_continue(c);
        wake_next(); /* each time one fewer waits */
}

static void
leave(struct call_validating *w)
{
        loop_timer_remove(&w->timer);
        if (w->peer.fd >= 0)
                peer_close(&w->peer);
        seats_leave(&validators.seats, &w->seat);
}

void
validating_forget(struct call *c)
{
        struct call_validating *w = c->validating;

        if (!w)
                return;
        leave(w);
        free(w);
        c->validating = NULL;
}

int
validating_take(struct call *c, char sentence[QUESTION_SENTENCE_ROOM], struct error *e)
{
        struct call_validating *w = c->validating;
        int result = w->result;

        memcpy(sentence, w->sentence, sizeof w->sentence);
        *e = w->why;
        validating_forget(c);
        return result;
}

static bool
is_waiting(const struct call *c)
{
        return c->validating && (c->validating->seat.is_inside || c->validating->seat.is_waiting);
}

void
validating_withdraw(const struct connection *connection, const uint32_t *serial)
{
        struct call *next;

        for (struct call *c = connection->calls; c; c = next) {
                next = c->next_of_connection;
                if (is_waiting(c) && (!serial || c->serial == *serial))
                        call_end(c);
        }
        wake_next();
}

/* -- the answer -------------------------------------------------------------------------------- */

static void
end(struct call_validating *w, int result)
{
        struct call *c = w->seat.call;

        leave(w);
        w->is_done = true;
        w->result = result;
        call_continue(c);
        wake_next();
}

static void
on_time(struct loop_timer *t)
{
        struct call_validating *w =
                (struct call_validating *)(void *)((char *)t -
                                                   offsetof(struct call_validating, timer));

        end(w, question_fail(w->program, "it did not end in time", &w->why));
}

static void
on_words(struct peer *p, uint32_t events)
{
        struct call_validating *w = (struct call_validating *)p;
        _Alignas(8) unsigned char body[sizeof(struct wire_validated) + VALIDATE_OUTPUT_MAX];
        struct wire_message m;
        int result = wire_receive(p->fd, 0, &m, body, sizeof body);

        (void)events;
        if (result == -EAGAIN && !p->is_broken)
                return;
        if (result > 0)
                wire_message_close(&m);
        if (result > 0 && m.kind == WIRE_VALIDATED)
                end(w, question_answer_read(w->program, body, m.len, w->sentence, &w->why));
        else
                end(w, question_fail(w->program, "the process that ran it has ended", &w->why));
}

/* -- asking ------------------------------------------------------------------------------------ */

static int
ask(struct call_validating *w, const struct validating_question *q, struct error *e)
{
        struct loop *loop = validators.keeper->loop;
        uint64_t due_ms = loop_now_ms() + q->timeout_ms + VALIDATE_MAKE_MS + VALIDATE_ANSWER_MS;
        int pair[2];

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return question_fail(q->program, "no socket can be made", e);
        if (peer_open(&w->peer, loop, pair[0], on_words) < 0) {
                (void)close(pair[1]);
                return question_fail(q->program, "its socket cannot be waited for", e);
        }
        if (peer_send(&validators.peer, WIRE_VALIDATE, NULL, 0, &pair[1], 1) < 0 ||
            peer_send(&w->peer, WIRE_VALIDATE_THIS, q->body, q->len, NULL, 0) < 0 ||
            loop_timer_set(loop, &w->timer, due_ms, on_time) < 0)
                return question_fail(q->program, "carrel-validate does not run", e);
        return 0;
}

enum call_state
validating_ask(struct call *c, const struct validating_question *q, struct error *e)
{
        struct call_validating *w = calloc(1, sizeof *w);

        if (!w)
                return fail(e, ERROR_NO_MEMORY, "no memory to ask a validator"), CALL_FAILED;
        c->validating = w;
        w->seat.call = c;
        w->peer.fd = -1;
        w->timer.due_ms = LOOP_NEVER;
        (void)snprintf(w->program, sizeof w->program, "%s", q->program);
        if (seats_enter(&validators.seats, &w->seat)
                    ? ask(w, q, e) == 0
                    : seats_wait(&validators.seats, &w->seat, e) == 0)
                return CALL_WAITS;
        validating_forget(c);
        return CALL_FAILED;
}

/* -- carrel-validate ------------------------------------------------------------------------- */

static void
on_end(struct peer *p, uint32_t events)
{
        (void)p;
        (void)events;
        (void)fprintf(stderr, "carrel-keeper: carrel-validate has ended; so does this one, to be "
                              "started again\n");
        validators.keeper->is_stopping = true;
        loop_stop(validators.keeper->loop);
}

int
validating_open(struct keeper *k, int take_fd, struct error *e)
{
        int result;

        validators.keeper = k;
        validators.peer.is_broken = take_fd < 0; /* without it, programs deny */
        if (take_fd < 0)
                return 0;
        result = peer_open(&validators.peer, k->loop, take_fd, on_end);
        return result < 0 ? fail_sys(e, ERROR_INTERNAL, -result, "waiting for carrel-validate") : 0;
}
