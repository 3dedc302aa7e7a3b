/*
 * keeper/keeper.h - what the parts of the keeper share: the keeper itself, its callers and their calls.
 */
#ifndef CARREL_KEEPER_KEEPER_H
#define CARREL_KEEPER_KEEPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/operation.h"
#include "base/error.h"
#include "keeper/ended.h"
#include "keeper/peer.h"
#include "prepare/prepare.h"
#include "store/store.h"
#include "wire/call.h"
#include "wire/record.h"

struct sandbox;
struct box;
struct watcher;
struct audience;
struct call_secrets;
struct call;
struct turn;

enum { KEEPER_OWNER_LEN = 72, KEEPER_CALLS_MAX = 256, KEEPER_DOOR_CALLS_MAX = 8192, KEEPER_CONNECTIONS_MAX = 1024,
       KEEPER_OTHERS_MAX = 128 /* connections of one user who is not the daemon's own */, KEEPER_RESERVE = 8 << 20 };

/* Who asks. */
struct caller {
        char owner[KEEPER_OWNER_LEN];
        uint32_t uid;                  /* whose workspaces he may name; PREPARE_UID_ANY: the daemon's own user */
        bool is_admin, is_read_only;
};

struct calls { struct call *first, **last; };  /* in order; calls_add(), calls_take() */

struct connection {
        struct peer peer;              /* first */
        struct keeper *keeper;
        struct connection *next;
        bool is_door, is_condemned;    /* condemned: closed before the loop turns again */
        struct caller caller;          /* of the peer; a door's calls say who asks */
        struct call *calls;            /* those that wait for something */
        unsigned call_count;
        struct calls listing;          /* those that wait to answer another part of a list */
};

struct keeper {
        struct loop *loop;
        struct store *store;
        struct prepare_host host;
        const char *state;             /* absolute directory */
        int boxes_fd;                  /* STATE/boxes */
        const char *ingress;           /* "http://127.0.0.1:PORT", or NULL */
        char **environment;
        char boot_id[STORE_BOOT_ID_LEN];
        uint32_t uid;
        char owner[KEEPER_OWNER_LEN];  /* the daemon's own user, as an owner */
        uint64_t delete_after_ms;      /* scheduled deletion where a call says nothing; STORE_NEVER: none */
        struct peer spawner;
        struct peer gates, gate;       /* where a gate that was started is told of, and the one there is; fd -1: none */
        uint32_t last_wall;
        struct loop_watch listener;
        struct loop_timer checkpoint, accept_again, collect;   /* collect: what killed makers left */
        struct connection *connections;
        unsigned connection_count;
        struct sandbox *first, *last;  /* oldest first */
        size_t sandbox_count;
        uint64_t last_sandbox;         /* its number */
        struct ended ended;            /* the last that ended, for who asks after them */
        struct sandbox *buried;        /* ended, and their rows could not be removed yet */
        unsigned damaged_count;        /* rows that were not what was written, at the start */
        struct box *boxes;             /* with a sandbox or, those to be collected, without */
        struct watcher *watchers;
        struct audience *audiences;    /* owners somebody watches for */
        struct pool *pool;             /* NULL: none */
        struct turn *turns;            /* the owner whose call is next (turns.c); NULL: no call is here */
        struct loop_timer turns_again;
        void *reserve;                 /* memory that narrowing a list may use when there is no other; NULL: it is out */
        bool needs_sweep, is_stopping;
        uint64_t prepare_now;
        _Alignas(16) unsigned char in[WIRE_BODY_MAX];
        _Alignas(16) unsigned char out[WIRE_BODY_MAX];
        _Alignas(16) unsigned char plan[WIRE_BODY_MAX];
};

/* -- calls -------------------------------------------------------------------------------------------------------- */

/* What an operation made of a call: replied; failed (the error says why); it waits, and somebody holds it. */
enum call_state { CALL_DONE, CALL_FAILED, CALL_WAITS };

/*
 * One page of a list: FIELD_LIMIT entries after FIELD_CURSOR (page.c). An entry has a place in its list: `at`, and where two may share one, an id that orders them.
 */
enum { PAGE_ID_LEN = 40 };
struct page { bool is_read; uint64_t limit /* 0: all */, count, after, at; char after_id[PAGE_ID_LEN], id[PAGE_ID_LEN]; };

struct call {
        struct keeper *keeper;
        struct connection *connection; /* NULL: the caller has gone; whatever is done for him is done quietly */
        struct call *next_of_connection;
        struct call *next;             /* in the list of whoever it waits for */
        struct turn *turn;             /* its owner's place (turns.c) */
        const struct operation *op;
        uint32_t serial;
        bool is_cancelled;
        bool has_listing;              /* a box told its execs for this call: it begins anew and does not ask again */
        char made[17];                 /* the sandbox that an earlier beginning of this call made */
        bool has_turn;                 /* to answer a part of a list (parts.c); */
        uint64_t cursor;               /* and the number of the last item that was answered */
        struct page page;              /* of a list that is asked for in pages */
        bool has_waited;               /* for a port, long enough */
        unsigned ports_looked;         /* of an exec that waits for a port: how many were looked at before it was begun, */
        uint64_t ports_open;           /* and which of them listened, a bit each */
        struct caller caller;
        struct call_secrets *secrets;  /* wanted by a command, and its values once they came (secret.h); or NULL */
        struct record record;
};

typedef enum call_state call_run(struct call *c, struct error *e);

/* The function of an operation; never NULL (op.c). */
call_run *call_function(enum operation_code code);

/* Runs it, replies an error, frees what does not wait. Also for a call that waited: it begins anew. */
void call_begin(struct call *c);

/* A call that waited is answered with an error, or has been answered, and goes. */
void call_fail(struct call *c, const struct error *e);
void call_end(struct call *c);

/* Begins a reply, in the keeper's one buffer: it is sent before another begins. */
struct record_writer reply_begin(struct call *c);
/* Sends it. `take_fd` -1: none. What became too long is answered as an error. */
void reply_send(struct call *c, struct record_writer *w, unsigned flags, int take_fd);
void reply_error(struct call *c, const struct error *e);

/* An event for the caller of `c` (WIRE_EVENT), written like a reply. */
void reply_event(struct connection *connection, uint32_t serial, struct record_writer *w);

/* -- answers in parts (parts.c): lists of any length ----------------------------------------------------------------- */

typedef void parts_write(struct record_writer *w, const void *of, const void *item);

/* false: it is not this call's turn yet; CALL_WAITS, and it begins anew. */
bool parts_begin(struct call *c, struct record_writer *w);

/*
 * One item more, of a number above c->cursor. false: the part was full without it and was sent; CALL_WAITS, and the call begins anew with the first item above c->cursor.
 * The last part is the operation's to send.
 */
bool parts_add(struct call *c, struct record_writer *w, parts_write *write, const void *of, const void *item, uint64_t number);

/* Says that a cursor is none that a list was answered with. Always -1. */
int page_wrong_cursor(struct error *e);

/* Reads what page is asked for, once. Errors: ERROR_INVALID_ARGUMENT (the cursor is none of this daemon's). */
int page_begin(struct call *c, struct error *e);

/* Is the entry after the cursor? `id`: "" where `at` alone says it. Entries with an id are in the order of both. */
bool page_has(const struct call *c, uint64_t at, const char *id);

/* Is the page full? Then the answer says where to go on. Asked before each entry. */
bool page_is_full(const struct call *c, struct record_writer *w);

/* The entry was answered. */
void page_add(struct call *c, uint64_t at, const char *id);

/* The connection takes more: those that stand in line, a part each. Ends them all. */
void parts_turn(struct connection *connection);
void parts_forget(struct connection *connection);

/* -- connections ---------------------------------------------------------------------------------------------------- */

/* Listens on `take_fd`; takes a door's socket. 0 or -1. */
int connection_listen(struct keeper *k, int take_fd, struct error *e);
int connection_door(struct keeper *k, int take_fd, struct error *e);

/* Lets go of everything condemned: between two turns of the loop. */
void keeper_sweep(struct keeper *k);

/* -- owners ----------------------------------------------------------------------------------------------------------- */

/* The owner that a uid is; false: this daemon does not serve him. */
bool caller_of_uid(const struct keeper *k, uint32_t uid, struct caller *ret);
/* Who shows this token; 1, 0: nobody, -1. */
int caller_of_token(struct keeper *k, const char *token, struct caller *ret, struct error *e);

/* Makes a token of its own: "carrel_" and 64 hex digits. Random text of `digits` hex digits and a NUL. */
enum { TOKEN_TEXT_LEN = 7 + 64 + 1 };
int token_make(char ret[TOKEN_TEXT_LEN], struct error *e);
int random_hex(char *ret, size_t digits, struct error *e);
void token_hash(const char *token, unsigned char ret[STORE_HASH_LEN]);
/* Makes sure that STATE/token holds a token of the daemon's own user, for who speaks TCP. */
int token_file(struct keeper *k, struct error *e);

#endif
