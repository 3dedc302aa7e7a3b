/*
 * bridge/provider.h - a running provider's program: its process, lines to it, messages from it.
 *
 * Every message is judged by the session (bridge/session.h) before it is reported. What breaks the
 * protocol is reported once, and nothing after it.
 */
#ifndef CARREL_BRIDGE_PROVIDER_H
#define CARREL_BRIDGE_PROVIDER_H

#include <stddef.h>
#include <sys/types.h>

#include "base/byte_queue.h"
#include "bridge/session.h"
#include "loop/loop.h"

struct provider;

struct provider_news {
        /* a message that is in order; borrowed */
        void (*heard)(struct provider *p, const struct bridge_message *m, unsigned is_end);
        /* It broke the protocol, or its output has ended: ERROR_PROTOCOL, with the reasons of
         * message.h and session.h, "too_long" for a line, "deaf" if it reads nothing, or "ended".
         * It may be called from provider_say(). */
        void (*broke)(struct provider *p, const struct error *why);
};

/* The program. Its pipes are non-blocking; -1: closed. */
struct provider_process {
        pid_t pid;    /* 0: not running */
        int to, from; /* its input and output */
};

struct provider { /* zeroed before */
        struct loop *loop;
        const struct provider_news *news;
        struct bridge_session session;
        struct provider_process process;
        struct loop_watch output, input;
        struct bytes lines, queue;
        unsigned is_broken, is_child;
};

/*
 * Starts `argv` in a process group of its own, with `envp`. Its standard error is this process's.
 * Errors: ERROR_BACKEND_FAILED with an errno.
 */
int provider_start(struct provider *p, struct loop *loop, const struct provider_news *news,
                   char *const *argv, char *const *envp, struct error *e);

/* The same in two parts, which may be in two processes. open() takes the process. */
int provider_spawn(struct provider_process *ret, char *const *argv, char *const *envp,
                   struct error *e);
int provider_open(struct provider *p, struct loop *loop, const struct provider_news *news,
                  const struct provider_process *take, struct error *e);

/* Sends a message that was written, with its newline. */
void provider_say(struct provider *p, const struct json_writer *message);

/* Closes its input: a program that keeps to the protocol ends. */
void provider_hang_up(struct provider *p);

/* Kills its process group, waits for a child, and forgets it. Accepts one that is not running. */
void provider_stop(struct provider *p);

#endif
