/*
 * door/exec_view.h - an exec as JSON: what the keeper says of it, what its channel told, and its output.
 */
#ifndef CARREL_DOOR_EXEC_VIEW_H
#define CARREL_DOOR_EXEC_VIEW_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "door/exchange.h"
#include "text/json.h"
#include "wire/channel.h"
#include "wire/message.h"
#include "wire/record.h"

enum { CAPTURE_DEFAULT = 1 << 20, CAPTURE_MAX = 8 << 20, CAPTURE_FREE = 64 * 1024 };

/*
 * The newest bytes of one stream, at most `cap` when it is written; contiguous: what was dropped on the way begins it anew. What came and was let go
 * again is counted, and what did not come. Its first CAPTURE_FREE bytes of memory are nobody's business; more is asked for of may_grow (NULL: granted), `by` bytes
 * at a time. Refused, it keeps what it has room for, the newest; or, where is_strict, nothing more: is_refused.
 */
struct capture {
        char *bytes;
        size_t len, room, cap;
        uint64_t first, let_go, missed;
        int (*may_grow)(void *of, size_t by);
        void *of;
        int is_broken, is_strict, is_refused;
};

void capture_add(struct capture *c, const void *bytes, size_t len, uint64_t offset);
void capture_fini(struct capture *c);

struct exec_view {
        unsigned char *reply;          /* a copy of the keeper's record, or NULL */
        size_t reply_len;
        int is_started, is_ended, has_output;
        uint64_t port;                 /* that was waited for and listens; 0: none */
        struct channel_started started;
        struct channel_end end;
        struct capture streams[2];
};

/* Keeps a copy of the keeper's answer. -1: no memory. */
int exec_view_keep(struct exec_view *v, const struct record *reply);
void exec_view_fini(struct exec_view *v);

/* One object, with the members of exec_results in the order of the table; output where has_output. */
void exec_view_write(struct json_writer *w, struct exec_view *v, int is_base64);

/* The same as an answer, which takes the captured bytes: long ones are written as the client reads. */
void exec_view_answer(struct exchange *x, int status, struct exec_view *v, int is_base64);

/* Why a command did not start, as an error. `name` (argv[0]) and `cwd`: the program and the directory that the call named, or NULL. Always returns -1. */
int exec_failed_read(struct error *e, const struct wire_exec_failed *failed, const char *name, const char *cwd);

#endif
