/*
 * plan/wall.c - the step that creates the wall, for a sandbox that may reach something.
 *
 * Room: plan (deciding, pure). Touches: nothing.
 * Theory: any process inside can listen on ports from 1024 up, so pid 1 opens them when a name gets
 * its address. Lower ports are opened while the box is created, by the process that still has the
 * privilege.
 */
#include "plan/wall.h"

#include <inttypes.h>
#include <string.h>

#include "plan/builder.h"
#include "spec/provider.h"
#include "spec/section.h"

bool
plan_wall_has(const uint16_t *ports, size_t count, uint16_t port)
{
        for (size_t i = 0; i < count; i++)
                if (ports[i] == port)
                        return true;
        return false;
}

size_t
plan_wall_ports(const struct spec *spec, uint16_t ret[PLAN_WALL_PORTS], size_t *ret_at)
{
        static const uint16_t held[] = { 53, 80, 443 };
        size_t count = 0;

        for (size_t i = 0; i < spec->egress_count; i++)
                for (size_t p = 0; p < spec->egress[i].port_count; p++) {
                        uint16_t port = spec->egress[i].ports[p];

                        if (port >= PLAN_LOW_PORT ||
                            plan_wall_has(held, sizeof held / sizeof *held, port) ||
                            plan_wall_has(ret, count, port))
                                continue;
                        if (ret_at)
                                *ret_at = i;
                        if (count == PLAN_WALL_PORTS)
                                return count + 1;
                        ret[count++] = port;
                }
        if (count < PLAN_WALL_PORTS && !plan_wall_has(ret, count, WALL_SSH))
                ret[count++] = WALL_SSH;
        return count;
}

bool
plan_has_wall(const struct spec *spec, const struct host_facts *facts)
{
        return spec->egress_count > 0 || spec->wall.is_routed ||
               (spec->wall.is_given && facts->has_wall);
}

bool
plan_is_routed(const struct spec *spec)
{
        const struct provider *p = spec->provider ? provider_find(spec->provider) : NULL;

        return spec->wall.is_routed || (p && p->is_routed);
}

bool
plan_has_low_ports(const struct spec *spec, const struct host_facts *facts)
{
        return plan_is_routed(spec) || !plan_has_wall(spec, facts);
}

size_t
plan_wall_stock(const struct spec *spec, size_t *ret_at)
{
        uint16_t named[WALL_STOCK_MAX];
        size_t count = 0;

        for (size_t i = 0; i < spec->egress_count; i++)
                for (size_t p = 0; p < spec->egress[i].port_count; p++) {
                        uint16_t port = spec->egress[i].ports[p];

                        if (port < PLAN_LOW_PORT || plan_wall_has(named, count, port))
                                continue;
                        if (ret_at)
                                *ret_at = i;
                        if (count == WALL_STOCK_MAX)
                                return count + 1;
                        named[count++] = port;
                }
        return count + PLAN_WALL_SPARE < WALL_STOCK_MAX ? count + PLAN_WALL_SPARE : WALL_STOCK_MAX;
}

/* The caps in words that continue a sentence. */
static const char *
caps_text(struct builder *b)
{
        const char *text = "";

        for (size_t i = 0; i < egress_caps_set.count; i++) {
                const struct field *row = &egress_caps_set.rows[i];
                uint64_t value;

                memcpy(&value, (const char *)&b->spec->egress_caps + row->offset, sizeof value);
                if (value != SPEC_UNSET)
                        text = builder_text(b, "%s%s%s %" PRIu64, text,
                                            text[0] == '\0' ? "; at most " : ", ", row->name,
                                            value);
        }
        return text;
}

/*
 * The process that has the list answers what the wall catches. If it is missing, nothing is
 * answered, and nothing leaves.
 */
void
builder_wall(struct builder *b)
{
        bool is_routed = b->spec->wall.is_routed || b->request->machine;
        struct step *s = builder_add(
                b,
                b->request->machine ? STEP_TAP
                : is_routed         ? STEP_ROUTED
                                    : STEP_WALL,
                "",
                builder_text(b, "what goes to a listed name is caught %s, and so is the rest%s",
                             is_routed ? "outside, so every port inside is free" : "here",
                             caps_text(b)));
        uint16_t ports[PLAN_WALL_PORTS];
        const char *text = "";

        s->number = plan_wall_ports(b->spec, ports, NULL);
        s->number2 = is_routed ? plan_wall_stock(b->spec, NULL) : 0;
        for (size_t i = 0; i < s->number; i++)
                text = builder_text(b, "%s%s%u", text, i > 0 ? " " : "", ports[i]);
        s->text = text;
        s->text_len = strlen(text);
}
