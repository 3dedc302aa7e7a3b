/*
 * cli/volumes.h - the caller's volumes, for `carrel volume`: what they are, and what is done to one.
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
        struct carrel *c;              /* the daemon that has them; NULL: they are asked of the directory itself */
        struct arena arena;
        const char *state;             /* the state directory; after volumes_open() */
        char place[VOLUME_PATH_MAX];   /* where the caller's volumes are in it */
        uint64_t most;                 /* how many there may be; VOLUME_NO_BOUND */
        struct volume_info *items;  size_t count;      /* after volumes_list(), by name */
};

/*
 * `state`: --state, or NULL: as `carrel run` has it. A daemon that answers there is asked: it knows which sandboxes are still to be made, and another user's directory is closed. Ended with volumes_close() also after a failure. Errors: ERROR_STATE_UNUSABLE, those of the host file and of the daemon. */
int volumes_open(struct volumes *v, const char *state, struct error *e);
void volumes_close(struct volumes *v);

/* Each answers 0, or -1 with an error of volume_fail(). */
int volumes_create(struct volumes *v, const char *name, struct error *e);
int volumes_remove(struct volumes *v, const char *name, struct error *e);
int volumes_list(struct volumes *v, struct error *e);

/* Erases what was removed. It may take its time; what a kill leaves, the next call erases. */
int volumes_sweep(struct volumes *v, struct error *e);

#endif
