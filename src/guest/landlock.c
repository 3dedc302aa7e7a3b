/*
 * guest/landlock.c - a second restriction of files: Landlock rules.
 *
 * Room: guest (program). Touches: fd, its own Landlock domain.
 * Theory: the rule set handles every right of the running ABI, so each is denied unless a rule
 * grants it. Signals and abstract sockets are scoped to the domain, if the ABI can. All payloads
 * share pid 1's domain, so they can signal each other.
 */
#include "guest/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "seal/landlock.h"

static uint64_t
rights_of(enum step_access access)
{
        static const uint64_t read = LANDLOCK_EXECUTE | LANDLOCK_READ_FILE | LANDLOCK_READ_DIR;
        static const uint64_t write = LANDLOCK_WRITE_FILE | LANDLOCK_TRUNCATE |
                                      LANDLOCK_REMOVE_DIR | LANDLOCK_REMOVE_FILE |
                                      LANDLOCK_MAKE_DIR | LANDLOCK_MAKE_REG | LANDLOCK_MAKE_SOCK |
                                      LANDLOCK_MAKE_FIFO | LANDLOCK_MAKE_SYM | LANDLOCK_REFER;

        switch (access) {
        case ACCESS_READ:
                return read;
        case ACCESS_WRITE:
                return read | write;
        case ACCESS_DEVICE:
                return LANDLOCK_READ_FILE | LANDLOCK_READ_DIR | LANDLOCK_WRITE_FILE |
                       LANDLOCK_TRUNCATE | LANDLOCK_IOCTL_DEV;
        case ACCESS_PROC:
                return LANDLOCK_READ_FILE | LANDLOCK_READ_DIR | LANDLOCK_WRITE_FILE |
                       LANDLOCK_TRUNCATE;
        }
        return 0;
}

int
landlock_open(unsigned abi)
{
        static const struct landlock_rights all = { LANDLOCK_FS_ALL, 0,
                                                    LANDLOCK_ABSTRACT | LANDLOCK_SIGNAL };

        return landlock_create(abi, &all);
}

int
landlock_allow(int rules, unsigned abi, const char *path, enum step_access access)
{
        static const uint64_t for_files = LANDLOCK_EXECUTE | LANDLOCK_WRITE_FILE |
                                          LANDLOCK_READ_FILE | LANDLOCK_TRUNCATE |
                                          LANDLOCK_IOCTL_DEV;
        uint64_t rights = rights_of(access) & landlock_known(abi);
        int fd = open(path, O_PATH | O_CLOEXEC), result;
        struct stat st;

        if (fd < 0)
                return -errno;
        if (fstat(fd, &st) == 0 && !S_ISDIR(st.st_mode))
                rights &= for_files;
        result = landlock_permit(rules, rights, fd);
        (void)close(fd);
        return result;
}
