/*
 * wire/unpack.h - what carrel-unpack and the process that imports an image say to each other.
 *
 *     importer --WIRE_UNPACK (archive, directory)--> carrel-unpack
 *              <--WIRE_UNPACK_STEP------------------  any number of times
 *              <--WIRE_UNPACKED | WIRE_UNPACK_FAILED
 *
 * One archive a process. The archive is open for reading, the directory is empty; carrel-unpack can
 * open nothing outside it. The archive may be a plain directory, which is read the same way (LAYER
 * and HASH): then carrel-unpack can also open what is in that, for reading.
 */
#ifndef CARREL_WIRE_UNPACK_H
#define CARREL_WIRE_UNPACK_H

#include <stdint.h>

enum { UNPACK_DIGEST = 32, UNPACK_REASON = 16, UNPACK_SHOWN = 200, UNPACK_WHY = 160 };

enum unpack_what {
        UNPACK_LAYER = 1, /* with whiteouts */
        UNPACK_FILES,     /* what `docker save` and others write: documents and layers as files */
        UNPACK_LOOK,      /* nothing is unpacked: which of the two is it? */
        UNPACK_HASH       /* nothing is unpacked: its digest without compression */
};

/* WIRE_UNPACK; descriptors: the archive, the directory (of LOOK and HASH: unused) */
struct wire_unpack {
        uint64_t entries_max, bytes_max, floor_bytes; /* image/unpack/target.h */
        uint32_t what;                                /* enum unpack_what */
        uint32_t reserved;
};

/* WIRE_UNPACK_STEP */
struct wire_unpack_step {
        uint64_t entries, bytes;
};

/* WIRE_UNPACKED */
struct wire_unpacked {
        uint64_t entries, bytes, left_out;
        uint8_t digest[UNPACK_DIGEST]; /* SHA-256 of the archive without compression */
        uint32_t what;                 /* of UNPACK_LOOK: UNPACK_LAYER or UNPACK_FILES */
        uint32_t reserved;
};

/* WIRE_UNPACK_FAILED */
struct wire_unpack_failed {
        int32_t sys; /* errno, or 0 */
        uint32_t reserved;
        char reason[UNPACK_REASON]; /* a word of image/unpack/target.h, or "archive" */
        char entry[UNPACK_SHOWN];   /* "" if it is not about one */
        char why[UNPACK_WHY];       /* of "archive" */
};

#endif
