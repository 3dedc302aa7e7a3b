/*
 * cli/trial_image.h - an image of one program, to try sandboxes that need an image.
 *
 * The program is this `carrel`. The image is in a state directory of its own below $TMPDIR (/tmp),
 * which is removed with everything in it. So is what a killed doctor left there.
 */
#ifndef CARREL_CLI_TRIAL_IMAGE_H
#define CARREL_CLI_TRIAL_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

#define TRIAL_IMAGE_NAME "carrel-doctor:1"
#define TRIAL_IMAGE_PROGRAM "/bin/carrel"

enum { TRIAL_IMAGE_ROOM = 256, TRIAL_IMAGE_WORDS = 1024 };

struct trial_image {                  /* zeroed before */
        char state[TRIAL_IMAGE_ROOM]; /* "": nothing was made */
        char said[TRIAL_IMAGE_WORDS]; /* of what failed: carrel's own error */
        int place;                    /* of `state`, with a lock; owned */
        int status;                   /* of trial_child_run() */
        bool is_tried, is_made, has_disk;
};

/*
 * Makes it at the first call, by the same path as `carrel image import`, and with `wants_disk` its
 * disk, as `carrel image disk`. false: `said` or `status` says why not.
 */
bool trial_image_make(struct trial_image *t, bool wants_disk, uint64_t deadline_ms);

/* Accepts one that was not made. */
void trial_image_remove(struct trial_image *t);

#endif
