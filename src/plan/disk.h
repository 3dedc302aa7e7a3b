/*
 * plan/disk.h - where a sandbox's private places are stored (image or memory), and their sizes in
 * MiB.
 */
#ifndef CARREL_PLAN_DISK_H
#define CARREL_PLAN_DISK_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/host_facts.h"
#include "spec/spec.h"

enum { PLAN_IMAGE_MB_MAX = 4 << 20 }; /* 4 TiB */

/* Does this sandbox ask for an image, or does `auto` use one if there is a disk for it? */
bool plan_wants_image(const struct spec *spec, const struct host_facts *facts);

/* The size of an image in MiB: disk_mb, or its default. */
uint64_t plan_disk_mb(const struct spec *spec);

/* The size in MiB of private places in memory. */
uint64_t plan_memory_disk_mb(const struct spec *spec, const struct host_facts *facts);

/* The size in MiB of /run and /dev/shm together, if the private places are on an image. */
uint64_t plan_shared_memory_mb(const struct spec *spec, const struct host_facts *facts);

#endif
