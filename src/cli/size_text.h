/*
 * cli/size_text.h - a number of bytes for people.
 */
#ifndef CARREL_CLI_SIZE_TEXT_H
#define CARREL_CLI_SIZE_TEXT_H

#include <stdint.h>

enum { SIZE_TEXT = 24 };

/* Writes "512 B", "1.5 MiB" or "120 GiB" to `out` and returns it. */
const char *size_text(uint64_t bytes, char out[SIZE_TEXT]);

#endif
