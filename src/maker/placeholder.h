/*
 * maker/placeholder.h - an empty file or directory that stands, while a box lives, where a protected name is missing,
 * so that the payload cannot make that name itself.
 */
#ifndef CARREL_MAKER_PLACEHOLDER_H
#define CARREL_MAKER_PLACEHOLDER_H

#include "plan/step.h"

/* Makes it beneath the opened source, owned as the source is. 0 (also if something stands there already) or -errno. */
int placeholder_make(const struct step *s, int source);

/* Removes it if it is still what placeholder_make() made: empty, with its mode. Works from the step alone. */
void placeholder_remove(const struct step *s);

#endif
