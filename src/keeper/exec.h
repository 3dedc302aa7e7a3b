/*
 * keeper/exec.h - one command that is sent to a box; shared by op_exec.c and op_file.c.
 */
#ifndef CARREL_KEEPER_EXEC_H
#define CARREL_KEEPER_EXEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "keeper/sandbox.h"
#include "outcome/time_limit.h"
#include "wire/command.h"

#define BOX_NO_LIMIT UINT64_MAX

/* Bytes that a call of code.run grows by at most, when it becomes a command (op_code.c). */
enum { CODE_SPARE = 1024 };

struct exec_request {
        struct wire_box_exec box; /* exec: 0, or the number that it was recorded with */
        /* its environment is what the call adds to that of the sandbox */
        struct wire_command command;
        /* of the call; NULL: none, as for the guest's own functions */
        const struct secret_values *secrets;
        const void *input;
        size_t input_len;
        bool ends_input;
        struct time_limit time; /* box.timeout_ms, and who set it */
        const char *call;       /* the operation, of a call that changes files; NULL: a command */
};

/*
 * Sends the command to the running box of `s`. Gives the caller's end of its channel. Errors: those
 * of its environment, ERROR_INVALID_ARGUMENT, ERROR_BACKEND_FAILED.
 */
int exec_send(struct sandbox *s, struct exec_request *r, int *ret_channel, struct error *e);

/*
 * 1: the key was used for the same call in this sandbox; 0: unknown key, or no key; -1: used for a
 * different call (ERROR_EXISTS).
 */
int exec_find_key(const struct call *c, const struct sandbox *s, struct error *e);

/*
 * FIELD_CLIENT: adds the exec to the task of this client. The task starts, or is extended by ten
 * minutes. Errors: ERROR_QUOTA_EXCEEDED, those of the store.
 */
int client_choose(struct sandbox *s, const struct record *r, struct exec_request *q,
                  struct error *e);

/*
 * Stores the key after the call had its effect. If that fails, the box still knows the key and the
 * start of its command.
 */
void exec_note_key(const struct call *c, const struct sandbox *s);

#endif
