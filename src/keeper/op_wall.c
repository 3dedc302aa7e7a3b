/*
 * keeper/op_wall.c - denials, network: lists refused connections and changes the allow list.
 *
 * Room: keeper (joining). Touches: the store, clock.
 * Theory: a new list is a change of the manifest, which is checked again as a whole: permissions
 * have only one source. It is stored before the gate gets it, and the caller is answered after the
 * gate has acknowledged it. Narrowing the list stops a leak, so it must not fail when memory is
 * out: the keeper holds a reserve for it.
 */
#include <stdlib.h>
#include <string.h>

#include "egress/admit.h"
#include "keeper/op.h"
#include "keeper/rewrite.h"
#include "plan/refuse.h"
#include "plan/wall.h"

/* -- denials ----------------------------------------------------------------------------------- */

static void
answer_moment(struct record_writer *w, uint64_t at_ms)
{
        uint64_t now = loop_now_ms(), wall = loop_wall_ms();

        if (at_ms <= now && now - at_ms <= wall)
                record_uint(w, FIELD_AT, wall - (now - at_ms));
}

static void
write_denial(struct record_writer *w, const void *of, const void *item)
{
        const struct wire_box_denied *denied = item;

        (void)of;
        answer_moment(w, denied->d.at_ms);
        answer_denied(w, denied);
}

enum call_state
op_denials(struct call *c, struct error *e)
{
        const struct sandbox *s = registry_of_call(c, e);
        struct record_writer w;

        if (!s || page_begin(c, e) < 0)
                return CALL_FAILED;
        if (!parts_begin(c, &w))
                return CALL_WAITS;
        for (size_t i = 0; s->box && i < s->box->denial_count; i++) {
                const struct wire_box_denied *denied = &s->box->denials[i];

                if (denied->number <= c->cursor || !page_has(c, denied->number, ""))
                        continue;
                if (page_is_full(c, &w))
                        break;
                if (!parts_add(c, &w, write_denial, NULL, denied, denied->number))
                        return CALL_WAITS;
                page_add(c, denied->number, "");
        }
        if (s->box)
                answer_denied_more(&w, s->box);
        reply_send(c, &w, 0, -1);
        return CALL_DONE;
}

/* -- network ----------------------------------------------------------------------------------- */

static struct node *
network_of(struct arena *a, const struct record *r)
{
        struct node *network = arena_new(a, struct node), *list = arena_new(a, struct node),
                    *last = NULL;
        struct record_entry entry;
        size_t at = 0;

        if (!network || !list)
                return NULL;
        *list = (struct node){ .kind = NODE_LIST, .key = "egress" };
        while (record_next(r, &at, &entry) > 0) {
                struct node item = { .kind = NODE_STRING, .text = entry.value, .len = entry.len };

                if (entry.tag != FIELD_EGRESS)
                        continue;
                item.len = strnlen(item.text, entry.len);
                last = rewrite_add(a, list, &item, last);
                if (!last)
                        return NULL;
        }
        *network = (struct node){ .kind = NODE_MAP, .first = list, .len = 1 };
        return network;
}

/* Does the current block already list each wanted destination, word for word? */
static bool
is_narrower(const struct node *block, const struct node *wanted)
{
        const struct node *network = node_find(block, "network"),
                          *list = network ? node_find(network, "egress") : NULL;

        node_each(item, wanted->first)
        {
                bool is_listed = false;

                if (list && list->kind == NODE_LIST)
                        node_each(had, list) is_listed =
                                is_listed || (had->kind == NODE_STRING && had->len == item->len &&
                                              memcmp(had->text, item->text, item->len) == 0);
                if (!is_listed)
                        return false;
        }
        return true;
}

struct wanted {
        const struct record *record;
        bool only_narrower; /* no memory, unless the list only takes away */
};

static struct node *
with_network(struct arena *a, const struct node *block, const void *context)
{
        const struct wanted *wanted = context;
        struct node *network = network_of(a, wanted->record);

        return network && (!wanted->only_narrower || is_narrower(block, network))
                       ? rewrite_member(a, block, "network", network)
                       : NULL;
}

/*
 * Ports below 1024 are opened when the box is created: a live box can lose some, but not gain any.
 */
static int
check_low(const struct sandbox *s, const struct spec *now, const struct spec *wanted,
          struct error *e)
{
        uint16_t had[PLAN_WALL_PORTS], want[PLAN_WALL_PORTS];
        size_t had_count = plan_wall_ports(now, had, NULL),
               want_count = plan_wall_ports(wanted, want, NULL);

        for (size_t i = 0; i < want_count; i++)
                if (!plan_wall_has(had, had_count, want[i])) {
                        (void)fail_at(e, ERROR_EGRESS_UNENFORCEABLE, "egress", "low_port",
                                      "port %u was not listed when the sandbox %s was made, and "
                                      "ports below 1024 cannot be added later",
                                      want[i], s->id);
                        error_hint(e, "Create one whose manifest lists it, or says "
                                      "metadata.carrel.egress.routed: true; to such a one ports "
                                      "can be added.");
                        return -1;
                }
        return 0;
}

/*
 * A routed wall has sockets for a limited number of further ports. A socket that has listened is
 * not free again.
 */
static int
check_stock(const struct sandbox *s, const struct spec *wanted, struct error *e)
{
        if (wall_box_can(s->box, wanted))
                return 0;
        (void)fail_at(e, ERROR_EGRESS_UNENFORCEABLE, "egress", "no_more_ports",
                      "the wall of the sandbox %s can listen to %zu ports more, and the list names "
                      "more that are new to it",
                      s->id, s->box->stock);
        error_hint(e, "Leave new ports out, or create one whose manifest lists them.");
        return -1;
}

static int
check_ports(const struct sandbox *s, const struct spec *now, const struct spec *wanted,
            struct error *e)
{
        const struct plan_request nothing = { .mount_count = 0 };

        if (plan_refuse(wanted, &s->keeper->host.facts, &nothing, e) < 0)
                return -1;
        if (!s->box || s->box->is_gone)
                return 0;
        if (!s->box->has_wall && wanted->egress_count > 0) {
                (void)fail_at(e, ERROR_EGRESS_UNENFORCEABLE, "egress", "no_wall",
                              "the sandbox %s was created without network.egress: hosts cannot be "
                              "added to it",
                              s->id);
                error_hint(e,
                           "Create a sandbox whose SANDBOX.md lists hosts in network.egress, or "
                           "has metadata: {carrel: {egress: {}}}. Hosts can be added to that one.");
                return -1;
        }
        return s->box->is_routed ? check_stock(s, wanted, e) : check_low(s, now, wanted, e);
}

/* The bridge protocol has no message for a list that changes: the old one would stay in effect. */
static int
check_elsewhere(const struct sandbox *s, struct error *e)
{
        if (!s->prepared->bridge || !s->box || s->box->is_gone)
                return 0;
        (void)fail_at(e, ERROR_EGRESS_UNENFORCEABLE, "egress", "elsewhere",
                      "the network of the sandbox %s is with its provider, and cannot change while "
                      "it runs",
                      s->id);
        error_hint(e, "Stop it, and create one whose SANDBOX.md lists what it may reach.");
        return -1;
}

/*
 * If the old manifest is no longer accepted, the ports of the box are unknown. Then the new one may
 * add no port below 1024 beyond the default ones.
 */
static int
check_network(struct sandbox *s, const struct spec *before, void *context, struct error *e)
{
        static const struct spec unknown;

        (void)context;
        return check_elsewhere(s, e) < 0
                       ? -1
                       : check_ports(s, before ? before : &unknown, s->prepared->spec, e);
}

/* Puts the new list into the sandbox's manifest. 1: changed; 0: already so; -1. */
static int
change(struct sandbox *s, const struct record *r, bool only_narrower, struct error *e)
{
        struct store_bytes manifest;
        int result = 0;

        if (rewrite_manifest(s, with_network, &(struct wanted){ r, only_narrower }, &manifest, e) <
            0)
                return -1;
        if (manifest.len != s->row.manifest.len ||
            memcmp(manifest.bytes, s->row.manifest.bytes, manifest.len) != 0)
                result = rewrite_take(s, &manifest, false, check_network, NULL, e) < 0 ? -1 : 1;
        if (result <= 0)
                free((void *)(uintptr_t)manifest.bytes);
        return result;
}

/* As change(), and a list that only takes away may also use the keeper's reserve. */
static int
change_or_narrow(struct sandbox *s, const struct record *r, struct error *e)
{
        struct keeper *k = s->keeper;
        int result = change(s, r, false, e);

        if (result < 0 && e->code == ERROR_NO_MEMORY && k->reserve) {
                free(k->reserve);
                k->reserve = NULL;
                result = change(s, r, true, e);
        }
        if (!k->reserve)
                /* lint: the keeper owns it until it uses it up */
                k->reserve = malloc(KEEPER_RESERVE);
        return result;
}

/* Answers once the gate has acknowledged this list or a later one. */
static enum call_state
answer_when_taken(struct call *c, struct sandbox *s)
{
        struct record_writer w;

        if (s->box && s->box->wall != 0 && s->box->taken != s->box->generation &&
            (c->cursor == 0 || s->box->taken < c->cursor)) {
                calls_add(&s->box->listing, c); /* the call begins again */
                return CALL_WAITS;
        }
        w = reply_begin(c);
        answer_sandbox(&w, s);
        reply_send(c, &w, 0, -1);
        return CALL_DONE;
}

enum call_state
op_network(struct call *c, struct error *e)
{
        struct sandbox *s = registry_of_call(c, e);
        struct error refused;
        bool is_judged;
        int changed;

        if (!s)
                return CALL_FAILED;
        if (s->state == SANDBOX_STOPPING)
                return fail_at(e, ERROR_NOT_FOUND, "id", NULL, "the sandbox %s is being stopped",
                               s->id),
                       CALL_FAILED;
        /* its plan is being used; apply the change afterwards */
        if (s->state == SANDBOX_STARTING) {
                calls_add(&s->waiting, c);
                return CALL_WAITS;
        }
        if (c->cursor > 0) /* the list is stored; the call waited for the gate */
                return answer_when_taken(c, s);
        /* the old list may no longer be permitted; only the new one counts */
        is_judged = sandbox_judge(s, e) == 0;
        if (!is_judged)
                refused = *e;
        changed = change_or_narrow(s, &c->record, e);
        if (changed < 0)
                return CALL_FAILED;
        if (changed > 0) {
                if (s->box && s->box->is_ready)
                        wall_box_changed(s->box);
                c->cursor = s->box ? s->box->generation : 0;
                sandbox_publish(s, event_network_changed());
        } else if (!is_judged) {
                *e = refused;
                return CALL_FAILED;
        }
        return answer_when_taken(c, s);
}
