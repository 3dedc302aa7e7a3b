/*
 * box/limits.h - what ends an exec or the box: deadlines, CPU time, memory, free space.
 */
#ifndef CARREL_BOX_LIMITS_H
#define CARREL_BOX_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

struct box;
struct exec;

/* it was killed: if it does not end, the box ends */
void limits_overdue(struct exec *x);
void limits_watch(struct exec *x); /* sets the exec's timer */
/* has the time of its task passed, before its own? */
bool limits_is_task_over(const struct exec *x);
void limits_deadline(struct box *b, uint64_t deadline_ms);
/* checks free space while an exec runs */
void limits_floor(struct box *b);
/* tasks that limits.pids refused; 0: not counted */
uint64_t limits_pids_refused(const struct box *b);
/* before an exec begins or ends: assigns kills since the last call to the exec that runs alone */
void limits_credit_oom(struct box *b);

#endif
