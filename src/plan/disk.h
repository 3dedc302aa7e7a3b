/*
 * plan/disk.h - where a sandbox's private places lie, and how large they are. Sizes are MiB.
 */
#ifndef CARREL_PLAN_DISK_H
#define CARREL_PLAN_DISK_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/host_facts.h"
#include "spec/spec.h"

enum { PLAN_IMAGE_MB_MAX = 4 << 20 };    /* 4 TiB */

/* Does this sandbox ask for an image, or would `auto` take one if there is a disk for it? */
bool plan_wants_image(const struct spec *spec, const struct host_facts *facts);

/* disk_mb, or its default: the size of an image. */
uint64_t plan_disk_mb(const struct spec *spec);

/* The size of private places that are memory. */
uint64_t plan_memory_disk_mb(const struct spec *spec, const struct host_facts *facts);

/* The size of /run and /dev/shm together, beside an image. */
uint64_t plan_shared_memory_mb(const struct spec *spec, const struct host_facts *facts);

#endif
