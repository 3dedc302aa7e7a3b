/*
 * plan/request.h - what the planner is asked, beside the spec and the facts: names already looked at, ids
 * already reserved. All of it is data; descriptors are numbers that stand for what the acting side holds.
 */
#ifndef CARREL_PLAN_REQUEST_H
#define CARREL_PLAN_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A name that programs of the host act on (B15), as it was found beneath its mount's source. FILE and DIRECTORY are held read-only; one that
 * is ABSENT is moved away when it is made; MAY_BE_MADE is reported then; CONTENT is tracked by the repository: a change is reported. CONFIG is git's, there or not: what it
 * says is judged whenever it changes.
 */
enum protect_state { PROTECT_ABSENT, PROTECT_FILE, PROTECT_DIRECTORY, PROTECT_MAY_BE_MADE, PROTECT_CONTENT, PROTECT_CONFIG };
enum { PLAN_CONFIGS_MAX = 16 };        /* names in state CONFIG, in all sources together */

struct plan_protect {
        const char *path;              /* relative to the source, no "..", not empty */
        enum protect_state state;
        const char *why;
};

/* A host directory or file that was opened and judged: plan steps name it by its index. */
struct plan_source {
        const char *host_path;         /* absolute; for reopening where a descriptor cannot cross, and for people */
        uint64_t device, inode;        /* what must be found there */
        uint32_t owner_uid, owner_gid;
        bool is_directory;
        const char *const *submounts;  size_t submount_count;    /* relative paths of mounts beneath it */
        const char *const *sockets;    size_t socket_count;      /* relative paths of host sockets beneath it */
        const struct plan_protect *protect;  size_t protect_count;
        const char *volume;            /* its name; host_path is volume_place/NAME/data, and device and inode are not known before it is opened; NULL: it is none */
        bool is_unmade;                /* a volume that is not there yet */
        const char *volume_place;      /* absolute: where its owner's volumes are */
        uint64_t volumes_max;          /* how many there may be; UINT64_MAX: any number */
        const char *leads;  size_t leads_len;  /* repositories that are known: a letter, a path and a NUL each (maker/survey.h) */
};

/* One mount of the spec, resolved. */
struct plan_mount {
        int source;                    /* index into sources */
        const char *at;                /* absolute, normalised */
        bool is_read_only;
        bool is_tool;                  /* programs the host brings in: read-only, executable */
};

/* A command that leads to a program: a link in PLAN_RUNTIME_DIR. */
struct plan_link { const char *name, *target; };

/* Defences that the test build can leave out, to see their test fail. The shipped program has no way to set one. */
enum plan_layer {
        LAYER_FILTER = 1u << 0, LAYER_LANDLOCK = 1u << 1, LAYER_CAPS = 1u << 2, LAYER_NO_NEW_PRIVS = 1u << 3,
        LAYER_MASK = 1u << 4, LAYER_READ_ONLY = 1u << 5, LAYER_NET = 1u << 6, LAYER_PID = 1u << 7, LAYER_IPC = 1u << 8,
        LAYER_UTS = 1u << 9, LAYER_CGROUP_NS = 1u << 10, LAYER_LIMITS = 1u << 11, LAYER_RLIMITS = 1u << 12,
        LAYER_HIDE = 1u << 13, LAYER_PROTECT = 1u << 14, LAYER_OVERLAY = 1u << 15, LAYER_USER_NS = 1u << 16,
        LAYER_NOSUID = 1u << 17, LAYER_NODEV = 1u << 18, LAYER_SIZE = 1u << 19, LAYER_RESET = 1u << 20,
        LAYER_CLOSE_FDS = 1u << 21, LAYER_ENV = 1u << 22, LAYER_SEAL = 1u << 24,
        LAYER_IDENTITY = 1u << 25, LAYER_PRIVATE_TMP = 1u << 26,
};

struct plan_request {
        const char *id;                /* sandbox id, [0-9a-f]{16} */
        const char *keeping[2];        /* absolute directories for what is moved out of mounts: the first that can be used is; or NULL */
        const char *lease_path;        /* file to lock, or NULL when nothing outlives the processes */
        const struct plan_source *sources;  size_t source_count;
        const struct plan_mount *mounts;    size_t mount_count;
        const char *const *disks;  size_t disk_count;   /* "major:minor" of the whole disks behind writable mounts */
        const char *gitconfig;         /* text of /etc/gitconfig; NULL: none is made */
        const struct plan_link *links;  size_t link_count;
        bool has_image;                /* the last of `sources` is no mount: an image of the private places can lie there */
        const char *why_no_image;      /* where none can lie although one is wanted: a sentence; else NULL */
        uint32_t outside_uid, outside_gid;  /* whom the payload is outside: the caller, or a uid reserved for this box */
        uint64_t timeout_ms;           /* of the one command; 0: none, or the box outlives it */
        bool is_living;                /* holds many commands and may be frozen: has a group even where no limit needs one */
        uint32_t layers_off;           /* enum plan_layer; 0 in the shipped program */
};

/* Who the payload is inside, always. */
enum { PLAN_UID = 1000, PLAN_GID = 1000 };
#define PLAN_NO_ID UINT64_MAX              /* a TREE whose ids are left as they are */
#define PLAN_USER "agent"
#define PLAN_HOME "/home/agent"
#define PLAN_SHELL "/bin/sh"
#define PLAN_RESOLVER "198.18.0.1"          /* who answers names behind the wall: WALL_GATE of wall/wall.h */
#define PLAN_RUNTIME_DIR "/carrel/bin"      /* holds the names of a chosen interpreter, first on the search path */

#endif
