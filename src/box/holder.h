/*
 * box/holder.h - from a member that was handed out to the struct that holds it.
 */
#ifndef CARREL_BOX_HOLDER_H
#define CARREL_BOX_HOLDER_H

#include <stddef.h>

#define box_holder(pointer, type, member) \
        ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

#endif
