/*
 * maker/watched.h - a sandbox's private directory on a disk, and the watch over its size.
 *
 * No quota limits it, so the process that waits for the box looks at it from time to time. A look
 * is bounded; a large directory takes several.
 */
#ifndef CARREL_MAKER_WATCHED_H
#define CARREL_MAKER_WATCHED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "plan/pack.h"
#include "volume/private.h"
#include "volume/tally.h"

enum {
        WATCHED_LOOK_MS = 100,  /* from one look to the next */
        WATCHED_ENTRIES = 8192, /* that one look sees */
        WATCHED_REST_MS = 2000, /* time between counts if the disk shows no change */
        WATCHED_SWEEP = 16384,  /* entries that a start erases of what killed makers left */
        WATCHED_BREAKS = 64,    /* counts that the payload may break off in a row */
};

struct watched {
        struct private_directory place; /* top -1: none */
        const char *directory;          /* with all private directories; borrowed from the plan */
        const struct plan_view *view;   /* of the box; NULL: open files are not counted */
        pid_t box;                      /* its processes are below this one */
        struct tally tally;
        uint64_t limit;            /* bytes */
        uint64_t due_ms;           /* boot clock: time to call watched_look(); UINT64_MAX: never */
        uint64_t start_free;       /* bytes of the disk that were free at the start */
        uint64_t counted_ms, free; /* when a count last began, and the free bytes then */
        uint64_t bytes;            /* of the last whole count; UINT64_MAX: none yet */
        bool is_counting, was_over;
        bool is_over; /* it holds more than the limit, or hides what it holds */
};

void watched_init(struct watched *w);

/*
 * Creates the directory of the sandbox `id`, owned by `uid` and `gid`, below `directory`
 * (borrowed), after a sweep there. It may hold `mb` MiB. Returns 0, or -errno as private_open().
 */
int watched_open(struct watched *w, const char *directory, uint64_t id, uint64_t mb, uint32_t uid,
                 uint32_t gid);

/* Looks once, if a look is due. */
void watched_look(struct watched *w);

/* Erases it with its content. The box must be gone. */
void watched_close(struct watched *w);

#endif
