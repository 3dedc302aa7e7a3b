/*
 * bridge/test_switches.h - checks of carrel-bridge that a test may switch off, to see what happens
 * without them. The shipped program has no such switch.
 */
#ifndef CARREL_BRIDGE_TEST_SWITCHES_H
#define CARREL_BRIDGE_TEST_SWITCHES_H

#include <stdbool.h>

#include "base/switches.h"

enum bridge_switch {
        BRIDGE_SWITCH_MESSAGE, /* a line that is no message is skipped */
        BRIDGE_SWITCH_SESSION, /* a message that may not come is taken */
        BRIDGE_SWITCH_NEEDS,   /* the greeting need not say what the host file promises */
        BRIDGE_SWITCH_KEY,     /* commands get the provider's key */
        BRIDGE_SWITCHES
};

#ifdef CARREL_TEST_SWITCHES
/* `text` is a list of words, or NULL. */
void bridge_switches_read(const char *text);
bool bridge_switch_is_off(enum bridge_switch part);
#else
static inline bool
bridge_switch_is_off(enum bridge_switch part)
{
        (void)part;
        return false;
}
#endif

#endif
