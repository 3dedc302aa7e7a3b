/*
 * spec/section.h - the sections of a block: one table of fields for each, and functions for what a
 * table cannot express.
 *
 * Each set is in the module of its name (limits.c, mount.c, ...). The table of the whole block, in
 * check order, is block_set in block.c. schema.c and help.c print these tables.
 */
#ifndef CARREL_SPEC_SECTION_H
#define CARREL_SPEC_SECTION_H

#include "spec/field.h"
#include "spec/spec.h"

/* The whole block; base is struct spec. */
extern const struct field_set block_set;

/* base is struct spec_limits for all three. */
extern const struct field_set limits_set, carrel_limits_set, egress_caps_set, carrel_egress_set;
extern const struct field_set commands_set;
/*
 * limits_remember() records which limits were written, which the numbers do not show.
 * limits_narrow() takes the smaller of each limit from an AIP-17 runner block; a bad limit there is
 * an error, never ignored.
 */
void limits_remember(const struct node *limits, struct spec_limits *ret);

void limits_narrow(struct judge *j, const struct node *runner, struct spec_limits *limits);

/* base is struct spec for the rest. */
extern const struct field_set env_set, network_set, lifecycle_set;
extern const struct field mount_item, identity_item, policy_form;
extern const struct field_set identity_forms, policy_forms, carrel_set;

void env_read(struct judge *j, const struct node *env, const struct trail *at, void *base);
void egress_list_read(struct judge *j, const struct node *list, const struct trail *at, void *base);
void carrel_egress_read(struct judge *j, const struct node *map, const struct trail *at,
                        void *base);
void mounts_read(struct judge *j, const struct node *list, const struct trail *at, void *base);
void identity_read(struct judge *j, const struct node *identity, const struct trail *at,
                   void *base);
void policy_read(struct judge *j, const struct node *policy, const struct trail *at, void *base);
void lifecycle_read(struct judge *j, const struct node *lifecycle, const struct trail *at,
                    void *base);
void commands_read(struct judge *j, const struct node *commands, const struct trail *at,
                   void *base);
void tool_servers_read(struct judge *j, const struct node *servers, const struct trail *at,
                       void *base);
void metadata_read(struct judge *j, const struct node *metadata, const struct trail *at,
                   void *base);
void provider_read(struct judge *j, const struct node *provider, const struct trail *at,
                   void *base);
void config_read(struct judge *j, const struct node *config, const struct trail *at, void *base);

/*
 * Finds a member of a host file's `commands` that is none of the fields (*ret_is_known is false) or
 * has another shape; the map itself if it is no map. NULL: all are good.
 */
const struct node *commands_find_fault(const struct node *map, bool *ret_is_known);

/* Form checks shared by tables. */
bool id_check(const char *text);
bool version_check(const char *text);
bool provider_id_check(const char *text);
bool env_name_check(const char *text);

#endif
