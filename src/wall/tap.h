/*
 * wall/tap.h - the device through which a virtual machine's packets reach a namespace.
 *
 * Only wall/wall.c includes this.
 */
#ifndef CARREL_WALL_TAP_H
#define CARREL_WALL_TAP_H

/*
 * Creates a tap device (Ethernet frames, each with a head of virtio-net) in this network namespace;
 * needs its CAP_NET_ADMIN. Returns the descriptor (close-on-exec, non-blocking) whose holder sends
 * and receives its frames, or -errno: ENOENT, ENODEV or EACCES: this machine has no /dev/net/tun
 * for this user. The device goes with the descriptor. Source: Linux,
 * Documentation/networking/tuntap.rst.
 */
int tap_open(const char *name);

#endif
