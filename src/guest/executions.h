/*
 * guest/executions.h - every execve of every process of the box, reported as it begins; and the
 * other calls that a filter asks pid 1 about (guest/stand_in.h).
 *
 *     call of a process --the filter of executions_watch()--> it waits
 *     --pid 1 reads path and words from its memory--> WIRE_EXECUTED --> the call continues
 *
 * While a report waits for room in the control socket, no further call is taken, so none is lost.
 * The listener ends with pid 1, and every process with it.
 */
#ifndef CARREL_GUEST_EXECUTIONS_H
#define CARREL_GUEST_EXECUTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "filter/filter.h"
#include "wire/message.h"

/* What a filter asks pid 1. */
struct executions_asked {
        int listener; /* -1: nothing */
        bool reports_exec;
};

struct executions {
        int control, listener; /* listener -1: no filter asks */
        bool reports;          /* each execve */
        bool is_due;           /* a report waits for room */
        size_t due_len;
        _Alignas(8) unsigned char due[sizeof(struct wire_exec_number) + WIRE_EXECUTED_MAX];
        /* whose process it is; 0: not known. Asked while the kernel holds the call */
        uint32_t (*exec_of)(pid_t pid);
};

/* A child of pid 1 that shares its memory until it has executed. */
struct executions_child {
        pid_t pid; /* 0: none */
        int start; /* borrowed; the other end closes when the child has executed, or ended */
};

/*
 * Installs the filter on this process and what it starts. Needs no_new_privs. The listener (closed
 * on exec), or -errno: -EBUSY if a filter of this process already has one.
 */
int executions_watch(void);
/* The same with a filter that asks about other calls too. */
int executions_listen(const struct filter_program *program);

void executions_init(struct executions *x, int control, const struct executions_asked *asks,
                     uint32_t (*exec_of)(pid_t pid));

/*
 * The calls that wait. Returns 0, or -1: the control socket is closed.
 */
int executions_serve(struct executions *x, struct executions_child sharing);

/* Sends the report that waits. 0 or -1, as above. */
int executions_tell(struct executions *x);

#endif
