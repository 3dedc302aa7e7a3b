/*
 * gate/test_switches.c - checks that a test may switch off; empty in the shipped program.
 *
 * Room: gate (acting). Touches: the environment, in a build for tests.
 */
#include "gate/test_switches.h"

#include "base/switches.h"

#ifdef CARREL_TEST_SWITCHES
#include <stdlib.h>
#include <string.h>

static bool off[SWITCH_MAX];

void
switches_read(void)
{
        static const char *const words[SWITCH_MAX] = { "names",   "connection", "evidence", "judge",
                                                       "address", "change",     "caps",     "day" };
        const char *text = getenv("CARREL_TEST_GATE_OFF");

        while (text && *text != '\0') {
                size_t len = strcspn(text, ",");

                for (size_t i = 0; i < SWITCH_MAX; i++)
                        if (strlen(words[i]) == len && strncmp(words[i], text, len) == 0)
                                off[i] = true;
                text += len + (text[len] == ',');
        }
}

bool
switch_is_off(enum gate_switch part)
{
        return off[part];
}
#else
typedef int switches_are_none; /* ISO C requires a declaration */
#endif
