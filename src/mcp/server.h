/*
 * mcp/server.h - one request of the Model Context Protocol while it is served: what the files of this room share.
 *
 * A request is in the list of its server from its message to its answer. It makes calls one after another, each in its `call`; whoever is called
 * back goes on with the next, or answers. With its answer it ends: nothing may touch it after request_answer_*() or request_fail().
 */
#ifndef CARREL_MCP_SERVER_H
#define CARREL_MCP_SERVER_H

#include "event/time_limit.h"
#include "mcp/mcp.h"
#include "mcp/tools.h"
#include "mcp/tools_text.h"
#include "wire/call.h"

/* A background process that dies with its client, over stdio. */
struct mcp_held {
        struct mcp_call call;
        struct mcp_client *client;
        struct mcp_held *next;
        struct mcp_request *request;   /* until it was answered that it runs */
};

enum { MCP_MARK_LEN = 32 };            /* hexadecimal digits */

/* An agent, as far as it can be known: a peer, and the name of its connection or session. */
struct mcp_client {
        struct mcp_server *server;
        struct mcp_client *next;
        struct mcp_held *held;
        struct loop_timer heard;       /* over HTTP, since the daemon was told that it is there */
        unsigned requests, held_count;
        bool is_http, has_token;
        uid_t uid;
        char *token, *name;            /* "" where there is none */
        char mark[MCP_MARK_LEN + 1];   /* a hash of who it is: what the daemon knows it by */
};

/* A context and the sandbox it was given. */
struct mcp_cached {
        struct mcp_cached *next;
        unsigned char key[32], owner[32];          /* of peer and context; of the peer alone */
        char id[65];
};

struct mcp_server {
        struct loop *loop;
        struct mcp_backend *backend;
        const char *version;
        struct mcp_request *requests;
        struct mcp_client *clients;
        struct mcp_cached *cached;
        unsigned request_count, cached_count, client_count;
};

struct mcp_progress {
        const struct node *token;      /* NULL: not asked for */
        uint64_t bytes;
        char tail[2][4];               /* the beginning of a character whose end has not come */
        size_t tail_len[2];
};

enum { REQUEST_ARENA = 16u << 20 };

/* How a command ended, and the keeper's answer with what was refused to it; NULL: nothing, or it is not known. */
struct mcp_request;
typedef void tools_ended_fn(struct mcp_request *r, const struct channel_end *end, const struct record *fields);

struct mcp_request {
        struct mcp_server *server;
        struct mcp_client *client;
        struct mcp_request *next;
        struct mcp_sink *sink;
        struct arena arena;
        struct mcp_message message;
        struct api_peer peer;
        unsigned flags;                            /* enum mcp_flag */
        const char *sandbox;                       /* the one that is meant; NULL: not known yet */
        const char *context_key, *cache_key, *runtime, *workspace;
        const char *const *reads;  size_t read_count;  /* borrowed: of the front */
        const struct node *manifest;
        const struct node *context;                /* _meta["carrel/context"], or NULL */
        const char *idempotency_key;               /* or NULL */
        const struct tool *tool;                   /* of a tools/call */
        const struct node *arguments;              /* a map, or NULL */
        struct mcp_call call;
        struct loop_timer timer;
        struct mcp_progress progress;
        unsigned char key[32];                     /* while a context is resolved */
        bool is_second_look;
        bool is_from_cache;                        /* which sandbox, was known from an earlier request: it may be over */
        void (*begins)(struct mcp_request *r);     /* what began once `sandbox` was known first */
        void (*resolved)(struct mcp_request *r);   /* goes on once `sandbox` is known */
        void (*told)(struct mcp_request *r, const char *text);     /* goes on once the instructions are known */
        /* what tools that hear a command keep */
        struct tools_stream out, err;
        struct {
                uint64_t exec, pid, out_bytes, err_bytes, gone_bytes /* that could not be had any more when it was asked for */;
                int64_t tail, timeout_ms;
                int exit_code;
                bool is_background, has_pid, is_running, has_started, has_ended, was_killed, wants_wait;
                char pid_text[24];
                struct channel_end end;
                struct time_limit limit;
                tools_ended_fn *refused;           /* goes on once it is known what was */
        } exec;
        struct mcp_bytes wire;                     /* bytes of a file operation */
};

/* -- agents (mcp_client.c) --------------------------------------------------------------------------------------------- */

/* The agent of this peer and name, or NULL; the second makes one where there is none: NULL is no memory. */
struct mcp_client *mcp_client_find(struct mcp_server *s, const struct api_peer *peer, const char *name);
struct mcp_client *mcp_client_get(struct mcp_server *s, const struct mcp_ask *ask);

/* One more or one less of its requests is in flight. With the last it may be gone. */
void mcp_client_count(struct mcp_client *c, int change);

/* What is held for it dies. */
void mcp_client_free(struct mcp_client *c);

/* -- methods (mcp_methods.c) ------------------------------------------------------------------------------------------- */

/* Begins, or answers, or refuses it. */
void request_serve(struct mcp_request *r);

/* How long the result that is open may be kept, and by whom: the modern era asks for that in lists. */
void request_cache_hint(struct json_writer *w);

/* -- answers: each ends the request ------------------------------------------------------------------------------------ */

/* A JSON-RPC error. */
void request_refuse(struct mcp_request *r, const struct mcp_refusal *why);

/* The text of a result that was opened with request_result(). Takes the writer. */
void request_answer(struct mcp_request *r, struct json_writer *take_w);

/* Opens the result of this request in an empty writer. */
void request_result(struct mcp_request *r, struct json_writer *w);

/* A tool's result: one text. */
void request_text(struct mcp_request *r, const char *text, size_t len, bool is_error);

/* A tool's result: an object, as structuredContent and as text. Takes the writer, which holds it whole. */
void request_structured(struct mcp_request *r, struct json_writer *take_w, bool is_error);

/* A tool that could not: isError, the sentence, and the error's members in _meta. Outside of tools/call a JSON-RPC error. */
void request_fail(struct mcp_request *r, const struct error *e);

/* -- calls --------------------------------------------------------------------------------------------------------------- */

enum { REQUEST_RECORD = CALL_RECORD_MAX };

/* An empty record in the request's arena, or -1 after request_fail(). */
int request_record(struct mcp_request *r, struct record_writer *ret_w, size_t room);

/* The same, with the arguments of the tool in it. */
int request_arguments(struct mcp_request *r, struct record_writer *ret_w, size_t room);

/* Begins the request's call. -1 after request_fail(). */
int request_call(struct mcp_request *r, enum operation_code op, struct record_writer *w, const struct mcp_call_ops *ops);

/* For the ops of calls in which these do not happen, or mean the end. */
void request_on_refused(struct mcp_call *c, const struct error *e);
void request_on_failed(struct mcp_call *c, const struct wire_exec_failed *f);
void request_on_lost(struct mcp_call *c);
void request_ignore_reply(struct mcp_call *c, const struct record *fields, bool is_last);
/* Keeps what the answer says of the limit on the command's time. */
void request_take_limit(struct mcp_call *c, const struct record *fields, bool is_last);
void request_ignore_started(struct mcp_call *c, const struct channel_started *s);
void request_ignore_output(struct mcp_call *c, int stream, const char *bytes, size_t len);
void request_ignore_ended(struct mcp_call *c, const struct channel_end *end);

/* Keeps what a command says, and tells of it as progress. */
void request_on_output(struct mcp_call *c, int stream, const char *bytes, size_t len);

/* Of the answer to an attach: what is there, and where its output begins. */
void request_take_counts(struct mcp_request *r, const struct record *fields);

/* Was everything heard that was there when it was asked for? */
bool request_has_caught_up(const struct mcp_request *r);

/* The request a call belongs to. */
struct mcp_request *request_of(struct mcp_call *c);

/* What stopped a command from starting, as an error. `arguments` are those of its tool, or NULL: not known any more. */
void request_exec_error(struct error *e, const struct wire_exec_failed *f, const struct node *arguments);

/* Tells the client of new output, where it asked and can take it. */
void request_progress(struct mcp_request *r, int stream, const char *bytes, size_t len);

/* -- the sandbox that is meant (mcp_resolve.c) ----------------------------------------------------------------------------- */

/* Is there one, by id or by context? */
bool request_is_configured(const struct mcp_request *r);

/* Calls `then` once r->sandbox is known, now or later; else request_fail(). */
void request_resolve(struct mcp_request *r, void (*then)(struct mcp_request *r));

/* initialize and server/discover: goes on with `then` and the words for the agent's system message, which live in the request. */
void request_instructions(struct mcp_request *r, void (*then)(struct mcp_request *r, const char *text));

/* Was the call refused because the sandbox that was remembered is over? Then another is found or made, and the request begins anew: nothing was done. */
bool request_begins_anew(struct mcp_request *r, const struct error *e);

/* Forgets which sandbox a context was given; key NULL: all of this peer. Answers how many. */
unsigned request_clear_cache(struct mcp_request *r, const char *key);

void mcp_cache_free(struct mcp_server *s);

/* -- background processes that die with their client ------------------------------------------------------------------------- */

void mcp_held_free(struct mcp_held *h);        /* its process dies where it still runs */

#endif
