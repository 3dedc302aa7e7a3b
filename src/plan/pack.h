/*
 * plan/pack.h - packs a plan into one block of bytes, to send it to the maker, and unpacks it.
 *
 * The maker holds privileges and parses no text. It receives this form and checks every offset once
 * on arrival. Integers are in host byte order: both ends are one installation, and the version
 * field checks that.
 */
#ifndef CARREL_PLAN_PACK_H
#define CARREL_PLAN_PACK_H

#include <stddef.h>
#include <stdint.h>

#include "plan/step.h"

enum { PLAN_PACK_MAX = 192 * 1024, PLAN_STEPS_MAX = 2048, PLAN_SOURCES_MAX = 160 };

struct packed_step {
        uint16_t op, zero;
        int32_t source;
        uint64_t number, number2;
        uint32_t path, text, text_len, flags;
};

struct packed_head {
        uint32_t magic, version, step_count, source_count, strings_len, zero;
};

struct plan_view {
        const struct packed_step *steps;
        const char *strings;
        uint32_t step_count, source_count, strings_len;
};

/* Bytes that plan_pack() needs, or 0 if there are too many steps or they are too long. */
size_t plan_pack_len(const struct step *steps, size_t count);

/* Writes exactly plan_pack_len() bytes to `bytes` (8-byte aligned). */
void plan_pack(const struct step *steps, size_t count, size_t source_count, void *bytes);

/*
 * Checks `len` bytes (8-byte aligned, borrowed for the view's life): magic, version, counts, every
 * op, flag, source, offset and terminating NUL, and that phases never go backwards. Returns 0, or
 * -1 if a check fails.
 */
int plan_unpack(const void *bytes, size_t len, struct plan_view *ret);

/* The index-th step; strings point into the view's bytes. `index` must be below step_count. */
struct step plan_view_step(const struct plan_view *view, uint32_t index);

#endif
