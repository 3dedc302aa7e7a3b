/*
 * git/index.c - does a repository's index track a name?
 *
 * Room: git (deciding, pure). Touches: nothing.
 * Theory: it fails closed. Each entry must end where the next begins, the extensions must end at
 * the checksum, and an extension that must be understood (its name begins with a small letter:
 * split, sparse) is not. See gitformat-index(5).
 *
 *     head (12) | entries: fixed part (62 or 64), name, padding to 8 (version 2, 3) | extensions:
 * name (4), length (4), bytes | SHA-1 (20)
 */
#include "git/index.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { HEAD_LEN = 12, FIXED_LEN = 62, MODE_AT = 24, FLAGS_AT = 60, SUM_LEN = 20, NAME_ROOM = 4096 };
enum { FLAG_EXTENDED = 0x4000, EXTENDED_INTENT = 0x2000 };

struct reading {
        const unsigned char *at, *end; /* what is left, without the checksum */
        uint32_t version;
        char name[NAME_ROOM]; /* of the entry; version 4 says how it differs from the one before */
        size_t name_len;
        uint32_t mode;
        bool is_content;
};

static uint32_t
number(const unsigned char *at, unsigned bytes)
{
        uint32_t value = 0;

        for (unsigned i = 0; i < bytes; i++)
                value = value << 8 | at[i];
        return value;
}

/* The bytes up to the next NUL become the name's end, from `keep` on. */
static bool
take_name(struct reading *r, size_t keep)
{
        const unsigned char *nul = memchr(r->at, '\0', (size_t)(r->end - r->at));
        size_t len = nul ? (size_t)(nul - r->at) : 0;

        if (!nul || keep + len == 0 || keep + len >= sizeof r->name)
                return false;
        memcpy(r->name + keep, r->at, len + 1);
        r->name_len = keep + len;
        r->at = nul + 1;
        return true;
}

/* Version 4: how many bytes of the last name go, as git's own variable length number. */
static bool
take_shortened(struct reading *r)
{
        size_t value = 0;

        for (unsigned i = 0;; i++) {
                unsigned byte;

                if (r->at == r->end || i > 4)
                        return false;
                byte = *r->at++;
                value = i == 0 ? byte & 127u : ((value + 1) << 7 | (byte & 127u));
                if ((byte & 128u) == 0)
                        break;
        }
        return value <= r->name_len && take_name(r, r->name_len - value);
}

static bool
take_padded(struct reading *r, const unsigned char *start)
{
        size_t len, whole;

        if (!take_name(r, 0))
                return false;
        len = (size_t)(r->at - start);
        whole = (len + 7) / 8 * 8;
        if ((size_t)(r->end - start) < whole)
                return false;
        for (size_t i = len; i < whole; i++)
                if (start[i] != 0)
                        return false;
        r->at = start + whole;
        return true;
}

static bool
next_entry(struct reading *r)
{
        const unsigned char *start = r->at;
        uint32_t flags, more = 0;

        if (r->end - r->at < FIXED_LEN + 2)
                return false;
        r->mode = number(r->at + MODE_AT, 4);
        flags = number(r->at + FLAGS_AT, 2);
        r->at += FIXED_LEN;
        if ((flags & FLAG_EXTENDED) != 0) {
                if (r->version < 3)
                        return false;
                more = number(r->at, 2);
                r->at += 2;
        }
        r->is_content =
                (more & EXTENDED_INTENT) == 0 && ((r->mode >> 12) == 010 || (r->mode >> 12) == 012);
        if (!(r->version == 4 ? take_shortened(r) : take_padded(r, start)))
                return false;
        return (flags & 0xfff) == 0xfff || (flags & 0xfff) == r->name_len;
}

static bool
is_match(const struct reading *r, const char *name, size_t len)
{
        return r->is_content && r->name_len >= len && memcmp(r->name, name, len) == 0 &&
               (r->name[len] == '\0' || r->name[len] == '/');
}

static bool
skip_extensions(struct reading *r)
{
        while (r->at < r->end) {
                uint32_t len;

                if (r->end - r->at < 8 || (r->at[0] >= 'a' && r->at[0] <= 'z'))
                        return false;
                len = number(r->at + 4, 4);
                r->at += 8;
                if ((size_t)(r->end - r->at) < len)
                        return false;
                r->at += len;
        }
        return true;
}

/* The head: how many entries follow, or -1. */
static int64_t
begin(struct reading *r, const void *bytes, size_t len)
{
        const unsigned char *start = bytes;

        if (len < HEAD_LEN + SUM_LEN || len > GIT_INDEX_MAX || memcmp(start, "DIRC", 4) != 0)
                return -1;
        *r = (struct reading){ .at = start + HEAD_LEN,
                               .end = start + len - SUM_LEN,
                               .version = number(start + 4, 4) };
        return r->version < 2 || r->version > 4 ? -1 : (int64_t)number(start + 8, 4);
}

enum git_tracks
git_index_tracks(const void *bytes, size_t len, const char *name)
{
        size_t name_len = strlen(name);
        bool is_found = false;
        struct reading r;
        int64_t count = begin(&r, bytes, len);

        if (count < 0)
                return GIT_TRACKS_UNKNOWN;
        for (int64_t i = 0; i < count; i++) {
                if (!next_entry(&r))
                        return GIT_TRACKS_UNKNOWN;
                is_found = is_found || is_match(&r, name, name_len);
        }
        if (!skip_extensions(&r))
                return GIT_TRACKS_UNKNOWN;
        return is_found ? GIT_TRACKS_YES : GIT_TRACKS_NO;
}

static int
walk(const void *bytes, size_t len, bool is_content, void (*each)(void *arg, const char *name),
     void *arg)
{
        struct reading r;
        int64_t count = begin(&r, bytes, len);

        for (int64_t i = 0; i < count; i++) {
                if (!next_entry(&r))
                        return -1;
                if (is_content ? r.is_content : r.mode >> 12 == 016)
                        each(arg, r.name);
        }
        return count < 0 || !skip_extensions(&r) ? -1 : 0;
}

int
git_index_links(const void *bytes, size_t len, void (*each)(void *arg, const char *name), void *arg)
{
        return walk(bytes, len, false, each, arg);
}

int
git_index_files(const void *bytes, size_t len, void (*each)(void *arg, const char *name), void *arg)
{
        return walk(bytes, len, true, each, arg);
}
