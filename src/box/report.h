/*
 * box/report.h - what the engine reports of programs goes to a keeper, if one reads.
 */
#ifndef CARREL_BOX_REPORT_H
#define CARREL_BOX_REPORT_H

#include <stddef.h>
#include <stdint.h>

struct box;

/* `exec`: whose it is, as the engine knows, or 0. struct wire_executed with its texts (borrowed). 0
 * or -EPROTO. */
int report_executed(struct box *b, uint32_t exec, const void *executed, size_t len);

#endif
