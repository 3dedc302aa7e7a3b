/*
 * programs/memory_file.c - sealed memory files.
 *
 * Room: programs (words). Touches: fd.
 */
#include "programs/memory_file.h"

#include <errno.h>
#include <fcntl.h>

enum { TRIES = 20 };

int
memory_file_seal(int fd)
{
        int result = -1;

        for (int tries = 0; tries < TRIES; tries++) {
                result = fcntl(fd, F_ADD_SEALS,
                               F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
                if (result == 0 || errno != EBUSY)
                        break;
        }
        return result < 0 ? -1 : 0;
}
