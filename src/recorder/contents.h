/*
 * recorder/contents.h - keeps what a command read and wrote, from files in memory, as the value of
 * the member `content` of its end.
 */
#ifndef CARREL_RECORDER_CONTENTS_H
#define CARREL_RECORDER_CONTENTS_H

#include <stdint.h>

#include "audit/content.h"
#include "audit/log.h"
#include "text/json.h"

struct contents_streams {
        uint32_t which;                          /* bit i: stream i is kept */
        int fds[AUDIT_CONTENT_STREAMS];          /* borrowed; -1: no file, nothing of it is there */
        uint64_t lengths[AUDIT_CONTENT_STREAMS]; /* a file that is shorter is only the beginning */
};

/* Appends the object: contents as audit_content_write(), or {"error": ...} for one that could not
 * be kept. */
void recorder_contents_write(struct audit_log *log, const struct contents_streams *s,
                             struct json_writer *out);

#endif
