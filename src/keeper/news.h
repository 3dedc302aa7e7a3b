/*
 * keeper/news.h - the last events of one owner, stored once for all watchers.
 */
#ifndef CARREL_KEEPER_NEWS_H
#define CARREL_KEEPER_NEWS_H

#include <stddef.h>
#include <stdint.h>

enum { NEWS_COUNT_MAX = 1024, NEWS_BYTES_MAX = 256 * 1024, NEWS_ID_LEN = 17 };

/* One event: the record as it is sent, and the id of its sandbox. */
struct news_item {
        size_t len;
        char id[NEWS_ID_LEN];
        _Alignas(8) unsigned char body[];
};

struct news {
        uint64_t first, next; /* numbers: oldest event stored, next event */
        size_t bytes;
        struct news_item *items[NEWS_COUNT_MAX]; /* index: number modulo NEWS_COUNT_MAX */
};

/* On the heap; NULL without memory. news_free() accepts NULL. */
struct news *news_new(void);
void news_free(struct news *n);

/*
 * Stores a copy and drops the oldest if full. Without memory it drops all events, so that a watcher
 * that is behind notices the gap.
 */
void news_add(struct news *n, const char *id, const void *body, size_t len);

/* The event of this number; NULL: no longer stored. */
const struct news_item *news_at(const struct news *n, uint64_t number);

#endif
