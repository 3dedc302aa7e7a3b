/*
 * box/puts.h - which files a call writes, as its input passes (wire/file.h): for the audit log.
 */
#ifndef CARREL_BOX_PUTS_H
#define CARREL_BOX_PUTS_H

#include <stddef.h>
#include <stdint.h>

#include "box/witness.h"
#include "wire/box.h"
#include "wire/file.h"

/* Zero at first, but for the three. */
struct puts {
        struct witness *content; /* borrowed: the files' bytes, a newline between two files */
        struct witness *list;    /* borrowed: of WIRE_BOX_STREAMS */
        struct witness *one;     /* borrowed: the digest of the file that passes */
        union {
                struct file_put put;
                unsigned char bytes[sizeof(struct file_put)];
        } head;
        size_t head_got;
        uint32_t path_left;
        uint64_t bytes_left;
        uint32_t count;       /* files so far */
        unsigned is_over : 1; /* it was complete, or is malformed */
};

/* The next bytes of the input. After a malformed one nothing more is listed. */
void puts_add(struct puts *p, const unsigned char *bytes, size_t len);

#endif
