/*
 * keeper/sandbox.h - one sandbox in the keeper's memory, its box, and what may happen to them.
 */
#ifndef CARREL_KEEPER_SANDBOX_H
#define CARREL_KEEPER_SANDBOX_H

#include "event/time_limit.h"
#include "hold/hold.h"
#include "keeper/keeper.h"
#include "wire/box.h"
#include "wire/gate.h"


enum sandbox_state { SANDBOX_PENDING, SANDBOX_STARTING, SANDBOX_RUNNING, SANDBOX_PAUSED, SANDBOX_STOPPING, SANDBOX_FAILED };

enum { SANDBOX_ID_LEN = 17, SANDBOX_PORTS_MAX = 64, SANDBOX_TASKS_MAX = 64, SANDBOX_CLIENTS_MAX = 256, SANDBOX_EXECS_MAX = 1024, SANDBOXES_MAX = 4096 };

struct task {
        struct loop_timer timer;       /* first */
        struct task *next;
        struct sandbox *sandbox;
        uint64_t deadline_ms;
        char name[BOX_KEY_LEN];
};

struct sandbox {
        struct loop_timer life;        /* first: the deadline, or the scheduled deletion */
        struct loop_timer idle;
        struct keeper *keeper;
        struct sandbox *next, *prev;
        uint64_t number;               /* grows from one to the next */
        enum sandbox_state state;
        char id[SANDBOX_ID_LEN];
        struct store_sandbox row;      /* what the store knows; its pointers are owned by `memory`, its manifest is a block of its own (malloc) */
        struct arena memory;
        char *cause;
        struct prepared *prepared;     /* judged; NULL until it is needed */
        struct arena tree_memory;      /* the manifest that `prepared` borrows */
        struct box *box;               /* NULL: none */
        bool is_attached;              /* its box was found, not made, by this keeper */
        bool was_freezing;             /* a freeze or thaw is on its way, to this state: */
        bool freeze_wanted;
        bool is_failing_store;         /* its row could not be removed */
        bool leaves_directory;         /* its box did not say that it ended, or is not ours to judge */
        uint64_t active_ms;            /* when it was last used, boot clock */
        struct port_token *port_tokens;        /* of its ports (port_index.c); NULL: none */
        struct calls waiting;          /* for its box to run */
        struct calls pausing, resuming, stopping;
        struct task *tasks;
        unsigned task_count, client_count, ports_in_use;
        const char *stop_cause;
};

/* -- the registry: every sandbox, in memory and store (registry.c) ---------------------------------------------------- */

/* The caller's sandbox of this id or name. Errors: ERROR_NOT_FOUND, the same for another's as for none. */
struct sandbox *registry_find(struct keeper *k, const struct caller *who, const char *id, struct error *e);
struct sandbox *registry_of_call(struct call *c, struct error *e);
struct sandbox *registry_find_name(const struct keeper *k, const char *owner, const char *name);
struct sandbox *registry_find_key(const struct keeper *k, const char *owner, const char *key);

/* A sandbox with a copy of the row, in memory only. */
struct sandbox *registry_add(struct keeper *k, const struct store_sandbox *row, struct error *e);
void registry_remove(struct sandbox *s);       /* frees it; nothing waits for it any more */

/* The same of one whose row could not be removed: nobody finds it any more, and its row goes when it can. */
void registry_bury(struct sandbox *s);

/* Tries again to remove the rows of those that ended or are ending. */
void registry_remove_rows(struct keeper *k);

/* Reads everything back at the start. A row that cannot be understood fails its sandbox alone. */
int registry_load(struct keeper *k, struct error *e);

/* Copies text for a row; what it copies is given back with the sandbox, so not for what changes again and again. */
const char *sandbox_text(struct sandbox *s, const char *text);

bool sandbox_belongs(const struct sandbox *s, const struct caller *who);

/* -- what happens to it (sandbox.c) ----------------------------------------------------------------------------------- */

const char *sandbox_status(const struct sandbox *s);

/* Manifest, rules, template: judged, once. */
int sandbox_judge(struct sandbox *s, struct error *e);

/* Opens its sources and plans: s->prepared, once judged. Errors: those of prepare_plan(). */
int sandbox_plan(struct sandbox *s, struct error *e);

/*
 * For an operation that needs a running box: CALL_DONE when there is one; CALL_WAITS: the call begins anew when there is; CALL_FAILED.
 */
enum call_state sandbox_need_box(struct sandbox *s, struct call *c, struct error *e);

/*
 * Its box closed its socket, or was cut off, and that is not heard yet: what to answer is known after it, and a call that could not be sent to it begins anew then
 * (sandbox_need_box() lets it wait).
 */
bool sandbox_is_settling(const struct sandbox *s);

/* Begins to make its box, for nobody in particular. */
int sandbox_start(struct sandbox *s, struct error *e);

/* Freezes or thaws, as soon as it can. */
int sandbox_freeze(struct sandbox *s, bool wants_frozen, struct error *e);

/* Ends it for ever: gone from the store at once, from memory when its box is gone. May free it. */
int sandbox_stop(struct sandbox *s, const char *cause, struct error *e);

/* Its row goes, or is noted to have to. */
void sandbox_leave_store(struct sandbox *s, const char *cause);

/* It was used, or something in it ended. */
void sandbox_touch(struct sandbox *s);

/* News of its box. */
void sandbox_box_ready(struct sandbox *s);
void sandbox_box_frozen(struct sandbox *s, bool is_frozen, int sys);
void sandbox_box_gone(struct sandbox *s, const struct wire_box_gone *gone);    /* NULL: without a word */
void sandbox_box_lost(struct sandbox *s, const char *why);
void sandbox_exec_news(struct sandbox *s, const struct wire_box_listed *l, bool is_end);

/* An event of the lifecycle happened: pauses, stops or neither. May free it. */
void sandbox_event(struct sandbox *s, const char *name);

void calls_init(struct calls *l);
void calls_add(struct calls *l, struct call *c);
struct call *calls_take(struct calls *l);
void calls_fail(struct calls *l, const struct error *e);
void calls_begin(struct calls *l);             /* those whose callers are still there begin anew */

/* -- time (deadline.c) ---------------------------------------------------------------------------------------------------- */

/* Sets its timers by its row. */
void deadline_arm(struct sandbox *s);
void deadline_arm_idle(struct sandbox *s);
uint64_t deadline_remaining(const struct sandbox *s, uint64_t now_ms);  /* STORE_NEVER: no deadline */
uint64_t deadline_add(uint64_t deadline_ms, uint64_t now_ms, uint64_t span_ms);        /* never past STORE_NEVER */
/* The row as it is to be written: its span is that of now. */
int sandbox_save(struct sandbox *s, struct error *e);
void deadline_checkpoint(struct keeper *k);
int task_begin(struct sandbox *s, const char *name, uint64_t deadline_ms, struct error *e);
struct task *task_find(const struct sandbox *s, const char *name);
void task_extend(struct task *t, uint64_t deadline_ms);        /* in memory alone */
void task_remove(struct task *t);

/* -- clients that background processes end with (client.c): a task of each, which no caller can name ------------------------- */

bool client_is_task(const char *task);
uint64_t client_deadline(void);                /* of one that was heard now */

/* -- boxes (box.c) ---------------------------------------------------------------------------------------------------------- */

/* A connection inside that somebody waits for. */
struct connect_request {
        struct connect_request *next;
        uint32_t number;
        /* sys 0: the socket is taken. Called once, also when the box goes (sys ECONNRESET). */
        void (*done)(struct connect_request *r, int sys, int take_fd);
};

enum { BOX_PORTS_MAX = 128 };      /* that a routed wall listens to, beside 53, 80 and 443 */

struct box {
        struct peer peer;              /* first */
        struct loop_timer patience;    /* for one that does not say it is ready */
        struct keeper *keeper;
        struct sandbox *sandbox;       /* NULL: it belongs to nobody, and ends */
        struct box *next;
        char id[BOX_ID_LEN];
        unsigned tries;                /* calls to it that came to nothing, one after another */
        bool was_greeted, is_ready, is_condemned, was_told_to_stop, is_gone;
        struct wire_box_hello hello;
        struct wire_box_listed *execs; /* ascending */
        size_t exec_count, exec_room, live_count;     /* live: not ended */
        uint32_t last_exec, last_quiet, last_request;
        struct connect_request *requests;
        struct calls listening;        /* for it to tell its execs: */
        bool is_listing;               /* it was asked, and has not told all; who asks meanwhile is for the next time */
        bool begins_listings;          /* those that waited for that are begun just now */
        uint32_t wall;                 /* the gate's number for its wall, 0: it has none, or there is no gate */
        uint32_t generation, taken;    /* of its list; and the one the gate said it took */
        bool has_wall;                 /* its box said so */
        bool is_routed;                /* and that it takes more ports, below 1024 as well */
        uint16_t ports[BOX_PORTS_MAX]; /* routed: that it listens to, or was told to */
        size_t port_count, stock;      /* and how many more it can */
        struct loop_timer again;       /* for the wall to be given to the gate once more */
        unsigned lost;                 /* times, one soon after another, that the gate let it go */
        uint64_t lost_ms;              /* the last of them */
        bool list_waits, wall_waits;   /* for the gate to take more: a newer list of its wall, or the wall itself */
        struct calls listing;          /* for the gate to take its list */
        struct wire_box_denied *denials;       /* the first and the last ones, ascending; NULL: none yet */
        size_t denial_count;
        struct refusals refusals;      /* the same by exec */
        struct loop_timer folding;     /* for those that were told as events in this second, and those that were not */
        unsigned denied_told, denied_folded;
        struct loop_timer logging;     /* for the next line of the log */
        uint64_t log_due_ms, logged, log_number;       /* when it may come; refusals in lines before; the first of its own, 0: not known */
};

/* Makes one through the spawner; its news come to the sandbox. */
int box_make(struct sandbox *s, struct error *e);

/* Connects to one that may live: 0: its news will come; 1: nobody is there; -1: that could not be seen. */
int box_attach(struct keeper *k, const char *id, struct sandbox *s, struct error *e);

/* 0 or -1: it is gone, or, of what a caller asked for, it takes no more just now. Its end, its deadline and what kills are always taken. */
int box_send(struct box *b, uint16_t kind, const void *body, size_t len);
int box_send_fd(struct box *b, uint16_t kind, const void *body, size_t len, int take_fd);
int box_no_answer(const struct sandbox *s, struct error *e);  /* the error of what box_send() did not take; -1 */
void box_stop(struct box *b);
void box_connect(struct box *b, uint16_t port, struct connect_request *r);
void box_cancel(struct box *b, struct connect_request *r);

/*
 * Byte counts of what runs are the box's own: asks for them once for each call. CALL_WAITS: the call begins anew when they are here, or when the
 * box is gone; CALL_DONE: what is known is all there is.
 */
enum call_state box_need_listing(struct box *b, struct call *c);

/*
 * A box that this keeper found says what runs in it before it is ready, and may take its time: who asks meanwhile waits, as nothing that was answered
 * may be unknown. CALL_WAITS: the call begins anew when it is ready, or given up; CALL_DONE: there is nothing to wait for.
 */
enum call_state box_need_greeting(const struct sandbox *s, struct call *c);

struct wire_box_listed *box_find_exec(const struct box *b, uint32_t exec);
struct wire_box_listed *box_find_key(const struct box *b, const char *key);
struct wire_box_listed *box_add_exec(struct box *b, const struct wire_box_listed *l);
size_t box_running(const struct box *b);

/* One that nobody answers for any more: its sandbox is told what its journal says. */
int box_bury(struct sandbox *s, struct error *e);

/* Lets go of it: no longer anybody's. */
void box_forget(struct box *b);
void box_sweep(struct keeper *k);

/* A maker may have been killed: soon, and once for many, the spawner collects what such ones left. */
void box_collect_groups(struct keeper *k);

/* Removes what it kept on disk. */
void box_remove_directory(struct keeper *k, const char *id);

/* At the start: connects, or collects, whatever lies in STATE/boxes. */
int box_collect(struct keeper *k, struct error *e);

/* -- the wall (wall.c): every box that has one is given to the gate, and again to each new gate ------------------------------ */

/* `take_fd`: where the launcher tells of gates. 0 or -1. */
int gate_open(struct keeper *k, int take_fd, struct error *e);
void wall_box_ready(struct box *b);
void wall_box_told(struct box *b, struct wire_message *m, const void *body);   /* WIRE_BOX_WALLED */
bool wall_box_can(const struct box *b, const struct spec *spec);       /* of a routed wall: can it listen to all that this lists? */
void wall_box_changed(struct box *b);          /* its sandbox has another list: the gate is told, if it has its wall */

/* -- what was refused (denials.c) ------------------------------------------------------------------------------------------- */

enum { BOX_DENIALS_MAX = HOLD_DENIALS_MAX };

void denials_hear(struct box *b, const struct wire_box_denied *d);
void denials_hear_refused(struct box *b, const struct wire_box_refused *r);
void denials_gone(struct box *b);              /* nothing is heard of it any more */
void denials_free(struct box *b);

/* -- who watches (watch.c) ------------------------------------------------------------------------------------------------- */

/* Tells everybody who may hear it. `l` NULL: no exec. */
void watch_tell(struct sandbox *s, const char *event, const struct wire_box_listed *l);

/* Of a secret, never its value: which, for whom, as which variable, by which grant (NULL: left out). */
struct watch_secret { uint32_t exec; const char *slug, *actor, *purpose, *granted_by; };
void watch_tell_secret(struct sandbox *s, const char *event, const struct watch_secret *secret);
/* Something was refused a way out for the first time; the same again is not told again. And so many more things were. */
void watch_tell_denied(struct sandbox *s, const struct wire_box_denied *denied);
void watch_tell_denied_more(struct sandbox *s, unsigned count);
void watch_tell_kept(struct sandbox *s, const struct wire_kept *kept);
void watch_forget(struct keeper *k, const struct connection *connection, const uint32_t *serial);

/* The connection takes more: some of what its watchers have not heard yet, one each in turn. */
void watch_turn(struct connection *connection);

/* -- ready boxes (pool.c) -------------------------------------------------------------------------------------------------- */

int pool_open(struct keeper *k, size_t size, const void *manifest, size_t len, struct error *e);
struct sandbox *pool_find(struct keeper *k, const struct store_bytes *digest);
/* Gives it to an owner: written down, its deadline told to its box. */
int pool_hand_over(struct sandbox *s, const struct store_sandbox *row, struct error *e);
void pool_fill(struct keeper *k);
size_t pool_ready(const struct keeper *k);

/* -- answers (answer.c) ----------------------------------------------------------------------------------------------------- */

void answer_sandbox(struct record_writer *w, const struct sandbox *s);
void answer_time_limit(struct record_writer *w, const struct time_limit *l);
void answer_exec(struct record_writer *w, const struct sandbox *s, const struct wire_box_listed *l);
void answer_denied(struct record_writer *w, const struct wire_box_denied *denied);     /* all but when */
void answer_denied_to(struct record_writer *w, const struct box *b, uint32_t exec);    /* to this exec: nothing where there was nothing */
void answer_denied_more(struct record_writer *w, const struct box *b);                 /* how many are not among b->denials */
void answer_warnings(struct record_writer *w, const struct findings *f);

/* -- waiting for a declared port to listen (port_wait.c): it ends when its exec does ----------------------------------------- */

/*
 * Before the exec: looks which ports listen already. CALL_WAITS: the call begins anew after each; CALL_DONE: all were looked at. Errors:
 * ERROR_INVALID_ARGUMENT (the sandbox declares none), ERROR_NO_MEMORY.
 */
enum call_state port_look_before(struct call *c, struct sandbox *s, struct error *e);

/* Whoever began the exec is told by an event of the call's serial: "port-open" with the port, or "port-timeout" after FIELD_WAIT_PORTS_MS. */
void port_wait_begin(struct call *c, struct sandbox *s, uint32_t exec);

/*
 * The call begins anew when a port listens, the exec ends or FIELD_WAIT_PORTS_MS are over (CALL_WAITS; then c->has_waited is set). CALL_DONE: one listens. Errors:
 * ERROR_NO_MEMORY.
 */
enum call_state port_wait_call(struct call *c, struct sandbox *s, uint32_t exec, struct error *e);

/* The port that was waited for and listens, while the exec runs; else 0. */
uint16_t port_wait_found(const struct sandbox *s, uint32_t exec);

/* The connection goes, or cancels the call of this serial (NULL: all of them). */
void port_wait_forget(const struct connection *connection, const uint32_t *serial);
void port_wait_exec_ended(struct sandbox *s, uint32_t exec);
void port_wait_sandbox_gone(struct sandbox *s);

/*
 * A connection to a port that the door was given, until it cancels the call that asked (`serial` NULL: all of a connection that goes): so long the sandbox is not idle.
 */
void port_use_begin(const struct call *c, struct sandbox *s);
void port_use_end(const struct connection *connection, const uint32_t *serial);
void port_use_sandbox_gone(const struct sandbox *s);

#endif
