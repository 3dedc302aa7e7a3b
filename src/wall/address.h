/*
 * wall/address.h - the addresses that a wall gives to names.
 */
#ifndef CARREL_WALL_ADDRESS_H
#define CARREL_WALL_ADDRESS_H

/*
 * Synthetic addresses for names: 198.18.0.0/15 (RFC 2544: for network tests, never on the
 * internet), and the same index in the last 32 bits of a ULA /64. Index 0 belongs to no name. 1 is
 * the gate: resolv.conf names it, and its HTTP proxy listens there. 2 is the sandbox itself, if the
 * wall is routed. Names start at WALL_NAME_FIRST.
 */
#define WALL_NET4 0xc6120000u                        /* 198.18.0.0, host order */
#define WALL_NET6 "\xfd\x63\x61\x72\x72\x65\x6c\x00" /* fd63:6172:7265:6c00::/64, eight bytes */
/* The hardware address of both ends of the way out of a sandbox, so that none is asked for. */
#define WALL_HARDWARE "\x02\x63\x61\x72\x72\x6c"
#define WALL_HARDWARE_TEXT "02:63:61:72:72:6c"
enum { WALL_GATE = 1, WALL_INSIDE = 2, WALL_NAME_FIRST = 256, WALL_INDEX_MAX = 0x1ffff };

#endif
