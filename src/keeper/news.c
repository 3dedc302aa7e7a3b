/*
 * keeper/news.c - the last events of one owner.
 *
 * Room: keeper (joining). Touches: mem.
 */
#include "keeper/news.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct news *
news_new(void)
{
        struct news *n = calloc(1, sizeof *n);

        if (n)
                n->first = n->next = 1;
        return n;
}

static void
drop_first(struct news *n)
{
        struct news_item **at = &n->items[n->first++ % NEWS_COUNT_MAX];

        n->bytes -= (*at)->len;
        free(*at);
        *at = NULL;
}

void
news_free(struct news *n)
{
        while (n && n->first < n->next)
                drop_first(n);
        free(n);
}

void
news_add(struct news *n, const char *id, const void *body, size_t len)
{
        struct news_item *item = malloc(sizeof *item + len);

        while (n->first < n->next &&
               (!item || n->next - n->first == NEWS_COUNT_MAX || n->bytes + len > NEWS_BYTES_MAX))
                drop_first(n);
        if (!item) {
                n->first = ++n->next;
                return;
        }
        item->len = len;
        (void)snprintf(item->id, sizeof item->id, "%s", id);
        memcpy(item->body, body, len);
        n->items[n->next++ % NEWS_COUNT_MAX] = item;
        n->bytes += len;
}

const struct news_item *
news_at(const struct news *n, uint64_t number)
{
        return number >= n->first && number < n->next ? n->items[number % NEWS_COUNT_MAX] : NULL;
}
