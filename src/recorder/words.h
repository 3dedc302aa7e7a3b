/*
 * recorder/words.h - the members of an entry that say which command it is.
 */
#ifndef CARREL_RECORDER_WORDS_H
#define CARREL_RECORDER_WORDS_H

#include <stddef.h>

#include "base/error.h"
#include "text/json.h"

enum { RECORDER_WORDS_MAX = 16 * 1024 /* bytes of words, and of names, recorded as text */ };

/* A member with the SHA-256, in hex. */
void recorder_write_sum(struct json_writer *w, const char *key, const unsigned char sum[32]);
void recorder_write_sum_of(struct json_writer *w, const char *key, const void *bytes, size_t len);

/* argv (its first words), argc, argv_sha256: over each word with its NUL. */
void recorder_write_command(struct json_writer *w, const char *const *words, size_t count);

/* env: the names in `items` ("NAME=value"), never a value: it may be a secret. */
void recorder_write_environment(struct json_writer *w, const char *const *items, size_t count);

/* A member `error`: its code, place, reason and message. */
void recorder_write_error(struct json_writer *w, const struct error *why);

#endif
