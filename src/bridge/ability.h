/*
 * bridge/ability.h - what the greeting of a provider's program can say that it does.
 */
#ifndef CARREL_BRIDGE_ABILITY_H
#define CARREL_BRIDGE_ABILITY_H

enum bridge_ability {
#define BRIDGE_ABILITY(name, word, help) BRIDGE_CAN_##name,
#include "bridge/ability.def"
#undef BRIDGE_ABILITY
        BRIDGE_ABILITIES
};

const char *bridge_ability_word(enum bridge_ability ability);

/* The ability with this word, or BRIDGE_ABILITIES. */
enum bridge_ability bridge_ability_find(const char *word);

#endif
