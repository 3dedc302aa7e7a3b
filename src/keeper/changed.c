/*
 * keeper/changed.c - the files that a sandbox's commands changed, for the audit log.
 *
 * Room: keeper (joining). Touches: fd, mem, clock.
 * Theory: the keeper reads no file. A fork of carrel-files looks, as long as it takes; meanwhile
 * the ends of execs wait here, and further ones are covered by the next look. What a look found
 * becomes the base when its entries are on their way, so a keeper that is killed loses nothing but
 * what it had in hand: the next one asks for what has a ctime since the commands began.
 */
#include "keeper/changed.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "changes/message.h"
#include "keeper/audit.h"
#include "keeper/audit_refs.h"
#include "keeper/looker.h"
#include "keeper/mounts.h"

struct changed_exec {
        struct changed_exec *next;
        uint32_t number;
        uint64_t since_ms;                            /* wall clock: when it was begun */
        bool is_covered, was_ended, has_ended, holds; /* was: when the look began */
        struct wire_box_listed end;
};

struct changed {
        struct peer peer; /* first */
        struct changed *next;
        struct keeper *keeper;
        struct sandbox *sandbox;                          /* NULL: gone */
        char owner[KEEPER_OWNER_LEN], id[SANDBOX_ID_LEN]; /* of a sandbox that is gone */
        struct loop_timer patience, again;
        struct calls waiting; /* for the base */
        struct changed_exec *execs;
        size_t held;
        uint64_t looked_ms, rest_until_ms; /* boot clock: the look began; when the next may */
        uint64_t room, filled_ms;
        uint64_t retry_ms, pause_ms; /* dead: when the next command may begin again; then wait */
        uint64_t volumes_kb;         /* what its volumes held at the last look */
        bool has_volumes, knows_volumes;
        bool is_begun, is_looking, is_deaf, is_dead, is_condemned;
};

/* One for each keeper. */
static struct {
        struct changed *first;
        _Alignas(8) unsigned char body[WIRE_BODY_MAX];
} files;

static void next_look(struct changed *ch);

/* -- entries ----------------------------------------------------------------------------------- */

static void
record(const struct changed *ch, const struct json_writer *output)
{
        const struct sandbox *s = ch->sandbox;

        audit_named(s ? s->row.owner : ch->owner, s ? s->id : ch->id, "file.changed", output);
}

/* The execs that ran since the last look began. */
static void
write_execs(struct json_writer *w, const struct changed *ch)
{
        json_key(w, "execs");
        json_open_list(w);
        for (const struct changed_exec *x = ch->execs; x; x = x->next)
                if (x->is_covered)
                        json_uint(w, x->number);
        json_close_list(w);
}

static void
record_rows(struct changed *ch, const unsigned char *body, size_t len)
{
        struct wire_files_rows head;
        struct json_writer output;

        memcpy(&head, body, sizeof head);
        json_init(&output, false);
        json_open_map(&output);
        if (head.is_by)
                write_execs(&output, ch);
        json_key(&output, "events");
        json_raw(&output, (const char *)body + sizeof head, len - sizeof head);
        json_close_map(&output);
        record(ch, &output);
        json_fini(&output);
        ch->room -= len < ch->room ? len : ch->room;
}

static void
record_result(const struct changed *ch, const struct changes_result *r)
{
        struct json_writer output;

        json_init(&output, false);
        json_open_map(&output);
        write_execs(&output, ch);
        changes_result_write(&output, r);
        json_close_map(&output);
        record(ch, &output);
        json_fini(&output);
}

/* Nothing is known of what these execs changed. */
static void
record_error(const struct changed *ch, const char *why)
{
        struct json_writer output;

        json_init(&output, false);
        json_open_map(&output);
        write_execs(&output, ch);
        json_member_text(&output, "error", why);
        json_close_map(&output);
        record(ch, &output);
        json_fini(&output);
}

/* -- execs ------------------------------------------------------------------------------------- */

static struct changed_exec *
find_exec(const struct changed *ch, uint32_t number)
{
        struct changed_exec *x = ch ? ch->execs : NULL;

        while (x && x->number != number)
                x = x->next;
        return x;
}

static struct changed_exec *
add_exec(struct changed *ch, uint32_t number, uint64_t since_ms)
{
        struct changed_exec *x = calloc(1, sizeof *x);

        if (!x)
                return NULL;
        x->number = number;
        x->since_ms = since_ms;
        x->is_covered = ch->is_looking; /* the rest of the look may find what it changes */
        x->next = ch->execs;
        /* lint: each exec is in the list of `ch`, and changed_sweep() frees it */
        ch->execs = x;
        return x;
}

static void
send_end(struct changed *ch, struct changed_exec *x)
{
        if (!x->holds)
                return;
        x->holds = false;
        ch->held--;
        if (ch->sandbox)
                audit_exec_ended(ch->sandbox, &x->end);
}

/* A look, or what stands for it, has covered the execs that ended before: they are over. */
static void
let_go(struct changed *ch)
{
        for (struct changed_exec **at = &ch->execs; *at;) {
                struct changed_exec *x = *at;
                bool is_over = x->is_covered && x->was_ended;

                x->is_covered = x->was_ended = false;
                if (!is_over) {
                        at = &x->next;
                        continue;
                }
                send_end(ch, x);
                *at = x->next;
                free(x);
        }
}

/* Returns when the first of them began (wall clock). */
static uint64_t
cover(struct changed *ch)
{
        uint64_t since = UINT64_MAX;

        for (struct changed_exec *x = ch->execs; x; x = x->next) {
                x->is_covered = true;
                x->was_ended = x->has_ended;
                if (x->since_ms < since)
                        since = x->since_ms;
        }
        return since == UINT64_MAX ? loop_wall_ms() : since;
}

/* -- the process that looks -------------------------------------------------------------------- */

static void
condemn(struct changed *ch)
{
        ch->is_condemned = true;
        ch->keeper->needs_sweep = true;
}

/* Until a command begins again, no look is made; entries say so. */
static void
die(struct changed *ch, const char *why)
{
        if (ch->is_dead)
                return;
        ch->is_dead = true;
        ch->is_looking = false;
        loop_timer_remove(&ch->patience);
        loop_timer_remove(&ch->again);
        peer_close(&ch->peer);
        (void)cover(ch);
        if (ch->execs)
                record_error(ch, why);
        let_go(ch);
        calls_begin(&ch->waiting);
        if (!ch->sandbox)
                condemn(ch);
}

static void
on_impatience(struct loop_timer *t)
{
        die((struct changed *)(void *)((char *)t - offsetof(struct changed, patience)), "slow");
}

static void
on_rested(struct loop_timer *t)
{
        struct changed *ch =
                (struct changed *)(void *)((char *)t - offsetof(struct changed, again));

        if (ch->is_deaf)
                peer_hear(&ch->peer, true);
        ch->is_deaf = false;
        next_look(ch);
}

/* Rows wait in the socket while the recorder is behind. */
static bool
is_deaf(struct changed *ch)
{
        if (ch->is_looking && audit_is_full() &&
            loop_timer_set(ch->keeper->loop, &ch->again, loop_now_ms() + CHANGED_DEAF_MS,
                           on_rested) == 0) {
                peer_hear(&ch->peer, false);
                ch->is_deaf = true;
        }
        return ch->is_deaf;
}

static uint64_t
rows_now(struct changed *ch)
{
        uint64_t now = loop_now_ms(), passed = now - ch->filled_ms;

        ch->room += passed < CHANGED_BURST ? passed * CHANGED_RATE / 1000 : CHANGED_BURST;
        if (ch->room > CHANGED_BURST)
                ch->room = CHANGED_BURST;
        ch->filled_ms = now;
        return ch->room / CHANGED_ROW_LEN;
}

/* Begins a look if one is needed and none goes on. */
static void
next_look(struct changed *ch)
{
        struct wire_files_look look;
        bool is_needed = false;

        for (const struct changed_exec *x = ch->execs; x; x = x->next)
                is_needed |= x->has_ended;
        if (!is_needed && !ch->sandbox && !ch->is_looking)
                condemn(ch);
        if (!is_needed || !ch->is_begun || ch->is_looking || ch->is_dead)
                /* lint: each exec is in the list of `ch`, and changed_sweep() frees it */
                return;
        if (ch->sandbox && loop_now_ms() < ch->rest_until_ms) {
                (void)loop_timer_set(ch->keeper->loop, &ch->again, ch->rest_until_ms, on_rested);
                return;
        }
        /* lint: each exec is in the list of `ch`, and changed_sweep() frees it */
        look = (struct wire_files_look){ .since_ms = cover(ch), .rows_max = rows_now(ch) };
        ch->looked_ms = loop_now_ms();
        ch->is_looking = true;
        (void)loop_timer_set(ch->keeper->loop, &ch->patience, ch->looked_ms + CHANGED_LOOK_MS,
                             on_impatience);
        (void)peer_send(&ch->peer, WIRE_FILES_LOOK, &look, sizeof look, NULL, 0);
}

/* Its box adds up what it uses. */
static void
tell_volumes(const struct changed *ch)
{
        const struct wire_box_volumes volumes = { ch->volumes_kb };
        struct box *b = ch->sandbox ? ch->sandbox->box : NULL;

        if (ch->knows_volumes && b && b->is_ready && !b->is_gone &&
            b->hello.protocol >= BOX_PROTOCOL_COUNTED)
                (void)box_send(b, WIRE_BOX_VOLUMES, &volumes, sizeof volumes);
}

static void
note_volumes(struct changed *ch, const struct changes_result *r)
{
        if (!ch->has_volumes || r->has_failed)
                return;
        ch->volumes_kb = r->volume_bytes >> 10;
        ch->knows_volumes = true;
        tell_volumes(ch);
}

static void
on_done(struct changed *ch, const struct changes_result *r)
{
        uint64_t now = loop_now_ms(), rest = now - ch->looked_ms;

        if (!ch->is_looking)
                return;
        ch->is_looking = false;
        ch->rest_until_ms = now + (rest < CHANGED_PAUSE_MS ? rest : CHANGED_PAUSE_MS);
        loop_timer_remove(&ch->patience);
        note_volumes(ch, r);
        if (!changes_result_is_whole(r))
                record_result(ch, r);
        if (!r->has_failed)
                (void)peer_send(&ch->peer, WIRE_FILES_ADOPT, NULL, 0, NULL, 0);
        ch->retry_ms = ch->pause_ms = 0;
        let_go(ch);
        next_look(ch);
}

static void
on_begun(struct changed *ch)
{
        ch->is_begun = true;
        loop_timer_remove(&ch->patience);
        calls_begin(&ch->waiting);
        next_look(ch);
}

static void
on_words(struct peer *p, uint32_t events)
{
        struct changed *ch = (struct changed *)p;
        int result = -EAGAIN;
        struct wire_message m;

        (void)events;
        for (int i = 0; i < PEER_BURST && !ch->is_dead && !ch->is_condemned && !is_deaf(ch); i++) {
                result = wire_receive(p->fd, 0, &m, files.body, sizeof files.body);
                if (result <= 0)
                        break;
                wire_message_close(&m);
                if (m.kind == WIRE_FILES_BEGUN && m.len == sizeof(struct changes_result))
                        note_volumes(ch, (const void *)files.body);
                if (m.kind == WIRE_FILES_BEGUN)
                        on_begun(ch);
                else if (m.kind == WIRE_FILES_ROWS && m.len > sizeof(struct wire_files_rows))
                        record_rows(ch, files.body, m.len);
                else if (m.kind == WIRE_FILES_DONE && m.len == sizeof(struct changes_result))
                        on_done(ch, (const void *)files.body);
        }
        if (p->is_broken || (result <= 0 && result != -EAGAIN))
                die(ch, "ended");
}

/* -- a sandbox --------------------------------------------------------------------------------- */

static struct changed *
add(struct sandbox *s)
{
        struct changed *ch = calloc(1, sizeof *ch);

        if (!ch)
                return NULL;
        ch->keeper = s->keeper;
        ch->sandbox = s;
        ch->peer.fd = -1;
        ch->peer.is_broken = true;
        ch->patience.due_ms = ch->again.due_ms = LOOP_NEVER;
        ch->room = CHANGED_BURST;
        ch->filled_ms = loop_now_ms();
        calls_init(&ch->waiting);
        ch->next = files.first;
        files.first = ch;
        s->changed = ch;
        return ch;
}

/* The message; 0: it does not fit. */
static size_t
write_begin(struct changed *ch, const struct mounts *m, bool has_base)
{
        struct wire_files_begin head = { (uint32_t)m->count, has_base, { 0 } };
        size_t len = sizeof head;

        for (size_t i = 0; i < m->count; i++)
                if (mounts_is_volume(ch->keeper, &m->items[i])) {
                        head.volumes[i / 64] |= UINT64_C(1) << i % 64;
                        ch->has_volumes = true;
                }
        memcpy(files.body, &head, sizeof head);
        for (size_t i = 0; i < m->count; i++) {
                const char *const texts[] = { m->items[i].at, m->items[i].hidden };

                for (size_t t = 0; t < 2; t++) {
                        size_t more = strlen(texts[t]) + 1;

                        if (more > sizeof files.body - len)
                                return 0;
                        memcpy(files.body + len, texts[t], more);
                        len += more;
                }
        }
        return len;
}

/* Hands the descriptors on. 0 or -1. */
static int
start(struct changed *ch, struct mounts *m, bool has_base)
{
        int fds[1 + SOURCES_MAX], pair[2];
        size_t len = m->count <= CHANGES_ROOTS_MAX ? write_begin(ch, m, has_base) : 0;

        if (len == 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return -1;
        fds[0] = pair[1];
        for (size_t i = 0; i < m->count; i++) {
                fds[1 + i] = m->items[i].fd;
                m->items[i].fd = -1;
        }
        if (looker_order(WIRE_FILES_BEGIN, files.body, len, fds, 1 + m->count) < 0) {
                (void)close(pair[0]);
                return -1;
        }
        if (peer_open(&ch->peer, ch->keeper->loop, pair[0], on_words) < 0)
                return -1;
        (void)loop_timer_set(ch->keeper->loop, &ch->patience, loop_now_ms() + CHANGED_BASE_MS,
                             on_impatience);
        return 0;
}

static bool
is_recorded(const struct sandbox *s)
{
        return audit_is_there() && !s->keeper->host.rules->ignores_files;
}

/* false: later, when its volumes exist. */
static bool
begin(struct sandbox *s)
{
        struct mounts m;
        enum mounts_state state = mounts_of(s->prepared->sources, &m);
        struct changed *ch = NULL;

        if (state != MOUNTS_LATER && (state == MOUNTS_FAILED || m.count > 0))
                ch = add(s);
        if (state == MOUNTS_READY && mounts_save(s->keeper, s->id, &m) < 0)
                state = MOUNTS_FAILED;
        if (ch && (state == MOUNTS_FAILED || start(ch, &m, true) < 0))
                die(ch, "not_watched");
        mounts_fini(&m);
        return state != MOUNTS_LATER;
}

void
changed_make(struct sandbox *s)
{
        changed_gone(s);
        s->awaits_mounts = is_recorded(s) && s->prepared && s->prepared->sources && !begin(s);
}

/* Its end waits for a look; of too many, it does not. */
static bool
hold(struct changed *ch, struct changed_exec *x, const struct wire_box_listed *l)
{
        x->has_ended = true;
        if (ch->held >= CHANGED_HELD_MAX)
                return false;
        x->end = *l;
        x->holds = true;
        ch->held++;
        return true;
}

/* The log has the start and no end of this exec, which the box knows. */
static void
find_open(struct sandbox *s, const struct wire_box_listed *l)
{
        struct changed *ch = s->changed;
        char ref[RECORDER_REF_MAX];
        uint64_t now = loop_now_ms(),
                 ago = l->started_ms != 0 && l->started_ms <= now ? now - l->started_ms : 0;
        struct changed_exec *x;

        if (!ch || !s->is_attached || (l->flags & BOX_EXEC_QUIET) != 0 ||
            l->state == BOX_EXEC_FAILED || !audit_ref(s, l->exec, ref) || find_exec(ch, l->exec))
                return;
        x = add_exec(ch, l->exec, loop_wall_ms() - ago);
        if (!x || l->state != BOX_EXEC_ENDED)
                return;
        if (!ch->is_dead) {
                (void)hold(ch, x, l);
                next_look(ch);
                return;
        }
        x->is_covered = x->was_ended = true;
        record_error(ch, "not_watched");
        let_go(ch);
}

static bool
holds(const struct sandbox *s, uint32_t exec)
{
        const struct changed_exec *x = find_exec(s->changed, exec);

        return x && x->holds;
}

/* What runs in it, and what the log has no end of, began before this keeper. */
static void
find_again(struct sandbox *s)
{
        struct mounts m;
        enum mounts_state state = mounts_load(s->keeper, s->id, &m);
        struct changed *ch = state == MOUNTS_FAILED || m.count > 0 ? add(s) : NULL;

        if (ch && (state == MOUNTS_FAILED || start(ch, &m, false) < 0))
                die(ch, "not_watched");
        mounts_fini(&m);
        for (size_t i = 0; ch && s->box && i < s->box->exec_count; i++)
                find_open(s, &s->box->execs[i]);
}

void
changed_ready(struct sandbox *s)
{
        if (s->awaits_mounts && s->prepared && s->prepared->sources)
                (void)begin(s);
        s->awaits_mounts = false;
        if (s->changed)
                tell_volumes(s->changed);
        if (s->is_attached && !s->changed && is_recorded(s))
                find_again(s);
}

/* Another process, for a sandbox whose process ended or was too slow. At once after the first time:
 * then the reason may have passed. */
static void
begin_again(struct changed *ch)
{
        uint64_t pause = ch->pause_ms > 0 ? ch->pause_ms : CHANGED_RETRY_MS;
        struct mounts m;

        ch->retry_ms = loop_now_ms() + pause;
        ch->pause_ms = pause < CHANGED_RETRY_MAX_MS / 2 ? pause * 2 : CHANGED_RETRY_MAX_MS;
        if (mounts_load(ch->keeper, ch->sandbox->id, &m) == MOUNTS_READY && m.count > 0 &&
            start(ch, &m, false) == 0)
                ch->is_dead = ch->is_begun = ch->is_deaf = false;
        mounts_fini(&m);
}

enum call_state
changed_need(struct call *c, struct sandbox *s)
{
        if (s->changed && s->changed->is_dead && loop_now_ms() >= s->changed->retry_ms)
                begin_again(s->changed);
        if (!s->changed || s->changed->is_begun || s->changed->is_dead)
                return CALL_DONE;
        calls_add(&s->changed->waiting, c);
        return CALL_WAITS;
}

void
changed_exec_begins(struct sandbox *s, uint32_t exec)
{
        if (s->changed && !find_exec(s->changed, exec))
                (void)add_exec(s->changed, exec, loop_wall_ms());
}

static void
drop_exec(struct changed *ch, const struct changed_exec *x)
{
        for (struct changed_exec **at = &ch->execs; *at; at = &(*at)->next)
                if (*at == x) {
                        struct changed_exec *gone = *at;

                        *at = gone->next;
                        free(gone);
                        return;
                }
}

bool
changed_exec_ended(struct sandbox *s, const struct wire_box_listed *l)
{
        struct changed *ch = s->changed;
        struct changed_exec *x = find_exec(ch, l->exec);
        bool is_held = false;

        if (!ch || (l->flags & BOX_EXEC_QUIET) != 0 || !s->row.owner)
                return false;
        if (!x)
                x = add_exec(ch, l->exec, loop_wall_ms());
        if (!x || l->state == BOX_EXEC_FAILED) {
                drop_exec(ch, x);
                return false;
        }
        if (ch->is_dead) {
                x->is_covered = x->was_ended = true;
                record_error(ch, "not_watched");
                let_go(ch);
                return false;
        }
        if (!x->holds)
                is_held = hold(ch, x, l);
        next_look(ch);
        return is_held;
}

void
changed_gone(struct sandbox *s)
{
        struct changed *ch = s->changed;

        s->awaits_mounts = false;
        if (!ch)
                return;
        s->changed = NULL;
        calls_begin(&ch->waiting);
        for (struct changed_exec *x = ch->execs; x; x = x->next) {
                send_end(ch, x);
                x->has_ended = true;
        }
        ch->sandbox = NULL;
        (void)snprintf(ch->owner, sizeof ch->owner, "%s", s->row.owner ? s->row.owner : "");
        (void)snprintf(ch->id, sizeof ch->id, "%s", s->id);
        if (ch->is_dead || !s->row.owner)
                condemn(ch);
        else
                next_look(ch);
}

bool
changed_is_busy(const struct keeper *k)
{
        (void)k;
        for (const struct changed *ch = files.first; ch; ch = ch->next)
                if (!ch->sandbox && !ch->is_condemned)
                        return true;
        return false;
}

void
changed_sweep(void)
{
        for (struct changed **at = &files.first; *at;) {
                struct changed *ch = *at;

                if (!ch->is_condemned) {
                        at = &ch->next;
                        continue;
                }
                *at = ch->next;
                loop_timer_remove(&ch->patience);
                loop_timer_remove(&ch->again);
                if (!ch->is_dead)
                        peer_close(&ch->peer);
                while (ch->execs)
                        drop_exec(ch, ch->execs);
                free(ch);
        }
}

int
changed_open(struct keeper *k, int take_fd, struct error *e)
{
        static const struct audit_holder holder = { holds, find_open };
        int result;

        audit_hold(&holder);
        result = looker_open(k, take_fd);
        return result < 0 ? fail_sys(e, ERROR_INTERNAL, -result, "waiting for carrel-files") : 0;
}
