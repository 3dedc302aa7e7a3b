/*
 * guest/files.h - file operations inside the box. A child of pid 1 does them as the payload's own
 * user, and executes no program.
 *
 * Whatever names the payload creates, the child reaches only what the payload can reach: it has the
 * same root, mounts, Landlock rules and filter. wire/file.h defines input and output. In addition,
 * names in /proc are refused (EACCES): "self" there would be the child, and a magic link leads to
 * objects that no name reaches.
 */
#ifndef CARREL_GUEST_FILES_H
#define CARREL_GUEST_FILES_H

#include "guest/files_io.h"

int files_has(const char *name);

/* Runs argv[0] with its arguments. 0 or an errno value. Not reentrant within a process. */
int files_run(char *const *argv, struct files_io *io);

/* The same with descriptors 0 and 1; prints the path that failed on 2. Returns the exit status. */
int files_main(char *const *argv);

#endif
