/*
 * door/mcp_out.c - writes lines to standard output, which another program reads.
 *
 * Room: door (joining). Touches: mem fd.
 * Theory: it writes pieces of PIPE_BUF bytes, which a writable pipe always takes. So the
 * descriptor, which other programs may share, stays in blocking mode, and no write blocks.
 */
#include "door/mcp_out.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { OUT_HIGH = 256 * 1024 };

void
mcp_out_init(struct mcp_out *o, struct loop *l)
{
        *o = (struct mcp_out){ .watch = { .fd = -1 }, .loop = l, .can_wait = true };
}

static void
ready(struct loop_watch *w, uint32_t events)
{
        struct mcp_out *o = (struct mcp_out *)(void *)w;
        size_t len = o->queue.len - o->queue_at;
        ssize_t done;

        (void)events;
        done = write(1, o->queue.text + o->queue_at, len < PIPE_BUF ? len : PIPE_BUF);
        if (done < 0 && (errno == EINTR || errno == EAGAIN))
                return;
        if (done < 0) {
                loop_watch_remove(&o->watch);
                loop_stop(o->loop); /* the reader has closed */
                return;
        }
        o->queue_at += (size_t)done;
        if (o->queue_at < o->queue.len)
                return;
        o->queue.len = o->queue_at = 0;
        loop_watch_remove(&o->watch);
}

/* A file cannot be polled, so the queued lines are written to it at once. */
static void
begin(struct mcp_out *o)
{
        int result;

        if (o->watch.fd >= 0)
                return;
        result = o->can_wait ? loop_watch_add(o->loop, &o->watch, 1, EPOLLOUT, ready) : -EPERM;
        if (result == 0)
                return;
        o->can_wait = false;
        while (o->queue_at < o->queue.len) {
                size_t before = o->queue_at;

                ready(&o->watch, 0);
                if (o->queue_at == before && errno != EINTR)
                        return;
        }
}

int
mcp_out_line(struct mcp_out *o, const char *json, size_t len)
{
        if (o->queue_at > OUT_HIGH) {
                memmove(o->queue.text, o->queue.text + o->queue_at, o->queue.len - o->queue_at);
                o->queue.len -= o->queue_at;
                o->queue_at = 0;
        }
        mcp_bytes_put(&o->queue, json, len);
        mcp_bytes_put(&o->queue, "\n", 1);
        if (o->queue.is_broken)
                return -1;
        begin(o);
        return 0;
}

bool
mcp_out_is_full(const struct mcp_out *o)
{
        return o->queue.len - o->queue_at > OUT_HIGH;
}

void
mcp_out_flush(struct mcp_out *o)
{
        o->can_wait = false;
        loop_watch_remove(&o->watch);
        if (o->queue.len > o->queue_at)
                begin(o);
}
