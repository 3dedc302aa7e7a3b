/*
 * box/input.c - standard input of a command: what its callers send, through a bounded buffer.
 *
 * Room: box (program). Touches: fd, mem.
 * Theory: the buffer contains what the pipe did not take at once. While it is not empty no caller
 * is read, so the callers' sockets fill and they wait. If the command has closed its input, all
 * further input is discarded.
 */
#include "box/input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "box/holder.h"

enum { END_OF_TRANSMISSION = 4 };

void
input_init(struct input *in, struct loop *loop, int take_fd, unsigned is_terminal,
           void (*drained)(struct input *in))
{
        *in = (struct input){
                .loop = loop, .fd = take_fd, .is_terminal = is_terminal, .drained = drained
        };
}

static void
empty(struct input *in)
{
        free(in->bytes);
        in->bytes = NULL;
        in->at = in->len = 0;
}

void
input_close(struct input *in)
{
        empty(in);
        loop_watch_remove(&in->watch);
        if (in->fd >= 0)
                (void)close(in->fd);
        in->fd = -1;
}

/* The number of bytes taken; all of them if the command will never read. */
static size_t
give(struct input *in, const unsigned char *bytes, size_t len)
{
        size_t given = 0;

        while (given < len && in->fd >= 0) {
                ssize_t written = write(in->fd, bytes + given, len - given);

                if (written < 0 && errno == EINTR)
                        continue;
                if (written < 0 && errno == EAGAIN)
                        return given;
                if (written < 0)
                        input_close(in);
                else
                        given += (size_t)written;
        }
        return len;
}

static void
end_now(struct input *in)
{
        const unsigned char end = END_OF_TRANSMISSION;

        if (!in->is_terminal)
                input_close(in);
        else if (in->fd >= 0)
                (void)!write(in->fd, &end, 1);
        in->wants_end = 0;
}

static void
ready(struct loop_watch *w, uint32_t events)
{
        struct input *in = box_holder(w, struct input, watch);

        (void)events;
        if (in->bytes)
                in->at += give(in, in->bytes + in->at, in->len - in->at);
        if (in->bytes && in->at < in->len)
                return;
        empty(in);
        loop_watch_remove(&in->watch);
        if (in->wants_end)
                end_now(in);
        in->drained(in);
}

void
input_put(struct input *in, const unsigned char *bytes, size_t len)
{
        size_t given = in->len == 0 ? give(in, bytes, len) : 0;
        unsigned char *larger;

        if (given == len || in->fd < 0)
                return;
        larger = realloc(in->bytes, in->len + len - given);
        if (!larger) {
                input_close(in);
                return;
        }
        memcpy(larger + in->len, bytes + given, len - given);
        in->bytes = larger;
        in->len += len - given;
        if (!in->watch.loop && loop_watch_add(in->loop, &in->watch, in->fd, EPOLLOUT, ready) < 0)
                input_close(in);
}

void
input_end(struct input *in)
{
        if (in->len > 0)
                in->wants_end = 1;
        else
                end_now(in);
}
