/*
 * wire/saved.h - a virtual machine that was saved when its kernel had started, and how it wakes.
 *
 *     save   pid 1 --SAVED_ASLEEP--> maker   pid 1 waits; QEMU writes the machine to the file
 *     wake   pid 1 <--SAVED_WAKE---- maker   the same machine, or QEMU with the file, another day
 *            pid 1 --SAVED_AWAKE---> maker   then the clock is read
 *            pid 1 <--saved_gift---- maker   randomness and the clock; pid 1 becomes a new program
 *
 * After that both go on as in a machine that boots. The file is a head, and at SAVED_AT what QEMU
 * wrote of its devices. From `memory` on its memory follows: a saved_part and its bytes for each
 * part in which something is. The head's `bytes` is written last: a file without it was not
 * finished.
 */
#ifndef CARREL_WIRE_SAVED_H
#define CARREL_WIRE_SAVED_H

#include <stdint.h>

#define SAVED_MAGIC "crlmach2"

enum { SAVED_AT = 4096, SAVED_ID = 32, SAVED_RANDOM = 64 };
enum { SAVED_ASLEEP = 'a', SAVED_WAKE = 'w', SAVED_AWAKE = 'u' };

struct saved_head {
        char magic[8];
        unsigned char image[SAVED_ID], key[SAVED_ID]; /* of whom it is (prepare/saved.h) */
        uint64_t bytes;                               /* after SAVED_AT; 0: not finished */
        uint64_t memory;                              /* offset in the file */
        uint32_t tsc_khz;                             /* of the host that it was saved on */
        uint32_t unused;
};

struct saved_part {
        uint64_t at, len; /* in the machine's memory */
};

struct saved_gift {
        uint64_t seconds, nanoseconds; /* CLOCK_REALTIME */
        unsigned char random[SAVED_RANDOM];
};

#endif
