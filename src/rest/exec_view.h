/*
 * rest/exec_view.h - an exec as JSON: the keeper's record, the end that its channel reported, and
 * its output.
 */
#ifndef CARREL_REST_EXEC_VIEW_H
#define CARREL_REST_EXEC_VIEW_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "http/exchange.h"
#include "text/json.h"
#include "wire/channel.h"
#include "wire/message.h"
#include "wire/record.h"

enum { CAPTURE_DEFAULT = 1 << 20, CAPTURE_MAX = 8 << 20, CAPTURE_FREE = 64 * 1024 };

/*
 * The newest bytes of one stream, at most `cap` when it is written. They are contiguous: after a
 * gap the capture starts again. `let_go` counts bytes that arrived and were dropped, `missed` those
 * that did not arrive. The first CAPTURE_FREE bytes of memory are not counted. For more, it asks
 * may_grow (NULL: always granted), `by` bytes at a time. If that is refused, it keeps the newest
 * bytes that fit. With is_strict it keeps no more bytes and sets is_refused.
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
        unsigned char *reply; /* a copy of the keeper's record, or NULL */
        size_t reply_len;
        int is_started, is_ended, has_output;
        uint64_t port; /* the port that was waited for and listens; 0: none */
        struct channel_started started;
        struct channel_end end;
        struct capture streams[2];
};

/* Keeps a copy of the keeper's answer. Returns -1 if out of memory. */
int exec_view_keep(struct exec_view *v, const struct record *reply);
void exec_view_fini(struct exec_view *v);

/*
 * Writes one object with the members of exec_results in the order of the table. It has the output
 * if has_output is set.
 */
void exec_view_write(struct json_writer *w, struct exec_view *v, int is_base64);

/*
 * Sends the same object as an answer, and takes the captured bytes. Long ones are written as the
 * client reads.
 */
void exec_view_answer(struct exchange *x, int status, struct exec_view *v, int is_base64);

#endif
