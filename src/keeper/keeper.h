/*
 * keeper/keeper.h - the keeper itself, its callers and their calls, for all files of this room.
 */
#ifndef CARREL_KEEPER_KEEPER_H
#define CARREL_KEEPER_KEEPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/operation.h"
#include "base/error.h"
#include "keeper/ended.h"
#include "keeper/metrics.h"
#include "keeper/peer.h"
#include "prepare/prepare.h"
#include "store/store.h"
#include "wire/call.h"
#include "wire/record.h"

struct sandbox;
struct box;
struct watcher;
struct audience;
struct call_judging;
struct call_validating;
struct call_secrets;
struct call_audit;
struct changed;
struct approval;
struct call;
struct turn;

enum {
        KEEPER_OWNER_LEN = 72,
        KEEPER_CALLS_MAX = 256,
        KEEPER_DOOR_CALLS_MAX = 8192,
        KEEPER_CONNECTIONS_MAX = 1024,
        /* KEEPER_OTHERS_MAX: connections of one user other than the daemon's own. */
        KEEPER_OTHERS_MAX = 128,
        KEEPER_RESERVE = 8 << 20
};

/* The user that a call is made for. */
struct caller {
        char owner[KEEPER_OWNER_LEN];
        /* may name this user's workspaces; PREPARE_UID_ANY for the daemon's own user */
        uint32_t uid;
        bool is_admin, is_read_only;
        /* identified by a token; is_approver: one that may answer requests for approval */
        bool is_token, is_approver;
};

struct calls {
        struct call *first, **last;
}; /* in order; calls_add(), calls_take() */

struct connection {
        struct peer peer; /* first */
        struct keeper *keeper;
        struct connection *next;
        bool is_door, is_condemned; /* condemned: closed before the next turn of the loop */
        struct caller caller;       /* the connected user; each call of a door names its own */
        struct call *calls;         /* calls that wait */
        unsigned call_count;
        struct calls listing; /* calls that wait to answer the next part of a list */
};

struct keeper {
        struct loop *loop;
        struct store *store;
        struct prepare_host host;
        unsigned char host_version[32]; /* SHA-256 of the rules that it was read from */
        const char *state;              /* absolute directory */
        int boxes_fd;                   /* STATE/boxes */
        const char *ingress;            /* "http://127.0.0.1:PORT", or NULL */
        char **environment;
        char boot_id[STORE_BOOT_ID_LEN];
        uint32_t uid;
        char owner[KEEPER_OWNER_LEN]; /* owner name of the daemon's own user */
        uint64_t delete_after_ms;     /* default of scheduled deletion, in ms; STORE_NEVER: none */
        struct peer spawner;
        struct peer gates, gate; /* announces new gates; the current gate, fd -1: none */
        uint32_t last_wall;
        uint64_t last_event; /* number of the last event */
        struct loop_watch listener;
        /* collect: asks for the collection of what killed makers left */
        struct loop_timer checkpoint, accept_again, collect;
        struct connection *connections;
        unsigned connection_count;
        struct sandbox *first, *last; /* oldest first */
        size_t sandbox_count;
        uint64_t last_sandbox;  /* `number` of the newest */
        struct metrics metrics; /* what happened since this keeper started */
        struct ended ended;     /* the last that ended, so that errors can say why */
        struct sandbox *buried; /* ended, but the store could not remove their rows yet */
        unsigned damaged_count; /* rows found damaged at the start */
        struct box *boxes;      /* also those without a sandbox, until they are collected */
        struct watcher *watchers;
        struct audience *audiences; /* owners with at least one watcher */
        struct pool *pool;          /* NULL: none */
        struct erasing *erasing;    /* owners with volumes to erase, in turn (op_volume.c) */
        struct turn *turns;         /* owner whose call is next (turns.c); NULL: no call */
        struct loop_timer turns_again;
        /* spare memory for narrowing an allow list when memory is out; NULL: in use */
        void *reserve;
        bool needs_sweep, is_stopping;
        uint64_t prepare_now;
        _Alignas(16) unsigned char in[WIRE_BODY_MAX];
        _Alignas(16) unsigned char out[WIRE_BODY_MAX];
        _Alignas(16) unsigned char plan[WIRE_BODY_MAX];
};

/* -- calls ------------------------------------------------------------------------------------- */

/* Result of an operation: replied; failed, with an error; or waiting in some list. */
enum call_state { CALL_DONE, CALL_FAILED, CALL_WAITS };

/*
 * One page of a list: FIELD_LIMIT entries after FIELD_CURSOR (page.c). The place of an entry is
 * `at`. If two entries may share an `at`, an id orders them.
 */
enum { PAGE_ID_LEN = 40 };
struct page {
        bool is_read;
        uint64_t limit /* 0: all */, count, after, at;
        char after_id[PAGE_ID_LEN], id[PAGE_ID_LEN];
};

struct call {
        struct keeper *keeper;
        /* NULL: the caller disconnected; work continues without an answer */
        struct connection *connection;
        struct call *next_of_connection;
        struct call *next; /* in the list it waits in */
        struct turn *turn; /* queue of its owner (turns.c) */
        const struct operation *op;
        uint32_t serial;
        bool is_cancelled;
        /* A box listed its execs for this call. When it begins again it does not ask again. */
        bool has_listing;
        char made[17];    /* sandbox created by an earlier attempt of this call */
        bool has_turn;    /* it may answer a part of a list now (parts.c) */
        uint64_t cursor;  /* number of the last item answered */
        struct page page; /* for lists that are requested in pages */
        bool has_waited;  /* its wait for a port is over */
        /* exec that waits for a port: how many ports were checked before it started */
        unsigned ports_looked;
        uint64_t ports_open; /* the ports that listened then, one bit each */
        struct caller caller;
        /* secrets that a command needs, and their values once fetched (secret.h); or NULL */
        struct call_secrets *secrets;
        struct call_audit *audit;  /* the start of its exec in the audit log (audit.h); or NULL */
        struct approval *approval; /* its request for approval (approval.h); NULL: none */
        struct call_judging *judging; /* of its command by rules (judging.h); or NULL */
        /* by the program of a rule, while it is asked (validating.h); or NULL */
        struct call_validating *validating;
        bool is_counted;     /* by the limits of the policy (rate.h) */
        bool is_tool_judged; /* rules allow the tool (judging_gate.h) */
        struct record record;
};

typedef enum call_state call_run(struct call *c, struct error *e);

/* The function of an operation; never NULL (op.c). */
call_run *call_function(enum operation_code code);

/*
 * Runs it, sends its error, and frees it unless it waits. A call that waited starts from the
 * beginning.
 */
void call_begin(struct call *c);

/* The wait of a call is over: begins it again, or ends it if its caller has left. */
void call_continue(struct call *c);

/* Removes a call that waited: answers it with an error, or only frees it if it was answered. */
void call_fail(struct call *c, const struct error *e);
void call_end(struct call *c);

/* Begins a reply in the keeper's only buffer. Send it before you begin another. */
struct record_writer reply_begin(struct call *c);
/* Sends it. `take_fd` -1: none. If the reply is too long, sends an error instead. */
void reply_send(struct call *c, struct record_writer *w, unsigned flags, int take_fd);
void reply_error(struct call *c, const struct error *e);

/* Sends an event (WIRE_EVENT) to the caller of `c`. Write it like a reply. */
void reply_event(struct connection *connection, uint32_t serial, struct record_writer *w);

/* -- answers in parts (parts.c): lists of any length ------------------------------------------- */

typedef void parts_write(struct record_writer *w, const void *of, const void *item);

/* false: another call's turn. Return CALL_WAITS; the call begins again in its turn. */
bool parts_begin(struct call *c, struct record_writer *w);

/*
 * Adds one item with a number above c->cursor. false: the part is full and was sent without it.
 * Return CALL_WAITS; the call begins again with the first item above c->cursor. The operation sends
 * the last part itself.
 */
bool parts_add(struct call *c, struct record_writer *w, parts_write *write, const void *of,
               const void *item, uint64_t number);

/* Sets the error for a cursor that no list returned. Always -1. */
int page_wrong_cursor(struct error *e);

/*
 * Reads the requested page, once for each call. Errors: ERROR_INVALID_ARGUMENT (the cursor is not
 * from this daemon).
 */
int page_begin(struct call *c, struct error *e);

/*
 * Is the entry after the cursor? `id`: "" if `at` is unique. Entries with an id are ordered by
 * both.
 */
bool page_has(const struct call *c, uint64_t at, const char *id);

/* Is the page full? If so, writes the cursor of the next page. Call it before each entry. */
bool page_is_full(const struct call *c, struct record_writer *w);

/* Records the entry as answered. */
void page_add(struct call *c, uint64_t at, const char *id);

/* The connection has room: each waiting call answers one part. parts_forget() ends them all. */
void parts_turn(struct connection *connection);
void parts_forget(struct connection *connection);

/* -- connections ------------------------------------------------------------------------------- */

/* Listens on `take_fd`; the second function takes the socket of a door. 0 or -1. */
int connection_listen(struct keeper *k, int take_fd, struct error *e);
int connection_door(struct keeper *k, int take_fd, struct error *e);

/* Frees everything condemned. Call it between two turns of the loop. */
void keeper_sweep(struct keeper *k);

/* -- owners ------------------------------------------------------------------------------------ */

/* Sets the owner for a uid. false: this daemon does not serve that user. */
bool caller_of_uid(const struct keeper *k, uint32_t uid, struct caller *ret);
/* Sets the owner of a token. 1: found; 0: unknown token; -1: error. */
int caller_of_token(struct keeper *k, const char *token, struct caller *ret, struct error *e);

/*
 * Creates a new token: "carrel_" and 64 hex digits. random_hex() writes `digits` hex digits and a
 * NUL.
 */
enum { TOKEN_TEXT_LEN = 7 + 64 + 1 };
int token_make(char ret[TOKEN_TEXT_LEN], struct error *e);
int random_hex(char *ret, size_t digits, struct error *e);
void token_hash(const char *token, unsigned char ret[STORE_HASH_LEN]);
/* Makes sure that STATE/token holds a token of the daemon's own user, for clients that use TCP. */
int token_file(struct keeper *k, struct error *e);

#endif
