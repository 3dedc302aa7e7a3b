/*
 * maker/spawner.c - starts boxes.
 *
 * Room: maker (program). Touches: processes, fd.
 *
 *     waiting --WIRE_BOX_BEGIN--> forks a maker (keeps its privileges) and a box (has none) -->
 * waiting | the socket closes
 *        v
 *       out: makers and boxes live on
 *
 *     waiting --WIRE_COLLECT--> forks a child that checks the leases and ends --> waiting
 *
 * Theory: it reads only the head of a message, and waits for no child: the box itself reports its
 * start. Each child receives its own descriptors and no others, in a row from 3 on. Maker and box
 * are connected: when one ends, the other sees its socket close.
 */
#include "maker/spawner.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/switches.h"
#include "box/box.h"
#include "box/bridge/bridge.h"
#include "box/fake/fake.h"
#include "box/ns/ns.h"
#include "guest/command.h"
#include "maker/host.h"
#include "maker/lease.h"
#include "maker/prepared.h"
#include "plan/pack.h"
#include "seal/seal.h"
#include "spec/provider.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

enum {
        SOCKET = 3,
        FIRST = 3,
        FD_LAST = 4096,
        EXIT_BROKEN = 125,
        KEPT_MAX = 6 + PLAN_SOURCES_MAX + PREPARED_FDS_MAX
};
enum { FD_KEEPER, FD_LISTENER, FD_DIRECTORY, FD_SOURCES }; /* in WIRE_BOX_BEGIN */

struct beginning {
        int maker[2], guest[2]; /* [0]: the box's end */
};

static void
close_from(int first, int last)
{
        if (syscall(SYS_close_range, (unsigned)first, last < 0 ? ~0u : (unsigned)last, 0) == 0)
                return;
        for (int fd = first; fd <= (last < 0 ? FD_LAST : last); fd++)
                (void)close(fd);
}

/* Moves these descriptors to FIRST, FIRST + 1, ...; closes all others. Returns 0 or -1. */
static int
keep_only(const int *fds, size_t count)
{
        int away[KEPT_MAX];

        for (size_t i = 0; i < count; i++) { /* first move them out of the target range */
                away[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, FIRST + (int)count);
                if (away[i] < 0)
                        return -1;
        }
        for (size_t i = 0; i < count; i++)
                if (dup3(away[i], FIRST + (int)i, O_CLOEXEC) < 0)
                        return -1;
        close_from(FIRST + (int)count, -1);
        return 0;
}

static void
raise_descriptors(void)
{
        struct rlimit limit;

        if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
                return;
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
}

/* -- the box ----------------------------------------------------------------------------------- */

static unsigned
test_number(const char *name, unsigned otherwise)
{
#ifdef CARREL_TEST_SWITCHES
        const char *text = getenv(name);

        return text ? (unsigned)strtoul(text, NULL, 10) : otherwise;
#else
        (void)name;
        return otherwise;
#endif
}

/* An engine runs with descriptors FIRST (to the maker) and FIRST + 1 (to pid 1), if it has them. */
static struct engine *
open_ns(const struct wire_box_begin *begin, int program)
{
        const struct ns_start start = {
                .maker = FIRST,
                .guest = FIRST + 1,
                .is_one = (begin->flags & BOX_BEGIN_ONE) != 0,
                .spare_idle_ms = test_number("CARREL_TEST_SPARE_IDLE_MS", NS_SPARE_IDLE_MS),
                .has_no_groups = test_number("CARREL_TEST_BOX_GROUPS", 1) == 0,
        };

        (void)program;
        return ns_open(&start);
}

/* The provider's program runs in namespaces. */
static struct engine *
open_bridge(const struct wire_box_begin *begin, int program)
{
        return bridge_open(open_ns(begin, -1), program);
}

#ifdef CARREL_TEST_SWITCHES
static struct engine *
open_fake(const struct wire_box_begin *begin, int program)
{
        const char *script = getenv("CARREL_TEST_FAKE");

        (void)begin, (void)program;
        return fake_open(script ? script : "");
}
#endif

static const struct {
        /* NULL: this build has no such engine. program: carrel-bridge, or -1 */
        struct engine *(*open)(const struct wire_box_begin *begin, int program);
        unsigned has_maker;   /* executes the plan, in a process of its own */
        unsigned has_program; /* carrel-bridge */
} engines[] = {
        [PROVIDER_ENGINE_NS] = { open_ns, 1, 0 },
        [PROVIDER_ENGINE_BRIDGE] = { open_bridge, 1, 1 },
#ifdef CARREL_TEST_SWITCHES
        [PROVIDER_ENGINE_FAKE] = { open_fake, 0, 0 },
#endif
        [PROVIDER_ENGINE_NONE] = { NULL, 0, 0 },
        [PROVIDER_ENGINE_OCI] = { open_ns, 1, 0 },
        [PROVIDER_ENGINE_MACHINE] = { open_ns, 1, 0 },
};

/* The row of a request; PROVIDER_ENGINE_NONE for a number that this build does not know. */
static unsigned
engine_of(const struct wire_box_begin *begin)
{
        return begin->engine < sizeof engines / sizeof *engines ? begin->engine
                                                                : PROVIDER_ENGINE_NONE;
}

/* `keepers`: its keeper, and then its listener and directory, if any. */
static _Noreturn void
be_box(const struct spawner *s, const struct wire_box_begin *begin, const struct beginning *b,
       const int *keepers, size_t keeper_count, const int *sources, size_t source_count)
{
        struct box_start start = { .begin = *begin,
                                   .keeper = FIRST + 2,
                                   .listener = keeper_count > 1 ? FIRST + 3 : -1,
                                   .directory = keeper_count > 2 ? FIRST + 4 : -1 };
        int fds[KEPT_MAX] = { b->maker[0], b->guest[0] };
        int floors[PLAN_SOURCES_MAX];
        const char *step;
        size_t count = 2 + keeper_count;
        int program = -1;

        memcpy(fds + 2, keepers, keeper_count * sizeof *fds);
        for (size_t i = 0; i < source_count && i < PLAN_SOURCES_MAX && begin->floor_mb > 0; i++)
                if ((begin->floor_mask[i / 64] >> i % 64 & 1) != 0) {
                        floors[start.floor_count++] = FIRST + (int)count;
                        fds[count++] = sources[i];
                }
        start.floors = floors;
        start.protocol = test_number("CARREL_TEST_BOX_PROTOCOL", BOX_PROTOCOL);
        start.overdue_ms = test_number("CARREL_TEST_OVERDUE_MS", BOX_OVERDUE_MS);
        if (engines[engine_of(begin)].has_program) {
                program = FIRST + (int)count;
                fds[count++] = s->bridge;
        }
        start.engine = engines[engine_of(begin)].open(begin, program);
        if (keep_only(fds, count) < 0)
                _exit(EXIT_BROKEN);
        /* no plan is for this process, and the pages are its own */
        (void)madvise(s->bytes, s->room, MADV_DONTNEED);
        prepared_forget();
        (void)prctl(PR_SET_NAME, "carrel-box", 0, 0, 0);
        if ((begin->flags & BOX_BEGIN_NET_ONLY) != 0) /* its maker has not left the caller's */
                (void)setsid();
        raise_descriptors();
        if (getpriority(PRIO_PROCESS, 0) > 0)
                /* it enforces limits on a payload with normal priority */
                (void)setpriority(PRIO_PROCESS, 0, 0);
        if (seal_privileges((begin->flags & BOX_BEGIN_ONE) != 0 ? SEAL_ONE : SEAL_BOX, &step) < 0)
                _exit(EXIT_BROKEN);
        box_serve(&start);
}

/* -- the maker --------------------------------------------------------------------------------- */

/* The plan moves to the start of the buffer. */
static void
drop_head(const struct spawner *s, struct wire_message *m)
{
        m->len -= sizeof(struct wire_box_begin);
        memmove(s->bytes, s->bytes + sizeof(struct wire_box_begin), m->len);
        memset(s->bytes + m->len, 0, sizeof(struct wire_box_begin));
}

static int
be_maker(const struct spawner *s, struct wire_message *m, const struct beginning *b)
{
        struct sigaction standard = { .sa_handler = SIG_DFL };
        int fds[2 + PLAN_SOURCES_MAX + PREPARED_FDS_MAX] = { b->maker[1], b->guest[1] };
        size_t sources = m->fd_count - FD_SOURCES, prepared;

        if (sources > PLAN_SOURCES_MAX)
                return EXIT_BROKEN;
        memcpy(fds + 2, m->fds + FD_SOURCES, sources * sizeof *fds);
        prepared = prepared_fds(fds + 2 + sources);
        if (keep_only(fds, 2 + sources + prepared) < 0)
                return EXIT_BROKEN;
        prepared_moved(FIRST + 2 + (int)sources);
        (void)sigaction(SIGCHLD, &standard, NULL); /* this process waits for its child */
        (void)setsid();
        (void)prctl(PR_SET_NAME, "carrel-maker", 0, 0, 0);
        drop_head(s, m);
        m->fd_count = 1 + sources;
        for (size_t i = 0; i < m->fd_count; i++)
                m->fds[i] = SOCKET + 1 + (int)i;
        return s->make(m);
}

/* -- the spawner ------------------------------------------------------------------------------- */

static int
open_pairs(struct beginning *b)
{
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, b->maker) < 0)
                return -errno;
        return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, b->guest) < 0 ? -errno : 0;
}

static void
close_pairs(const struct beginning *b)
{
        const int fds[] = { b->maker[0], b->maker[1], b->guest[0], b->guest[1] };

        for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
                if (fds[i] >= 0)
                        (void)close(fds[i]);
}

/*
 * If a step fails, the keeper's socket closes before any message, which reports the failure.
 * Returns 1 in a maker that is done.
 */
static int
begin(const struct spawner *s, struct wire_message *m, int *ret_status)
{
        struct beginning b = { { -1, -1 }, { -1, -1 } };
        pid_t maker = -1, box = -1;
        unsigned engine;

        if (m->kind != WIRE_BOX_BEGIN || m->len <= sizeof(struct wire_box_begin) ||
            m->fd_count < FD_SOURCES)
                return 0;
        engine = engine_of((const void *)s->bytes);
        if (!engines[engine].open || (engines[engine].has_program && s->bridge < 0))
                return 0;
        if (open_pairs(&b) < 0) {
                close_pairs(&b);
                return 0;
        }
        if (engines[engine].has_maker) {
                prepared_refresh();
                maker = fork();
        }
        if (maker == 0) {
                *ret_status = be_maker(s, m, &b);
                return 1;
        }
        if (maker > 0 || !engines[engine].has_maker)
                box = fork();
        if (box == 0)
                be_box(s, (const void *)s->bytes, &b, m->fds, FD_SOURCES, m->fds + FD_SOURCES,
                       m->fd_count - FD_SOURCES);
        close_pairs(&b); /* if there is no box, its maker sees the socket close and ends */
        return 0;
}

int
spawner_one(const struct spawner *s, struct wire_message *m)
{
        struct beginning b = { { -1, -1 }, { -1, -1 } };
        struct wire_box_begin begin;
        pid_t box;
        int status;

        if (m->len <= sizeof begin || m->fd_count > PLAN_SOURCES_MAX || open_pairs(&b) < 0)
                return EXIT_BROKEN;
        memcpy(&begin, s->bytes, sizeof begin);
        drop_head(s, m); /* before the pages are shared */
        box = fork();
        if (box == 0)
                be_box(s, &begin, &b, &(const int){ SOCKET }, 1, m->fds, m->fd_count);
        if (box < 0 || dup3(b.maker[1], SOCKET, O_CLOEXEC) < 0)
                return EXIT_BROKEN;
        host_leave_with(box);
        (void)close(b.maker[0]);
        (void)close(b.maker[1]);
        (void)close(b.guest[0]);
        memmove(m->fds + 1, m->fds, m->fd_count * sizeof *m->fds);
        m->fds[0] = b.guest[1];
        m->fd_count++;
        status = s->make(m);
        /* it ends once it has reported: its keeper waits for this process */
        while (waitpid(box, NULL, 0) < 0 && errno == EINTR)
                continue;
        return status;
}

/* A lease whose maker lives is locked; its sandbox is not touched. */
static void
collect(const struct spawner *s, const struct wire_message *m)
{
        const char *directory = (const char *)s->bytes;

        if (m->fd_count > 0 || m->len < 2 || directory[0] != '/' || directory[m->len - 1] != '\0' ||
            fork() != 0)
                return;
        (void)close(SOCKET);
        _exit(lease_collect(directory) < 0 ? EXIT_BROKEN : 0);
}

int
spawner_serve(const struct spawner *s)
{
        struct sigaction ignored = { .sa_handler = SIG_IGN };
        struct wire_message m;
        int status = 0, got;

        command_freshen_inherited(); /* not again at the first command of each box */
        /* no child is waited for, and none becomes a zombie */
        (void)sigaction(SIGCHLD, &ignored, NULL);
        (void)prctl(PR_SET_NAME, "carrel-spawner", 0, 0, 0);
        prepared_begin();
        for (;;) {
                prepared_wait(SOCKET);
                got = wire_receive(SOCKET, 1, &m, s->bytes, s->room);
                if (got == -EPROTO)
                        continue;
                if (got <= 0)
                        return got == 0 ? 0 : EXIT_BROKEN;
                if (m.kind == WIRE_COLLECT)
                        collect(s, &m);
                else if (begin(s, &m, &status) != 0)
                        return status;
                wire_message_close(&m);
                (void)madvise(s->bytes, s->room, MADV_DONTNEED);
        }
}
