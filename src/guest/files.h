/*
 * guest/files.h - file operations, done inside the box as the payload's own user by a child of pid 1 that executes nothing.
 *
 * Whatever names the payload plants, the child reaches only what the payload reaches: same root, same mounts, same Landlock rules,
 * same filter. wire/file.h says what goes in and comes out. Beyond what the payload may do, names in /proc are refused (EACCES): there
 * "self" would be the child, and a magic link leads to what no name reaches.
 */
#ifndef CARREL_GUEST_FILES_H
#define CARREL_GUEST_FILES_H

#include <stddef.h>

/* Where an operation reads and writes, and the path it failed at (borrowed; "" where there is none). */
struct files_io {
        int in, out;
        const char *failed;
};

int files_has(const char *name);

/* Does argv[0] with its words. 0 or an errno value. Not twice at a time in a process. */
int files_run(char *const *argv, struct files_io *io);

/* The same between descriptors 0 and 1; prints the path that failed on 2. Gives the exit status. */
int files_main(char *const *argv);

#endif
