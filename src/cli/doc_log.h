/*
 * cli/doc_log.h - a state directory of its own for recorded probes, so that they do not appear in
 * the caller's audit log.
 */
#ifndef CARREL_CLI_DOC_LOG_H
#define CARREL_CLI_DOC_LOG_H

#include "base/error.h"
#include "cli/doc.h"

/* Makes the directory; a->log is its path. Errors: ERROR_STORAGE_FULL. */
int doc_log_open(struct doc_asked *a, struct error *e);

/* Removes it with everything in it. Accepts one that was never made. */
void doc_log_close(struct doc_asked *a);

/* Removes a directory with everything in it, on its own file system. */
void doc_folder_remove(const char *path);

#endif
