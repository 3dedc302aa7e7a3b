/*
 * bridge/test_switches.c - checks that a test may switch off; empty in the shipped program.
 *
 * Room: bridge (joining). Touches: nothing.
 */
#include "bridge/test_switches.h"

#include "base/switches.h"

#ifdef CARREL_TEST_SWITCHES
#include <stddef.h>
#include <string.h>

static bool off[BRIDGE_SWITCHES];

void
bridge_switches_read(const char *text)
{
        static const char *const words[BRIDGE_SWITCHES] = { "message", "session", "needs", "key" };

        for (size_t i = 0; text && i < BRIDGE_SWITCHES; i++)
                off[i] = strstr(text, words[i]) != NULL;
}

bool
bridge_switch_is_off(enum bridge_switch part)
{
        return off[part];
}
#else
typedef int bridge_switches_are_none; /* ISO C requires a declaration */
#endif
