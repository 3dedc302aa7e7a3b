/*
 * daemon/child.h - starts one process of the daemon, as its row in the graph says.
 */
#ifndef CARREL_DAEMON_CHILD_H
#define CARREL_DAEMON_CHILD_H

#include <sys/types.h>

#include "base/error.h"
#include "daemon/graph.h"

/* Words: an option and its value, for each descriptor and for at most 8 other things. */
enum { CHILD_FDS_MAX = 16, CHILD_WORDS_MAX = 2 * (CHILD_FDS_MAX + 8), CHILD_FD_FIRST = 3 };

/* Descriptors, which become 3, 4, ... in the child, and the arguments of its command line. */
struct child_request {
        enum graph_process process;
        int fds[CHILD_FDS_MAX]; /* borrowed */
        size_t fd_count;
        const char *words[CHILD_WORDS_MAX]; /* after program and role */
        size_t word_count;
        bool is_without_role;     /* the same program, used for something else */
        char *const *environment; /* borrowed; NULL: empty */
};

/*
 * Starts a child that dies with its parent. It has default signals, /dev/null as 0 and 1, the
 * standard error of the parent, and the given descriptors. No other file is open. Errors: those of
 * program_open(); ERROR_BACKEND_FAILED.
 */
int child_start(const struct child_request *request, pid_t *ret, struct error *e);

/* After a fork: every signal has its standard action, and none is blocked. */
void child_signals(void);

#endif
