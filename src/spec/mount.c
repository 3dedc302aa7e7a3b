/*
 * spec/mount.c - the mounts of a sandbox, and their paths inside.
 *
 * Room: spec (deciding, pure). Touches: mem.
 * Knows the form of a source and of `at`. Knows nothing of what a source holds or whether it
 * exists.
 */
#include <string.h>

#include "base/name.h"
#include "spec/path.h"
#include "spec/section.h"

enum { MOUNTS_MAX = 64, AT_MAX = 4095 };

struct draft { /* a mount while its rows are read */
        const struct node *source;
        const char *at, *mode;
};

/* An AIP-35 storage block: only provider and config are read here, the rest belongs to that AIP. */
struct storage {
        const char *provider;
        const struct node *config;
        bool is_read_only;
};

static const struct field storage_rows[] = {
        { .name = "provider",
          .kind = FIELD_TEXT,
          .flags = FIELD_REQUIRED,
          .min = 1,
          .offset = offsetof(struct storage, provider),
          .help = "AIP-35 storage provider: local-fs, or carrel-volume for a named volume." },
        { .name = "config",
          .kind = FIELD_MAP,
          .flags = FIELD_REQUIRED,
          .offset = offsetof(struct storage, config),
          .help = "Settings of that provider: {path: DIR}, or {name: VOLUME}." },
        { .name = "read_only",
          .camel = "readOnly",
          .kind = FIELD_BOOL,
          .flags = FIELD_UNLISTED,
          .offset = offsetof(struct storage, is_read_only),
          .help = "The storage refuses writes." },
};
static const struct field_set storage_set = { FIELD_SET(storage_rows), .code = ERROR_MOUNT_INVALID,
                                              .is_open = true };

static const struct field ref_rows[] = {
        { .name = "ref",
          .kind = FIELD_TEXT,
          .flags = FIELD_REQUIRED,
          .min = 1,
          .offset = offsetof(struct spec_mount, ref),
          .help = "A workspace or a storage: ./path, ../sibling/path or @owner/slug." },
};
static const struct field file_rows[] = {
        { .name = "file",
          .kind = FIELD_TEXT,
          .flags = FIELD_REQUIRED,
          .min = 1,
          .offset = offsetof(struct spec_mount, ref),
          .help = "A storage file in the workspace." },
};
static const struct field inline_rows[] = {
        { .name = "inline",
          .kind = FIELD_MAP,
          .flags = FIELD_REQUIRED,
          .members = &storage_set,
          .offset = FIELD_NOWHERE,
          .help = "A storage block (AIP-35)." },
};
static const struct field_set ref_set = { FIELD_SET(ref_rows), .code = ERROR_MOUNT_INVALID };
static const struct field_set file_set = { FIELD_SET(file_rows), .code = ERROR_MOUNT_INVALID };
static const struct field_set inline_set = { FIELD_SET(inline_rows), .code = ERROR_MOUNT_INVALID };

static const char *const workspace_choice[] = { "workspace", NULL };
static const char *const mode_choices[] = { "read-write", "read-only", NULL };

static const struct field source_forms_rows[] = {
        { .kind = FIELD_CHOICE,
          .choices = workspace_choice,
          .help = "the parent workspace's own storage" },
        { .kind = FIELD_MAP, .members = &ref_set, .help = "another workspace or storage" },
        { .kind = FIELD_MAP, .members = &file_set, .help = "a storage file" },
        { .kind = FIELD_MAP, .members = &inline_set, .help = "a storage block written here" },
};
static const struct field_set source_forms = { FIELD_SET(source_forms_rows),
                                               .code = ERROR_MOUNT_INVALID };

static const struct field mount_rows[] = {
        { .name = "source",
          .kind = FIELD_ONE_OF,
          .flags = FIELD_REQUIRED,
          .members = &source_forms,
          .offset = offsetof(struct draft, source),
          .help = "What to mount: `workspace`, or a map with ref, file or inline." },
        { .name = "at",
          .kind = FIELD_TEXT,
          .flags = FIELD_REQUIRED,
          .pattern = "^/",
          .max = AT_MAX,
          .offset = offsetof(struct draft, at),
          .help = "Absolute path inside the sandbox." },
        { .name = "mode",
          .kind = FIELD_CHOICE,
          .choices = mode_choices,
          .offset = offsetof(struct draft, mode),
          .help = "read-write (default) or read-only." },
};
static const struct field_set mount_set = { FIELD_SET(mount_rows), .code = ERROR_MOUNT_INVALID };

const struct field mount_item = { .kind = FIELD_MAP, .members = &mount_set, .help = "One mount." };

static const struct {
        enum path_fault fault;
        const char *reason, *sentence;
} at_faults[] = {
        { PATH_CHARSET, "charset", "`at` holds a control byte" },
        { PATH_NOT_ABSOLUTE, "not_absolute",
          "`at` must start with \"/\": it is a path inside the sandbox" },
        { PATH_DOTDOT, "dotdot", "`at` must not hold \"..\"" },
        { PATH_RESERVED, "reserved",
          "/, /proc, /sys and /dev belong to the sandbox itself; mount elsewhere" },
};

static void
at_read(struct judge *j, const struct node *map, const char *text, const struct trail *at,
        struct spec_mount *mount)
{
        struct trail here = { at, "at", 0 };
        enum path_fault fault = path_read_absolute(j->arena, text, &mount->at);

        for (size_t i = 0; i < sizeof at_faults / sizeof at_faults[0]; i++)
                if (at_faults[i].fault == fault)
                        judge_error(j, node_find(map, "at"), &here, ERROR_MOUNT_INVALID,
                                    at_faults[i].reason,
                                    "Write a path of its own, for example at: /workspace.", "%s",
                                    at_faults[i].sentence);
}

/* A name, never a path: the host decides where volumes are stored. */
static void
volume_read(struct judge *j, const struct node *inner, const struct trail *at,
            struct spec_mount *mount)
{
        const struct node *config = mount->storage_config,
                          *name = config ? node_find(config, "name") : NULL;
        struct trail in_config = { at, "config", 0 }, here = { &in_config, "name", 0 };

        if (config && config->kind == NODE_MAP && config->len == 1 && name &&
            name->kind == NODE_STRING && name_is_valid(name->text))
                mount->volume = name->text;
        else
                judge_error(j, name ? name : inner, &here, ERROR_MOUNT_INVALID, "volume_name",
                            NAME_HINT " Write config: {name: npm-cache}",
                            "the config of " SPEC_VOLUME " storage is one name: " NAME_SHAPE);
}

/* The inline block was checked with its set; here it is stored. */
static void
inline_read(struct judge *j, const struct node *inner, const struct trail *at,
            struct spec_mount *mount)
{
        struct trail here = { at, "inline", 0 };
        struct storage storage = { 0 };

        (void)fields_read(j, &storage_set, inner, &here, &storage);
        mount->kind = SPEC_SOURCE_INLINE;
        mount->storage_provider = storage.provider;
        mount->storage_config = storage.config;
        mount->storage_read_only = storage.is_read_only;
        if (storage.provider && strcmp(storage.provider, SPEC_VOLUME) == 0)
                volume_read(j, inner, &here, mount);
}

static void
source_map_read(struct judge *j, const struct node *source, const struct trail *at,
                struct spec_mount *mount)
{
        const struct node *only = source->first;

        if (source->len != 1 || (strcmp(only->key, "ref") != 0 && strcmp(only->key, "file") != 0 &&
                                 strcmp(only->key, "inline") != 0)) {
                judge_error(j, source, at, ERROR_MOUNT_INVALID, "source_form", NULL,
                            "a source written as a map has exactly one of ref, file and inline");
                return;
        }
        if (strcmp(only->key, "inline") == 0) {
                inline_read(j, only, at, mount);
                return;
        }
        mount->kind = strcmp(only->key, "ref") == 0 ? SPEC_SOURCE_REF : SPEC_SOURCE_FILE;
        (void)fields_read(j, mount->kind == SPEC_SOURCE_REF ? &ref_set : &file_set, source, at,
                          mount);
}

static const char *
another_directory(struct judge *j, const char *text)
{
        bool is_plain = text[0] == '/' || strncmp(text, "./", 2) == 0,
             is_outside = text[0] == '~' || strncmp(text, "..", 2) == 0;

        return arena_format(j->arena,
                            "Write `source: workspace`. For another directory: carrel run -v "
                            "%s%s:/PATH -- COMMAND",
                            is_plain || is_outside ? "" : "./",
                            is_outside ? "/DIR" : judge_quote(j, text));
}

static void
source_read(struct judge *j, const struct node *source, const struct trail *at,
            struct spec_mount *mount)
{
        struct trail here = { at, "source", 0 };

        if (source->kind == NODE_MAP)
                source_map_read(j, source, &here, mount);
        else if (source->kind != NODE_STRING)
                judge_error(j, source, &here, ERROR_MOUNT_INVALID, "type", NULL,
                            "a source is `workspace`, or a map with one of ref, file and inline");
        else if (!node_is_text(source, "workspace"))
                judge_error(j, source, &here, ERROR_MOUNT_INVALID, "source_string",
                            another_directory(j, source->text),
                            "`%s`: the only source written as a word is `workspace`",
                            judge_quote(j, source->text));
}

static void
mode_read(struct judge *j, const struct node *map, const char *mode, const struct trail *at,
          struct spec_mount *mount)
{
        struct trail here = { at, "mode", 0 };
        const struct node *where = node_find(map, "mode");

        mount->is_read_only = mode && strcmp(mode, "read-only") == 0;
        if (!mount->storage_read_only || mount->is_read_only)
                return;
        mount->is_read_only = true;
        judge_warn(j, where ? where : map, &here, "mount_mode_narrowed",
                   "the storage is read-only, so the mount is read-only as well");
}

static void
duplicate_check(struct judge *j, const struct node *map, const struct trail *at,
                const struct spec_mount *mounts, size_t count)
{
        struct trail here = { at, "at", 0 };

        for (size_t i = 0; i < count; i++)
                if (mounts[i].at && mounts[count].at &&
                    strcmp(mounts[i].at, mounts[count].at) == 0) {
                        judge_error(j, node_find(map, "at"), &here, ERROR_MOUNT_INVALID,
                                    "duplicate", "Give each mount a path of its own.",
                                    "another mount has the path `%s`",
                                    judge_quote(j, mounts[i].at));
                        return;
                }
}

static void
mount_read(struct judge *j, const struct node *map, const struct trail *at,
           struct spec_mount *mounts, size_t index)
{
        struct spec_mount *mount = &mounts[index];
        struct draft draft = { 0 };

        mount->place = (struct spec_place){ map->line, map->column };
        (void)fields_read(j, &mount_set, map, at, &draft);
        if (draft.source)
                source_read(j, draft.source, at, mount);
        if (draft.at)
                at_read(j, map, draft.at, at, mount);
        duplicate_check(j, map, at, mounts, index);
        mode_read(j, map, draft.mode, at, mount);
}

void
mounts_read(struct judge *j, const struct node *list, const struct trail *at, void *base)
{
        struct spec *spec = base;
        struct spec_mount *mounts = arena_array(j->arena, struct spec_mount, list->len + 1);
        size_t index = 0;

        if (!mounts)
                return;
        node_each(item, list)
        {
                struct trail here = { at, NULL, index };

                mount_read(j, item, &here, mounts, index);
                index++;
        }
        spec->mounts = mounts;
        spec->mount_count = index;
}
