/*
 * wire/secret.h - what keeper and fetcher say to each other: names there, values back, each exactly
 * once.
 *
 * The keeper has checked access. No answer is kept: each reader erases its buffer.
 */
#ifndef CARREL_WIRE_SECRET_H
#define CARREL_WIRE_SECRET_H

#include <stdint.h>

enum { SECRET_ASKED_MAX = 256 };

/* WIRE_SECRET_ASK: this, then `count` slugs, each with its NUL. */
struct wire_secret_ask {
        uint32_t serial, count;
};

/*
 * WIRE_SECRET_TOLD: this, then, where code is 0, `count` values in the same order, each with its
 * NUL; else the index of the slug that could not be had, and three texts: reason, message, hint.
 */
struct wire_secret_told {
        uint32_t serial, code /* enum error_code */, index, count;
};

#endif
