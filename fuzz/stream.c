/*
 * fuzz/stream.c - any bytes as what a guest sends to its relay.
 *
 * The relay's end has the streams of one command, a terminal and a port, whose readers never read.
 * Beyond not crashing: no stream holds more than its window, and no message is passed on whose
 * length is not that of its kind.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire/flow.h"

enum { EXEC = 1, TERMINAL = 2, PORT = 3, ROUNDS = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static struct flows flows;
static struct pollfd polled[FLOWS_POLL_MAX];

/* A broken promise ends the process, in every build type. */
static void
must(int holds)
{
        if (!holds)
                abort();
}

static int
hear(void *owner, uint16_t kind, void *body, size_t len)
{
        (void)owner, (void)body;
        must((uintptr_t)body % 8 == 0);
        must(kind != WIRE_EXEC_ENDED || len == sizeof(struct wire_exec_ended));
        must(kind != WIRE_EXEC_STARTED || len == sizeof(struct wire_exec_number));
        must(kind != WIRE_CONNECTED || len == sizeof(struct wire_connected));
        must(kind != WIRE_EXEC && kind != WIRE_MAKE && kind != WIRE_WALL);
        return 0;
}

static void
add(enum stream_channel channel, uint32_t number, int kept[], size_t *count)
{
        int ends[2];

        must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
        kept[(*count)++] = ends[0];
        must(flows_add(&flows, channel, number, channel != STREAM_STDOUT ? ends[1] : -1,
                       channel != STREAM_STDIN ? ends[1] : -1) == 0);
}

static void
check_windows(void)
{
        for (const struct flow *w = flows.first; w; w = w->next)
                must(w->len <= STREAM_WINDOW && w->start + w->len <= STREAM_WINDOW &&
                     w->credit <= STREAM_WINDOW && w->granted <= STREAM_WINDOW);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
        int line[2], kept[4], result = 0;
        size_t count = 0, sent = 0;

        memset(&flows, 0, offsetof(struct flows, in));
        must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, line) == 0);
        must(flows_init(&flows, STREAM_RELAY, line[0], hear, NULL) == 0);
        add(STREAM_STDIN, EXEC, kept, &count);
        add(STREAM_STDOUT, EXEC, kept, &count);
        add(STREAM_TERMINAL, TERMINAL, kept, &count);
        add(STREAM_PORT, PORT, kept, &count);
        for (int i = 0; i < ROUNDS && result == 0; i++) {
                ssize_t put = send(line[1], data + sent, len - sent, MSG_NOSIGNAL);
                size_t slots;

                sent += put > 0 ? (size_t)put : 0;
                if (sent == len)
                        (void)shutdown(line[1], SHUT_WR);
                slots = flows_poll(&flows, polled);
                must(slots <= FLOWS_POLL_MAX && poll(polled, slots, 0) >= 0);
                result = flows_serve(&flows, polled, slots);
                check_windows();
        }
        flows_fini(&flows);
        for (size_t i = 0; i < count; i++)
                (void)close(kept[i]);
        (void)close(line[0]);
        (void)close(line[1]);
        return 0;
}
