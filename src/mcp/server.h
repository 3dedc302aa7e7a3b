/*
 * mcp/server.h - one request of the Model Context Protocol while it is served: shared by the files
 * of this room.
 *
 * A request is in its server's list from its message to its answer. It makes calls one after
 * another, each in its `call`; each callback makes the next call or answers. The answer ends the
 * request: it must not be touched after request_answer_*() or request_fail().
 */
#ifndef CARREL_MCP_SERVER_H
#define CARREL_MCP_SERVER_H

#include "mcp/mcp.h"
#include "mcp/tool.h"
#include "mcp/tools_text.h"
#include "outcome/time_limit.h"
#include "wire/call.h"

/* A background process that is killed when its client ends, over stdio. */
struct mcp_held {
        struct link_call call;
        struct mcp_client *client;
        struct mcp_held *next;
        struct mcp_request *request; /* the request that started it, until that was answered */
};

enum { MCP_MARK_LEN = 32 }; /* hexadecimal digits */

/* An agent, as far as it can be identified: a peer, and the name of its connection or session. */
struct mcp_client {
        struct mcp_server *server;
        struct mcp_client *next;
        struct mcp_held *held;
        /* HTTP only: when to inform the daemon again that this client is connected */
        struct loop_timer heard;
        unsigned requests, held_count;
        bool is_http, has_token;
        uid_t uid;
        char *token, *name;          /* "" if unknown */
        char mark[MCP_MARK_LEN + 1]; /* a hash of its identity, by which the daemon knows it */
};

/* A context and its sandbox. */
struct mcp_cached {
        struct mcp_cached *next;
        unsigned char key[32], owner[32]; /* hash of peer and context; of the peer only */
        char id[65];
};

struct mcp_server {
        struct loop *loop;
        struct link *link;
        const char *version;
        struct mcp_request *requests;
        struct mcp_client *clients;
        struct mcp_cached *cached;
        unsigned request_count, cached_count, client_count;
        /* over stdio: the client declared elicitation; the number of the last question to it */
        bool elicits;
        uint64_t questions;
};

struct mcp_progress {
        const struct node *token; /* NULL: not requested */
        uint64_t bytes;
        char tail[2][4]; /* the first bytes of a character that is not complete yet */
        size_t tail_len[2];
};

enum { REQUEST_ARENA = 16u << 20 };

/*
 * Called with how a command ended, and the keeper's answer that lists what was refused to it. NULL:
 * nothing, or unknown.
 */
struct mcp_request;
typedef void tools_ended_fn(struct mcp_request *r, const struct channel_end *end,
                            const struct record *fields);

struct mcp_request {
        struct mcp_server *server;
        struct mcp_client *client;
        struct mcp_request *next;
        struct mcp_sink *sink;
        struct arena arena;
        struct mcp_message message;
        struct api_peer peer;
        unsigned flags;      /* enum mcp_flag */
        const char *sandbox; /* the sandbox to use; NULL: not known yet */
        const char *session; /* as in struct mcp_ask */
        const char *context_key, *cache_key, *runtime, *risk, *workspace;
        const char *const *reads;
        size_t read_count; /* borrowed from the front */
        const struct node *manifest;
        const struct node *context;   /* _meta["carrel/context"], or NULL */
        const char *idempotency_key;  /* or NULL */
        const struct tool *tool;      /* of a tools/call */
        const struct node *arguments; /* a map, or NULL */
        struct link_call call;
        struct loop_timer timer;
        struct mcp_progress progress;
        unsigned char key[32]; /* while a context is resolved */
        bool is_second_look;
        /* `sandbox` is known from an earlier request: it may be over */
        bool is_from_cache;
        /* the first function that was called after `sandbox` was known; a restart calls it again */
        void (*begins)(struct mcp_request *r);
        void (*resolved)(struct mcp_request *r); /* called when `sandbox` is known */
        /* called when the instructions are known */
        void (*told)(struct mcp_request *r, const char *text);
        /* state of tools that read a command's output */
        struct tools_stream out, err;
        struct {
                uint64_t exec, pid, out_bytes, err_bytes,
                        gone_bytes /* output that was no longer available when it was requested */;
                int64_t tail, timeout_ms;
                int exit_code;
                bool is_background, has_pid, is_running, has_started, has_ended, was_killed,
                        wants_wait;
                char pid_text[24], audit_ref[80];
                struct channel_end end;
                struct time_limit limit;
                tools_ended_fn *refused;              /* called when the refusals are known */
                void (*shown)(struct mcp_request *r); /* see request_attach() */
        } exec;
        struct mcp_bytes wire; /* bytes of a file operation */
        /* waits for the client's answer: the request for approval, and the question's id; or "" */
        char approval[16], question[32];
};

/* -- agents (mcp_client.c) --------------------------------------------------------------------- */

/*
 * Finds the agent with this peer and name, or returns NULL. mcp_client_get() creates it if it does
 * not exist; NULL then means out of memory.
 */
struct mcp_client *mcp_client_find(struct mcp_server *s, const struct api_peer *peer,
                                   const char *name);
struct mcp_client *mcp_client_get(struct mcp_server *s, const struct mcp_ask *ask);

/*
 * Adds `change` (1 or -1) to the agent's requests in flight. This may free the agent when the last
 * one ends.
 */
void mcp_client_count(struct mcp_client *c, int change);

/* Also kills the processes that are held for it. */
void mcp_client_free(struct mcp_client *c);

/* -- methods (mcp_methods.c) ------------------------------------------------------------------- */

/* Starts, answers or refuses the request. */
void request_serve(struct mcp_request *r);

/*
 * Writes into the open result how long it may be cached, and by which caches: the modern era
 * requires that for lists.
 */
void request_cache_hint(struct json_writer *w);

/* -- answers: each ends the request ------------------------------------------------------------ */

/* Answers with a JSON-RPC error. */
void request_refuse(struct mcp_request *r, const struct mcp_refusal *why);

/* Sends the text of a result that was opened with request_result(). Takes the writer. */
void request_answer(struct mcp_request *r, struct json_writer *take_w);

/* Opens the result of this request in an empty writer. */
void request_result(struct mcp_request *r, struct json_writer *w);

/* Answers with a tool's result: one text. */
void request_text(struct mcp_request *r, const char *text, size_t len, bool is_error);

/*
 * Answers with a tool's result: an object, as structuredContent and as text. Takes the writer,
 * which holds all of it.
 */
void request_structured(struct mcp_request *r, struct json_writer *take_w, bool is_error);

/*
 * Answers for a tool that failed: isError, the message, and the error's members in _meta. Outside
 * tools/call it is a JSON-RPC error.
 */
void request_fail(struct mcp_request *r, const struct error *e);

/* -- calls ------------------------------------------------------------------------------------- */

enum { REQUEST_RECORD = CALL_RECORD_MAX };

/* Gives an empty record in the request's arena, or returns -1 after request_fail(). */
int request_record(struct mcp_request *r, struct record_writer *ret_w, size_t room);

/* As request_record(), with the tool's arguments in the record. */
int request_arguments(struct mcp_request *r, struct record_writer *ret_w, size_t room);

/* Starts the request's call. Returns -1 after request_fail(). */
int request_call(struct mcp_request *r, enum operation_code op, struct record_writer *w,
                 const struct link_call_ops *ops);

/* Callbacks for calls in which these events do not occur, or end the request. */
void request_on_refused(struct link_call *c, const struct error *e);
void request_on_failed(struct link_call *c, const struct wire_exec_failed *f);
void request_on_lost(struct link_call *c);
/* Keeps the limit on the command's time that the answer reports. */
void request_take_limit(struct link_call *c, const struct record *fields, bool is_last);

/* Keeps the output of a command, and reports it as progress. */
void request_on_output(struct link_call *c, int stream, const void *bytes, size_t len,
                       uint64_t offset);

/* Reads the answer to an attach: which bytes exist, and where its output starts. */
void request_take_counts(struct mcp_request *r, const struct record *fields);

/*
 * Attaches to an exec, with the record `w`. Leaves it and calls `shown` once all output has arrived
 * that existed at the time of the request; with exec.wants_wait, `wait_ms` later. `ops` has
 * request_on_quiet. On failure it calls request_fail().
 */
void request_attach(struct mcp_request *r, struct record_writer *w, uint64_t wait_ms,
                    const struct link_call_ops *ops, void (*shown)(struct mcp_request *r));
void request_on_quiet(struct link_call *c);

/* Returns the request that a call belongs to. */
struct mcp_request *request_of(struct link_call *c);

/*
 * Writes why a command did not start, as an error. `arguments` are those of its tool, or NULL if no
 * longer known.
 */
void request_exec_error(struct error *e, const struct wire_exec_failed *f,
                        const struct node *arguments);

/* Reports new output to the client if it requested progress and its queue is not full. */
void request_progress(struct mcp_request *r, int stream, const char *bytes, size_t len);

/* -- asking the person behind the client (approval.c) -------------------------------------------
 */

/* At initialize: remembers whether the client can be asked, or has a session made for it. */
void approval_note_client(struct mcp_request *r);

/*
 * A call was refused with approval_required: asks the client, if it can be asked. Returns false if
 * the error is to be answered.
 */
bool approval_elicit(struct mcp_request *r, const struct error *e);

/* A response of the client, in the session (or NULL): to one of our questions, or to nothing. */
void approval_receive(struct mcp_server *s, const struct mcp_client *c, const char *session,
                      const struct mcp_message *m);

/* A repeated call that has the answer. Returns false if it has none: the tool is to be run. */
bool approval_resume(struct mcp_request *r);

/* -- which sandbox to use (mcp_resolve.c) ------------------------------------------------------ */

/* Is a sandbox configured, by id or by context? */
bool request_is_configured(const struct mcp_request *r);

/*
 * Calls `then` when r->sandbox is known, now or later. On failure it calls request_fail().
 * request_with_sandbox() calls it at once if the arguments name a sandbox.
 */
void request_resolve(struct mcp_request *r, void (*then)(struct mcp_request *r));
void request_with_sandbox(struct mcp_request *r, void (*then)(struct mcp_request *r));

/*
 * For initialize and server/discover: calls `then` with the text for the agent's system message,
 * which is owned by the request.
 */
void request_instructions(struct mcp_request *r,
                          void (*then)(struct mcp_request *r, const char *text));

/*
 * Was the call refused because the remembered sandbox is over? Then another one is found or
 * created, and the request restarts. This is safe because nothing was done.
 */
bool request_begins_anew(struct mcp_request *r, const struct error *e);

/*
 * Forgets the sandbox of a context; key NULL: those of all contexts of this peer. Returns how many
 * were forgotten.
 */
unsigned request_clear_cache(struct mcp_request *r, const char *key);

void mcp_cache_free(struct mcp_server *s);

/* -- background processes that are killed when their client ends ------------------------------- */

void mcp_held_free(struct mcp_held *h); /* kills its process if it still runs */

#endif
