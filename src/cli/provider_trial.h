/*
 * cli/provider_trial.h - a provider's program under test: requests, and what became of them.
 */
#ifndef CARREL_CLI_PROVIDER_TRIAL_H
#define CARREL_CLI_PROVIDER_TRIAL_H

#include <stdbool.h>

#include "base/byte_queue.h"
#include "bridge/provider.h"

enum { TRIAL_ASKED_MAX = 4, TRIAL_STEP_MS = 30000, TRIAL_TEXT_MAX = 256 };

struct asked { /* a request; its answer */
        uint32_t id;
        bool is_withheld; /* what it prints is not credited */
        bool is_started, has_ended;
        enum bridge_kind end; /* BRIDGE_REPLY, BRIDGE_ERROR or BRIDGE_EXITED */
        enum bridge_code code;
        int64_t status, signal;
        struct bytes out[2];       /* output; of readFile in the first */
        uint64_t given;            /* bytes of input that it has taken */
        int64_t size;              /* of a reply; -1: not said */
        int alive;                 /* of a reply; -1: not said */
        char text[TRIAL_TEXT_MAX]; /* `sandbox` or `url` of a reply; message of an error */
};

struct trial {
        struct provider provider; /* first */
        struct loop *loop;
        struct asked asked[TRIAL_ASKED_MAX];
        uint64_t step_ms; /* the longest wait for an answer */
        bool is_late, is_broken;
        struct error why; /* is_broken */
        struct loop_timer clock;
        const struct node *config; /* of create */
        char sandbox[BRIDGE_NAME_MAX + 1];
};

extern const struct provider_news trial_news;

/* Forgets earlier requests, and begins one with its number in the answer of index `n`. */
void trial_begin(struct trial *t, size_t n, struct json_writer *w, const char *kind);
void trial_send(struct trial *t, struct json_writer *w);

/* A command for /bin/sh. */
void trial_command(struct trial *t, size_t n, const char *line);
/* The same with a terminal; its size; input of a command. */
void trial_terminal(struct trial *t, size_t n, const char *line, int rows, int columns);
void trial_resize(struct trial *t, size_t n, int rows, int columns);
void trial_input(struct trial *t, size_t n, const char *text);
/* A message about request `n`, with a number. */
void trial_about(struct trial *t, size_t n, const char *kind, const char *member, int64_t value);
void trial_forget(struct trial *t);

/* Waits until `is_met` says so; false: it broke the protocol, or the time is over. */
bool trial_wait(struct trial *t, bool (*is_met)(const struct trial *t));

/* Is this in the output of request `n`? */
bool trial_shows(const struct trial *t, size_t n, const char *text);

/* Did output `which` of request `n` consist of exactly this? */
bool trial_printed(const struct trial *t, size_t n, unsigned which, const char *text);

#endif
