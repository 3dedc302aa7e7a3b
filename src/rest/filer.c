/*
 * rest/filer.c - one file operation: its call to the keeper, and its channel.
 *
 * Room: rest (joining). Touches: mem, fd (through its follower).
 */
#include "rest/filer.h"

#include <errno.h>
#include <string.h>

#include "api/ending.h"
#include "api/file_error.h"
#include "api/start_error.h"
#include "loop/deferred.h"
#include "rest/ask.h"
#include "rest/exec_view.h"

void
filer_end(struct filer *f)
{
        if (f->is_over)
                return;
        f->is_over = 1;
        link_call_end(&f->call);
        if (f->ops->fini)
                f->ops->fini(f);
        deferred_free(f);
}

void
filer_gone(struct exchange *x)
{
        filer_end(x->state);
}

void
filer_drained(struct exchange *x)
{
        link_call_resume(&((struct filer *)x->state)->call);
}

void
filer_fail(struct filer *f, const struct error *e)
{
        exchange_fail(f->x, e);
        filer_end(f);
}

/* -- the channel ------------------------------------------------------------------------------- */

static struct filer *
of(struct link_call *c)
{
        return (struct filer *)(void *)c;
}

static void
on_failed(struct link_call *c, const struct wire_exec_failed *failed)
{
        struct error e;

        if (failed->sys == EROFS || failed->sys == EACCES)
                (void)file_error_read(&e, failed->sys, NULL, 0);
        else
                (void)start_error_read(&e, failed, NULL, NULL);
        filer_fail(of(c), &e);
}

static size_t
room_for_output(struct link_call *c)
{
        return exchange_burst(of(c)->x);
}

static void
on_output(struct link_call *c, int stream, const void *bytes, size_t len, uint64_t offset)
{
        struct filer *f = of(c);
        struct error e;

        if (stream == 2) {
                size_t room = sizeof f->failed_path - f->failed_len, more = len < room ? len : room;

                memcpy(f->failed_path + f->failed_len, bytes, more);
                f->failed_len += more;
        } else if (f->ops->output && f->ops->output(f, bytes, len, &e) < 0) {
                filer_fail(f, &e);
        }
}

static void
on_end(struct link_call *c, const struct channel_end *end)
{
        struct filer *f = of(c);
        struct error e;

        if (end->word == OUTCOME_EXITED && end->exit_code == 0) {
                f->ops->done(f);
                filer_end(f);
        } else if (end->word == OUTCOME_EXITED && f->ops->refused &&
                   f->ops->refused(f, end->exit_code)) {
                filer_end(f);
        } else {
                if (end->word == OUTCOME_EXITED)
                        (void)file_error_read(&e, end->exit_code, f->failed_path, f->failed_len);
                else
                        (void)file_ended_read(&e, outcome_name(ending_of(end).word));
                filer_fail(f, &e);
        }
}

static void
on_lost(struct link_call *c)
{
        struct error e;

        (void)fail_at(&e, ERROR_BACKEND_FAILED, NULL, "lost",
                      "the sandbox ended before the file operation did");
        filer_fail(of(c), &e);
}

static void
on_cut(struct link_call *c, const struct channel_end *end)
{
        on_lost(c);
}

static void
on_writable(struct link_call *c)
{
        if (of(c)->ops->writable)
                of(c)->ops->writable(of(c));
}

static void
on_refused(struct link_call *c, const struct error *e)
{
        struct filer *f = of(c);

        if (!f->ops->denied || !f->ops->denied(f, e))
                filer_fail(f, e);
}

static void
on_reply(struct link_call *c, const struct record *fields, bool is_last)
{
        if (of(c)->ops->opened)
                of(c)->ops->opened(of(c));
}

static const struct link_call_ops call_ops = { .reply = on_reply,
                                               .refused = on_refused,
                                               .failed = on_failed,
                                               .output = on_output,
                                               .ended = on_end,
                                               .cut = on_cut,
                                               .lost = on_lost,
                                               .writable = on_writable,
                                               .room = room_for_output };

struct filer *
filer_new(struct exchange *x, size_t len, const struct filer_ops *ops,
          const struct exchange_hooks *hooks)
{
        struct filer *f = deferred_new(x->loop, len);

        if (!f) {
                exchange_no_memory(x);
                return NULL;
        }
        f->call.ops = &call_ops;
        f->x = x;
        f->ops = ops;
        f->is_base64 = ask_base64(x);
        exchange_hold(x, hooks, f);
        return f;
}
