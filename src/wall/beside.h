/*
 * wall/beside.h - ways off this machine that no network namespace holds, shut for a program that is only put behind a wall.
 *
 * A sandbox needs none of this: its own filter (filter/calls.def) refuses more.
 */
#ifndef CARREL_WALL_BESIDE_H
#define CARREL_WALL_BESIDE_H

/*
 * For this process and all it becomes and starts, for ever: no socket of AF_VSOCK, which leads from a virtual machine to its host (EAFNOSUPPORT); no io_uring,
 * which makes sockets that no filter sees (ENOSYS: programs do without). Of other architectures' calls: on x86-64 those of i386, but socketcall(2) for new
 * sockets; no other (ENOSYS). Needs CAP_SYS_ADMIN in its user namespace, or no_new_privs. 0 or -errno. Source: seccomp(2), vsock(7), io_uring_setup(2).
 */
int wall_shut_beside(void);

#endif
