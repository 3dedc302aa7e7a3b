/*
 * gate/layers.c - checks that a test may switch off; empty in the shipped program.
 *
 * Room: gate (acting). Touches: the environment, in a build for tests.
 */
#include "gate/layers.h"

#ifdef CARREL_TEST_LAYERS
#include <stdlib.h>
#include <string.h>

static bool off[LAYER_MAX];

void
layers_read(void)
{
        static const char *const words[LAYER_MAX] = { "names",   "connection", "evidence", "judge",
                                                      "address", "change",     "caps" };
        const char *text = getenv("CARREL_TEST_GATE_OFF");

        while (text && *text != '\0') {
                size_t len = strcspn(text, ",");

                for (size_t i = 0; i < LAYER_MAX; i++)
                        if (strlen(words[i]) == len && strncmp(words[i], text, len) == 0)
                                off[i] = true;
                text += len + (text[len] == ',');
        }
}

bool
layer_is_off(enum gate_layer layer)
{
        return off[layer];
}
#else
typedef int layers_are_none; /* ISO C requires a declaration */
#endif
