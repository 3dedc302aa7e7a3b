/*
 * daemon/child.h - starting one process of the daemon, by its row in the graph.
 */
#ifndef CARREL_DAEMON_CHILD_H
#define CARREL_DAEMON_CHILD_H

#include <sys/types.h>

#include "base/error.h"
#include "daemon/graph.h"

enum { CHILD_FDS_MAX = 16, CHILD_WORDS_MAX = 24, CHILD_FD_FIRST = 3 };

/* What a child is given: descriptors, which become 3, 4, ... in it, and the words of its command line. */
struct child_request {
        enum graph_process process;
        int fds[CHILD_FDS_MAX];        /* borrowed */
        size_t fd_count;
        const char *words[CHILD_WORDS_MAX];    /* after program and role */
        size_t word_count;
        bool is_without_role;          /* another use of the same program */
        char *const *environment;      /* borrowed; NULL: empty */
};

/*
 * Starts it: dies with its parent, signals as at birth, nothing open but /dev/null as 0 and 1, standard error, and what it is given.
 * Errors: as image_open(); ERROR_BACKEND_FAILED.
 */
int child_start(const struct child_request *request, pid_t *ret, struct error *e);

#endif
