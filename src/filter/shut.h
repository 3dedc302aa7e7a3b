/*
 * filter/shut.h - rungs of the ladder that door and gate have in common: what neither of them ever needs again.
 */
#ifndef CARREL_FILTER_SHUT_H
#define CARREL_FILTER_SHUT_H

enum shut_network { SHUT_LISTEN = 1u << 0, SHUT_CONNECT = 1u << 1 };   /* TCP; Landlock's own bits */

/* No capability in any set. 0 or -errno. */
int shut_capabilities(void);

/*
 * Every access to files that this kernel's Landlock handles, none allowed; of the network, `network` (enum shut_network); and whatever it can scope. 0 or
 * -errno; 0 too where there is no Landlock: the filter on system calls opens no file either, and doctor tells of it. no_new_privs has to be set.
 * Source: landlock(7).
 */
int shut_files(unsigned network);

#endif
