/*
 * egress/names.c - which synthetic address belongs to which name, in one wall.
 *
 * Room: egress (deciding, pure; the caller supplies the time). Touches: mem.
 * Theory: an index belongs to one name until another name gets it. In between is a quarantine, in
 * which it belongs to none. So there are two limits: names that are answered (max), and indices in
 * use, by those names and by names in quarantine (SHARE times as many). If there is a choice, the
 * longest unused one is replaced.
 *
 *     free --give--> used --idle, and at the cap--> retired --quarantine over--> given again
 *
 * A hash table finds names; indices are positions. The hash has no key, because the number of a
 * wall's names is limited, and a chain is at most as long as that.
 */
#include "egress/names.h"

#include <stdlib.h>
#include <string.h>

#include "wall/wall.h"

enum { BUCKETS = 1024, GROWTH = 64 };

/*
 * Two indices in quarantine for each name that is answered. A quarantine lasts two idle times, so
 * even names that change as fast as possible find an index.
 */
enum { SHARE = 3, SLOTS_MAX = SHARE * NAMES_MAX, NO_SLOT = SLOTS_MAX };

struct slot {
        struct egress_host host;
        uint64_t used_ms; /* last use; of a retired one: when it was retired */
        uint32_t next;    /* in its bucket, slot + 1; 0: the last */
        int is_retired, is_taken;
};

struct names {
        struct slot **slots; /* by index - WALL_NAME_FIRST */
        size_t slot_count, max, count;
        uint32_t buckets[BUCKETS];
};

_Static_assert(WALL_NAME_FIRST + SLOTS_MAX <= WALL_INDEX_MAX, "every slot has an address");

struct names *
names_new(size_t max)
{
        struct names *n = calloc(1, sizeof *n);

        if (n)
                n->max = max < NAMES_MAX ? max : NAMES_MAX;
        return n;
}

void
names_free(struct names *n)
{
        if (!n)
                return;
        for (size_t i = 0; i < n->slot_count; i++)
                free(n->slots[i]);
        free(n->slots);
        free(n);
}

/* FNV-1a. */
static uint32_t
hash(const char *text)
{
        uint32_t h = 2166136261u;

        for (; *text; text++)
                h = (h ^ (unsigned char)*text) * 16777619u;
        return h % BUCKETS;
}

static struct slot *
slot_of_name(const struct names *n, const struct egress_host *host, uint32_t *ret_index)
{
        for (uint32_t at = n->buckets[hash(host->text)]; at != 0; at = n->slots[at - 1]->next) {
                if (strcmp(n->slots[at - 1]->host.text, host->text) == 0) {
                        *ret_index = at - 1 + WALL_NAME_FIRST;
                        return n->slots[at - 1];
                }
        }
        return NULL;
}

static void
bucket_add(struct names *n, size_t slot)
{
        uint32_t *bucket = &n->buckets[hash(n->slots[slot]->host.text)];

        n->slots[slot]->next = *bucket;
        *bucket = (uint32_t)slot + 1;
}

static void
bucket_remove(struct names *n, size_t slot)
{
        uint32_t *link = &n->buckets[hash(n->slots[slot]->host.text)];

        while (*link != 0 && *link != slot + 1)
                link = &n->slots[*link - 1]->next;
        if (*link != 0)
                *link = n->slots[slot]->next;
}

/* Allocates slots up to `count`. */
static int
grow(struct names *n, size_t count)
{
        size_t new_count = (count + GROWTH - 1) / GROWTH * GROWTH;
        struct slot **slots;

        if (count <= n->slot_count)
                return 0;
        slots = realloc(n->slots, new_count * sizeof(struct slot *));
        if (!slots)
                return -1;
        memset(slots + n->slot_count, 0, (new_count - n->slot_count) * sizeof(struct slot *));
        n->slots = slots;
        n->slot_count = new_count;
        return 0;
}

static struct slot *
slot_make(struct names *n, size_t slot)
{
        if (grow(n, slot + 1) < 0)
                return NULL;
        if (!n->slots[slot])
                n->slots[slot] = calloc(1, sizeof(struct slot));
        return n->slots[slot]; /* lint: names_free() frees each slot */
}

/* A slot that is unused, or whose quarantine is over. NO_SLOT: none. */
static size_t
slot_choose(const struct names *n, uint64_t now_ms)
{
        size_t best = NO_SLOT;

        for (size_t i = 0; i < SHARE * n->max; i++) {
                const struct slot *s = i < n->slot_count ? n->slots[i] : NULL;

                if (!s || !s->is_taken)
                        return i;
                if (s->is_retired && now_ms - s->used_ms >= NAMES_QUARANTINE_MS &&
                    now_ms >= s->used_ms &&
                    (best == NO_SLOT || s->used_ms < n->slots[best]->used_ms))
                        best = i;
        }
        return best;
}

/*
 * Retires the name that is idle for longest, if that is long enough. Returns its index; 0: none
 * qualifies.
 */
static uint32_t
retire_one(struct names *n, uint64_t now_ms)
{
        size_t best = NO_SLOT;

        for (size_t i = 0; i < n->slot_count; i++) {
                const struct slot *s = n->slots[i];

                if (s && s->is_taken && !s->is_retired && now_ms >= s->used_ms &&
                    now_ms - s->used_ms >= NAMES_IDLE_MS &&
                    (best == NO_SLOT || s->used_ms < n->slots[best]->used_ms))
                        best = i;
        }
        if (best == NO_SLOT)
                return 0;
        names_retire(n, (uint32_t)best + WALL_NAME_FIRST, now_ms);
        return (uint32_t)best + WALL_NAME_FIRST;
}

static void
slot_take(struct names *n, size_t slot, const struct egress_host *host, int is_retired,
          uint64_t now_ms)
{
        struct slot *s = n->slots[slot];

        if (s->is_taken)
                bucket_remove(n, slot);
        *s = (struct slot){
                .host = *host, .used_ms = now_ms, .is_taken = 1, .is_retired = is_retired
        };
        bucket_add(n, slot);
        n->count += !is_retired; /* lint: names_free() frees each slot */
}

uint32_t
names_give(struct names *n, const struct egress_host *host, uint64_t now_ms, int *ret_is_new,
           uint32_t *ret_retired)
{
        uint32_t index;
        struct slot *s = host->text[0] ? slot_of_name(n, host, &index) : NULL;
        size_t slot;

        *ret_is_new = 0;
        *ret_retired = 0;
        if (s && !s->is_retired) {
                s->used_ms = now_ms;
                return index;
        }
        if (!host->text[0] || (n->count >= n->max && (*ret_retired = retire_one(n, now_ms)) == 0))
                return 0;
        *ret_is_new = 1;
        if (s) { /* its old address: no other name had it meanwhile */
                s->is_retired = 0;
                s->used_ms = now_ms;
                n->count++;
                return index;
        }
        slot = slot_choose(n, now_ms);
        if (slot == NO_SLOT || !slot_make(n, slot)) {
                *ret_is_new = 0;
                return 0; /* a name retired above stays retired: the caller reports it
                           * in any case */
        }
        slot_take(n, slot, host, 0, now_ms);
        return (uint32_t)slot + WALL_NAME_FIRST;
}

static struct slot *
slot_of_index(const struct names *n, uint32_t index)
{
        size_t slot = (size_t)index - WALL_NAME_FIRST;

        return index >= WALL_NAME_FIRST && slot < n->slot_count && n->slots[slot] &&
                               n->slots[slot]->is_taken
                       ? n->slots[slot]
                       : NULL;
}

bool
names_has(const struct names *n, const struct egress_host *host)
{
        uint32_t index;
        const struct slot *s = slot_of_name(n, host, &index);

        return s && !s->is_retired;
}

uint64_t
names_idle_ms(const struct names *n, uint32_t index, uint64_t now_ms)
{
        const struct slot *s = slot_of_index(n, index);

        return s && !s->is_retired && now_ms > s->used_ms ? now_ms - s->used_ms : 0;
}

void
names_retire(struct names *n, uint32_t index, uint64_t now_ms)
{
        struct slot *s = slot_of_index(n, index);

        if (!s || s->is_retired)
                return;
        s->is_retired = 1;
        s->used_ms = now_ms;
        n->count--;
}

const struct egress_host *
names_find(struct names *n, uint32_t index, uint64_t now_ms, int *ret_is_retired)
{
        struct slot *s = slot_of_index(n, index);

        *ret_is_retired = s && s->is_retired;
        if (!s || s->is_retired)
                return NULL;
        s->used_ms = now_ms;
        return &s->host;
}

const struct egress_host *
names_was(const struct names *n, uint32_t index)
{
        const struct slot *s = slot_of_index(n, index);

        return s && s->is_retired ? &s->host : NULL;
}

int
names_restore(struct names *n, uint32_t index, const struct egress_host *host, int is_retired,
              uint64_t now_ms)
{
        size_t slot = (size_t)index - WALL_NAME_FIRST;
        struct slot *s = slot_of_index(n, index);
        uint32_t other;

        if (index < WALL_NAME_FIRST || slot >= SLOTS_MAX || !host->text[0])
                return -1;
        if (s && strcmp(s->host.text, host->text) == 0) {
                n->count += (size_t)(s->is_retired != 0) - (size_t)(is_retired != 0);
                s->is_retired = is_retired != 0;
                s->used_ms = now_ms;
                return 0;
        }
        if (s || slot_of_name(n, host, &other))
                return -1;
        if ((!is_retired && n->count >= n->max) || !slot_make(n, slot))
                return -1;
        slot_take(n, slot, host, is_retired != 0, now_ms);
        return 0;
}

size_t
names_count(const struct names *n)
{
        return n->count;
}

uint32_t
names_index_of(const uint8_t address[16])
{
        static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
        uint32_t low = (uint32_t)address[12] << 24 | (uint32_t)address[13] << 16 |
                       (uint32_t)address[14] << 8 | address[15];

        if (memcmp(address, mapped, sizeof mapped) == 0)
                return (low & ~(uint32_t)WALL_INDEX_MAX) == WALL_NET4 ? low & WALL_INDEX_MAX : 0;
        if (memcmp(address, WALL_NET6, 8) == 0 && memcmp(address + 8, "\0\0\0\0", 4) == 0 &&
            low <= WALL_INDEX_MAX)
                return low;
        return 0;
}

void
names_address_of(uint32_t index, int is_v6, uint8_t ret[16])
{
        uint32_t low = is_v6 ? index : WALL_NET4 | (index & WALL_INDEX_MAX);

        memset(ret, 0, 16);
        if (is_v6)
                memcpy(ret, WALL_NET6, 8); /* lint: bytes, not a string */
        else
                ret[10] = ret[11] = 0xff;
        for (unsigned i = 0; i < 4; i++)
                ret[12 + i] = (uint8_t)(low >> (24 - 8 * i));
}
