/*
 * plan/wall.h - what the plan needs from network.egress: ports that only the box's creator can
 * open.
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
 * Collects the ports below 1024 that the list names beside 53, 80 and 443, each once, in list
 * order, then WALL_SSH if there is room. Returns their count. If there are too many it returns
 * PLAN_WALL_PORTS + 1, and *ret_at (may be NULL) receives the index of the first entry that does
 * not fit.
 */
size_t plan_wall_ports(const struct spec *spec, uint16_t ret[PLAN_WALL_PORTS], size_t *ret_at);

/*
 * Does this sandbox have a wall? If the list is empty but the manifest has network.egress, only if
 * this machine can create a wall.
 */
bool plan_has_wall(const struct spec *spec, const struct host_facts *facts);

/* Is a server inside free to use every port? Behind a routed wall, and in a virtual machine. */
bool plan_is_routed(const struct spec *spec);

/*
 * May a server inside listen on a port below PLAN_LOW_PORT? Yes without a wall and behind a routed
 * wall; else the wall uses those ports.
 */
enum { PLAN_LOW_PORT = 1024 };
bool plan_has_low_ports(const struct spec *spec, const struct host_facts *facts);

/*
 * The number of ports in a routed wall's stock: the ports from 1024 up that the list names, plus
 * PLAN_WALL_SPARE for later lists, at most WALL_STOCK_MAX. If there are too many it returns
 * WALL_STOCK_MAX + 1, and *ret_at (may be NULL) receives the index of the first entry that does not
 * fit.
 */
enum { PLAN_WALL_SPARE = 16 };
size_t plan_wall_stock(const struct spec *spec, size_t *ret_at);

/* Is `port` among these? */
bool plan_wall_has(const uint16_t *ports, size_t count, uint16_t port);

#endif
