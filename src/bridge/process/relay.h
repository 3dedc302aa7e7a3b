/*
 * bridge/process/relay.h - what the parts of carrel-bridge share: the box on one side, the
 * provider's program on the other, and the commands between them.
 */
#ifndef CARREL_BRIDGE_PROCESS_RELAY_H
#define CARREL_BRIDGE_PROCESS_RELAY_H

#include <stddef.h>
#include <stdint.h>

#include "bridge/provider.h"
#include "plan/request.h"
#include "wire/command.h"
#include "wire/queue.h"

#define RELAY_FILE PLAN_BRIDGE_FILE
#define RELAY_KEY PLAN_BRIDGE_KEY

enum { RELAY_STREAMS = 2 };

struct stream { /* an output of a command, to the box */
        int fd; /* -1: closed; what comes is dropped */
        struct loop_watch watch;
        struct bytes pending;
};

struct task { /* one command, or one operation on files */
        struct task *next;
        struct relay *relay;
        uint32_t exec; /* the box's number */
        uint32_t id;   /* of the request; 0: none is open */
        char *body;    /* the message, until the command is sent; owned */
        size_t len;
        char **words; /* argv, NULL, environment, NULL, cwd: they point into body; owned */
        uint32_t argc, envc, flags;
        uint16_t rows, columns; /* of its terminal */
        int input;              /* standard input, or -1 */
        struct loop_watch input_watch;
        struct stream out[RELAY_STREAMS];
        unsigned is_started, is_killed, has_ended, wants_input;
        int32_t code, status; /* once has_ended */
        /* of an operation on files */
        struct bytes content; /* read from standard input, and not written yet */
        uint64_t offset, left;
        unsigned is_within, is_last, has_input_ended;
        char *path;
        char *after; /* of a listing: the last name; owned */
};

struct url { /* a question for the address of a port */
        struct url *next;
        uint32_t request; /* the box's number */
        uint32_t id;      /* of the request; 0: it is not sent yet */
        uint16_t port;
};

enum relay_state { RELAY_IDLE, RELAY_GREETING, RELAY_CREATING, RELAY_READY, RELAY_ENDING };

struct pause { /* process/pause.c */
        unsigned wants, is_paused;
        unsigned unanswered; /* pauses that the box waits for */
        uint32_t asked;      /* the open `pause` or `resume`; 0: none */
        unsigned asks_pause;
};

struct relay {
        struct loop *loop;
        struct loop_watch box;
        struct wire_queue to_box;
        struct provider provider;
        struct arena arena;        /* of the file */
        char **argv;               /* the provider's program */
        int starter;               /* the socket to the process that starts it */
        const struct node *create; /* members of its `create` */
        uint32_t needs;            /* abilities that the host file promises */
        enum relay_state state;
        uint32_t asked; /* the open `create` or `kill`; 0: none */
        char sandbox[BRIDGE_NAME_MAX + 1];
        struct task *tasks;
        struct url *urls;
        struct loop_timer patience;
        struct pause pause;
};

/* -- main.c ------------------------------------------------------------------------------------ */
void relay_say_box(struct relay *r, uint16_t kind, const void *body, size_t len);

/* -- commands.c -------------------------------------------------------------------------------- */
/* Takes an order of the box and its descriptors. */
void task_new(struct relay *r, const void *body, size_t len, struct wire_message *m);
/* Sends it to the provider's program, which is ready. */
void task_send(struct task *t);
void task_signal(struct relay *r, uint32_t exec, int32_t number);
/* Without a number: all. */
void task_kill(struct relay *r, uint32_t exec);
void task_resize(struct relay *r, const struct wire_exec_size *size);
void task_heard(struct relay *r, const struct bridge_message *m);
/* Sends all that wait; those with a terminal fail, if the provider has none: EOPNOTSUPP. */
void task_send_all(struct relay *r);
void task_refuse_terminals(struct relay *r);
/* Those that were not sent. */
void task_fail_waiting(struct relay *r, int sys, const char *text);
/* It does not start: an errno; ENOENT: there is no such program. `text` is for its standard error.
 */
void task_fail(struct task *t, int sys, const char *text);
void task_fail_all(struct relay *r, int sys, const char *text);

/* For files.c. */
void task_say_started(struct task *t);
void task_print(struct task *t, unsigned which, const void *bytes, size_t len);
void task_end(struct task *t, int32_t code, int32_t status);
void task_begin_input(struct task *t);
/* Reads on, or not for now. 0 or -errno. */
int task_watch_input(struct task *t, int is_wanted);
void task_close_input(struct task *t);
/* Its environment: the value of a variable, or NULL. */
const char *task_variable(const struct task *t, const char *name);

/* -- pause.c ----------------------------------------------------------------------------------- */
/* The box wants the sandbox paused, or not. Every pause is answered: 0, or an errno. */
void pause_want(struct relay *r, unsigned is_wanted);
/* Does what is wanted now, if nothing is open: also when a sandbox was made, or was not. */
void pause_settle(struct relay *r);
/* May commands be sent? If a `resume` failed, it is tried again. */
int pause_lets_through(struct relay *r);
/* 1: the message was the answer to `pause` or `resume`. */
int pause_heard(struct relay *r, const struct bridge_message *m, unsigned is_end);

/* -- urls.c ------------------------------------------------------------------------------------ */
/* Takes a question of the box. Without a sandbox that is made or being made: ENOTCONN. */
void url_new(struct relay *r, const struct wire_connect *ask);
void url_send_all(struct relay *r);
void url_fail_all(struct relay *r, int sys);
/* 1: the message was the answer to such a question. */
int url_heard(struct relay *r, const struct bridge_message *m);

/* -- files.c ----------------------------------------------------------------------------------- */
void files_send(struct task *t);
void files_heard(struct task *t, const struct bridge_message *m);
void files_input(struct task *t);

/* For directories.c: ends the operation with an errno; begins the next request about its path (0:
 * it has failed and ended); sends it. A path as it is sent, in memory of its own. */
void files_end(struct task *t, int sys);
int files_begin(struct task *t, struct json_writer *w, const char *kind);
void files_say(struct task *t, struct json_writer *w);
char *files_path(const struct task *t, const char *path, size_t len);
int files_is_sendable(const char *path);

/* -- directories.c ----------------------------------------------------------------------------- */
void directories_send(struct task *t);
void directories_heard(struct task *t, const struct node *result);

#endif
