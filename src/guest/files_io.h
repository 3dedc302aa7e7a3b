/*
 * guest/files_io.h - what a file operation reads and writes.
 */
#ifndef CARREL_GUEST_FILES_IO_H
#define CARREL_GUEST_FILES_IO_H

/*
 * Where an operation reads and writes, and the path at which it failed (borrowed; "" if there is no
 * such path).
 */
struct files_io {
        int in, out;
        const char *failed;
};

#endif
