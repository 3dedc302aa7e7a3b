/*
 * keeper/sandbox.h - one sandbox in the keeper's memory, its box, and the operations on them.
 */
#ifndef CARREL_KEEPER_SANDBOX_H
#define CARREL_KEEPER_SANDBOX_H

#include "boxstate/found.h"
#include "boxstate/wall_state.h"
#include "event/event.h"
#include "keeper/keeper.h"
#include "outcome/time_limit.h"
#include "wire/box.h"
#include "wire/gate.h"

enum sandbox_state {
        SANDBOX_PENDING,
        SANDBOX_STARTING,
        SANDBOX_RUNNING,
        SANDBOX_PAUSED,
        SANDBOX_STOPPING,
        SANDBOX_FAILED
};

enum {
        SANDBOX_ID_LEN = 17,
        SANDBOX_PORTS_MAX = 64,
        SANDBOX_TASKS_MAX = 64,
        SANDBOX_CLIENTS_MAX = 256,
        SANDBOX_EXECS_MAX = 1024,
        SANDBOXES_MAX = 4096
};

struct task {
        struct loop_timer timer; /* first */
        struct task *next;
        struct sandbox *sandbox;
        uint64_t deadline_ms;
        char name[BOX_KEY_LEN];
};

struct sandbox {
        struct loop_timer life; /* first: the deadline, or the scheduled deletion */
        struct loop_timer idle;
        struct keeper *keeper;
        struct sandbox *next, *prev;
        uint64_t number; /* higher than that of every older sandbox */
        enum sandbox_state state;
        char id[SANDBOX_ID_LEN];
        /* As stored. Its strings are in `memory`, its manifest is a separate malloc() block. */
        struct store_sandbox row;
        struct arena memory;
        char *cause;
        struct prepared *prepared; /* checked manifest; NULL until first needed */
        struct arena tree_memory;  /* the manifest that `prepared` borrows */
        struct box *box;           /* NULL: not running */
        bool is_attached;          /* this keeper found the box; an earlier one created it */
        bool was_freezing;         /* freezing or thawing; target: `freeze_wanted` */
        bool freeze_wanted;
        bool is_failing_store; /* the store could not remove its row */
        /* keep the box's directory: its end is unknown, or it is not this keeper's */
        bool leaves_directory;
        bool is_later; /* failed: a later version started its box, which runs on */
        /* loaded as lost, by an earlier version perhaps, which leaves boxes of a later one */
        bool may_live;
        uint64_t active_ms;             /* last use, boot clock in ms */
        struct port_token *port_tokens; /* tokens of its ports (port_index.c); NULL: none */
        struct calls waiting;           /* calls that wait until the box runs */
        struct calls pausing, resuming, stopping;
        struct task *tasks;
        unsigned task_count, client_count, ports_in_use;
        const char *stop_cause;
        struct audit_refs *audit;  /* where its execs are in the audit log (audit.c) */
        struct executed *executed; /* what its processes executed (executed.c); NULL: nothing */
        struct changed *changed; /* which files its commands changed (changed.c); NULL: not known */
        bool awaits_mounts;      /* `changed` begins when its volumes exist */
        struct workspace *workspace; /* for the digest before its first command; or NULL */
        struct found found;          /* what its commands left behind, as its box keeps it */
};

/* -- the registry: every sandbox, in memory and store (registry.c) ----------------------------- */

/*
 * Finds the caller's sandbox by id or name. Errors: ERROR_NOT_FOUND, also for a sandbox of another
 * owner.
 */
struct sandbox *registry_find(struct keeper *k, const struct caller *who, const char *id,
                              struct error *e);
struct sandbox *registry_of_call(struct call *c, struct error *e);
struct sandbox *registry_find_name(const struct keeper *k, const char *owner, const char *name);
struct sandbox *registry_find_key(const struct keeper *k, const char *owner, const char *key);

/* Adds a sandbox with a copy of the row, in memory only. */
struct sandbox *registry_add(struct keeper *k, const struct store_sandbox *row, struct error *e);
void registry_remove(struct sandbox *s); /* frees it; no call may wait for it */

/*
 * As registry_remove(), for a sandbox whose row could not be removed. No caller can find it. The
 * keeper retries removing the row.
 */
void registry_bury(struct sandbox *s);

/* Retries removing the rows of sandboxes that ended or are ending. */
void registry_remove_rows(struct keeper *k);

/* Loads every row at the start. An unreadable row fails only its own sandbox. */
int registry_load(struct keeper *k, struct error *e);

/*
 * Copies text for a row. The copy is freed only with the sandbox, so do not use it for text that
 * changes often.
 */
const char *sandbox_text(struct sandbox *s, const char *text);

bool sandbox_belongs(const struct sandbox *s, const struct caller *who);

/* -- what happens to it (sandbox.c) ------------------------------------------------------------ */

const char *sandbox_status(const struct sandbox *s);

/* The owner of its sandbox; of the pool's, the operator. */
const char *sandbox_user(const struct sandbox *s);

/* The actor that asks for secrets in it, as in struct prepare_request: NULL is the operator. */
const char *sandbox_actor(const struct sandbox *s);

/* Checks its manifest against rules and template. The result is kept, so later calls are free. */
int sandbox_judge(struct sandbox *s, struct error *e);

/*
 * Writes the image that its manifest means into the manifest of its row, by digest: a later start
 * uses the same. Needs sandbox_judge() first. Errors: ERROR_NO_MEMORY.
 */
int sandbox_pin(struct sandbox *s, struct error *e);

/*
 * Writes into its row how its virtual machine starts, as planned, without one nothing. Needs
 * sandbox_plan() first.
 */
void sandbox_note_machine(struct sandbox *s);

/*
 * Opens its sources and builds its plan into s->prepared. Needs sandbox_judge() first. Errors:
 * those of prepare_plan().
 */
int sandbox_plan(struct sandbox *s, struct error *e);

/*
 * Plans once and closes what it opened: errors in its mounts are reported when it is created.
 * Writes what was found into its row, for answers: provider, directory, image, where files are,
 * warnings. Errors: those of sandbox_plan().
 */
int sandbox_describe(struct sandbox *s, struct error *e);

/*
 * For an operation that needs a running box. CALL_DONE: the box runs. CALL_WAITS: the call begins
 * again when it runs. CALL_FAILED: see `e`.
 */
enum call_state sandbox_need_box(struct sandbox *s, struct call *c, struct error *e);

/*
 * True if its box closed its socket, or was cut off, and the keeper has not handled that yet. The
 * answer to a call is known only afterwards. A call that could not be sent to the box begins again
 * then: sandbox_need_box() makes it wait.
 */
bool sandbox_is_settling(const struct sandbox *s);

/* Starts creating its box. No call waits for the result. */
int sandbox_start(struct sandbox *s, struct error *e);

/*
 * Refuses what the bridge protocol has no message for. 0: its box is on this machine.
 * -1: it is elsewhere: ERROR_CAPABILITY_UNAVAILABLE "elsewhere" at `path`.
 */
int sandbox_check_here(struct sandbox *s, const char *path, const char *what, struct error *e);

/* Freezes or thaws its box, as soon as the box can do it. */
int sandbox_freeze(struct sandbox *s, bool wants_frozen, struct error *e);

/*
 * Ends it permanently. Its row is removed at once, the sandbox itself when its box is gone. May
 * free `s`.
 */
int sandbox_stop(struct sandbox *s, const char *cause, struct error *e);

/* Removes its row. If that fails, the keeper remembers to retry. */
void sandbox_leave_store(struct sandbox *s, const char *cause);

/* Records a use: resets the idle timer. Also called when a command in it ends. */
void sandbox_touch(struct sandbox *s);

/* Reports from its box. */
void sandbox_box_ready(struct sandbox *s);
void sandbox_box_frozen(struct sandbox *s, bool is_frozen, int sys);
/* NULL: the box did not report how it ended */
void sandbox_box_gone(struct sandbox *s, const struct wire_box_gone *gone);
void sandbox_box_lost(struct sandbox *s, const char *why);
/*
 * Its box runs, and is of a later version: the sandbox has failed for this keeper, but not in the
 * store. Its end is sandbox_stop().
 */
void sandbox_box_later(struct sandbox *s);
void sandbox_exec_news(struct sandbox *s, const struct wire_box_listed *l, bool is_end);

/*
 * Applies a lifecycle event: the manifest says whether it pauses or stops the sandbox. May free
 * `s`.
 */
void sandbox_event(struct sandbox *s, const char *name);

void calls_init(struct calls *l);
void calls_add(struct calls *l, struct call *c);
struct call *calls_take(struct calls *l);
void calls_fail(struct calls *l, const struct error *e);
void calls_begin(struct calls *l); /* begins again those with a connected caller */

/* -- time (deadline.c) ------------------------------------------------------------------------- */

/* Sets its timers from its row. */
void deadline_arm(struct sandbox *s);
void deadline_arm_idle(struct sandbox *s);
/* STORE_NEVER: no deadline */
uint64_t deadline_remaining(const struct sandbox *s, uint64_t now_ms);
/* at most STORE_NEVER */
uint64_t deadline_add(uint64_t deadline_ms, uint64_t now_ms, uint64_t span_ms);
/* Writes the row with the remaining time as of now. */
int sandbox_save(struct sandbox *s, struct error *e);
void deadline_checkpoint(struct keeper *k);
int task_begin(struct sandbox *s, const char *name, uint64_t deadline_ms, struct error *e);
struct task *task_find(const struct sandbox *s, const char *name);
void task_extend(struct task *t, uint64_t deadline_ms); /* changes memory only */
void task_remove(struct task *t);

/*
 * -- clients (client.c): each is a task that no caller can name; its background commands end with
 * it
 */

bool client_is_task(const char *task);
uint64_t client_deadline(void); /* deadline of a client that was heard from now */

/* -- boxes (box.c) ----------------------------------------------------------------------------- */

/* A connection to a port inside the sandbox that is being opened. */
struct connect_request {
        struct connect_request *next;
        uint32_t number;
        /*
         * sys 0: takes the socket; otherwise an errno. Called once, also when the box ends
         * (ECONNRESET).
         */
        void (*done)(struct connect_request *r, int sys, int take_fd);
};

enum { BOX_PORTS_MAX = 128 }; /* ports a routed wall listens to, besides 53, 80 and 443 */

/* For `carrel audit replay`: what the next command or call of a box begins with (content.h). */
struct content_state {
        const char *unknown; /* why nobody can say that; NULL: what the commands before it left */
        uint32_t
                asked; /* commands, and calls that change files, whose start was recorded, so far */
        uint32_t sent; /* which of these was sent last, 0: none */
        uint32_t calls; /* such calls that run */
        uint64_t seq;   /* the number of the start of `sent` in the log */
};

struct box {
        struct peer peer;           /* first */
        struct loop_timer patience; /* deadline for reporting ready */
        struct keeper *keeper;
        struct sandbox *sandbox; /* NULL: it has no sandbox, and is being ended */
        struct box *next;
        char id[BOX_ID_LEN];
        unsigned tries; /* consecutive failed connection attempts */
        bool was_greeted, is_ready, is_condemned, was_told_to_stop, is_gone;
        bool is_later; /* of a later version: only its end is waited for */
        struct wire_box_hello hello;
        struct wire_box_listed *execs;            /* in ascending order */
        size_t exec_count, exec_room, live_count; /* live: not ended */
        int upper;                                /* of WIRE_BOX_UPPER; -1: none */
        bool is_used; /* something ran in it, or that is not known: its files may have changed */
        struct contents *contents;   /* what they read and wrote (content.h); NULL: nothing known */
        struct content_state begins; /* what its next command begins with */
        uint32_t last_exec, last_quiet, last_request;
        struct connect_request *requests;
        struct calls listening; /* calls that wait for the byte counts of its execs */
        /* asked, and the answer is incomplete; calls that arrive now wait for the next answer */
        bool is_listing;
        bool begins_listings; /* the calls that waited for that answer are being begun */
        uint32_t wall;        /* its number at the gate; 0: no wall, or no gate */
        /* newest version of its allow list, and the version that the gate acknowledged */
        uint32_t generation, taken;
        bool has_wall;  /* as reported by its box */
        bool is_routed; /* its wall accepts further ports, also below 1024 */
        /* routed: the ports it listens to, or was ordered to */
        uint16_t ports[BOX_PORTS_MAX];
        size_t port_count, stock; /* stock: how many more ports it can listen to */
        struct loop_timer again;  /* retries giving the wall to the gate */
        unsigned lost;            /* times in short succession that the gate dropped it */
        uint64_t lost_ms;         /* when it last did */
        uint64_t day_told; /* the last day whose bytes were used up, as it was published (day.h) */
        /* waiting for room in the gate's queue: for a newer list, or for the wall itself */
        bool list_waits, wall_waits;
        struct calls listing; /* calls that wait until the gate acknowledges the list */
        /* calls that wait for its answer about limits, or for their turn (limiting.h) */
        struct calls limiting;
        struct limiting *change;     /* of its limits, asked or answered; NULL: none */
        struct wire_limited limited; /* its last answer; number 0: none */
        uint64_t last_limit;         /* number of the last question */
        /* the first and the last refusals, in ascending order; NULL: none yet */
        struct wire_box_denied *denials;
        size_t denial_count;
        struct refusals refusals; /* the same refusals by exec */
        /* sends one event a second for the refusals beyond EVENTS_A_SECOND */
        struct loop_timer folding;
        unsigned denied_told, denied_folded;
        struct loop_timer logging; /* time of the next log line */
        /* earliest time of that line; refusals in earlier lines; first new number, 0: unknown */
        uint64_t log_due_ms, logged, log_number;
};

/* Has the spawner create a box. The box's reports go to the sandbox. */
int box_make(struct sandbox *s, struct error *e);

/*
 * Connects to a box that may be alive. 0: its reports will arrive; 1: no process answers; -1: it
 * could not be checked.
 */
int box_attach(struct keeper *k, const char *id, struct sandbox *s, struct error *e);

/*
 * Sends a message to the box. 0, or -1: the box is gone, or its queue is full. A full queue refuses
 * only callers' orders: stops, deadlines and kills are always accepted.
 */
int box_send(struct box *b, uint16_t kind, const void *body, size_t len);
int box_send_fd(struct box *b, uint16_t kind, const void *body, size_t len, int take_fd);
/* sets the error for a message that box_send() refused; -1 */
int box_no_answer(const struct sandbox *s, struct error *e);
void box_stop(struct box *b);
void box_connect(struct box *b, uint16_t port, struct connect_request *r);
void box_cancel(struct box *b, struct connect_request *r);

/*
 * Asks the box for the byte counts of its execs, once for each call: only the box knows them.
 * CALL_WAITS: the call begins again when they arrive, or when the box is gone. CALL_DONE: nothing
 * more can be learned.
 */
enum call_state box_need_listing(struct box *b, struct call *c);

/* As box_need_listing(), for the totals of usage.h: they are stored when the call begins again. */
enum call_state box_need_usage(struct box *b, struct call *c);

/*
 * After a restart, a box lists its execs before it reports ready, which may take time. A call that
 * arrives meanwhile waits, so that every exec that was ever answered is known. CALL_WAITS: the call
 * begins again when the box is ready, or was given up. CALL_DONE: nothing to wait for.
 */
enum call_state box_need_greeting(const struct sandbox *s, struct call *c);

struct wire_box_listed *box_find_exec(const struct box *b, uint32_t exec);
struct wire_box_listed *box_find_key(const struct box *b, const char *key);
struct wire_box_listed *box_add_exec(struct box *b, const struct wire_box_listed *l);
size_t box_running(const struct box *b);

/* Handles a box whose process is gone: passes what its journal says to its sandbox. */
int box_bury(struct sandbox *s, struct error *e);

/* Detaches the box from its sandbox and drops it. */
void box_forget(struct box *b);
void box_sweep(struct keeper *k);

/*
 * Asks the spawner to collect what killed makers left behind. Delayed, so that one request serves
 * many.
 */
void box_collect_groups(struct keeper *k);

void box_remove_directory(struct keeper *k, const char *id);

/* At the start: connects to each box in STATE/boxes, or collects what is left of it. */
int box_collect(struct keeper *k, struct error *e);

/* -- the wall (wall.c): the keeper gives each box's wall to the gate, and to each new gate ----- */

/* `take_fd`: the launcher announces new gates on it. 0 or -1. */
int gate_open(struct keeper *k, int take_fd, struct error *e);
void wall_box_ready(struct box *b);
void wall_box_told(struct box *b, struct wire_message *m, const void *body); /* WIRE_BOX_WALLED */
/* routed wall: can it listen to every port that `spec` lists? */
bool wall_box_can(const struct box *b, const struct spec *spec);
/* Its sandbox has a new allow list. Sends the list to the gate if the gate has its wall. */
void wall_box_changed(struct box *b);

/* -- refused connections (denials.c) ----------------------------------------------------------- */

enum { BOX_DENIALS_MAX = WALL_STATE_DENIALS_MAX, DENIED_MESSAGE_ROOM = 1200 };

void denials_hear(struct box *b, const struct wire_box_denied *d);
void denials_hear_refused(struct box *b, const struct wire_box_refused *r);
/* Connections that were allowed: published, not kept. */
void denials_hear_allowed(struct box *b, const struct wire_box_allowed *told);
void denials_gone(struct box *b); /* the box is gone: no more refusals will arrive */
void denials_free(struct box *b);

/* -- events (publish.c) ------------------------------------------------------------------------ */

/* Sets of what sandbox it is, and when; gives it to the log and to watchers, as its row says. */
void sandbox_publish(struct sandbox *s, struct event e);

/* "exec-started" or "exec-ended" */
void publish_exec(struct sandbox *s, const struct wire_box_listed *l, bool is_end);

/*
 * The first refusal of each kind; repetitions are no event. The second function publishes how many
 * further refusals were not published.
 */
void publish_denied(struct sandbox *s, const struct wire_box_denied *denied);
void publish_denied_more(struct sandbox *s, unsigned count);
void publish_found(struct sandbox *s, const struct wire_box_found *one);

/* The event of a refusal; it borrows from both. */
struct denied_words;
struct event denied_event(const struct wire_box_denied *denied, struct denied_words *words);

/* -- watchers (watch.c) ------------------------------------------------------------------------ */

/* Sends the event to every watcher that may see the sandbox. */
void watch_publish(const struct sandbox *s, const struct event *e);

void watch_forget(struct keeper *k, const struct connection *connection, const uint32_t *serial);

/* The connection has room: sends each of its watchers one missed event in turn. */
void watch_turn(struct connection *connection);

/* -- ready boxes (pool.c) ---------------------------------------------------------------------- */

int pool_open(struct keeper *k, size_t size, const void *manifest, size_t len, struct error *e);
/* Are its boxes what a call with this digest asks for, ready or not? */
bool pool_is_for(const struct keeper *k, const struct store_bytes *digest);
struct sandbox *pool_find(struct keeper *k, const struct store_bytes *digest);
/* Gives it to an owner: writes the row and sends the deadline to its box. */
int pool_hand_over(struct sandbox *s, const struct store_sandbox *row, struct error *e);
void pool_fill(struct keeper *k);
size_t pool_ready(const struct keeper *k);

/* -- answers (answer.c) ------------------------------------------------------------------------ */

void answer_sandbox(struct record_writer *w, const struct sandbox *s);
void answer_time_limit(struct record_writer *w, const struct time_limit *l);
void answer_exec(struct record_writer *w, const struct sandbox *s, const struct wire_box_listed *l);
/* How it ended, as it is answered. false: it still runs, or its end is not known. */
bool answer_exec_outcome(const struct box *b, const struct wire_box_listed *l, struct outcome *ret);
/* all fields but the time */
void answer_denied(struct record_writer *w, const struct wire_box_denied *denied);
/* A refusal in words; borrows from `d`. */
struct denied_words {
        const char *reason;
        char address[WALL_STATE_ADDRESS_ROOM]; /* "": none */
        char message[DENIED_MESSAGE_ROOM];
};
void answer_denied_words(const struct wire_wall_denied *d, struct denied_words *ret);
/* refusals of this exec; writes nothing if it had no refusal */
void answer_denied_to(struct record_writer *w, const struct box *b, uint32_t exec);
/* count of refusals that are not in b->denials */
void answer_denied_more(struct record_writer *w, const struct box *b);
/* A name that host programs act on, in words; `ret_copy` holds them. */
struct event_left answer_kept(const struct wire_kept *kept, struct wire_kept *ret_copy);
/* what its commands left behind: those after this number, and the number of those not listed */
void answer_found(struct record_writer *w, const struct sandbox *s, uint64_t after);
void answer_warnings(struct record_writer *w, const struct findings *f);

/* -- waiting until a declared port listens (port_wait.c): the wait ends with its exec ---------- */

/*
 * Before an exec: checks which declared ports already listen. CALL_WAITS: the call begins again
 * after each check. CALL_DONE: all are checked. Errors: ERROR_INVALID_ARGUMENT (the sandbox
 * declares no port), ERROR_NO_MEMORY.
 */
/*
 * Asks the provider of a sandbox elsewhere for the address of a port, and answers the call: as
 * `url` does. Errors: ERROR_CAPABILITY_UNAVAILABLE, ERROR_PORT_UNREACHABLE, both "elsewhere".
 */
enum call_state port_ask_url(struct call *c, struct sandbox *s, uint16_t port, struct error *e);
enum call_state port_look_before(struct call *c, struct sandbox *s, struct error *e);

/*
 * Sends the exec's caller one event with the call's serial: "port-open" with the port, or
 * "port-timeout" after FIELD_WAIT_PORTS_MS.
 */
void port_wait_begin(struct call *c, struct sandbox *s, uint32_t exec);

/*
 * CALL_WAITS: the call begins again when a port listens, the exec ends or FIELD_WAIT_PORTS_MS pass;
 * c->has_waited is set then. CALL_DONE: a port listens. Errors: ERROR_NO_MEMORY.
 */
enum call_state port_wait_call(struct call *c, struct sandbox *s, uint32_t exec, struct error *e);

/* The awaited port that listens, while the exec runs; else 0. */
uint16_t port_wait_found(const struct sandbox *s, uint32_t exec);

/* Drops the waits of a connection that closes, or of its cancelled call `serial` (NULL: all). */
void port_wait_forget(const struct connection *connection, const uint32_t *serial);
void port_wait_exec_ended(struct sandbox *s, uint32_t exec);
void port_wait_sandbox_gone(struct sandbox *s);

/* -- approvals (approval.c): what waits for one is withdrawn --------------------------------- */

void approval_sandbox_gone(const struct sandbox *s);

/*
 * Counts a connection to a port that the keeper gave to the door. The sandbox is not idle until the
 * door cancels the call that asked (`serial` NULL: the whole connection closes).
 */
void port_use_begin(const struct call *c, struct sandbox *s);
void port_use_end(const struct connection *connection, const uint32_t *serial);
void port_use_sandbox_gone(const struct sandbox *s);

#endif
