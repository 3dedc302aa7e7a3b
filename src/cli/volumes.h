/*
 * cli/volumes.h - the caller's volumes, for `carrel volume`: list, create, remove, erase.
 */
#ifndef CARREL_CLI_VOLUMES_H
#define CARREL_CLI_VOLUMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "carrel/carrel.h"
#include "volume/volume.h"

struct volumes {
        struct carrel *c; /* the daemon that has them; NULL: the directory is read directly */
        struct arena arena;
        const char *state;           /* the state directory; after volumes_open() */
        char place[VOLUME_PATH_MAX]; /* the caller's volumes in it */
        uint64_t most;               /* how many volumes there may be; VOLUME_NO_BOUND */
        struct volume_info *items;
        size_t count; /* after volumes_list(), by name */
};

/*
 * `state`: --state, or NULL: as `carrel run` has it. If a daemon answers there, it is asked: it
 * knows which sandboxes are still to be started, and another user's directory cannot be read. Call
 * volumes_close(), also after a failure. Errors: ERROR_STATE_UNUSABLE, those of the host file and
 * of the daemon.
 */
int volumes_open(struct volumes *v, const char *state, struct error *e);
void volumes_close(struct volumes *v);

/* Each returns 0, or -1 with an error of volume_fail(). */
int volumes_create(struct volumes *v, const char *name, struct error *e);
int volumes_remove(struct volumes *v, const char *name, struct error *e);
int volumes_list(struct volumes *v, struct error *e);

/* Erases removed volumes. It may take long; if it is killed, the next call erases the rest. */
int volumes_sweep(struct volumes *v, struct error *e);

#endif
