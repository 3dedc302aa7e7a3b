/*
 * gate/flow.c - bytes from one socket to another, one way.
 *
 *     socket --recv--> hold --judge, send--> socket     for the greeting, and while judged
 *     socket --splice--> pipe --splice--> socket        afterwards; or peek, send, drop
 *
 * Room: gate (acting). Touches: net, fd, mem.
 * Theory: sockets are watched edge-triggered, so a flag is valid until a call returns EAGAIN. The
 * gate reads only bytes that it can pass on soon. A slow receiver fills its own pipe, and then
 * blocks its own sender only. Without a free pipe, bytes are copied.
 */
#include "gate/flow.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gate/gate.h"
#include "gate/tape.h"
#include "gate/wall.h"

enum { ROUNDS = 4, HELD_FIRST = 4096, COPY_MAX = 16 * 1024, JUDGE_ONCE = 1024 };

/* Memory is shared by all walls; no wall gets all of it. */
static bool
may_hold(struct wall *w, size_t more)
{
        return fair_share_take(&w->gate->held, &w->held, more);
}

static void
give_held(struct wall *w, size_t less)
{
        fair_share_give(&w->gate->held, &w->held, less);
}

bool
held_make_room(struct flow *f)
{
        struct held *h = &f->hold;
        size_t room;
        char *bytes;

        if (h->at > 0) { /* drop bytes that were sent */
                memmove(h->bytes, h->bytes + h->at, h->len - h->at);
                h->len -= h->at;
                h->judged -= h->at;
                h->at = 0;
        }
        if (h->len < h->room)
                return true;
        room = h->room == 0 ? HELD_FIRST : h->room * 2;
        if (room > JUDGE_HOLD_MAX)
                room = JUDGE_HOLD_MAX;
        if (room == h->room || !may_hold(f->wall, room - h->room))
                return false;
        bytes = realloc(h->bytes, room);
        if (!bytes) {
                give_held(f->wall, room - h->room);
                return false;
        }
        h->bytes = bytes;
        h->room = room;
        return true;
}

void
held_fini(struct flow *f)
{
        if (f->hold.bytes)
                give_held(f->wall, f->hold.room);
        free(f->hold.bytes);
        f->hold = (struct held){ 0 };
}

bool
held_replace(struct flow *f, char *take_bytes, size_t len, size_t room)
{
        held_fini(f);
        if (!may_hold(f->wall, room)) {
                free(take_bytes);
                return false;
        }
        f->hold = (struct held){ .bytes = take_bytes, .len = len, .room = room };
        return true;
}

void
flow_fini(struct flow *f)
{
        held_fini(f);
        judge_free(f->judge);
        f->judge = NULL;
        if (f->pipe)
                pipes_give(&f->wall->gate->pipes, f->pipe, f->piped == 0);
        f->pipe = NULL;
}

static bool
is_wait(int error)
{
        return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

static bool
refuse(struct flow *f, enum denial reason)
{
        f->reason = reason;
        return false;
}

/* False: the cap of the wall on bytes is reached. */
static bool
count_bytes(struct flow *f, size_t len)
{
        f->passed += len;
        return wall_count_bytes(f->wall, f->is_out, len);
}

/* True: nothing may leave today, and the flow has its reason. */
static bool
is_closed(struct flow *f)
{
        const struct quota *q = &f->wall->quota;

        if (!f->is_out || !quota_is_closed(q))
                return false;
        f->reason = q->reason;
        return true;
}

/* -- held bytes -------------------------------------------------------------------------------- */

/* Sends bytes that may pass. False: broken or refused. */
static bool
send_held(struct flow *f, bool *moved)
{
        struct held *h = &f->hold;

        while (h->at < h->judged && f->to_ready) {
                size_t len = wall_may_send(f->wall, f->is_out, h->judged - h->at);
                ssize_t sent;

                if (len == 0)
                        return !is_closed(f);
                sent = send(f->to, h->bytes + h->at, len, MSG_NOSIGNAL | MSG_DONTWAIT);
                f->is_unsent = sent < 0 && !is_wait(errno);
                if (f->is_unsent)
                        return false;
                if (sent < 0) {
                        f->to_ready = errno == EINTR;
                        continue;
                }
                tape_passed(f->taped, f->is_out, h->bytes + h->at, (size_t)sent);
                h->at += (size_t)sent;
                *moved = true;
                if (!count_bytes(f, (size_t)sent))
                        return refuse(f, DENIAL_BYTES);
        }
        if (h->bytes && h->at == h->len)
                held_fini(f);
        return true;
}

/*
 * Shows the judge a small part, because it may contain many requests; or all, if the judge needs
 * more. *ret_goes_on false: it needs more than all, or is done.
 */
static bool
judge_some(struct flow *f, bool *ret_goes_on)
{
        struct held *h = &f->hold;
        size_t len = h->len - h->judged, once = len < JUDGE_ONCE ? len : JUDGE_ONCE, pass = 0;
        enum judge_verdict v =
                judge_take(f->judge, h->bytes + h->judged, once, &pass, &f->reason, &f->other);

        if (v == JUDGE_PASS && pass == 0 && once < len) {
                once = len;
                v = judge_take(f->judge, h->bytes + h->judged, once, &pass, &f->reason, &f->other);
        }
        h->judged += pass;
        f->waits = v == JUDGE_WAITS;
        *ret_goes_on = v == JUDGE_PASS && once < len;
        if (v == JUDGE_OVER) {
                judge_free(f->judge);
                f->judge = NULL;
                h->judged = h->len;
        }
        return v != JUDGE_REFUSED;
}

/* Judges held bytes within the cost limit of the turn. */
static bool
judge_held(struct flow *f)
{
        bool goes_on = f->judge && !f->waits && f->hold.judged < f->hold.len;

        if (!f->judge)
                f->hold.judged = f->hold.len;
        f->has_more = false;
        while (goes_on) {
                if (!judge_some(f, &goes_on))
                        return false;
                f->has_more = goes_on;
                goes_on = goes_on && !turn_is_used(&f->wall->turn);
        }
        return true;
}

/*
 * While the judge waits for the other direction, this reads nothing. An end without bytes before it
 * is passed on anyway.
 */
static bool
look_for_end(struct flow *f, bool *moved)
{
        ssize_t got;
        char byte;

        if (!f->from_ends || f->has_end || f->hold.judged < f->hold.len)
                return true;
        got = recv(f->from, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
        f->has_end = *moved = got == 0;
        return got >= 0 || is_wait(errno);
}

/* Reads bytes to judge, unless judged bytes still wait to be sent. */
static bool
read_to_judge(struct flow *f, size_t allowed, bool *moved)
{
        struct held *h = &f->hold;
        size_t room;
        ssize_t got;

        if (f->waits)
                return look_for_end(f, moved);
        if (h->at == h->judged && f->has_more) {
                *moved = true;
                return judge_held(f);
        }
        if (!f->from_ready || f->has_end || h->at < h->judged)
                return true;
        if (!held_make_room(f))
                return refuse(f, h->room >= JUDGE_HOLD_MAX ? DENIAL_MALFORMED : DENIAL_FAILED);
        room = h->room - h->len < allowed ? h->room - h->len : allowed;
        got = recv(f->from, h->bytes + h->len, room, MSG_DONTWAIT);
        if (got < 0) {
                f->from_ready = is_wait(errno) && errno == EINTR;
                if (h->len == 0)
                        held_fini(f);
                return is_wait(errno) || f->from_ready;
        }
        *moved = true;
        f->has_end = got == 0;
        h->len += (size_t)got;
        turn_use(&f->wall->turn, (size_t)got / TURN_JUDGED);
        return judge_held(f);
}

/* -- bytes that only pass ---------------------------------------------------------------------- */

/*
 * How many bytes may pass before the next answer must be parsed; all allowed ones if answers are
 * not followed.
 */
static size_t
look_ahead(struct flow *f, size_t allowed)
{
        static char bytes[COPY_MAX];
        struct answers *a = f->answers;
        ssize_t got;

        if (!a || a->is_unknown || allowed == 0)
                return allowed;
        if (a->ahead == 0 && f->from_ready && !f->has_end) {
                got = recv(f->from, bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT);
                if (got > 0)
                        answers_look(a, bytes, (size_t)got);
                else if (got == 0 || !is_wait(errno))
                        return allowed; /* an end: pass_on() reports it */
                else
                        f->from_ready = errno == EINTR;
        }
        return a->is_unknown || a->ahead > allowed ? allowed : (size_t)a->ahead;
}

static void
note_passed(struct flow *f, size_t len)
{
        if (f->answers && !f->answers->is_unknown)
                answers_passed(f->answers, len);
}

/* Without a pipe: peek, send, drop what was sent. */
static bool
copy_some(struct flow *f, size_t allowed, bool *moved)
{
        static char bytes[COPY_MAX];
        size_t most = allowed < sizeof bytes ? allowed : sizeof bytes;
        ssize_t got, sent;

        if (!f->from_ready || f->has_end || !f->to_ready)
                return true;
        most = wall_may_send(f->wall, f->is_out, most); /* held bytes may have been sent just now */
        if (most == 0)
                return true;
        got = recv(f->from, bytes, most, MSG_PEEK | MSG_DONTWAIT);
        if (got <= 0) {
                f->has_end = got == 0;
                *moved = got == 0;
                f->from_ready = got == 0;
                f->is_reset = got < 0 && !is_wait(errno);
                return got == 0 || is_wait(errno);
        }
        sent = send(f->to, bytes, (size_t)got, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0) {
                f->to_ready = false;
                f->is_unsent = !is_wait(errno);
                return !f->is_unsent;
        }
        *moved = true;
        note_passed(f, (size_t)sent);
        tape_passed(f->taped, f->is_out, bytes, (size_t)sent);
        /* into the bytes again: MSG_TRUNC drops them for TCP alone */
        if (recv(f->from, bytes, (size_t)sent, MSG_DONTWAIT) != sent)
                return false;
        return count_bytes(f, (size_t)sent) || refuse(f, DENIAL_BYTES);
}

static bool
splice_in(struct flow *f, size_t allowed, bool *moved)
{
        size_t room = f->pipe->size - f->piped;
        ssize_t got;

        if (!f->from_ready || f->has_end || f->is_urgent || room == 0 || allowed == 0)
                return true;
        got = splice(f->from, NULL, f->pipe->in, NULL, room < allowed ? room : allowed,
                     SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
        if (got > 0) {
                f->piped += (size_t)got;
                note_passed(f, (size_t)got);
                *moved = true;
                return true;
        }
        if (got == 0) { /* the end, or an urgent byte in front of it */
                char byte;

                f->is_urgent = recv(f->from, &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 0;
                f->has_end = !f->is_urgent;
                *moved = true;
                return true;
        }
        /* EAGAIN with bytes in the pipe can mean that small pieces fill the pipe. Try again once it
         * is empty. */
        if (is_wait(errno))
                f->from_ready = f->piped > 0 || errno == EINTR;
        return is_wait(errno);
}

static bool
splice_out(struct flow *f, bool *moved)
{
        size_t len = f->piped > 0 && f->to_ready ? wall_may_send(f->wall, f->is_out, f->piped) : 0;
        ssize_t sent;

        if (len == 0)
                return true;
        /* Before an end nothing is urgent: with SPLICE_F_MORE the last bytes and the end become one
         * packet. pass_end() follows. */
        sent = splice(f->pipe->out, NULL, f->to, NULL, len,
                      SPLICE_F_MOVE | SPLICE_F_NONBLOCK | (f->has_end ? SPLICE_F_MORE : 0));
        if (sent < 0) {
                f->to_ready = errno == EINTR;
                return is_wait(errno);
        }
        f->piped -= (size_t)sent;
        *moved = sent > 0;
        return count_bytes(f, (size_t)sent) || refuse(f, DENIAL_BYTES);
}

static bool
pass_on(struct flow *f, size_t allowed, bool *moved)
{
        struct pipes *pipes = &f->wall->gate->pipes;
        bool is_fine;

        allowed = look_ahead(f, allowed);

        if (!f->pipe && !f->copies && f->from_ready && !f->has_end && !f->is_urgent && f->to_ready)
                f->pipe = pipes_take(pipes);
        if (!f->pipe)
                return allowed == 0 || copy_some(f, allowed, moved);
        is_fine = splice_in(f, allowed, moved);
        if (is_fine && f->from_ends && f->piped > 0 && f->piped < allowed)
                /* is the end already here? */
                is_fine = splice_in(f, allowed - f->piped, moved);
        is_fine = is_fine && splice_out(f, moved);
        if (f->piped == 0 && (!is_fine || !*moved || f->has_end || f->is_urgent)) {
                pipes_give(pipes, f->pipe, 1);
                f->pipe = NULL;
        }
        return is_fine;
}

/* -- both -------------------------------------------------------------------------------------- */

/* Passes the end on after all bytes before it. */
static bool
pass_end(struct flow *f)
{
        if (!f->has_end || f->is_shut || f->piped > 0 || f->hold.at < f->hold.judged || f->has_more)
                return true;
        f->is_shut = true;
        tape_over(f->taped, f->is_out);
        /* Unjudged bytes do not leave; the end after them does. */
        return f->is_last || shutdown(f->to, SHUT_WR) == 0 || errno == ENOTCONN;
}

static bool
is_held(const struct flow *f)
{
        return f->judge || f->hold.at < f->hold.len;
}

enum flow_state
flow_send_rest(struct flow *f)
{
        bool moved;

        if (!send_held(f, &moved))
                return FLOW_BROKEN;
        return f->hold.at < f->hold.judged ? FLOW_WAITS : FLOW_OVER;
}

/* Are there bytes that only the day's limit holds back, until more of it is here? */
static bool
waits_for_quota(const struct flow *f)
{
        return (f->piped > 0 || f->hold.at < f->hold.judged || f->from_ready) && f->to_ready &&
               wall_may_send(f->wall, f->is_out, 1) == 0;
}

enum flow_state
flow_pump(struct flow *f)
{
        if (is_closed(f))
                return FLOW_REFUSED;
        if (f->is_shut)
                return FLOW_OVER;
        if (!judge_held(f))
                return FLOW_REFUSED;
        for (int round = 0; round < ROUNDS; round++) {
                bool moved = false, is_fine;
                size_t allowed = wall_allowance(f->wall, f->is_out, PIPE_LARGE);

                f->reason = DENIAL_NONE;
                if (allowed == 0 && f->piped == 0 && (f->from_ready || f->has_more) &&
                    f->hold.at == f->hold.judged)
                        return FLOW_LATER;
                is_fine = send_held(f, &moved);
                if (is_fine && is_held(f))
                        is_fine = allowed == 0 || read_to_judge(f, allowed, &moved);
                else if (is_fine)
                        /* bytes in a pipe were allowed when they were read */
                        is_fine = pass_on(f, allowed, &moved);
                if (!is_fine)
                        return f->reason != DENIAL_NONE ? FLOW_REFUSED : FLOW_BROKEN;
                if (!pass_end(f))
                        return FLOW_BROKEN;
                if (f->is_shut)
                        return FLOW_OVER;
                if (!moved)
                        return waits_for_quota(f) ? FLOW_LATER : FLOW_WAITS;
                turn_use(&f->wall->turn, TURN_JOB);
                if (turn_is_used(&f->wall->turn))
                        break;
        }
        return FLOW_AGAIN;
}
