/*
 * plan/request.h - the planner's input beside the spec and the facts: names already examined, ids
 * already reserved. All of it is data; the acting side holds the descriptors, and numbers refer to
 * them.
 */
#ifndef CARREL_PLAN_REQUEST_H
#define CARREL_PLAN_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * State of a name on which host programs act (B15), as found beneath its mount's source. FILE and
 * DIRECTORY are held read-only. ABSENT is moved away when it is created; MAY_BE_MADE is reported
 * when it is created. CONTENT is tracked by the repository, and a change is reported. CONFIG is
 * git's, present or not, and its content is judged at every change.
 */
enum protect_state {
        PROTECT_ABSENT,
        PROTECT_FILE,
        PROTECT_DIRECTORY,
        PROTECT_MAY_BE_MADE,
        PROTECT_CONTENT,
        PROTECT_CONFIG
};
enum { PLAN_CONFIGS_MAX = 16 }; /* names in state CONFIG, in all sources together */

struct plan_protect {
        const char *path; /* relative to the source, no "..", not empty */
        enum protect_state state;
        const char *why;
};

/* A host directory or file that was opened and judged. Plan steps refer to it by index. */
struct plan_source {
        /* absolute; to reopen it where a descriptor cannot be passed, and for people */
        const char *host_path;
        uint64_t device, inode; /* what the name must lead to */
        uint32_t owner_uid, owner_gid;
        bool is_directory;
        const char *const *submounts;
        size_t submount_count; /* relative paths of mounts beneath it */
        const char *const *sockets;
        size_t socket_count; /* relative paths of host sockets beneath it */
        const struct plan_protect *protect;
        size_t protect_count;
        /* relative path of a directory that the box sees empty, and cannot move; NULL: none */
        const char *hidden;
        /* Volume name, or NULL if this is not a volume. host_path is then
         * volume_place/NAME/data; device and inode are unknown until it is opened. */
        const char *volume;
        bool is_unmade;           /* a volume that does not exist yet */
        const char *volume_place; /* absolute: the directory of its owner's volumes */
        uint64_t volumes_max;     /* how many volumes the owner may have; UINT64_MAX: no limit */
        /* known repositories: a letter, a path and a NUL each (maker/survey.h) */
        const char *leads;
        size_t leads_len;
};

/* One mount of the spec, resolved. */
struct plan_mount {
        int source;     /* index into sources */
        const char *at; /* absolute, normalised */
        bool is_read_only;
        bool is_tool; /* programs that the host adds: read-only, executable */
};

/* An image as the root: its layers are the last of the sources, the lowest first. */
struct plan_rootfs {
        const char *ref; /* "NAME@sha256:HEX", for people */
        size_t layer_count;
        bool has_record;         /* before them: the image's record, which is only held */
        const char *cwd;         /* of the image; or NULL */
        uint32_t owner, owner_g; /* of the layers' files */
};

/* How a machine starts: see wire/saved.h. */
enum plan_machine_start { PLAN_MACHINE_BOOTS, PLAN_MACHINE_SAVES, PLAN_MACHINE_WAKES };

/* A virtual machine: QEMU, and what it boots. */
struct plan_machine {
        const char *qemu;    /* absolute */
        const char *kernel;  /* absolute */
        const char *modules; /* absolute paths, in the order of loading, a newline between them */
        const char *shares;  /* virtiofsd, absolute; NULL: the machine cannot have mounts */
        /* further modules, for a way out of the machine; "" if they are part of the kernel; NULL:
         * the kernel has none */
        const char *network;
        bool has_tap;     /* /dev/net/tun is there for this user */
        uint32_t tsc_khz; /* how fast the processor's time stamp counts */
        enum plan_machine_start start;
        int saved;       /* unless it boots: index of the source that is the saved machine */
        const char *why; /* why it boots, for people; NULL: it does not, or nobody looked */
};

/* A command name that links to a program, in PLAN_RUNTIME_DIR. */
struct plan_link {
        const char *name, *target;
};

/*
 * Defences that the test build can disable, to see their test fail. The shipped program cannot
 * disable any.
 */
enum plan_switch {
        SWITCH_FILTER = 1u << 0,
        SWITCH_LANDLOCK = 1u << 1,
        SWITCH_CAPS = 1u << 2,
        SWITCH_NO_NEW_PRIVS = 1u << 3,
        SWITCH_MASK = 1u << 4,
        SWITCH_READ_ONLY = 1u << 5,
        SWITCH_NET = 1u << 6,
        SWITCH_PID = 1u << 7,
        SWITCH_IPC = 1u << 8,
        SWITCH_UTS = 1u << 9,
        SWITCH_CGROUP_NS = 1u << 10,
        SWITCH_LIMITS = 1u << 11,
        SWITCH_RLIMITS = 1u << 12,
        SWITCH_HIDE = 1u << 13,
        SWITCH_PROTECT = 1u << 14,
        SWITCH_OVERLAY = 1u << 15,
        SWITCH_USER_NS = 1u << 16,
        SWITCH_NOSUID = 1u << 17,
        SWITCH_NODEV = 1u << 18,
        SWITCH_SIZE = 1u << 19,
        SWITCH_RESET = 1u << 20,
        SWITCH_CLOSE_FDS = 1u << 21,
        SWITCH_ENV = 1u << 22,
        SWITCH_SEAL = 1u << 24,
        SWITCH_IDENTITY = 1u << 25,
        SWITCH_PRIVATE_TMP = 1u << 26,
};

struct plan_request {
        const char *id; /* sandbox id, [0-9a-f]{16} */
        /* absolute directories for names moved out of mounts; the first usable one is used; or
         * NULL */
        const char *keeping[2];
        const char *lease_path; /* file to lock, or NULL if nothing outlives the processes */
        const struct plan_source *sources;
        size_t source_count;
        const struct plan_mount *mounts;
        size_t mount_count;
        const char *const *disks;
        size_t disk_count;     /* "major:minor" of the whole disks behind writable mounts */
        const char *gitconfig; /* text of /etc/gitconfig; NULL: no such file */
        const char *bridge;    /* text of PLAN_BRIDGE_FILE; NULL: no such file */
        const struct plan_link *links;
        size_t link_count;
        const struct plan_rootfs *rootfs; /* NULL: the root is made of the host's programs */
        /* the last of `sources` (before a rootfs) is not a mount: it is on the disk of the private
         * places */
        bool has_image;
        /* absolute: the directory below which the private directory is created; NULL: it is an
         * image */
        const char *private_place;
        /* why neither form is possible although one is wanted: a sentence; else NULL */
        const char *why_no_image;
        /* ids of the payload outside: the caller's, or a uid reserved for this box; with
         * `has_range` those of uid and gid 0 inside, and the first of STEP_RANGE_IDS */
        uint32_t outside_uid, outside_gid;
        bool has_range;
        /* uid and gid outside of the relay and, without a range, of the container runtime's id 0
         * inside; no command has it */
        uint32_t setup_id;
        /* absolute path of the container runtime that makes the sandbox; NULL: our own namespaces
         */
        const char *container;
        /* the virtual machine that is the sandbox; NULL: none. The last source is its disk */
        const struct plan_machine *machine;
        uint64_t timeout_ms; /* for the one command; 0: none, or the box outlives it */
        /* runs many commands and may be frozen: has a group even if no limit needs one */
        bool is_living;
        bool watches_exec;     /* every execve is reported */
        uint32_t switched_off; /* enum plan_switch; 0 in the shipped program */
};

/* The ids of the payload inside, always. */
enum { PLAN_UID = 1000, PLAN_GID = 1000 };
#define PLAN_NO_ID UINT64_MAX /* a TREE step whose ids are not mapped */
#define PLAN_USER "agent"
#define PLAN_HOME "/home/agent"
#define PLAN_ROOT_HOME "/root" /* of `user: root` in an image */
#define PLAN_MQUEUE "/dev/mqueue"
/* what carrel-bridge reads, and the variable with the provider's own key (bridge/process) */
#define PLAN_BRIDGE_FILE "/etc/carrel-bridge.json"
#define PLAN_BRIDGE_KEY "CARREL_PROVIDER_KEY"
#define PLAN_SHELL "/bin/sh"
/* with a container runtime: pid 1's program inside; where the root is made outside, in a mount
 * namespace of its own */
#define PLAN_PROGRAM "/.carrel-init"
#define PLAN_STAND "/mnt"
/* with a virtual machine: the word that starts pid 1 there, and where it mounts the disk */
#define PLAN_MACHINE_WORD "machine"
#define PLAN_MACHINE_DISK "/image"
/*
 * A saved machine has two places for devices, empty when it is saved: QEMU's transports of these
 * numbers, at these addresses, with these interrupts (maker/slots.c). What is put there when it
 * wakes is found by pid 1. Not transport 0: QEMU 7.2 delivers its interrupt to another line.
 */
#define PLAN_MACHINE_NETWORK_AT "virtio-mmio-bus.1"
#define PLAN_MACHINE_SHARE_AT "virtio-mmio-bus.2"
/* with that word: pid 1 sleeps when its kernel has started; it is a new program after it woke */
#define PLAN_MACHINE_ASLEEP "asleep"
#define PLAN_MACHINE_WOKEN "woken"
/* the memory of a machine that is saved or wakes: a file of QEMU's root */
#define PLAN_MACHINE_MEMORY "/memory"
/* where the host's mounts are, in QEMU's box and in the machine, and the name between them */
#define PLAN_MACHINE_SHARES "/share"
#define PLAN_MACHINE_TAG "carrel"
/* answers DNS queries behind the wall: WALL_GATE of wall/wall.h */
#define PLAN_RESOLVER "198.18.0.1"
/* holds the commands of a chosen interpreter; first in PATH */
#define PLAN_RUNTIME_DIR "/carrel/bin"

#endif
