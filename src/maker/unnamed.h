/*
 * maker/unnamed.h - counts files that a box holds open and that have no name any more.
 */
#ifndef CARREL_MAKER_UNNAMED_H
#define CARREL_MAKER_UNNAMED_H

#include <stdint.h>
#include <sys/types.h>

#include "plan/pack.h"

enum { UNNAMED_FDS_MAX = 8192, UNNAMED_FILES_MAX = 2048 };

/*
 * Bytes on disk of the files of the private directory, which is on `device`, that have no name and
 * that a process below `box` (a pid) holds open. Looks at UNNAMED_FDS_MAX descriptors at most, and
 * counts UNNAMED_FILES_MAX files at most. Not seen: files that are only mapped into memory, or in
 * flight in a Unix socket.
 */
uint64_t unnamed_bytes(const struct plan_view *view, pid_t box, dev_t device);

#endif
