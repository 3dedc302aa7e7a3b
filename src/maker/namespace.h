/*
 * maker/namespace.h - the BOX steps that configure the box's own namespaces.
 */
#ifndef CARREL_MAKER_NAMESPACE_H
#define CARREL_MAKER_NAMESPACE_H

#include "maker/box.h"

/* As box_step(), for these steps; -ENOTSUP for every other one. */
int namespace_step(struct box *box, const struct step *s);

#endif
