/*
 * maker/asleep.c - pid 1 of a virtual machine that is saved.
 *
 * Room: maker (program). Touches: memory, the clock and the randomness of its machine.
 *
 *     asleep --restored, or never left--> woken: randomness, clock --> the same program, anew
 *
 * Theory: every machine that is restored from one file is the same up to here. So nothing that has
 * to be unique is made before, and the kernel's generator is keyed anew before a program starts.
 * What the kernel chose while it booted stays the same: where it is in memory, and keys of its
 * hash tables. Free memory is cleared before: the file is smaller, and is read in less time.
 */
#include "maker/asleep.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/random.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

#include "guest/transport.h"
#include "plan/request.h"
#include "wire/saved.h"

enum { SPARE_BYTES = 24 << 20, CLEARED_MAX = 1 << 30, BITS = 8 };

/* The kernel clears what it gives. */
static void
clear_free_memory(void)
{
        struct sysinfo now;
        size_t len;
        void *at;

        if (sysinfo(&now) < 0 || now.freeram <= SPARE_BYTES)
                return;
        len = now.freeram - SPARE_BYTES < CLEARED_MAX ? now.freeram - SPARE_BYTES : CLEARED_MAX;
        at = mmap(NULL, len, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE | MAP_NORESERVE, -1, 0);
        if (at != MAP_FAILED)
                (void)munmap(at, len);
}

static int
take(int port, void *bytes, size_t len)
{
        char *at = bytes;

        while (len > 0) {
                ssize_t got = read(port, at, len);

                if (got < 0 && errno != EINTR)
                        return -errno;
                if (got == 0)
                        return -EPIPE;
                at += got > 0 ? got : 0;
                len -= got > 0 ? (size_t)got : 0;
        }
        return 0;
}

static int
say(int port, char word)
{
        return write(port, &word, 1) == 1 ? 0 : -EIO;
}

/* The kernel keys its generator by itself now and then. Not soon after this: so whoever forgets to
 * do it after waking gets the same numbers each time, which a test sees (test/cli/saved_test.py).
 */
static void
key_now(void)
{
        int fd = open("/dev/urandom", O_RDWR | O_CLOEXEC);
        char first;

        if (fd < 0)
                return;
        (void)ioctl(fd, RNDRESEEDCRNG);
        (void)!read(fd, &first, 1);
        (void)close(fd);
}

static int
use_randomness(const struct saved_gift *gift)
{
        /* struct rand_pool_info: how many bits, how many bytes, the bytes */
        int pool[2 + SAVED_RANDOM / (int)sizeof(int)] = { SAVED_RANDOM * BITS, SAVED_RANDOM };
        int fd = open("/dev/urandom", O_RDWR | O_CLOEXEC), result = 0;

        if (fd < 0)
                return -errno;
        memcpy(pool + 2, gift->random, SAVED_RANDOM);
        if (ioctl(fd, RNDADDENTROPY, pool) < 0 || ioctl(fd, RNDRESEEDCRNG) < 0)
                result = -errno;
        explicit_bzero(pool, sizeof pool);
        (void)close(fd);
        return result;
}

static int
use_clock(const struct saved_gift *gift)
{
        const struct timespec now = { (time_t)gift->seconds, (long)gift->nanoseconds };

        return clock_settime(CLOCK_REALTIME, &now) < 0 ? -errno : 0;
}

static int
become_new(int port)
{
        static char name[] = "carrel-init", machine[] = PLAN_MACHINE_WORD,
                    woken[] = PLAN_MACHINE_WOKEN;
        char *words[] = { name, machine, woken, NULL }, *none[] = { NULL };
        int result =
                port == TRANSPORT_STREAM ? fcntl(port, F_SETFD, 0) : dup2(port, TRANSPORT_STREAM);

        if (result < 0)
                return -errno;
        (void)execve("/proc/self/exe", words, none);
        return -errno;
}

int
asleep(int port)
{
        struct saved_gift gift;
        char word = 0;
        int result;

        clear_free_memory();
        key_now();
        result = say(port, SAVED_ASLEEP);
        if (result == 0)
                result = take(port, &word, 1);
        if (result == 0)
                result = word == SAVED_WAKE ? say(port, SAVED_AWAKE) : -EPROTO;
        if (result == 0)
                result = take(port, &gift, sizeof gift);
        if (result == 0)
                result = use_randomness(&gift);
        if (result == 0)
                result = use_clock(&gift);
        explicit_bzero(&gift, sizeof gift);
        return result < 0 ? result : become_new(port);
}
