/*
 * spec/identity.c - the identity under which commands run: a label (AIP-23), never a user of the
 * operating system.
 *
 * Room: spec (deciding, pure). Touches: mem.
 */
#include <string.h>

#include "spec/section.h"

#define TEXT_ROW(word, where, sentence)                                          \
        {                                                                        \
                .name = (word), .kind = FIELD_TEXT, .min = 1, .offset = (where), \
                .help = (sentence)                                               \
        }
#define NEEDED_ROW(word, where, sentence)                                              \
        {                                                                              \
                .name = (word), .kind = FIELD_TEXT, .flags = FIELD_REQUIRED, .min = 1, \
                .offset = (where), .help = (sentence)                                  \
        }
#define ROLE_ROW                                               \
        TEXT_ROW("role", offsetof(struct spec_identity, role), \
                 "What this identity is here, for instance co-owner.")
#define METADATA_ROW                                                                            \
        {                                                                                       \
                .name = "metadata", .kind = FIELD_MAP, .offset = FIELD_NOWHERE, .help = "Free." \
        }

static const struct field person_rows[] = {
        NEEDED_ROW("name", offsetof(struct spec_identity, name), "Name to show."),
        NEEDED_ROW("email", offsetof(struct spec_identity, email), "Address to show."),
        TEXT_ROW("avatar", FIELD_NOWHERE, "Picture."),
        TEXT_ROW("gpg_key", FIELD_NOWHERE, "Public key id."),
        ROLE_ROW,
        METADATA_ROW,
};
static const struct field ref_rows[] = {
        NEEDED_ROW("ref", offsetof(struct spec_identity, ref),
                   "bot://..., user://..., @owner/identities/slug or a path."),
        ROLE_ROW,
        METADATA_ROW,
};
static const struct field file_rows[] = {
        NEEDED_ROW("file", offsetof(struct spec_identity, file),
                   "An identity file in the workspace."),
        ROLE_ROW,
        METADATA_ROW,
};
static const struct field_set person_set = { FIELD_SET(person_rows), .code = ERROR_SCHEMA_INVALID };
static const struct field_set ref_set = { FIELD_SET(ref_rows), .code = ERROR_SCHEMA_INVALID };
static const struct field_set file_set = { FIELD_SET(file_rows), .code = ERROR_SCHEMA_INVALID };

static const struct field entry_forms_rows[] = {
        { .kind = FIELD_MAP, .members = &person_set, .help = "written here" },
        { .kind = FIELD_MAP, .members = &ref_set, .help = "by reference" },
        { .kind = FIELD_MAP, .members = &file_set, .help = "from a file" },
};
static const struct field_set entry_forms = { FIELD_SET(entry_forms_rows),
                                              .code = ERROR_SCHEMA_INVALID };

const struct field identity_item = { .kind = FIELD_ONE_OF,
                                     .members = &entry_forms,
                                     .help = "One identity." };

static const struct field identity_forms_rows[] = {
        { .kind = FIELD_ONE_OF, .members = &entry_forms, .help = "one identity" },
        { .kind = FIELD_LIST,
          .min = 1,
          .item = &identity_item,
          .help = "several; the first is the primary one" },
};
const struct field_set identity_forms = { FIELD_SET(identity_forms_rows),
                                          .code = ERROR_SCHEMA_INVALID };

/* The one form of this entry, or NULL if it has none or several. */
static const struct field_set *
form_of(const struct node *entry)
{
        static const char *const own[] = { "name", "email", "avatar", "gpg_key" };
        bool is_ref = node_find(entry, "ref"), is_file = node_find(entry, "file"),
             is_person = false;

        for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
                is_person = is_person || node_find(entry, own[i]);
        if (is_ref + is_file + is_person != 1)
                return NULL;
        return is_ref ? &ref_set : is_file ? &file_set : &person_set;
}

static bool
entry_read(struct judge *j, const struct node *entry, const struct trail *at,
           struct spec_identity *ret)
{
        const struct field_set *form;

        if (entry->kind != NODE_MAP) {
                judge_error(j, entry, at, ERROR_SCHEMA_INVALID, "type", NULL,
                            "an identity is a map: { ref }, { file } or { name, email }");
                return false;
        }
        form = form_of(entry);
        if (form)
                return fields_read(j, form, entry, at, ret);
        judge_error(j, entry, at, ERROR_SCHEMA_INVALID, "form",
                    "Keep one of { ref }, { file } and { name, email }.",
                    "an identity is written in exactly one form");
        return false;
}

void
identity_read(struct judge *j, const struct node *identity, const struct trail *at, void *base)
{
        struct spec *spec = base;
        bool is_list = identity->kind == NODE_LIST;
        struct spec_identity *entries =
                arena_array(j->arena, struct spec_identity, is_list ? identity->len + 1 : 1);
        size_t count = 0, index = 0;

        if (!entries)
                return;
        spec->identities = entries;
        if (!is_list) {
                spec->identity_count = entry_read(j, identity, at, entries);
                return;
        }
        if (identity->len == 0)
                judge_error(j, identity, at, ERROR_SCHEMA_INVALID, "range",
                            "Omit `identity` if no identity is needed.",
                            "this list must not be empty");
        node_each(item, identity)
        {
                struct trail here = { at, NULL, index++ };

                count += entry_read(j, item, &here, &entries[count]);
        }
        spec->identity_count = count;
}
