/*
 * image/unpacker.h - starts carrel-unpack for one archive, and hears what became of it.
 */
#ifndef CARREL_IMAGE_UNPACKER_H
#define CARREL_IMAGE_UNPACKER_H

#include <stdint.h>

#include "base/error.h"
#include "image/digest.h"
#include "wire/unpack.h"

/* How much an import may take. */
struct image_limits {
        uint64_t bytes;   /* of the files of one layer, and of one compressed archive */
        uint64_t entries; /* of one layer */
        uint64_t floor;   /* bytes that stay free on the disk */
};

extern const struct image_limits image_limits_standard; /* 32 GiB, 1,000,000, 256 MiB */

/* Called with how far an archive is; `what`: borrowed text for people. */
struct image_progress {
        void (*step)(void *ctx, const char *what, uint64_t entries, uint64_t bytes);
        void *ctx; /* first argument */
};

struct unpacked {
        struct digest digest; /* of the archive without compression */
        uint64_t entries, bytes, left_out;
        enum unpack_what what; /* of UNPACK_LOOK */
};

/*
 * Unpacks `archive` (open for reading, at its beginning) into `tree` (an empty directory), or looks
 * at it. Errors: ERROR_IMAGE_INVALID with the reason of image/unpack/target.h or "archive", and the
 * entry in its message; ERROR_STORAGE_FULL; ERROR_BACKEND_FAILED, also if carrel-unpack was killed;
 * ERROR_CAPABILITY_UNAVAILABLE. What was unpacked before a failure stays for the caller to erase.
 */
int unpacker_run(enum unpack_what what, int archive, int tree, const struct image_limits *limits,
                 const struct image_progress *progress, const char *label, struct unpacked *ret,
                 struct error *e);

#endif
