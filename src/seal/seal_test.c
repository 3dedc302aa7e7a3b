/*
 * seal/seal_test.c - each row, applied to a child: what it says, and what the kernel says of it.
 */
#include "seal/seal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sanitized.h"
#include "base/unit.h"
#include "seal/landlock.h"

/* What a sealed child tried. The parent reads the rest in its status. */
enum tried {
        CAN_READ = 1 << 0,
        CAN_WRITE = 1 << 1,
        CAN_WRITE_PLACE = 1 << 2,
        CAN_BIND = 1 << 3,
        CAN_CONNECT = 1 << 4,
        IS_DUMPABLE = 1 << 5,
};

struct report {
        unsigned tried;
        int result;
        rlim_t open_files;
};

/* Only a refusal counts: EACCES of Landlock, EPERM of a filter. */
static bool
refused(long result)
{
        return result < 0 && (errno == EACCES || errno == EPERM);
}

static bool
opens(int directory, const char *name, int flags)
{
        int fd = openat(directory, name, flags | O_CLOEXEC, 0600);
        bool is_refused = refused(fd);

        if (fd >= 0)
                (void)close(fd);
        return !is_refused;
}

static bool
binds(int fd)
{
        struct sockaddr_in any = { .sin_family = AF_INET };

        return !refused(bind(fd, (struct sockaddr *)&any, sizeof any));
}

/* To a port on which no process listens: ECONNREFUSED is no refusal of the seal. */
static bool
connects(int fd)
{
        struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(1) };

        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        return !refused(connect(fd, (struct sockaddr *)&to, sizeof to));
}

static unsigned
try_all(const char *outside, int place, const int sockets[2])
{
        unsigned can = 0;

        can |= opens(AT_FDCWD, "/etc/passwd", O_RDONLY) ? CAN_READ : 0u;
        can |= opens(AT_FDCWD, outside, O_WRONLY | O_CREAT) ? CAN_WRITE : 0u;
        can |= opens(place, "inside", O_WRONLY | O_CREAT) ? CAN_WRITE_PLACE : 0u;
        can |= binds(sockets[0]) ? CAN_BIND : 0u;
        can |= connects(sockets[1]) ? CAN_CONNECT : 0u;
        can |= prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 1 ? IS_DUMPABLE : 0u;
        return can;
}

static char folder[] = "/tmp/carrel-seal-XXXXXX";

/* The child that is sealed: reports, then waits until the parent has read its status. */
static _Noreturn void
be_sealed(enum seal_process who, int link)
{
        int sockets[2] = { socket(AF_INET, SOCK_STREAM, 0), socket(AF_INET, SOCK_STREAM, 0) };
        struct seal_place place = { LANDLOCK_FS_ALL & ~LANDLOCK_EXECUTE,
                                    open(folder, O_PATH | O_DIRECTORY) };
        struct report r = { 0 };
        struct rlimit files;
        struct error e;
        char outside[64];

        (void)snprintf(outside, sizeof outside, "%s-outside", folder);
        r.result = seal_enter(who, &place, 1, &e);
        r.tried = try_all(outside, place.fd, sockets);
        (void)getrlimit(RLIMIT_NOFILE, &files);
        r.open_files = files.rlim_max;
        if (write(link, &r, sizeof r) != sizeof r)
                _exit(1);
        _exit(read(link, &r, 1) != 0);
}

static unsigned long long
status_of(pid_t pid, const char *field)
{
        char path[32], text[4096], *line;
        FILE *f;
        size_t len;

        (void)snprintf(path, sizeof path, "/proc/%d/status", pid);
        f = fopen(path, "re");
        assert_non_null(f);
        len = fread(text, 1, sizeof text - 1, f);
        text[len] = '\0';
        (void)fclose(f);
        line = strstr(text, field);
        assert_non_null(line);
        return strtoull(line + strlen(field), NULL, 16);
}

static struct report
seal_one(enum seal_process who, unsigned long long ret_status[4])
{
        static const char *const fields[] = { "\nCapEff:", "\nCapBnd:", "\nNoNewPrivs:",
                                              "\nSeccomp:" };
        struct report r;
        int link[2], status;
        pid_t pid;

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, link), 0);
        pid = fork();
        if (pid == 0) {
                (void)close(link[0]);
                be_sealed(who, link[1]);
        }
        (void)close(link[1]);
        assert_int_equal(read(link[0], &r, sizeof r), sizeof r);
        for (size_t i = 0; i < 4; i++)
                ret_status[i] = status_of(pid, fields[i]);
        (void)close(link[0]);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        return r;
}

enum { FREE = CAN_READ | CAN_WRITE | CAN_WRITE_PLACE | CAN_BIND | CAN_CONNECT };

static const struct expected {
        const char *name;
        unsigned can;
        unsigned long long keeps; /* as root */
        bool has_filter, empties_bounding;
        rlim_t open_files; /* 0: as before */
} expected[SEAL_PROCESSES] = {
        [SEAL_RUN] = { "run", CAN_READ | CAN_WRITE_PLACE | CAN_BIND | CAN_CONNECT | IS_DUMPABLE,
                       1 << 2 /* CAP_DAC_READ_SEARCH */, false, false, 0 },
        [SEAL_KEEPER] = { "keeper", CAN_READ | CAN_WRITE_PLACE, 1 << 2, true, false, 0 },
        [SEAL_DOOR] = { "door", 0, 0, true, true, 8192 },
        [SEAL_MCP] = { "mcp", CAN_WRITE_PLACE, 0, false, true, 8192 },
        [SEAL_GATE] = { "gate", CAN_CONNECT, 0, true, true, 1 << 20 },
        [SEAL_STAND_IN] = { "stand_in", 0, 0, true, true, 1 << 20 },
        [SEAL_BOX] = { "box", CAN_WRITE_PLACE, 0, true, true, 0 },
        [SEAL_ONE] = { "one", CAN_WRITE_PLACE, 0, true, false, 0 },
        [SEAL_RELAY] = { "relay", CAN_BIND, 0, true, true, 0 },
        [SEAL_FETCHER] = { "fetcher", FREE, 0, false, true, 0 },
        [SEAL_RECORDER] = { "recorder", CAN_WRITE_PLACE, 0, true, true, 0 },
        [SEAL_FILES] = { "files", CAN_READ | CAN_WRITE_PLACE, 1 << 2, false, true, 0 },
        [SEAL_LOOK] = { "look", CAN_WRITE_PLACE, 1 << 2, true, false, 0 },
        [SEAL_JUDGE] = { "judge", CAN_WRITE_PLACE, 0, false, true, 64 },
        [SEAL_JUDGING] = { "judging", 0, 0, true, true, 64 },
        [SEAL_UNPACK] = { "unpack", CAN_WRITE_PLACE, 0, true, true, 64 },
        [SEAL_COPY] = { "copy", CAN_WRITE_PLACE, 1 << 2, true, true, 64 },
        [SEAL_DISK] = { "disk", CAN_WRITE_PLACE, 0, false, true, 128 },
        [SEAL_BRIDGE] = { "bridge", 0, 0, true, false, 0 },
        [SEAL_IMPORT] = { "import", CAN_READ | CAN_WRITE_PLACE | IS_DUMPABLE, 1 << 2, false, false,
                          0 },
};

static void
check_one(const struct expected *want, const struct report *r, const unsigned long long status[4])
{
        bool is_root = geteuid() == 0;

        if (r->result != 0)
                fail_msg("%s: cannot be sealed", want->name);
        if (r->tried != want->can)
                fail_msg("%s: tried %x, can do %x", want->name, want->can, r->tried);
        if (status[0] != (is_root ? want->keeps : 0))
                fail_msg("%s: capabilities %llx", want->name, status[0]);
        if (is_root && (status[1] == 0) != want->empties_bounding)
                fail_msg("%s: bounding set %llx", want->name, status[1]);
        if (status[2] != 1)
                fail_msg("%s: no_new_privs is not set", want->name);
        if ((status[3] == 2) != want->has_filter)
                fail_msg("%s: seccomp mode %llu", want->name, status[3]);
        if (want->open_files > 0 && r->open_files > want->open_files)
                fail_msg("%s: %llu open files", want->name, (unsigned long long)r->open_files);
}

static void
each_row_is_applied(void **state)
{
        for (unsigned who = 0; who < SEAL_PROCESSES; who++) {
                unsigned long long status[4];
                struct report r;

                /* a sanitizer makes calls of its own: no filter is applied */
                if (IS_SANITIZED && expected[who].has_filter)
                        continue;
                r = seal_one((enum seal_process)who, status);
                check_one(&expected[who], &r, status);
        }
}

int
main(void)
{
        static const struct CMUnitTest tests[] = { cmocka_unit_test(each_row_is_applied) };
        char path[64];
        int result;

        if (!mkdtemp(folder))
                return 1;
        result = cmocka_run_group_tests(tests, NULL, NULL);
        (void)snprintf(path, sizeof path, "%s/inside", folder);
        (void)unlink(path);
        (void)snprintf(path, sizeof path, "%s-outside", folder);
        (void)unlink(path);
        (void)rmdir(folder);
        return result;
}
