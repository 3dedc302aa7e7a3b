/*
 * policy/host_limits.c - how much one sandbox, and one owner, may use on this host.
 *
 * Room: policy (deciding, pure). Touches: nothing.
 * Knows the fields of a manifest's limits, and the bounds of other users if the host sets none.
 * Knows nothing of which user asks.
 * Theory: resources that are held at the same time have a number (memory, tasks, descriptors,
 * disk). Rates are shared by weight and time passes, so those have none.
 */
#include "policy/host_limits.h"

#include <string.h>

#include "spec/section.h"

/* For a caller other than the daemon's own user. */
enum {
        OTHERS_MEMORY_MB = 4096,
        OTHERS_PIDS = 1024,
        OTHERS_FILES = 16384,
        OTHERS_DISK_MB = 2048,
        OTHERS_SANDBOXES = 64,
        OTHERS_EXECS = 1024,
        OTHERS_VOLUMES = 16
};

struct host_limits
host_limits_none(void)
{
        const uint64_t no = SPEC_UNSET;

        return (struct host_limits){ .each = { .timeout_ms = no,
                                               .memory_mb = no,
                                               .cpu_ms = no,
                                               .cpu_millicores = no,
                                               .pids = no,
                                               .open_files = no,
                                               .io_read_bps = no,
                                               .io_write_bps = no,
                                               .disk_mb = no,
                                               .output_bytes = no },
                                     .sandboxes = no,
                                     .execs = no,
                                     .volumes = no };
}

static void
fill(uint64_t *number, uint64_t instead)
{
        if (*number == SPEC_UNSET)
                *number = instead;
}

void
host_limits_of_others(struct host_limits *l)
{
        fill(&l->each.memory_mb, OTHERS_MEMORY_MB);
        fill(&l->each.pids, OTHERS_PIDS);
        fill(&l->each.open_files, OTHERS_FILES);
        fill(&l->each.disk_mb, OTHERS_DISK_MB);
        fill(&l->sandboxes, OTHERS_SANDBOXES);
        fill(&l->execs, OTHERS_EXECS);
        fill(&l->volumes, OTHERS_VOLUMES);
}

const struct field *
host_limits_row(size_t index, const char **ret_section)
{
        static const struct {
                const struct field_set *set;
                const char *section;
        } parts[] = {
                { &limits_set, "limits" },
                { &carrel_limits_set, "metadata/carrel/limits" },
        };

        for (size_t p = 0; p < sizeof parts / sizeof parts[0]; p++)
                for (size_t i = 0; i < parts[p].set->count; i++)
                        if (parts[p].set->rows[i].kind == FIELD_UINT && index-- == 0) {
                                *ret_section = parts[p].section;
                                return &parts[p].set->rows[i];
                        }
        return NULL;
}

const struct field *
host_limits_find(const char *name)
{
        const struct field *row;
        const char *section;

        for (size_t i = 0; (row = host_limits_row(i, &section)) != NULL; i++)
                if (strcmp(row->name, name) == 0)
                        return row;
        return NULL;
}

void
host_limits_lower(const struct host_limits *l, struct spec_limits *given)
{
        const struct field *row;
        const char *section;

        for (size_t i = 0; (row = host_limits_row(i, &section)) != NULL; i++) {
                uint64_t most, has;

                memcpy(&most, (const char *)&l->each + row->offset, sizeof most);
                memcpy(&has, (const char *)given + row->offset, sizeof has);
                if (has == row->fallback && has > most)
                        memcpy((char *)given + row->offset, &most, sizeof most);
        }
}

bool
host_limits_hold(const struct host_limits *l, const struct spec_limits *given)
{
        const struct field *row;
        const char *section;

        for (size_t i = 0; (row = host_limits_row(i, &section)) != NULL; i++) {
                uint64_t most, has;

                memcpy(&most, (const char *)&l->each + row->offset, sizeof most);
                memcpy(&has, (const char *)given + row->offset, sizeof has);
                if (has > most) /* SPEC_UNSET is the largest number */
                        return false;
        }
        return true;
}
