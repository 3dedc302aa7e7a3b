/*
 * prepare/image.h - finds a host directory whose disk can hold a sandbox's image.
 */
#ifndef CARREL_PREPARE_IMAGE_H
#define CARREL_PREPARE_IMAGE_H

#include "prepare/host.h"
#include "sources/sources.h"

/*
 * Tries the state directory, else /var/lib/carrel, else /var/tmp. If the host can create
 * an image of `mb` MiB there, adds the directory as one more source (sources.h: image). Returns
 * NULL, or a sentence with the reason, which lives as long as `arena`.
 */
const char *image_find(struct arena *arena, const struct prepare_host *host, uint64_t mb,
                       struct sources *sources);

/*
 * Can private places of `mb` MiB (0: any size) be on the file system of `fd`? `path` is its name in
 * the answer. Returns NULL, or the reason, which lives as long as `arena`.
 */
const char *image_judge_disk(struct arena *arena, int fd, const char *path, uint64_t mb);

#endif
