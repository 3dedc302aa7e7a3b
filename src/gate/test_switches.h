/*
 * gate/test_switches.h - checks that a test may switch off, to see that the attack succeeds without
 * them. The shipped program has no such switch.
 */
#ifndef CARREL_GATE_TEST_SWITCHES_H
#define CARREL_GATE_TEST_SWITCHES_H

#include <stdbool.h>

#include "base/switches.h"

enum gate_switch {
        SWITCH_NAMES,      /* admit_name: DNS answers any name */
        SWITCH_CONNECTION, /* admit_connection */
        SWITCH_EVIDENCE,   /* admit_evidence: SNI, Host, protocol */
        SWITCH_JUDGE,      /* each request of HTTP */
        SWITCH_ADDRESS,    /* private and other addresses */
        SWITCH_CHANGE,     /* ends relays when the list changes */
        SWITCH_CAPS,       /* connections, bytes, names */
        SWITCH_DAY,        /* the bytes of a day */
        SWITCH_MAX
};

#ifdef CARREL_TEST_SWITCHES
/* Reads CARREL_TEST_GATE_OFF: a comma-separated list. */
void switches_read(void);
bool switch_is_off(enum gate_switch part);
#else
static inline void
switches_read(void)
{
}
static inline bool
switch_is_off(enum gate_switch part)
{
        (void)part;
        return false;
}
#endif

#endif
