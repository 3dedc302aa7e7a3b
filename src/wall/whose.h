/*
 * wall/whose.h - finds the control group in which the socket at the other end of a connection was
 * created.
 */
#ifndef CARREL_WALL_WHOSE_H
#define CARREL_WALL_WHOSE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Asks the kernel for the client's socket. `diag` is a NETLINK_SOCK_DIAG socket of the client's
 * namespace; no unread data is left in it. `client` and `to` are the two ends as the server sees
 * them, IPv4 as mapped. Returns the id of the group (cgroup v2); 0: not known. Source:
 * sock_diag(7).
 */
uint64_t wall_whose(int diag, bool is_udp, const struct sockaddr_in6 *client,
                    const struct sockaddr_in6 *to);

#endif
