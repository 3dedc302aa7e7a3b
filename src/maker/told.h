/*
 * maker/told.h - what a series of searches has reported (survey.h). A search that meets a command
 * is repeated, and finds the same again: it is reported again only if something changed in between.
 *
 * Evidence is a number of the inodes and ctimes that a find is based on. A command can set neither,
 * so whoever puts something right and gets it back from a command hears of it again.
 */
#ifndef CARREL_MAKER_TOLD_H
#define CARREL_MAKER_TOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "wire/message.h"

enum { TOLD_MAX = 128 /* reports of one series; further ones are repeated */ };

/* All zeros: nothing was reported. */
struct told {
        uint64_t marks[TOLD_MAX];
        unsigned count;
};

/* Adds one inode to the evidence, which begins with 0. */
uint64_t told_mix(uint64_t evidence, const struct stat *st);

/* Was this find reported with this evidence? If not, it is noted as reported. */
bool told_before(struct told *t, const struct wire_kept *news, uint64_t evidence);

#endif
