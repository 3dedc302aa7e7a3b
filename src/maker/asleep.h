/*
 * maker/asleep.h - pid 1 of a virtual machine that is saved.
 */
#ifndef CARREL_MAKER_ASLEEP_H
#define CARREL_MAKER_ASLEEP_H

/*
 * Says on `port` that this machine may be saved, and waits until it is woken, as often as it is
 * restored. Then it takes randomness and the clock from there (wire/saved.h), and becomes this
 * program again, with the port as TRANSPORT_STREAM and the word PLAN_MACHINE_WOKEN: its stack and
 * its libraries' secrets are new ones. Returns only on failure: -errno.
 */
int asleep(int port);

#endif
