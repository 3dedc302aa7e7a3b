/*
 * policy/rate.c - limits of AIP-38 policies: on the rate of calls, and on the bytes of a day.
 *
 * Room: policy (deciding, pure). Touches: nothing.
 */
#include "policy/rate.h"

#include <string.h>

static const char *const values[] = { "max", "value", "limit", "count", NULL };
static const char *const others[] = { "kind",  "id",         "description", "metadata",
                                      "scope", "applies_to", NULL };

static bool
is_one_of(const char *const *names, const char *name)
{
        for (; *names; names++)
                if (strcmp(*names, name) == 0)
                        return true;
        return false;
}

const struct node *
rate_limit_value(const struct node *limit)
{
        const struct node *found = NULL;

        for (size_t i = 0; values[i]; i++) {
                const struct node *n = node_find(limit, values[i]);

                if (n && found)
                        return NULL;
                found = n ? n : found;
        }
        return found && found->kind == NODE_INT && found->integer >= 0 ? found : NULL;
}

/* Is it counted for each owner? No other scope is counted here. */
static bool
scope_is_user(const struct node *limit)
{
        const struct node *scope = node_find(limit, "scope");

        return !scope || scope->kind == NODE_NULL || node_is_text(scope, "user");
}

/* Does it apply to the action that its kind limits? Without actions it applies to each of them. */
static bool
applies_to_its_action(const struct node *limit)
{
        const struct node *list = node_find(limit, "applies_to");
        const char *own = node_is_text(node_find(limit, "kind"), RATE_DAY_BYTES_KIND)
                                  ? "sandbox:network-egress"
                                  : "sandbox:execute";

        if (!list || list->kind == NODE_NULL || (list->kind == NODE_LIST && list->len == 0))
                return true;
        if (list->kind != NODE_LIST)
                return false;
        node_each(item, list) if (node_is_text(item, own) || node_is_text(item, "sandbox:*") ||
                                  node_is_text(item, "*")) return true;
        return false;
}

/* `also`: a member more that is known; NULL: none. */
static bool
members_are_known(const struct node *limit, const char *also)
{
        if (!scope_is_user(limit) || !applies_to_its_action(limit))
                return false;
        node_each(member, limit)
        {
                if (!is_one_of(values, member->key) && !is_one_of(others, member->key) &&
                    (!also || strcmp(member->key, also) != 0))
                        return false;
        }
        return true;
}

bool
rate_limit_is_plain(const struct node *limit)
{
        return limit->kind == NODE_MAP && members_are_known(limit, NULL);
}

int
rate_day_bytes_read(const struct node *limit, uint64_t *ret_max)
{
        const struct node *value = rate_limit_value(limit);

        if (!value || !rate_limit_is_plain(limit) ||
            !node_is_text(node_find(limit, "kind"), RATE_DAY_BYTES_KIND))
                return -1;
        *ret_max = (uint64_t)value->integer;
        return 0;
}

int
rate_read(const struct node *limit, struct spec_rate *ret)
{
        static const struct {
                const char *per;
                uint64_t ms;
        } periods[] = {
                { "second", 1000 }, { "minute", 60000 }, { "hour", 3600000 }, { "day", 86400000 }
        };
        const struct node *value = rate_limit_value(limit), *per = node_find(limit, "per");

        if (!value || !per || !node_is_text(node_find(limit, "kind"), RATE_KIND))
                return -1;
        if (!members_are_known(limit, "per"))
                return -1;
        for (size_t i = 0; i < sizeof periods / sizeof *periods; i++) {
                if (!node_is_text(per, periods[i].per))
                        continue;
                *ret = (struct spec_rate){ (uint64_t)value->integer, periods[i].ms };
                return 0;
        }
        return -1;
}

int
rate_collect(const struct node *body, struct spec_rate *items, size_t *count)
{
        const struct node *list = node_find(body, "limits");
        struct spec_rate read;

        if (!list || list->kind != NODE_LIST)
                return 0;
        node_each(limit, list)
        {
                if (rate_read(limit, &read) < 0)
                        continue;
                if (*count == SPEC_RATES_MAX)
                        return -1;
                items[(*count)++] = read;
        }
        return 0;
}

void
rate_day_bytes_collect(const struct node *body, uint64_t *max)
{
        const struct node *list = node_find(body, "limits");
        uint64_t read;

        if (!list || list->kind != NODE_LIST)
                return;
        node_each(limit, list) if (rate_day_bytes_read(limit, &read) == 0 && read < *max) *max =
                read;
}
