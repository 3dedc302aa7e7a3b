/*
 * text/sanitize.h - removes from the output of a command what must not reach an agent: terminal
 * control sequences, hidden characters, secrets of known form (text/sanitize.def).
 *
 * Control sequences and hidden characters go first (text/strip.h), so that they cannot divide a
 * secret. Secrets are those of the credentials in text/redact.def, found within SANITIZE_WINDOW
 * bytes. A private key, and a value that is longer, go to their end.
 *
 * How the stream is cut does not change the result. For that, bytes that may become a secret with
 * those that follow are held: mostly the last word, at most SANITIZE_WINDOW bytes.
 */
#ifndef CARREL_TEXT_SANITIZE_H
#define CARREL_TEXT_SANITIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "text/strip.h"

enum sanitize_bit {
#define SANITIZE(name, help) SANITIZE_BIT_##name,
#include "text/sanitize.def"
#undef SANITIZE
        SANITIZE_BITS
};

/* Kinds, as a mask. */
enum {
#define SANITIZE(name, help) SANITIZE_##name = 1u << SANITIZE_BIT_##name,
#include "text/sanitize.def"
#undef SANITIZE
        SANITIZE_ALL = (1u << SANITIZE_BITS) - 1
};

enum {
        SANITIZE_WINDOW = 10 * 1024, /* longer than the longest token, of 8 KiB */
        SANITIZE_GROWS = 5           /* bytes that one byte becomes at most: marks are longer */
};

/* One stream. */
struct sanitize {
        unsigned kinds;
        unsigned state; /* of a secret that is longer than the window */
        struct strip strip;
        struct buffer text; /* the byte before `at`, and what is held */
        size_t at;
        uint64_t secrets; /* that were removed */
};

/* `kinds`: a mask; 0: nothing is removed. */
void sanitize_init(struct sanitize *s, unsigned kinds);

/*
 * Appends to `out` what `len` bytes, and those held before, become. `is_last`: no more bytes
 * follow, so nothing is held. Returns 0, or -ENOMEM: bytes were lost, and none was passed that
 * should have been removed. `in` may be NULL with `len` 0.
 */
int sanitize_write(struct sanitize *s, const char *in, size_t len, bool is_last,
                   struct buffer *out);

/* How many of this kind (enum sanitize_bit) were removed or replaced. Valid after sanitize_fini().
 */
uint64_t sanitize_count(const struct sanitize *s, size_t kind);

/* Bytes that are held. */
size_t sanitize_held(const struct sanitize *s);

/* May be called twice. */
void sanitize_fini(struct sanitize *s);

#endif
