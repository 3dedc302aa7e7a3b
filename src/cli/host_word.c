/*
 * cli/host_word.c - is a word written in a host file?
 *
 * Room: cli (joining, program). Touches: host files, without reading their meaning.
 */
#include "cli/host_word.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/scoped.h"
#include "prepare/host_file.h"

enum { PLACE_MEMORY = 64 * 1024 };

static bool
has_word(const char *path, const char *word)
{
        scoped_fd int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        char bytes[16 * 1024];
        size_t kept = 0, rest = strlen(word) - 1;
        ssize_t got;

        /* the last bytes of a part are looked at with the next one */
        while (fd >= 0 && (got = read(fd, bytes + kept, sizeof bytes - kept)) > 0) {
                size_t len = kept + (size_t)got;

                if (memmem(bytes, len, word, rest + 1))
                        return true;
                kept = len < rest ? len : rest;
                memmove(bytes, bytes + len - kept, kept);
        }
        return false;
}

bool
host_word_is_written(const char *named, const char *word)
{
        const char *users;
        struct arena arena;
        bool result = has_word(HOST_FILE_MACHINE, word);

        arena_init(&arena, PLACE_MEMORY);
        users = named ? named : host_file_users_place(&arena);
        result |= users && has_word(users, word);
        arena_fini(&arena);
        return result;
}
