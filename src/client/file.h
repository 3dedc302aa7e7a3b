/*
 * client/file.h - a file operation and its channel. Only this room uses it.
 */
#ifndef CARREL_CLIENT_FILE_H
#define CARREL_CLIENT_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "api/operation.h"
#include "base/error.h"
#include "carrel/carrel.h"

enum { FILE_ERROR_ROOM = 4096 };

struct file_stream {
        struct carrel_exec *x; /* NULL: finished */
        uint64_t next;         /* offset at which its next bytes begin */
        size_t path_len;       /* of the path that failed, as reported */
        char path[FILE_ERROR_ROOM];
};

/*
 * Sends the call that connection_begin() started, and takes its channel. End it with
 * file_stream_fini().
 */
int file_stream_open(struct carrel *c, enum operation_code op, struct file_stream *ret,
                     struct error *e);

/*
 * Returns 1: bytes of its output, valid until the next call; 0: it succeeded; 2: nothing within the
 * time; -1: it failed.
 */
int file_stream_next(struct file_stream *s, int timeout_ms, const void **ret_bytes, size_t *ret_len,
                     struct error *e);

void file_stream_fini(struct file_stream *s);

#endif
