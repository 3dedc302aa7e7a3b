/*
 * filter/shut.h - restrictions that door and gate share: rights that neither of them needs after
 * its start.
 */
#ifndef CARREL_FILTER_SHUT_H
#define CARREL_FILTER_SHUT_H

enum shut_network { SHUT_LISTEN = 1u << 0, SHUT_CONNECT = 1u << 1 }; /* TCP; Landlock's own bits */

/* Drops all capabilities from every set. 0 or -errno. */
int shut_capabilities(void);

/*
 * Refuses every file access that this kernel's Landlock handles, the network accesses in `network`
 * (enum shut_network), and everything that it can scope. 0 or -errno. Also 0 without Landlock: the
 * system call filter opens no file either, and `carrel doctor` reports it. Needs no_new_privs.
 * Source: landlock(7).
 */
int shut_files(unsigned network);

#endif
