/*
 * maker/saved.c - starts QEMU with a saved machine, or saves the one that it boots.
 *
 * Room: maker (program). Touches: files, processes, the clock, randomness.
 * Theory: a machine is saved before it got a step of any sandbox, so nothing in it is a secret, and
 * nobody but its owner's own kernel and pid 1 has acted in it. QEMU writes it to a pipe and reads
 * it from a descriptor; it never has the file to write. Its monitor ends before the sandbox's steps
 * are sent. Source of its words: QEMU, docs/interop/qmp-spec.txt
 * and qapi/migration.json.
 */
#include "maker/saved.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "clock/clock.h"
#include "maker/machine.h"
#include "maker/memory.h"
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
        bool is_restored; /* QEMU has said so */
        size_t len;
        char line[LINE_ROOM];
};

static int
next_line(struct monitor *m)
{
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
        if (strstr(m->line, "\"event\"") && strstr(m->line, "\"status\": \"completed\""))
                m->is_restored = true;
        return 0;
}

/* The next line of QEMU's that is not an event. */
static int
next_answer(struct monitor *m)
{
        int result;

        do
                result = next_line(m);
        while (result == 0 && strstr(m->line, "\"event\""));
        return result;
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

/* Its memory too, while it stands still. */
static int
finish(int file, uint64_t bytes, int memory)
{
        struct saved_head head;
        uint64_t end;
        int result = memory_save(memory, file, SAVED_AT + bytes, &end);

        if (result < 0)
                return result;
        if (pread(file, &head, sizeof head, 0) != sizeof head)
                return -EIO;
        head.memory = SAVED_AT + bytes;
        head.bytes = end - SAVED_AT;
        return pwrite(file, &head, sizeof head, 0) == sizeof head ? 0 : -EIO;
}

static int
transfer(struct monitor *m, int file, int memory)
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
        return result < 0 ? result : finish(file, bytes, memory);
}

/* Its memory is in a file (maker/memory.c), and it says when a machine is restored. */
static int
begin(struct monitor *m)
{
        int result = next_answer(m); /* the greeting */

        if (result == 0)
                result = order(m, "{\"execute\":\"qmp_capabilities\"}\n", -1, "\"return\"");
        return result < 0 ? result
                          : order(m,
                                  "{\"execute\":\"migrate-set-capabilities\",\"arguments\":"
                                  "{\"capabilities\":[{\"capability\":\"x-ignore-shared\","
                                  "\"state\":true},{\"capability\":\"events\",\"state\":true}]}}\n",
                                  -1, "\"return\"");
}

static int
save(struct monitor *m, const struct saved_start *how)
{
        int result = begin(m);

        if (result == 0)
                result = order(m,
                               "{\"execute\":\"migrate-set-parameters\",\"arguments\":"
                               "{\"max-bandwidth\":1099511627776}}\n",
                               -1, "\"return\"");
        if (result == 0)
                result = transfer(m, how->file, how->memory);
        return result < 0 ? result : order(m, "{\"execute\":\"cont\"}\n", -1, "\"return\"");
}

/* -- restoring --------------------------------------------------------------------------------- */

/*
 * QEMU 7.2 restores no machine that has the device for mounts, because it could not save it either.
 * So the device is taken away from the machine meanwhile, and is new afterwards, which its empty
 * place is ready for.
 */
static int
realize(struct monitor *m, bool is_real)
{
        static const char *const words[] = {
                "{\"execute\":\"qom-set\",\"arguments\":{\"path\":\"/machine/peripheral/share\","
                "\"property\":\"realized\",\"value\":false}}\n",
                "{\"execute\":\"qom-set\",\"arguments\":{\"path\":\"/machine/peripheral/share\","
                "\"property\":\"realized\",\"value\":true}}\n"
        };

        return order(m, words[is_real], -1, "\"return\"");
}

/* If it fails, QEMU ends. */
static int
await_restored(struct monitor *m)
{
        int result = 0;

        while (result == 0 && !m->is_restored)
                result = next_line(m);
        return result;
}

static int
restore(struct monitor *m, bool has_mounts)
{
        int result = begin(m);

        if (result == 0 && has_mounts)
                result = realize(m, false);
        if (result == 0)
                result = order(m,
                               "{\"execute\":\"migrate-incoming\",\"arguments\":"
                               "{\"uri\":\"fd:7\"}}\n",
                               -1, "\"return\"");
        if (result == 0)
                result = await_restored(m);
        if (result == 0 && has_mounts)
                result = realize(m, true);
        return result < 0 ? result : order(m, "{\"execute\":\"cont\"}\n", -1, "\"return\"");
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

/* QEMU has no monitor when the machine wakes. */
static int
start(const struct saved_start *how, uint64_t until_ms, int *ret_alive)
{
        static struct monitor m;
        bool saves = how->memory >= 0;
        int ends[2], stream, result;

        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
                return -errno;
        m.fd = ends[0];
        m.until_ms = until_ms;
        stream = machine_start(how->machine, how->serve,
                               &(const struct machine_given){ .tap = how->tap,
                                                              .monitor = ends[1],
                                                              .saved = saves ? -1 : how->file },
                               ret_alive);
        (void)close(ends[1]);
        result = stream < 0 ? stream : saves ? expect(stream, SAVED_ASLEEP, until_ms) : 0;
        if (result == 0)
                result = saves ? save(&m, how) : restore(&m, how->serve != NULL);
        (void)close(ends[0]);
        if (stream >= 0 && result < 0)
                (void)close(stream);
        return result < 0 ? result : stream;
}

int
saved_start(const struct saved_start *how, int *ret_alive)
{
        uint64_t until_ms = clock_boot_ms() + MACHINE_READY_MS;
        int stream = how->memory < 0 && lseek(how->file, SAVED_AT, SEEK_SET) != SAVED_AT
                             ? -errno
                             : start(how, until_ms, ret_alive);
        int result = stream < 0 ? stream : wake(stream, until_ms);

        if (stream >= 0 && result < 0)
                (void)close(stream);
        if (result == -ECONNRESET || result == -EPIPE || result == -EPROTO)
                result = -EBADMSG; /* QEMU ended, or the machine does not answer as one does */
        return result < 0 ? result : stream;
}
