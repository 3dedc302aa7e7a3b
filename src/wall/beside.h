/*
 * wall/beside.h - closes paths off this machine that no network namespace controls, for a program
 * that only runs behind a wall.
 *
 * A sandbox does not need this: its own filter (filter/calls.def) refuses more.
 */
#ifndef CARREL_WALL_BESIDE_H
#define CARREL_WALL_BESIDE_H

/*
 * Applies to this process and all its descendants, irrevocably. It refuses:
 * sockets of AF_VSOCK, which connect a virtual machine to its host (EAFNOSUPPORT);
 * io_uring, which creates sockets that no filter sees (ENOSYS: programs work without it);
 * calls of other architectures (ENOSYS). On x86-64 those of i386 are allowed, but not socketcall(2)
 * for new sockets.
 *
 * Needs CAP_SYS_ADMIN in its user namespace, or no_new_privs. 0 or -errno. Source: seccomp(2),
 * vsock(7), io_uring_setup(2).
 */
int wall_shut_beside(void);

#endif
