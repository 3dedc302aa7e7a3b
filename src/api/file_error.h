/*
 * api/file_error.h - turns the exit status of a file operation (wire/file.h) into a Carrel error.
 */
#ifndef CARREL_API_FILE_ERROR_H
#define CARREL_API_FILE_ERROR_H

#include <stddef.h>

#include "base/error.h"

/*
 * The error code for the errno that ended a file operation. ERROR_BACKEND_FAILED if the table has
 * no row for it.
 */
enum error_code file_error_code(int sys);

/*
 * Writes the error of a file operation that exited with `status`: an errno from 1 to 254. Any other
 * value means that the operation itself failed. `path` holds the `len` raw bytes of its stderr;
 * they are cut and made printable here. Always returns -1.
 */
int file_error_read(struct error *e, int status, const char *path, size_t len);

/*
 * Writes the error of a file operation that did not exit. `outcome` is how it ended (a word of
 * outcome/outcome.h). Always returns -1.
 */
int file_ended_read(struct error *e, const char *outcome);

#endif
