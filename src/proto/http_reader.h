/*
 * proto/http_reader.h - llhttp, asked about what http_head.h let through, and believed only where
 * both agree.
 *
 * One reader a message. It is given exactly the bytes that http_body_take() counted to the message
 * and gives the body back without its framing.
 */
#ifndef CARREL_DOOR_READER_H
#define CARREL_DOOR_READER_H

#include <stddef.h>
#include <stdint.h>

#include "proto/http_head.h"

struct reader {
        union {
                uint64_t align;
                unsigned char bytes[192];
        } parser; /* llhttp's own */
        size_t field_count, target_len;
        int has_head, is_complete, has_no_body;
        void (*sink)(void *data, const char *bytes, size_t len);
        void *data;
};

/* `has_no_body`: the answer to a HEAD. */
void reader_init(struct reader *r, int is_answer, int has_no_body);

/* Reads the head that http_head_read() read. -1 with ERROR_REQUEST_MALFORMED, reason "disagreement"
 * or llhttp's own word. */
int reader_head(struct reader *r, const char *bytes, const struct http_head *h, struct error *e);

/* Reads bytes of the body; what they carry goes to sink(data), as slices of `bytes`. is_complete
 * once the message is whole. */
int reader_body(struct reader *r, const char *bytes, size_t len,
                void (*sink)(void *data, const char *bytes, size_t len), void *data,
                struct error *e);

#endif
