/*
 * maker/usage.h - what the processes of a box have used, looked at from outside just before they are killed.
 */
#ifndef CARREL_MAKER_USAGE_H
#define CARREL_MAKER_USAGE_H

#include <stdint.h>
#include <sys/types.h>

struct usage { uint64_t cpu_ns, peak_bytes; /* all together; the largest one's */ };

/* Adds up what lives below `pid`, and what of it was waited for. A look without a stop: what starts meanwhile is missed. Zero where /proc does not say. */
void usage_look(pid_t pid, struct usage *ret);

#endif
