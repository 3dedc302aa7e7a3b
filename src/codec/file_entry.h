/*
 * codec/file_entry.h - an entry of a directory as JSON: the same over REST and MCP.
 */
#ifndef CARREL_CODEC_FILE_ENTRY_H
#define CARREL_CODEC_FILE_ENTRY_H

#include "text/json.h"
#include "wire/file.h"

/*
 * Writes one object: path, kind, size, mode, modified_at_ms; target of a link; error of a directory
 * that could not be read. With is_base64, and for names that are not UTF-8, path and target are
 * base64, and the object says encoding: base64. `l` is not FILE_MORE.
 */
void codec_write_file(struct json_writer *w, const struct file_listed *l, int is_base64);

#endif
