/*
 * plan/wall.h - what of network.egress the plan must know: ports that only whoever makes the box can open.
 */
#ifndef CARREL_PLAN_WALL_H
#define CARREL_PLAN_WALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/host_facts.h"
#include "spec/spec.h"
#include "wall/wall.h"

enum { PLAN_WALL_PORTS = WALL_PORTS_MAX };

/*
 * The ports below 1024 that the list names beside 53, 80 and 443: each once, in the order of the list, and WALL_SSH where there is room. Gives how many; one more than
 * PLAN_WALL_PORTS when there are too many, and the index of the entry with the first too many in *ret_at (NULL: not asked).
 */
size_t plan_wall_ports(const struct spec *spec, uint16_t ret[PLAN_WALL_PORTS], size_t *ret_at);

/* Has it a wall here? Where nothing is listed, and the manifest speaks of the way out all the same, one that this machine can make. */
bool plan_has_wall(const struct spec *spec, const struct host_facts *facts);

/* May a server inside listen on a port below PLAN_LOW_PORT? Without a wall, and behind a routed one; else those ports are the wall's own. */
enum { PLAN_LOW_PORT = 1024 };
bool plan_has_low_ports(const struct spec *spec, const struct host_facts *facts);

/*
 * A routed wall's stock: the ports from 1024 on that the list names, and PLAN_WALL_SPARE for lists to come, at most WALL_STOCK_MAX. *ret_at (NULL: not asked) is the
 * entry with the first port that is too many; it gives WALL_STOCK_MAX + 1 then.
 */
enum { PLAN_WALL_SPARE = 16 };
size_t plan_wall_stock(const struct spec *spec, size_t *ret_at);

/* Is `port` among these? */
bool plan_wall_has(const uint16_t *ports, size_t count, uint16_t port);

#endif
