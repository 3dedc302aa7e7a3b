/*
 * maker/saved.c - starts QEMU with a saved machine, or saves the one that it boots.
 *
 * Room: maker (program). Touches: files, processes, the clock, randomness.
 * Theory: a machine is saved before it got a step of any sandbox, so nothing in it is a secret, and
 * nobody but its owner's own kernel and pid 1 has acted in it. QEMU writes it to a pipe and reads
 * it from a descriptor; it never has a file to write. The monitor through which it is told to save
 * ends before the sandbox's steps are sent. Source of its words: QEMU, docs/interop/qmp-spec.txt
 * and qapi/migration.json.
 */
#include "maker/saved.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "clock/clock.h"
#include "maker/machine.h"
#include "plan/request.h"
#include "wire/saved.h"

enum { LINE_ROOM = 16384, PART = 65536 };

/* -- with an end ------------------------------------------------------------------------------- */

/* 0 when there is something to read, or -errno. */
static int
wait_for(int fd, uint64_t until_ms)
{
        for (;;) {
                struct pollfd p = { .fd = fd, .events = POLLIN };
                int ready = clock_poll(&p, 1, until_ms);

                if (ready > 0)
                        return 0;
                if (ready == 0)
                        return -ETIMEDOUT;
                if (errno != EINTR)
                        return -errno;
        }
}

/* How many bytes, at least one; or -errno. */
static ssize_t
hear(int fd, void *bytes, size_t room, uint64_t until_ms)
{
        int result = wait_for(fd, until_ms);
        ssize_t got = result < 0 ? result : read(fd, bytes, room);

        return got > 0 ? got : result < 0 ? result : got == 0 ? -ECONNRESET : -errno;
}

static int
expect(int stream, char word, uint64_t until_ms)
{
        char got = 0;
        ssize_t result = hear(stream, &got, 1, until_ms);

        return result < 0 ? (int)result : got == word ? 0 : -EPROTO;
}

static int
say(int fd, const void *bytes, size_t len)
{
        ssize_t sent = send(fd, bytes, len, MSG_NOSIGNAL);

        return sent == (ssize_t)len ? 0 : sent < 0 ? -errno : -EIO;
}

/* -- QEMU's monitor ---------------------------------------------------------------------------- */

struct monitor {
        int fd;
        uint64_t until_ms;
        size_t len;
        char line[LINE_ROOM];
};

/* The next line of QEMU's that is not an event. */
static int
next_answer(struct monitor *m)
{
        for (;;) {
                ssize_t got;

                m->len = 0;
                do {
                        if (m->len == sizeof m->line - 1)
                                return -EMSGSIZE;
                        got = hear(m->fd, m->line + m->len, 1, m->until_ms);
                        if (got < 0)
                                return (int)got;
                } while (m->line[m->len++] != '\n');
                m->line[m->len] = '\0';
                if (!strstr(m->line, "\"event\""))
                        return 0;
        }
}

/* With `fd`, unless it is -1. The answer must have `word` in it. */
static int
order(struct monitor *m, const char *text, int fd, const char *word)
{
        union {
                char bytes[CMSG_SPACE(sizeof fd)];
                struct cmsghdr aligned;
        } room = { .bytes = { 0 } };
        struct iovec part = { (void *)(uintptr_t)text, strlen(text) };
        struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
        int result;

        if (fd >= 0) {
                struct cmsghdr *head = &room.aligned;

                head->cmsg_level = SOL_SOCKET;
                head->cmsg_type = SCM_RIGHTS;
                head->cmsg_len = CMSG_LEN(sizeof fd);
                memcpy(CMSG_DATA(head), &fd, sizeof fd);
                message.msg_control = room.bytes;
                message.msg_controllen = sizeof room.bytes;
        }
        if (sendmsg(m->fd, &message, MSG_NOSIGNAL) != (ssize_t)part.iov_len)
                return -errno;
        result = next_answer(m);
        return result < 0 ? result : strstr(m->line, word) ? 0 : -EPROTO;
}

/* -- saving ------------------------------------------------------------------------------------ */

/* Until QEMU has written all. */
static int
copy(int from, int file, uint64_t until_ms, uint64_t *ret_bytes)
{
        static char part[PART];
        off_t at = SAVED_AT;
        ssize_t got;

        while ((got = hear(from, part, sizeof part, until_ms)) > 0) {
                if (pwrite(file, part, (size_t)got, at) != got)
                        return errno != 0 ? -errno : -ENOSPC;
                at += got;
        }
        *ret_bytes = (uint64_t)(at - SAVED_AT);
        return got == -ECONNRESET ? 0 : (int)got;
}

static int
finish(int file, uint64_t bytes)
{
        struct saved_head head;

        if (pread(file, &head, sizeof head, 0) != sizeof head)
                return -EIO;
        head.bytes = bytes;
        return pwrite(file, &head, sizeof head, 0) == sizeof head ? 0 : -EIO;
}

static int
transfer(struct monitor *m, int file)
{
        static const char take[] = "{\"execute\":\"getfd\",\"arguments\":{\"fdname\":\"to\"}}\n",
                          begin[] = "{\"execute\":\"migrate\",\"arguments\":{\"uri\":\"fd:to\"}}\n";
        uint64_t bytes = 0;
        int ends[2], result;

        if (pipe2(ends, O_CLOEXEC) < 0)
                return -errno;
        result = order(m, take, ends[1], "\"return\"");
        (void)close(ends[1]);
        if (result == 0)
                result = order(m, begin, -1, "\"return\"");
        if (result == 0)
                result = copy(ends[0], file, m->until_ms, &bytes);
        (void)close(ends[0]);
        if (result == 0)
                result = order(m, "{\"execute\":\"query-migrate\"}\n", -1,
                               "\"status\": \"completed\"");
        return result < 0 ? result : finish(file, bytes);
}

static int
save(int fd, int file, uint64_t until_ms)
{
        static struct monitor m;
        int result;

        m.fd = fd;
        m.until_ms = until_ms;
        result = next_answer(&m); /* the greeting */
        if (result == 0)
                result = order(&m, "{\"execute\":\"qmp_capabilities\"}\n", -1, "\"return\"");
        if (result == 0)
                result = order(&m,
                               "{\"execute\":\"migrate-set-parameters\",\"arguments\":"
                               "{\"max-bandwidth\":1099511627776}}\n",
                               -1, "\"return\"");
        if (result == 0)
                result = transfer(&m, file);
        return result < 0 ? result : order(&m, "{\"execute\":\"cont\"}\n", -1, "\"return\"");
}

/* -- waking ------------------------------------------------------------------------------------ */

static int
wake(int stream, uint64_t until_ms)
{
        const char word = SAVED_WAKE;
        struct saved_gift gift;
        struct timespec now;
        int result = say(stream, &word, 1);

        if (result == 0)
                result = expect(stream, SAVED_AWAKE, until_ms);
        if (result < 0)
                return result;
        if (getrandom(gift.random, sizeof gift.random, 0) != sizeof gift.random ||
            clock_gettime(CLOCK_REALTIME, &now) < 0)
                return -EIO;
        gift.seconds = (uint64_t)now.tv_sec;
        gift.nanoseconds = (uint64_t)now.tv_nsec;
        result = say(stream, &gift, sizeof gift);
        explicit_bzero(&gift, sizeof gift);
        return result;
}

static int
start_saving(int file, const struct step *machine, uint64_t until_ms)
{
        int ends[2], stream, result;

        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
                return -errno;
        stream = machine_start(machine, NULL, &(const struct machine_given){ ends[1], -1 }, NULL);
        (void)close(ends[1]);
        result = stream < 0 ? stream : expect(stream, SAVED_ASLEEP, until_ms);
        if (result == 0)
                result = save(ends[0], file, until_ms);
        (void)close(ends[0]);
        if (stream >= 0 && result < 0)
                (void)close(stream);
        return result < 0 ? result : stream;
}

static int
start_saved(int file, int tap, const struct step *machine)
{
        return lseek(file, SAVED_AT, SEEK_SET) != SAVED_AT
                       ? -errno
                       : machine_start(machine, NULL, &(const struct machine_given){ file, tap },
                                       NULL);
}

int
saved_start(const struct step *saved, int file, int tap, const struct step *machine)
{
        uint64_t until_ms = clock_boot_ms() + MACHINE_READY_MS;
        int stream = saved->number == PLAN_MACHINE_SAVES ? start_saving(file, machine, until_ms)
                                                         : start_saved(file, tap, machine);
        int result = stream < 0 ? stream : wake(stream, until_ms);

        if (stream >= 0 && result < 0)
                (void)close(stream);
        if (result == -ECONNRESET || result == -EPIPE || result == -EPROTO)
                result = -EBADMSG; /* QEMU ended, or the machine does not answer as one does */
        return result < 0 ? result : stream;
}
