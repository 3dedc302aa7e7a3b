/*
 * box/streams.h - what an exec read and wrote, for the audit log: digests, and the files that the
 * recorder keeps (WIRE_BOX_STREAMS, wire/box.h).
 */
#ifndef CARREL_BOX_STREAMS_H
#define CARREL_BOX_STREAMS_H

#include <stddef.h>

struct exec;
struct journal;
struct keeper;

void streams_init(struct exec *x);
void streams_fini(struct exec *x);

/* Its flags are known: from now on the bytes are seen. */
void streams_begin(struct exec *x);
void streams_end(struct exec *x);

/* The next bytes of its input. */
void streams_input(struct exec *x, const void *bytes, size_t len);

/* Reports them, before its end: to the journal, and to every keeper. */
void streams_tell(struct exec *x);
/* to one keeper; nothing before its end */
void streams_say(struct keeper *k, const struct exec *x);
/* to one journal */
void streams_note(const struct exec *x, struct journal *j);

/* Is it a call whose end is reported, and are its files still needed? */
unsigned streams_is_told(const struct exec *x);
unsigned streams_is_held(const struct exec *x);

/* The recorder has the files on the disk. */
void streams_kept(struct exec *x);

#endif
