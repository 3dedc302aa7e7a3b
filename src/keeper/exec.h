/*
 * keeper/exec.h - one command on its way to a box: what op_exec.c and op_file.c share.
 */
#ifndef CARREL_KEEPER_EXEC_H
#define CARREL_KEEPER_EXEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/time_limit.h"
#include "keeper/sandbox.h"
#include "wire/message.h"

#define BOX_NO_LIMIT UINT64_MAX

struct exec_request {
        struct wire_box_exec box;      /* exec: chosen when it is sent */
        uint32_t flags;                /* enum wire_exec_flag */
        const char *const *argv;  size_t argc;
        const char *const *env;   size_t env_count;
        const char *cwd;
        const struct secret_values *secrets;   /* of the call; NULL: none, and none wanted by a function of the guest */
        const void *input;  size_t input_len;
        bool ends_input;
        uint16_t rows, columns;
        uint64_t cpu_seconds;
        struct time_limit time;        /* what box.timeout_ms is, and who set it */
};

/* Sends it to the running box of `s`. Gives the caller's end of its channel. Errors: those of its environment, ERROR_INVALID_ARGUMENT, ERROR_BACKEND_FAILED. */
int exec_send(struct sandbox *s, struct exec_request *r, int *ret_channel, struct error *e);

/* 1: the call's key was used for this very call in this sandbox; 0: not that anybody knew, or it has none; -1: for another (ERROR_EXISTS). */
int exec_find_key(const struct call *c, const struct sandbox *s, struct error *e);

/* FIELD_CLIENT: the exec joins the task of this client, which begins, or goes on for ten minutes. Errors: ERROR_QUOTA_EXCEEDED, those of the store. */
int client_choose(struct sandbox *s, const struct record *r, struct exec_request *q, struct error *e);

/* Once it has had its effect: what the key stands for is remembered. Where that fails the box still knows the key, and the beginning of its command. */
void exec_note_key(const struct call *c, const struct sandbox *s);

#endif
