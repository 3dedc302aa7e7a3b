/*
 * recorder/owner.h - the log of one owner of the daemon: entries that wait, and starts without an
 * end.
 *
 *   waiting --append, fdatasync--> durable: a start is answered with its number
 *      |  \--failed, a start-----> answered with the error, in no log
 *      +-----failed, any other---> waiting: tried again with the next start, and twice a second
 *
 * All entries that wait are appended with one sync (at most AUDIT_EVENTS_MAX). Ends,
 * executions (process.executed) and changed files alone wait OWNER_ENDS_MS for other entries:
 * nobody waits for them. Which starts are open is known from the log itself. The file "open" of its
 * directory, written now and then without a sync, saves reading the log from its beginning: the
 * open starts up to some entry.
 */
#ifndef CARREL_RECORDER_OWNER_H
#define CARREL_RECORDER_OWNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "recorder/message.h"

enum {
        OWNER_LOGS_MAX = 32,     /* logs that are open at once */
        OWNER_EVENTS_MAX = 1024, /* events of one owner that wait for the disk */
        OWNER_RETRY_MS = 500,
        OWNER_ENDS_MS =
                100 /* an end, or an execution, waits so long for the sync of another entry */
};

struct owners;

/* What an owner's log reports. `answer`: the entry `number` is durable (code 0) or refused. `kept`:
 * the files that came with this end are not needed any more. */
struct owner_reports {
        void (*answer)(const struct recorder_done *done, const struct error *e);
        void (*open)(const struct recorder_open *open);
        void (*kept)(const struct recorder_exec *of);
};

/*
 * The logs below the current directory, one directory each. `path`: its name for messages,
 * borrowed. Each log that is known is pruned to `keep_ms` (audit/retain.h) when it was loaded, when
 * it begins a file, and once a day; 0: never. NULL without memory.
 */
struct owners *owners_new(const char *path, uint64_t keep_ms, const struct owner_reports *reports);

/* Reads which starts are open, of every log, and reports them. */
void owners_load(struct owners *all);

/* An entry waits from now on. `entry`: a whole message of WIRE_AUDIT_ENTRY; of its descriptors
 * those are taken that it needs. false: it is none. */
bool owners_add(struct owners *all, const unsigned char *entry, size_t len, int *fds,
                size_t fd_count);

/* Open starts of the sandbox, except `kept`, have no end that anyone will report. */
void owners_settle(struct owners *all, const struct recorder_exec *of, const uint32_t *kept,
                   size_t count);

/* Writes what waits. `now_ms`: boot clock. Returns the moment of the next attempt, UINT64_MAX: none
 * is needed. */
uint64_t owners_flush(struct owners *all, uint64_t now_ms);

/* Writes what waits and the files "open", and frees everything. Accepts NULL. */
void owners_free(struct owners *all);

#endif
