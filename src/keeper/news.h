/*
 * keeper/news.h - the last events of one owner, kept once for everybody who watches.
 */
#ifndef CARREL_KEEPER_NEWS_H
#define CARREL_KEEPER_NEWS_H

#include <stddef.h>
#include <stdint.h>

enum { NEWS_COUNT_MAX = 1024, NEWS_BYTES_MAX = 256 * 1024, NEWS_ID_LEN = 17 };

/* One event: the record as it is sent, and whose sandbox it is of. */
struct news_item { size_t len; char id[NEWS_ID_LEN]; _Alignas(8) unsigned char body[]; };

struct news {
        uint64_t first, next;          /* the number of the oldest that is kept, and of the next to come */
        size_t bytes;
        struct news_item *items[NEWS_COUNT_MAX];       /* by number modulo their count */
};

/* Heap; NULL without memory. free accepts NULL. */
struct news *news_new(void);
void news_free(struct news *n);

/* Keeps a copy; the oldest go where there are too many. Without memory for it all that is kept goes, so that whoever is behind notices. */
void news_add(struct news *n, const char *id, const void *body, size_t len);

/* The event of this number; NULL: it is not kept. */
const struct news_item *news_at(const struct news *n, uint64_t number);

#endif
