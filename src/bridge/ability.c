/*
 * bridge/ability.c - the words of abilities.
 *
 * Room: bridge (joining). Touches: nothing.
 */
#include "bridge/ability.h"

#include <stddef.h>
#include <string.h>

static const char *const abilities[BRIDGE_ABILITIES] = {
#define BRIDGE_ABILITY(name, word, help) [BRIDGE_CAN_##name] = (word),
#include "bridge/ability.def"
#undef BRIDGE_ABILITY
};

const char *
bridge_ability_word(enum bridge_ability ability)
{
        return abilities[ability];
}

enum bridge_ability
bridge_ability_find(const char *word)
{
        for (size_t i = 0; i < BRIDGE_ABILITIES; i++)
                if (strcmp(abilities[i], word) == 0)
                        return (enum bridge_ability)i;
        return BRIDGE_ABILITIES;
}
