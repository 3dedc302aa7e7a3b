/*
 * store/bytes.h - bytes in a column of the database.
 */
#ifndef CARREL_STORE_BYTES_H
#define CARREL_STORE_BYTES_H

#include <stddef.h>

struct store_bytes {
        const void *bytes;
        size_t len;
};

#endif
