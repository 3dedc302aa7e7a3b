/*
 * box/starve.c - allocations that fail when a test says so. It replaces malloc(3) and the related
 * functions in a program of Carrel (ld --wrap).
 *
 * The file STARVE_MAP is shared with the test. The test writes into it which allocation fails next,
 * counted from the start of the program, and whether all later ones fail too. No shipped program
 * contains this.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct starve {
        uint64_t count, at /* 0: never */, is_for_good, failed;
};

void *__real_malloc(size_t len);
void *__real_calloc(size_t count, size_t len);
void *__real_realloc(void *old, size_t len);
void *__wrap_malloc(size_t len);
void *__wrap_calloc(size_t count, size_t len);
void *__wrap_realloc(void *old, size_t len);

static volatile struct starve *shared;

__attribute__((constructor)) static void
begin(void)
{
        const char *path = getenv("STARVE_MAP");
        int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
        void *map =
                fd >= 0 ? mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;

        if (fd >= 0)
                (void)close(fd);
        if (map != MAP_FAILED)
                shared = map;
}

static int
fails(void)
{
        uint64_t count = shared ? ++shared->count : 0;

        if (!shared || shared->at == 0 ||
            (shared->is_for_good ? count < shared->at : count != shared->at))
                return 0;
        shared->failed++;
        errno = ENOMEM;
        return 1;
}

void *
__wrap_malloc(size_t len)
{
        return fails() ? NULL : __real_malloc(len);
}

void *
__wrap_calloc(size_t count, size_t len)
{
        return fails() ? NULL : __real_calloc(count, len);
}

void *
__wrap_realloc(void *old, size_t len)
{
        return fails() ? NULL : __real_realloc(old, len);
}
