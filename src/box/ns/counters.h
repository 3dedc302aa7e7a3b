/*
 * box/ns/counters.h - the counters of a box's groups that its maker hands over, open for reading.
 */
#ifndef CARREL_BOX_NS_COUNTERS_H
#define CARREL_BOX_NS_COUNTERS_H

#include <stdint.h>

struct counters {
        int pids;             /* pids.events, -1: none */
        int oom;              /* memory.events or memory.oom_control, -1: none */
        int memory;           /* memory.stat, -1: none */
        int cpu, is_cpu_stat; /* if no v2 group counts: cpu.stat, or cpuacct.usage; -1: none */
};

void counters_init(struct counters *c);

/* A counter arrives without its kind, which its text shows. One that is not needed is closed. */
void counters_take(struct counters *c, int take_fd);

/* UINT64_MAX: not counted. */
uint64_t counters_oom_kills(const struct counters *c);
uint64_t counters_pids_refused(const struct counters *c);
uint64_t counters_cpu_ns(const struct counters *c);
uint64_t counters_memory_kb(const struct counters *c); /* anonymous and file pages, now */

#endif
