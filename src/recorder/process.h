/*
 * recorder/process.h - how a fork becomes a recorder.
 */
#ifndef CARREL_RECORDER_PROCESS_H
#define CARREL_RECORDER_PROCESS_H

#include <stdbool.h>

#include "base/error.h"

enum { RECORDER_SOCKET = 3, RECORDER_LOG = 4, RECORDER_BROKEN = 125 /* exit status */ };

/*
 * In the child: leaves the session, blocks every signal, keeps `socket` and `directory` as
 * RECORDER_SOCKET and RECORDER_LOG and closes all others, and enters its seal: it can only write
 * below `directory`. `keeps_errors`: standard error stays; `makes_directories`: it may create them.
 * Errors: ERROR_BACKEND_FAILED, those of seal_enter().
 */
int recorder_become(int socket, int directory, bool keeps_errors, bool makes_directories,
                    struct error *e);

#endif
