/*
 * egress/hosts.c - reads /etc/hosts of the machine: names and their addresses.
 *
 * Room: egress (deciding, pure). Touches: mem (the caller's).
 * Theory: sorted by name, then by position in the file. So a binary search finds a name, and its
 * addresses keep the order of the file.
 */
#include "egress/hosts.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "spec/egress.h"

enum { WORD_MAX = EGRESS_HOST_MAX + 2 };

static int
by_name(const void *left, const void *right)
{
        const struct hosts_name *l = left, *r = right;
        int order = strcmp(l->host, r->host);

        return order != 0 ? order : l->order < r->order ? -1 : l->order > r->order;
}

/*
 * The next word of the line that ends at `end`; false: no further word. A word that is too long
 * becomes "".
 */
static bool
next_word(const char **at, const char *end, char ret[WORD_MAX])
{
        const char *start = *at;
        size_t len;

        while (start < end && (*start == ' ' || *start == '\t' || *start == '\r'))
                start++;
        *at = start;
        while (*at < end && **at != ' ' && **at != '\t' && **at != '\r')
                (*at)++;
        len = (size_t)(*at - start);
        memcpy(ret, start, len < WORD_MAX ? len : 0);
        ret[len < WORD_MAX ? len : 0] = '\0';
        return len > 0;
}

static bool
is_unspecified(const struct egress_address *a)
{
        static const struct egress_address six, four = { { [10] = 0xff, [11] = 0xff } };

        return memcmp(a, &six, sizeof six) == 0 || memcmp(a, &four, sizeof four) == 0;
}

static int
read_line(struct arena *arena, const char *at, const char *end, struct hosts *h)
{
        struct egress_network network;
        char word[WORD_MAX], host[EGRESS_HOST_MAX + 1];

        if (!next_word(&at, end, word) || strchr(word, '/') ||
            !egress_network_read(word, &network) || is_unspecified(&network.base))
                return 0;
        while (h->count < HOSTS_NAMES_MAX && next_word(&at, end, word)) {
                if (!egress_host_read(word, host))
                        continue;
                h->names[h->count] =
                        (struct hosts_name){ arena_text(arena, host), network.base, h->count };
                if (!h->names[h->count++].host)
                        return -1;
        }
        return 0;
}

int
hosts_read(struct arena *arena, const char *text, size_t len, struct hosts *ret)
{
        const char *end = text + len;
        struct hosts h = { arena_array(arena, struct hosts_name, HOSTS_NAMES_MAX), 0 };

        if (!h.names)
                return -1;
        while (text < end) {
                const char *line_end = memchr(text, '\n', (size_t)(end - text)), *comment;

                line_end = line_end ? line_end : end;
                comment = memchr(text, '#', (size_t)(line_end - text));
                if (read_line(arena, text, comment ? comment : line_end, &h) < 0)
                        return -1;
                text = line_end < end ? line_end + 1 : end;
        }
        qsort(h.names, h.count, sizeof *h.names, by_name);
        *ret = h;
        return 0;
}

size_t
hosts_find(const struct hosts *h, const char *host, struct egress_address *ret, size_t room)
{
        size_t from = 0, end = h->count, found = 0;

        while (from < end) {
                size_t middle = from + (end - from) / 2;

                if (strcmp(h->names[middle].host, host) < 0)
                        from = middle + 1;
                else
                        end = middle;
        }
        for (; from < h->count && strcmp(h->names[from].host, host) == 0; from++) {
                if (!ret)
                        return 1;
                if (found < room)
                        ret[found++] = h->names[from].address;
        }
        return found;
}
