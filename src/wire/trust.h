/*
 * wire/trust.h - who is at the other end of a unix socket, and may it be given what is secret?
 */
#ifndef CARREL_WIRE_TRUST_H
#define CARREL_WIRE_TRUST_H

#include <sys/types.h>

#include "base/error.h"

/* The user id of the process that listens, or that made the pair. 0, or -errno. */
int trust_peer_uid(int fd, uid_t *ret);

/*
 * May a caller send its secrets there: does it itself listen, or root, or the user that
 * CARREL_DAEMON_UID names? Errors: ERROR_DAEMON_UNREACHABLE, reason untrusted, with what to do;
 * `state` is the directory of the socket, for the words.
 */
int trust_check(int fd, const char *state, struct error *e);

#endif
