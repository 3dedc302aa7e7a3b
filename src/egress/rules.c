/*
 * egress/rules.c - the entries of a list, sorted for search by name.
 *
 * Room: egress (deciding, pure). Touches: mem.
 * Theory: an entry's key is its labels from last to first, separated by a byte lower than any in a
 * label; "*.b.c" becomes "c b *". After sorting, all names below a name follow its own key. Its
 * wildcard is the first of them, because '*' is lower than any label. So one search for "c b "
 * finds the wildcard of b.c. It also shows whether the list has any name below b.c; if not, longer
 * names need no search.
 */
#include "egress/rules.h"

#include <stdlib.h>
#include <string.h>

enum { BETWEEN = '\1', KEY_ROOM = EGRESS_HOST_MAX + 3 /* " *" and NUL */ };

/* Writes the labels of `host` from last to first. Returns the length in bytes. */
static size_t
write_key(const char *host, char ret[KEY_ROOM])
{
        size_t end = strnlen(host, EGRESS_HOST_MAX), len = 0;

        while (end > 0) {
                size_t at = end;

                while (at > 0 && host[at - 1] != '.')
                        at--;
                memcpy(ret + len, host + at, end - at);
                len += end - at;
                end = at > 0 ? at - 1 : 0;
                if (end > 0)
                        ret[len++] = BETWEEN;
        }
        ret[len] = '\0';
        return len;
}

/* For equal names the first entry sorts first. */
static int
by_key(const void *a, const void *b)
{
        const struct rule *x = a, *y = b;
        int order = strcmp(x->key, y->key);

        return order != 0 ? order : (x->entry > y->entry) - (x->entry < y->entry);
}

int
rules_make(struct arena *arena, const struct spec_egress *entries, size_t count, struct rules *ret)
{
        struct rule *sorted = arena_array(arena, struct rule, count + 1);
        char key[KEY_ROOM];

        for (size_t i = 0; sorted && i < count; i++) {
                size_t len = write_key(entries[i].host, key);

                if (entries[i].is_wildcard) {
                        key[len++] = BETWEEN;
                        key[len++] = '*';
                }
                sorted[i] = (struct rule){ arena_copy(arena, key, len), &entries[i] };
                if (!sorted[i].key)
                        return -1;
        }
        if (!sorted)
                return -1;
        qsort(sorted, count, sizeof *sorted, by_key);
        *ret = (struct rules){ entries, sorted, count };
        return 0;
}

/* The first rule from `from` on whose key is not before these bytes. */
static size_t
find_from(const struct rules *r, size_t from, const char *bytes, size_t len)
{
        size_t end = r->count;

        while (from < end) {
                size_t middle = from + (end - from) / 2;

                if (strncmp(r->sorted[middle].key, bytes, len) < 0)
                        from = middle + 1;
                else
                        end = middle;
        }
        return from;
}

static bool
is_at(const struct rules *r, size_t at, const char *bytes, size_t len)
{
        return at < r->count && strncmp(r->sorted[at].key, bytes, len) == 0;
}

/*
 * The rules that name a host form at most as many runs as it has labels: `ret` gets the first of
 * each. Returns their number.
 */
enum { RUNS_MAX = EGRESS_HOST_MAX / 2 + 2 };

static size_t
find_runs(const struct rules *r, const char *host, size_t ret[RUNS_MAX])
{
        char key[KEY_ROOM];
        size_t len = write_key(host, key), count = 0, at = 0;

        for (size_t i = 0; i < len; i++) {
                if (key[i] != BETWEEN)
                        continue;
                at = find_from(r, at, key, i + 1);
                if (!is_at(r, at, key, i + 1))
                        return count;
                if (strcmp(r->sorted[at].key + i + 1, "*") == 0)
                        ret[count++] = at;
        }
        at = find_from(r, at, key, len + 1);
        if (len > 0 && is_at(r, at, key, len + 1))
                ret[count++] = at;
        return count;
}

/* True: this rule belongs to the same run as the one before. */
static bool
goes_on(const struct rules *r, size_t at)
{
        return at < r->count && strcmp(r->sorted[at].key, r->sorted[at - 1].key) == 0;
}

int
rules_find(const struct rules *r, const char *host, uint16_t port)
{
        size_t runs[RUNS_MAX], count = find_runs(r, host, runs);
        const struct spec_egress *best = NULL;

        for (size_t i = 0; i < count; i++) {
                size_t at = runs[i];

                while (!egress_has_port(r->sorted[at].entry, port) && goes_on(r, at + 1))
                        at++;
                if (egress_has_port(r->sorted[at].entry, port) &&
                    (!best || r->sorted[at].entry < best))
                        best = r->sorted[at].entry;
        }
        return best ? (int)(best - r->entries) : -1;
}

bool
rules_are_below(const struct rules *r, const char *host)
{
        char key[KEY_ROOM];
        size_t len = write_key(host, key);

        key[len++] = BETWEEN;
        return len > 1 && is_at(r, find_from(r, 0, key, len), key, len);
}

static size_t
add_port(uint16_t *ports, size_t count, uint16_t port)
{
        for (size_t i = 0; i < count; i++)
                if (ports[i] == port)
                        return count;
        ports[count] = port;
        return count + 1;
}

size_t
rules_ports(const struct rules *r, const char *host, uint16_t *ret, size_t room)
{
        size_t runs[RUNS_MAX], run_count = find_runs(r, host, runs), count = 0;

        while (run_count > 0) {
                const struct spec_egress *entry;
                size_t first = 0;

                for (size_t i = 1; i < run_count; i++)
                        if (r->sorted[runs[i]].entry < r->sorted[runs[first]].entry)
                                first = i;
                entry = r->sorted[runs[first]].entry;
                for (size_t k = 0; k < entry->port_count && count < room; k++)
                        count = add_port(ret, count, entry->ports[k]);
                if (count == room)
                        return count;
                if (goes_on(r, runs[first] + 1))
                        runs[first]++;
                else
                        runs[first] = runs[--run_count];
        }
        return count;
}
