/*
 * cli/provider_greeting.h - reads the greeting of a provider's program of the host file.
 */
#ifndef CARREL_CLI_PROVIDER_GREETING_H
#define CARREL_CLI_PROVIDER_GREETING_H

#include <stdbool.h>
#include <stdint.h>

#include "bridge/message.h"
#include "policy/host_provider.h"

enum { GREETING_TEXT = 640 };

struct provider_greeting {
        const struct host_provider *provider; /* borrowed */
        bool is_started, works;               /* works: it greeted, with all that is promised */
        char name[BRIDGE_NAME_MAX + 1];       /* of the greeting; "": there was none */
        uint32_t abilities;                   /* bits of enum bridge_ability */
        char detail[GREETING_TEXT], mend[GREETING_TEXT]; /* mend "": nothing needs a fix */
};

/* Why a provider elsewhere cannot be used, as far as the host file and its paths say; NULL: it can.
 */
const char *provider_greeting_why_not(const struct host_provider *p);

/*
 * Starts its program in a sandbox like the daemon's, but without a network and without a key, reads
 * the greeting (docs/BRIDGE.md), and ends it. Nothing is asked of it, so no sandbox is made
 * elsewhere. `isolates`: this machine can have such a sandbox; without it nothing is started.
 */
void provider_greeting_read(const struct host_provider *p, bool isolates,
                            struct provider_greeting *ret);

#endif
