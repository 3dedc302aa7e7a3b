/*
 * maker/confined.h - reads what a payload wrote in a child that can do nothing but answer.
 *
 * The maker has privileges and parses no text. The child is under strict seccomp: it can read and write what is open, and end.
 */
#ifndef CARREL_MAKER_CONFINED_H
#define CARREL_MAKER_CONFINED_H

#include <stddef.h>
#include <sys/types.h>

/* Looks at `about` (borrowed) and writes its answer to `ret`: gives its bytes, at most the room that was given to confined_ask(). */
typedef size_t (*confined_work)(const void *about, void *ret);

/*
 * Runs `work` in such a child. `ret` (room bytes, at most CONFINED_MAX) takes the answer; what is in it when the child begins is seen there.
 * Gives the answer's bytes; fewer than `work` wrote if the child was killed; or -errno.
 */
enum { CONFINED_MAX = 60 << 10 };      /* less than a pipe holds */
ssize_t confined_ask(confined_work work, const void *about, void *ret, size_t room);

#endif
