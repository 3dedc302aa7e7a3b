/*
 * programs/memory_file.h - sealed memory files.
 */
#ifndef CARREL_PROGRAMS_MEMORY_FILE_H
#define CARREL_PROGRAMS_MEMORY_FILE_H

/*
 * Closes a memory file (memfd_create(2) with MFD_ALLOW_SEALING) against every change, for good.
 * Somebody may be looking at its pages for a moment; the kernel waits a while for him, and is asked
 * again where that was not long enough. 0, or -1 with errno.
 */
int memory_file_seal(int fd);

#endif
