/*
 * audit/recent.h - are the newest entries of a log's last file still all there?
 */
#ifndef CARREL_AUDIT_RECENT_H
#define CARREL_AUDIT_RECENT_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

enum { AUDIT_RECENT_LEN = 1 << 20 }; /* bytes at the end of the file that are looked at */

/*
 * Counts the lines in the last AUDIT_RECENT_LEN bytes of the whole lines of `fd` (`whole` bytes),
 * and compares that with their numbers. `next`: the number behind the last entry. One read, so that
 * each writer can afford it before its first entry. An entry that was changed, or removed before
 * these bytes, is found by audit_log_verify() alone. Errors: ERROR_AUDIT_BROKEN "chain.seq_gap",
 * those of audit_entry_read(), ERROR_AUDIT_UNAVAILABLE, ERROR_NO_MEMORY.
 */
int audit_recent_check(int fd, off_t whole, uint64_t next, struct error *e);

#endif
