/*
 * gate/layers.h - checks that a test may switch off, to see that the attack succeeds without them.
 * The shipped program has no such switch.
 */
#ifndef CARREL_GATE_LAYERS_H
#define CARREL_GATE_LAYERS_H

#include <stdbool.h>

enum gate_layer {
        LAYER_NAMES,      /* admit_name: DNS answers any name */
        LAYER_CONNECTION, /* admit_connection */
        LAYER_EVIDENCE,   /* admit_evidence: SNI, Host, protocol */
        LAYER_JUDGE,      /* each request of HTTP */
        LAYER_ADDRESS,    /* private and other addresses */
        LAYER_CHANGE,     /* ends relays when the list changes */
        LAYER_CAPS,       /* connections, bytes, names */
        LAYER_MAX
};

#ifdef CARREL_TEST_LAYERS
/* Reads CARREL_TEST_GATE_OFF: a comma-separated list. */
void layers_read(void);
bool layer_is_off(enum gate_layer layer);
#else
static inline void
layers_read(void)
{
}
static inline bool
layer_is_off(enum gate_layer layer)
{
        (void)layer;
        return false;
}
#endif

#endif
