/*
 * backend/ns/maker.c - the namespaces engine, seen from the keeper: one maker process for each box.
 *
 * Room: backend/ns (acting). Touches: processes, fd.
 * Theory: the maker is started with one socket as its descriptor 3 and nothing else; it answers
 * SPAWNED or MAKE_FAILED, and at last BOX_ENDED. It is our child, so that its end is seen even when
 * it says nothing.
 */
#include "backend/ns/maker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/counter.h"
#include "base/sample.h"
#include "base/scoped.h"
#include "clock/clock.h"
#include "image/image.h"
#include "plan/pack.h"
#include "wire/message.h"

enum { COUNTERS_MAX = 8, BODY_ROOM = 2304, LEASE_LOOK = 16, NAME_ROOM = 64 };

struct backend_box {
        const struct plan *plan;
        pid_t maker;
        int socket;
        int counters[COUNTERS_MAX];
        unsigned kinds[COUNTERS_MAX];
        size_t counter_count;
        int has_ended;
};

struct prepared {
        pid_t pid;
        int socket;
};
static struct prepared prepared = { 0, -1 };

static char maker_name[] = "carrel-init";

static int
start_maker(struct prepared *ret, struct error *e)
{
        return image_start_linked(IMAGE_INIT, (char *[]){ maker_name, NULL }, clock_environment(),
                                  &ret->socket, &ret->pid, e);
}

int
maker_prepare(struct error *e)
{
        return prepared.socket >= 0 ? 0 : start_maker(&prepared, e);
}

static bool
is_lease(const char *name)
{
        size_t len = strlen(name);

        return len > 6 && len < NAME_ROOM && strcmp(name + len - 6, ".lease") == 0;
}

/* A lease without a holder can be locked; the lock is released at once. */
static bool
is_abandoned(int dir, const char *name)
{
        scoped_fd int fd = openat(dir, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

        return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
}

/* Looks at a few, whichever they are (maker/lease.c): a start costs the same however many sandboxes
 * live. */
static bool
has_abandoned(const char *directory)
{
        static char names[LEASE_LOOK][NAME_ROOM];
        DIR *list = opendir(directory);
        uint64_t state = sample_begin();
        struct dirent *entry;
        size_t seen = 0;
        bool result = false;

        while (list && (entry = readdir(list)) != NULL) {
                size_t place = is_lease(entry->d_name) ? sample_place(seen++, LEASE_LOOK, &state)
                                                       : LEASE_LOOK;

                if (place < LEASE_LOOK)
                        memcpy(names[place], entry->d_name, strlen(entry->d_name) + 1);
        }
        for (size_t i = 0; i < seen && i < LEASE_LOOK && !result; i++)
                result = is_abandoned(dirfd(list), names[i]);
        if (list)
                (void)closedir(list);
        return result;
}

void
maker_collect(const char *directory)
{
        struct error e;
        scoped_fd int image = -1;
        char argument[4096];
        pid_t pid;

        if (!has_abandoned(directory) || image_open(IMAGE_INIT, &image, &e) < 0)
                return;
        if (snprintf(argument, sizeof argument, "%s", directory) >= (int)sizeof argument)
                return;
        if (image_start(image, -1, (char *[]){ maker_name, argument, NULL }, (char *[]){ NULL },
                        &pid) == 0)
                while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
                        continue;
}

static int
send_plan(const struct backend_box *box, const int *sources, int guest, struct error *e)
{
        const struct plan *plan = box->plan;
        size_t len = plan_pack_len(plan->steps, plan->step_count);
        int fds[PLAN_SOURCES_MAX + 1];
        void *bytes;
        int result;

        if (len == 0 || plan->source_count > PLAN_SOURCES_MAX)
                return fail(e, ERROR_QUOTA_EXCEEDED,
                            "the plan is too large: %zu steps, %zu sources", plan->step_count,
                            plan->source_count);
        bytes = aligned_alloc(16, (len + 15) / 16 * 16);
        if (!bytes)
                return fail(e, ERROR_NO_MEMORY, "no memory for the plan");
        plan_pack(plan->steps, plan->step_count, plan->source_count, bytes);
        fds[0] = guest;
        if (plan->source_count > 0)
                memcpy(fds + 1, sources, sizeof(int) * plan->source_count);
        result = wire_send(box->socket, WIRE_MAKE, bytes, len, fds, plan->source_count + 1);
        free(bytes);
        return result < 0
                       ? fail_sys(e, ERROR_BACKEND_FAILED, -result, "sending the plan to the maker")
                       : 0;
}

static void
ns_close(struct backend_box *box)
{
        if (!box)
                return;
        if (box->socket >= 0)
                (void)close(box->socket); /* the maker kills the box, undoes, and ends */
        while (waitpid(box->maker, NULL, 0) < 0 && errno == EINTR)
                continue;
        for (size_t i = 0; i < box->counter_count; i++)
                (void)close(box->counters[i]);
        free(box);
}

static int
ns_start(struct backend_box **ret, const struct plan *plan, const int *sources, int guest,
         struct error *e)
{
        struct backend_box *box = calloc(1, sizeof *box);
        struct prepared maker = prepared;

        if (!box)
                return fail(e, ERROR_NO_MEMORY, "no memory for a box");
        prepared = (struct prepared){ 0, -1 };
        if (maker.socket < 0 && start_maker(&maker, e) < 0) {
                free(box);
                return -1;
        }
        *box = (struct backend_box){ .plan = plan, .maker = maker.pid, .socket = maker.socket };
        if (send_plan(box, sources, guest, e) < 0) {
                ns_close(box);
                return -1;
        }
        *ret = box;
        return 0;
}

static int
ns_descriptor(const struct backend_box *box)
{
        return box->socket;
}

/* Counters come in the order of the plan's CGROUP_WATCH steps. */
static void
take_counters(struct backend_box *box, struct wire_message *m)
{
        size_t taken = 0;

        for (size_t i = 0; i < box->plan->step_count && taken < m->fd_count && taken < COUNTERS_MAX;
             i++) {
                if (box->plan->steps[i].op != STEP_CGROUP_WATCH)
                        continue;
                box->kinds[taken] = (unsigned)box->plan->steps[i].number;
                box->counters[taken] = m->fds[taken];
                m->fds[taken++] = -1;
        }
        box->counter_count = taken;
}

static int
read_failed(struct backend_box *box, const void *body, size_t len, struct backend_news *news)
{
        struct wire_failed failed;

        if (len != sizeof failed)
                return -1;
        memcpy(&failed, body, sizeof failed);
        news->kind = BACKEND_FAILED;
        (void)backend_step_failed(&news->error, box->plan, failed.step, failed.sys);
        box->has_ended = 1;
        return 0;
}

static int
read_ended(struct backend_box *box, const void *body, size_t len, struct backend_news *news)
{
        struct wire_box_ended ended;

        if (len != sizeof ended)
                return -1;
        memcpy(&ended, body, sizeof ended);
        news->kind = BACKEND_ENDED;
        news->cpu_ns = ended.has_usage ? ended.cpu_ns : 0;
        news->peak_bytes = ended.has_usage ? ended.memory_peak : 0;
        news->pids_refused = ended.has_usage ? ended.pids_refused : 0;
        news->oom_kills = ended.has_usage ? ended.oom_kills : 0;
        box->has_ended = 1;
        return 0;
}

static int
read_kept(const void *body, size_t len, struct backend_news *news)
{
        const struct wire_kept *kept = body;

        if (len != sizeof *kept || kept->what == 0 || kept->what >= KEPT_WHAT_MAX)
                return -1;
        news->kind = BACKEND_KEPT;
        news->kept = kept->what;
        news->kept_sys = kept->sys;
        (void)snprintf(news->name, sizeof news->name, "%.*s", (int)sizeof kept->name, kept->name);
        (void)snprintf(news->place, sizeof news->place, "%.*s", (int)sizeof kept->kept, kept->kept);
        (void)snprintf(news->key, sizeof news->key, "%.*s", (int)sizeof kept->key, kept->key);
        return 0;
}

static int
ns_read(struct backend_box *box, struct backend_news *ret, struct error *e)
{
        _Alignas(8) char body[BODY_ROOM];
        struct wire_message m;
        int got = wire_receive(box->socket, 0, &m, body, sizeof body);
        int result = 0;

        *ret = (struct backend_news){ .kind = BACKEND_QUIET };
        if (got == -EAGAIN)
                return 0;
        if (got <= 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, got < 0 ? -got : ECONNRESET,
                                "the maker is gone");
        switch (m.kind) {
        case WIRE_SPAWNED:
                take_counters(box, &m);
                ret->kind = BACKEND_SPAWNED;
                break;
        case WIRE_KEPT:
                result = read_kept(body, m.len, ret);
                break;
        case WIRE_MAKE_FAILED:
                result = read_failed(box, body, m.len, ret);
                break;
        case WIRE_BOX_ENDED:
                result = read_ended(box, body, m.len, ret);
                break;
        default:
                result = -1;
        }
        wire_message_close(&m);
        return result < 0 ? fail(e, ERROR_PROTOCOL, "the maker said something unexpected (%u)",
                                 (unsigned)m.kind)
                          : 0;
}

static uint64_t
ns_cpu_ns(const struct backend_box *box)
{
        for (size_t i = 0; i < box->counter_count; i++) {
                bool is_stat = box->kinds[i] == WATCH_CPU_STAT;
                uint64_t used;

                if (!is_stat && box->kinds[i] != WATCH_CPU_NS)
                        continue;
                used = counter_read(box->counters[i], is_stat ? "usage_usec" : "");
                return is_stat && used != UINT64_MAX ? used * 1000 : used;
        }
        return UINT64_MAX;
}

static void
ns_kill(struct backend_box *box)
{
        if (!box->has_ended)
                (void)wire_send(box->socket, WIRE_KILL, NULL, 0, NULL, 0);
}

const struct backend backend_ns = {
        .name = "ns",
        .start = ns_start,
        .descriptor = ns_descriptor,
        .read = ns_read,
        .cpu_ns = ns_cpu_ns,
        .kill = ns_kill,
        .close = ns_close,
};
