/*
 * spec/policy_shape.c - checks the shape of the policy block (AIP-38). Another room judges what it
 * permits.
 *
 * Room: spec (deciding, pure). Touches: nothing.
 * Theory: two schemas and a text disagree about how a policy is embedded, so every form of the
 * three is accepted: a word, { ref }, { file }, { inline }, the bare body, or a list of these.
 */
#include <string.h>

#include "spec/section.h"

static const char *const schema_choice[] = { "policy/v1", NULL };
static const char *const default_choices[] = { "allow", "deny", NULL };

static const struct field body_rows[] = {
        { .name = "schema",
          .kind = FIELD_CHOICE,
          .choices = schema_choice,
          .offset = FIELD_NOWHERE,
          .help = "policy/v1." },
        { .name = "id",
          .kind = FIELD_TEXT,
          .min = 1,
          .offset = FIELD_NOWHERE,
          .help = "Id of the policy." },
        { .name = "version",
          .kind = FIELD_TEXT,
          .min = 1,
          .offset = FIELD_NOWHERE,
          .help = "Version of the policy." },
        { .name = "default",
          .kind = FIELD_CHOICE,
          .choices = default_choices,
          .offset = FIELD_NOWHERE,
          .help = "What is not granted is denied, unless this says allow." },
        { .name = "grants",
          .kind = FIELD_LIST,
          .offset = FIELD_NOWHERE,
          .help = "Who may do what." },
        { .name = "defaults",
          .kind = FIELD_MAP,
          .offset = FIELD_NOWHERE,
          .help = "Defaults for other blocks." },
        { .name = "limits", .kind = FIELD_LIST, .offset = FIELD_NOWHERE, .help = "How often." },
        { .name = "requirements",
          .kind = FIELD_LIST,
          .offset = FIELD_NOWHERE,
          .help = "What must hold besides." },
        { .name = "metadata", .kind = FIELD_MAP, .offset = FIELD_NOWHERE, .help = "Free." },
};
static const struct field_set body_set = { FIELD_SET(body_rows), .code = ERROR_SCHEMA_INVALID };

static const struct field ref_rows[] = {
        { .name = "ref",
          .kind = FIELD_TEXT,
          .flags = FIELD_REQUIRED,
          .min = 1,
          .offset = FIELD_NOWHERE,
          .help = "A POLICY.md." },
};
static const struct field file_rows[] = {
        { .name = "file",
          .kind = FIELD_TEXT,
          .flags = FIELD_REQUIRED,
          .min = 1,
          .offset = FIELD_NOWHERE,
          .help = "A POLICY.md." },
};
static const struct field inline_rows[] = {
        { .name = "inline",
          .kind = FIELD_MAP,
          .flags = FIELD_REQUIRED,
          .members = &body_set,
          .offset = FIELD_NOWHERE,
          .help = "The policy itself." },
};
static const struct field_set ref_set = { FIELD_SET(ref_rows), .code = ERROR_SCHEMA_INVALID };
static const struct field_set file_set = { FIELD_SET(file_rows), .code = ERROR_SCHEMA_INVALID };
static const struct field_set inline_set = { FIELD_SET(inline_rows), .code = ERROR_SCHEMA_INVALID };

static const struct field entry_forms_rows[] = {
        { .kind = FIELD_TEXT,
          .min = 1,
          .offset = FIELD_NOWHERE,
          .help = "a reference as one word" },
        { .kind = FIELD_MAP, .members = &ref_set, .offset = FIELD_NOWHERE, .help = "by reference" },
        { .kind = FIELD_MAP, .members = &file_set, .offset = FIELD_NOWHERE, .help = "from a file" },
        { .kind = FIELD_MAP,
          .members = &inline_set,
          .offset = FIELD_NOWHERE,
          .help = "written under `inline`" },
        { .kind = FIELD_MAP,
          .members = &body_set,
          .offset = FIELD_NOWHERE,
          .help = "written here" },
};
static const struct field_set entry_forms = { FIELD_SET(entry_forms_rows),
                                              .code = ERROR_SCHEMA_INVALID };

const struct field policy_form = { .kind = FIELD_ONE_OF,
                                   .members = &entry_forms,
                                   .help = "One policy." };

static const struct field policy_forms_rows[] = {
        { .kind = FIELD_ONE_OF, .members = &entry_forms, .help = "one policy" },
        { .kind = FIELD_LIST, .min = 1, .item = &policy_form, .help = "several, composed" },
};
const struct field_set policy_forms = { FIELD_SET(policy_forms_rows),
                                        .code = ERROR_SCHEMA_INVALID };

static void
map_check(struct judge *j, const struct node *policy, const struct trail *at)
{
        bool is_ref = node_find(policy, "ref"), is_file = node_find(policy, "file"),
             is_inline = node_find(policy, "inline");
        const struct field_set *form = is_ref      ? &ref_set
                                       : is_file   ? &file_set
                                       : is_inline ? &inline_set
                                                   : &body_set;

        if (form == &body_set || policy->len == 1) {
                (void)fields_read(j, form, policy, at, NULL);
                return;
        }
        judge_error(j, policy, at, ERROR_SCHEMA_INVALID, "form",
                    "Keep one of { ref }, { file }, { inline } or the policy itself.",
                    "a policy is written in exactly one form");
}

static void
entry_check(struct judge *j, const struct node *policy, const struct trail *at)
{
        if (policy->kind == NODE_MAP) {
                map_check(j, policy, at);
                return;
        }
        if (policy->kind != NODE_STRING)
                judge_error(j, policy, at, ERROR_SCHEMA_INVALID, "type", NULL,
                            "a policy is a map, or a reference as one word");
        else if (policy->len == 0)
                judge_error(j, policy, at, ERROR_SCHEMA_INVALID, "range", NULL,
                            "this must not be empty");
        else
                judge_warn(j, policy, at, "policy_shorthand", "a word alone is short for { ref }");
}

void
policy_read(struct judge *j, const struct node *policy, const struct trail *at, void *base)
{
        struct spec *spec = base;
        size_t index = 0;

        spec->policy = policy;
        spec->policy_place = (struct spec_place){ policy->line, policy->column };
        if (policy->kind != NODE_LIST) {
                entry_check(j, policy, at);
                return;
        }
        if (policy->len == 0)
                judge_error(j, policy, at, ERROR_SCHEMA_INVALID, "range",
                            "Leave `policy` out to have none.", "this list must not be empty");
        node_each(item, policy)
        {
                struct trail here = { at, NULL, index++ };

                entry_check(j, item, &here);
        }
}
