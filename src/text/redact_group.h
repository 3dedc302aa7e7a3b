/*
 * text/redact_group.h - the groups of rules that remove secrets and personal data from audit logs.
 *
 * Here because the room policy, which reads the host file, and the room audit, which has the rules,
 * may not include each other.
 */
#ifndef CARREL_TEXT_REDACT_GROUP_H
#define CARREL_TEXT_REDACT_GROUP_H

enum redact_group {
#define REDACT_GROUP(name, can_be_off, help) REDACT_##name,
#include "text/redact_group.def"
#undef REDACT_GROUP
        REDACT_GROUP_MAX
};

#endif
