/*
 * maker/confined.h - reads files that a payload wrote, in a child that can only return an answer.
 *
 * The maker has privileges and parses no text. The child runs under strict seccomp: it can read and
 * write descriptors that are open, and exit.
 */
#ifndef CARREL_MAKER_CONFINED_H
#define CARREL_MAKER_CONFINED_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Examines `about` (borrowed) and writes the answer to `ret`. Returns its length in bytes, at most
 * the `room` that confined_ask() received.
 */
typedef size_t (*confined_work)(const void *about, void *ret);

/*
 * Runs `work` in such a child. `ret` (`room` bytes, at most CONFINED_MAX) receives the answer; the
 * child sees the bytes that `ret` holds before the call. Returns the length of the answer in bytes,
 * fewer than `work` wrote if the child was killed, or -errno.
 */
enum { CONFINED_MAX = 60 << 10 }; /* less than a pipe holds */
ssize_t confined_ask(confined_work work, const void *about, void *ret, size_t room);

#endif
