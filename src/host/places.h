/*
 * host/places.h - the closed tables of host directories and settings that a sandbox may see,
 * read-only.
 */
#ifndef CARREL_HOST_PLACES_H
#define CARREL_HOST_PLACES_H

#include <stdbool.h>
#include <stddef.h>

#include "plan/host_facts.h"

/* One host path that programs need, and why it may be shown. */
struct place_row {
        const char *path;
        const char *why;
};

/* The tables, for printing. ret_count receives the number of rows; they are static. */
const struct place_row *host_dir_rows(size_t *ret_count);
const struct place_row *host_etc_rows(size_t *ret_count);

/*
 * May the setting at `path` be shown? It must be a file or directory that every user may read, that
 * belongs to root or to the owner of `system` (/etc), and that no other user may change.
 */
struct stat;
bool place_is_settled(const char *path, const struct stat *system);

/*
 * Fills dirs and etc of *ret with the rows that exist on this host. Paths point into the static
 * tables.
 */
void host_places_read(struct host_facts *ret);

#endif
