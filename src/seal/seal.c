/*
 * seal/seal.c - applies the rows of seal/seal.def.
 *
 * Room: seal (words). Touches: the calling process.
 * Theory: every step only removes rights, so their order matters only where one needs another:
 * no_new_privs comes before Landlock and the filter, and the filter is last.
 */
#include "seal/seal.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "filter/own.h"
#include "seal/landlock.h"

enum capabilities { CAPABILITIES_NONE = 0, CAPABILITIES_READ_SEARCH = 1 << CAP_DAC_READ_SEARCH };
enum bounding { BOUNDING_KEPT, BOUNDING_EMPTIED, BOUNDING_REQUIRED };
enum files { FILES_ALL, FILES_READ, FILES_CLOSED };
enum network {
        NETWORK_ANY,
        NETWORK_CONNECT = LANDLOCK_BIND,
        NETWORK_CLOSED = LANDLOCK_BIND | LANDLOCK_CONNECT
};
enum calls {
        CALLS_KEEPER = FILTER_KEEPER,
        CALLS_DOOR = FILTER_DOOR,
        CALLS_BOX = FILTER_BOX,
        CALLS_GATE = FILTER_GATE,
        CALLS_JUDGE = FILTER_JUDGE,
        CALLS_RECORDER = FILTER_RECORDER,
        CALLS_UNPACK = FILTER_UNPACK,
        CALLS_RELAY = FILTER_RELAY,
        CALLS_LOOK = FILTER_LOOK,
        CALLS_BRIDGE = FILTER_BRIDGE,
        CALLS_STAND_IN = FILTER_STAND_IN,
        CALLS_ANY = FILTER_OWN_MAX
};
enum core { CORE_KEPT, CORE_CLOSED };

struct row {
        uint32_t capabilities;
        enum bounding bounding;
        enum files files;
        enum network network;
        enum calls calls;
        rlim_t open_files;
        enum core core;
};

static const struct row rows[SEAL_PROCESSES] = {
#define SEAL(process, capabilities, bounding, files, network, calls, open_files, core, why) \
        [SEAL_##process] = { CAPABILITIES_##capabilities,                                   \
                             BOUNDING_##bounding,                                           \
                             FILES_##files,                                                 \
                             NETWORK_##network,                                             \
                             CALLS_##calls,                                                 \
                             open_files,                                                    \
                             CORE_##core },
#include "seal/seal.def"
#undef SEAL
};

/* What FILES_READ denies. A file may be renamed only where it may be made and removed. */
enum { READING = LANDLOCK_READ_FILE | LANDLOCK_READ_DIR };
static const uint64_t changing =
        (((LANDLOCK_MAKE_SYM << 1) - 1) | LANDLOCK_REFER | LANDLOCK_TRUNCATE) & ~(uint64_t)READING;

/* -- privileges -------------------------------------------------------------------------------- */

static int
empty_bounding(enum bounding how)
{
        unsigned long c = 0;

        (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
        while (prctl(PR_CAPBSET_DROP, c, 0, 0, 0) == 0)
                c++;
        /* EINVAL: past the last one. Otherwise an ordinary user, or root without the right to. */
        return errno == EINVAL || how != BOUNDING_REQUIRED || geteuid() != 0 ? 0 : -errno;
}

/* An ordinary user has no capability to keep. */
static int
drop_capabilities(const struct row *row)
{
        struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
        struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = { 0 };
        int result = row->bounding == BOUNDING_KEPT ? 0 : empty_bounding(row->bounding);

        if (geteuid() == 0)
                sets[0].effective = sets[0].permitted = row->capabilities;
        if (result < 0)
                return result;
        return syscall(SYS_capset, &head, sets) < 0 ? -errno : 0;
}

/* A limit that cannot be set leaves the lower one that the process got. */
static void
limit_resources(const struct row *row)
{
        struct rlimit files, none = { 0, 0 };

        if (row->open_files > 0 && getrlimit(RLIMIT_NOFILE, &files) == 0) {
                if (files.rlim_max > row->open_files)
                        files.rlim_max = row->open_files;
                files.rlim_cur = files.rlim_max;
                (void)setrlimit(RLIMIT_NOFILE, &files);
        }
        if (row->core == CORE_CLOSED)
                (void)setrlimit(RLIMIT_CORE, &none);
}

int
seal_privileges(enum seal_process who, const char **ret_step)
{
        const struct row *row = &rows[who];

        limit_resources(row);
        *ret_step = "giving up new privileges";
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                return -errno;
        *ret_step = "closing its memory to other processes";
        if (row->core == CORE_CLOSED && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
                return -errno;
        *ret_step = "dropping capabilities";
        return drop_capabilities(row);
}

/* -- the world --------------------------------------------------------------------------------- */

static int
apply_rules(const struct row *row, unsigned abi, const struct seal_place *places, size_t count)
{
        struct landlock_rights rights = {
                row->files == FILES_READ ? changing : LANDLOCK_FS_ALL, row->network,
                row->files == FILES_READ ? 0 : LANDLOCK_ABSTRACT | LANDLOCK_SIGNAL
        };
        uint64_t known = landlock_known(abi) & rights.fs;
        int rules = landlock_create(abi, &rights), result = 0;

        if (rules < 0)
                return rules;
        for (size_t i = 0; i < count && result == 0; i++)
                if (places[i].fd >= 0)
                        result = landlock_permit(rules, places[i].access & known, places[i].fd);
        if (result == 0)
                result = landlock_apply(rules);
        (void)close(rules);
        return result;
}

/* An ordinary user's keeper may write what the user may write. */
static int
close_files(const struct row *row, const struct seal_place *places, size_t count)
{
        unsigned abi = landlock_version();

        if (row->files == FILES_ALL)
                return 0;
        if (abi == 0)
                return row->files == FILES_READ && geteuid() == 0 ? -EOPNOTSUPP : 0;
        return apply_rules(row, abi, places, count);
}

int
seal_world(enum seal_process who, const struct seal_place *places, size_t count,
           const char **ret_step)
{
        const struct row *row = &rows[who];
        int result;

        *ret_step = "limiting files and network with Landlock";
        result = close_files(row, places, count);
        if (result < 0 || row->calls == CALLS_ANY)
                return result;
        *ret_step = "limiting system calls";
        return filter_enter((enum filter_own)row->calls);
}
