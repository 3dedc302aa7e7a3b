/*
 * prepare/image.h - a directory of the host on whose disk a sandbox's image can lie.
 */
#ifndef CARREL_PREPARE_IMAGE_H
#define CARREL_PREPARE_IMAGE_H

#include "prepare/host.h"
#include "sandbox/sources.h"

/*
 * Looks for one: the daemon's state directory, else /var/lib/carrel, else /var/tmp. Opens it as one more source of `sources` (sources.h: image), where the host
 * can make an image of `mb` MiB there. Gives NULL, or why there is none: a sentence that lives as long as `arena`.
 */
const char *image_find(struct arena *arena, const struct prepare_host *host, uint64_t mb, struct sources *sources);

#endif
