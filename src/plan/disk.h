/*
 * plan/disk.h - where a sandbox's private places are stored (memory, image, directory), and
 * their sizes in MiB.
 */
#ifndef CARREL_PLAN_DISK_H
#define CARREL_PLAN_DISK_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/host_facts.h"
#include "plan/plan.h"
#include "spec/spec.h"

enum { PLAN_IMAGE_MB_MAX = 4 << 20 }; /* 4 TiB */

/*
 * Where /tmp and the home are stored: the form requested by name, or the one that `auto` uses if
 * there is a disk for it.
 */
enum spec_disk plan_disk_form(const struct spec *spec, const struct host_facts *facts);

/* The size in MiB of an image, or of what a private directory may hold: disk_mb or its default. */
uint64_t plan_disk_mb(const struct spec *spec);

/* The size in MiB of private places in memory. */
uint64_t plan_memory_disk_mb(const struct spec *spec, const struct host_facts *facts);

/*
 * The size in MiB of /run and /dev/shm together, if the private places are on an image or in a
 * private directory.
 */
uint64_t plan_shared_memory_mb(const struct spec *spec, const struct host_facts *facts);

/* "memory", "image" or "directory": where the plan stores /tmp and the home. */
const char *plan_disk_name(const struct plan *plan);

#endif
