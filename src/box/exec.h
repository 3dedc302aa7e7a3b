/*
 * box/exec.h - one command of a sandbox, from its request until it is forgotten.
 *
 * Its state is in box/state.h: callers (box/channel.h) and limits (box/limits.h) read it. What they
 * cause they report with its calls, so that neither knows the table.
 */
#ifndef CARREL_BOX_EXEC_H
#define CARREL_BOX_EXEC_H

#include <stddef.h>
#include <stdint.h>

#include "box/engine.h"
#include "wire/box.h"

enum {
        EXECS_MAX = 4096,          /* running at once */
        EXECS_KEPT_MAX = 256,      /* finished ones that are kept */
        EXECS_LINGERING_MAX = 256, /* finished ones whose pipes a process still holds */
};
#define LOGS_KEPT_MAX (64ull << 20) /* bytes of the logs of finished execs, together */

struct box;
struct exec;

/* NULL: not in the table. */
struct exec *exec_find(struct box *b, uint32_t number);
struct exec *exec_with_key(struct box *b, const char *key);
/* zeroed, the caller sets its number; NULL: no memory */
struct exec *exec_add(struct box *b);
void exec_free(struct exec *x);
void exec_start(struct box *b, const struct wire_box_exec *ask, void *wire, size_t wire_len,
                int take_channel);
void exec_started(struct exec *x, int32_t pid, int take_master);
void exec_failed(struct exec *x, const struct wire_exec_failed *failed);
void exec_ended(struct exec *x, const struct engine_ended *ended);
void exec_kill(struct exec *x, uint32_t word);
/* the engine has ended: the box itself reports the end of each that is not over */
void exec_lose_all(struct box *b);
/* started or thawed: sends the messages that were kept */
void exec_send_waiting(struct box *b);
void exec_list(const struct exec *x, struct wire_box_listed *ret);
void exec_prune(struct box *b);

#endif
