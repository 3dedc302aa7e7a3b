/*
 * keeper/executed.h - the programs that a sandbox's processes executed, for the audit log.
 *
 * Reports are collected, and written together: an entry `process.executed` has the list `events`.
 * A sandbox may fill EXECUTED_BURST bytes of the log at once, and EXECUTED_RATE more each second;
 * beyond that only the number of executions is recorded.
 */
#ifndef CARREL_KEEPER_EXECUTED_H
#define CARREL_KEEPER_EXECUTED_H

#include <stddef.h>

#include "keeper/sandbox.h"

enum {
        EXECUTED_BURST = 4 << 20,      /* bytes of events */
        EXECUTED_RATE = 16 << 10,      /* bytes a second */
        EXECUTED_ENTRY_LEN = 16 << 10, /* an entry is written when its list is so long */
        EXECUTED_WAIT_MS = 100         /* or so long after its first event */
};

/* The body of a WIRE_BOX_EXECUTED; nothing if it is malformed, or nothing is recorded. */
void executed_hear(struct sandbox *s, const void *body, size_t len);

/* Writes what is collected: before the end of a command is recorded. */
void executed_flush(struct sandbox *s);

/* The sandbox is freed: as executed_flush(), and frees what is kept. */
void executed_gone(struct sandbox *s);

#endif
