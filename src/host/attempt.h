/*
 * host/attempt.h - the doctor's attempts, one function each. Internal to the room: host/try.c runs
 * them.
 *
 * Each attempt runs in its own child, which ends right after it, so it may change the state of that
 * child. It returns ATTEMPT_WORKS, ATTEMPT_FAILS, or ATTEMPT_IDLE if the mechanism is of no use
 * here. It may write a detail, and a fix command that fits better than the row's own.
 */
#ifndef CARREL_HOST_ATTEMPT_H
#define CARREL_HOST_ATTEMPT_H

#include <stdbool.h>
#include <stddef.h>

#include "plan/host_facts.h"

enum attempt_result { ATTEMPT_WORKS, ATTEMPT_FAILS, ATTEMPT_IDLE };

struct attempt {
        const struct host_facts *facts;
        char detail[256];
        char mend[1024]; /* command that fixes it; "": the row's own */
};

/* Write the detail (with ": strerror" if sys is not 0) and return the result. */
enum attempt_result attempt_fails(struct attempt *a, int sys, const char *fmt, ...)
        __attribute__((format(printf, 3, 4)));
enum attempt_result attempt_works(struct attempt *a, const char *fmt, ...)
        __attribute__((format(printf, 2, 3)));
enum attempt_result attempt_idle(struct attempt *a, const char *fmt, ...)
        __attribute__((format(printf, 2, 3)));

/* Writes text to an existing file. Returns 0, or -1 with errno. */
int attempt_write(const char *path, const char *text);

/* Reads at most room - 1 bytes of a file and adds a NUL. Returns the length, or -1 with errno. */
int attempt_read(const char *path, char *buf, size_t room);

/*
 * Writes into the field for it the command that installs an AppArmor profile for this program (an
 * absolute path) and no other. Leaves the field unchanged if the path is too long or has a
 * character that cannot be quoted.
 */
void attempt_apparmor_mend(struct attempt *a, const char *program);

/*
 * Removes groups that the attempt with this pid may have left when it was killed at its deadline.
 */
void attempt_cgroup_collect(const struct cgroup_facts *facts, long pid);

/* namespaces and mounts: attempt_ns.c */
enum attempt_result attempt_user_ns(struct attempt *a);
enum attempt_result attempt_mount_ns(struct attempt *a);
enum attempt_result attempt_pid_ns(struct attempt *a);
enum attempt_result attempt_ipc_ns(struct attempt *a);
enum attempt_result attempt_uts_ns(struct attempt *a);
enum attempt_result attempt_cgroup_ns(struct attempt *a);
enum attempt_result attempt_net_ns(struct attempt *a);
enum attempt_result attempt_proc(struct attempt *a);
enum attempt_result attempt_pivot_root(struct attempt *a);
enum attempt_result attempt_tmpfs(struct attempt *a);
enum attempt_result attempt_mount_api(struct attempt *a);
enum attempt_result attempt_devpts(struct attempt *a);
enum attempt_result attempt_loopback(struct attempt *a);
enum attempt_result attempt_wall(struct attempt *a);
enum attempt_result attempt_routed(struct attempt *a);
enum attempt_result attempt_overlay(struct attempt *a);
enum attempt_result attempt_idmap(struct attempt *a);
enum attempt_result attempt_id_range(struct attempt *a);

/* a container runtime, and what it needs: container.c */
enum attempt_result attempt_container(struct attempt *a);

/* QEMU and a kernel for it, its disk, mounts and way out: machine.c */
enum attempt_result attempt_qemu(struct attempt *a);
enum attempt_result attempt_machine_disk(struct attempt *a);
enum attempt_result attempt_machine_mounts(struct attempt *a);
enum attempt_result attempt_tap(struct attempt *a);

/* what a process does to itself: attempt_self.c */
enum attempt_result attempt_landlock(struct attempt *a);
enum attempt_result attempt_seccomp(struct attempt *a);
enum attempt_result attempt_no_new_privs(struct attempt *a);
enum attempt_result attempt_rlimit(struct attempt *a);
enum attempt_result attempt_pidfd(struct attempt *a);
enum attempt_result attempt_openat2(struct attempt *a);
enum attempt_result attempt_clone3(struct attempt *a);
enum attempt_result attempt_close_range(struct attempt *a);

/* control groups: attempt_cgroup.c */
enum attempt_result attempt_memory(struct attempt *a);
enum attempt_result attempt_swap(struct attempt *a);
enum attempt_result attempt_pids(struct attempt *a);
enum attempt_result attempt_cpu(struct attempt *a);
enum attempt_result attempt_io(struct attempt *a);
enum attempt_result attempt_cpu_time(struct attempt *a);
enum attempt_result attempt_cgroup_kill(struct attempt *a);

#endif
