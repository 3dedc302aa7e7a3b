/*
 * codec/file_put.h - a file of a batch, from JSON: the same over REST and MCP.
 */
#ifndef CARREL_CODEC_FILE_PUT_H
#define CARREL_CODEC_FILE_PUT_H

#include "base/arena.h"
#include "base/error.h"
#include "text/tree.h"
#include "wire/file.h"

/* A file to write: the head of wire/file.h, then its path, then its bytes. */
struct codec_file {
        struct file_put put; /* with the lengths of both */
        const char *path, *bytes;
};

/*
 * Reads an object with path, content, encoding and mode (permission bits, 0 to 4095). Bytes that
 * were base64 are in `arena`, all others borrowed. Errors: ERROR_INVALID_ARGUMENT with the place
 * ("files/2/path"), ERROR_NO_MEMORY.
 */
int codec_read_file(struct arena *arena, const struct node *file, int index, struct codec_file *ret,
                    struct error *e);

#endif
