/*
 * box/report.h - what the engine reports of programs goes to a keeper, if one reads.
 */
#ifndef CARREL_BOX_REPORT_H
#define CARREL_BOX_REPORT_H

#include <stddef.h>

struct box;

/* struct wire_executed with its texts (borrowed). 0 or -EPROTO. */
int report_executed(struct box *b, const void *executed, size_t len);

#endif
