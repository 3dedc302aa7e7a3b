/*
 * host/places.h - the closed tables of host directories and settings a sandbox may see, read-only.
 */
#ifndef CARREL_HOST_PLACES_H
#define CARREL_HOST_PLACES_H

#include <stdbool.h>
#include <stddef.h>

#include "plan/host_facts.h"

/* One thing of the host that a program needs, and the reason it may be shown. */
struct place_row {
        const char *path;
        const char *why;
};

/* The tables themselves, for printing; *ret_count rows, static. */
const struct place_row *host_dir_rows(size_t *ret_count);
const struct place_row *host_etc_rows(size_t *ret_count);

/* May the setting at `path` be shown: a file or directory that every user may read, owned by root or like `system` (/etc), and not to be changed by others? */
struct stat;
bool place_is_settled(const char *path, const struct stat *system);

/* Fills dirs and etc of *ret with the rows that exist here. Paths point into the static tables. */
void host_places_read(struct host_facts *ret);

#endif
