/*
 * api/file_error.h - the exit status of a file operation (wire/file.h) as an error of ours.
 */
#ifndef CARREL_API_FILE_ERROR_H
#define CARREL_API_FILE_ERROR_H

#include <stddef.h>

#include "base/error.h"

/* The code that goes with an errno a file operation ended with; ERROR_BACKEND_FAILED for what has no row. */
enum error_code file_error_code(int sys);

/*
 * Writes the error of a file operation that ended with `status` (an errno, 1 to 254; anything else: the operation itself
 * failed). `path` is what it said on stderr: `len` raw bytes, cut and made printable here. Always returns -1.
 */
int file_error_read(struct error *e, int status, const char *path, size_t len);

/* Writes the error of a file operation that did not exit: `outcome` is the word its end has (event/outcome.h). Always returns -1. */
int file_ended_read(struct error *e, const char *outcome);

#endif
