/*
 * image/unpack/target.h - puts the entries of an archive below one directory, and nowhere else.
 *
 * Every name is walked by the kernel beneath the directory, through directories alone
 * (openat2(2): RESOLVE_BENEATH, RESOLVE_NO_SYMLINKS). An entry that cannot be put there is refused
 * with a reason and its name; nothing is guessed:
 *
 *   absolute      the name begins with a slash          dot_dot       a component is ".."
 *   name_empty    the name is missing or not text       name_long     above 4095 bytes, or 255 of a
 *                                                                     component, or 128 components
 *   beneath_link  a component on the way is a symbolic link or a file
 *   link_out      a hard link names nothing in this layer
 *   directory     a file would replace a directory that is not empty
 *   entries, size the archive exceeds a limit           room          the disk would be full
 *   unsupported   a form of entry that cannot be unpacked
 *
 * Devices and sockets are left out and counted. Set-id bits, extended attributes and owners are not
 * kept: all files belong to the user who unpacks. Directories are always open to their owner.
 * Source: OCI image layer specification ("Applying Changesets", "Whiteouts").
 */
#ifndef CARREL_IMAGE_UNPACK_TARGET_H
#define CARREL_IMAGE_UNPACK_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

enum { TARGET_PATH_MAX = 4095, TARGET_DEPTH_MAX = 128, TARGET_ERROR_SHOWN = 200 };

struct target_limits {
        uint64_t entries; /* how many entries */
        uint64_t bytes;   /* of all files together, as long as they say they are */
        uint64_t floor;   /* bytes that stay free on the disk */
};

/* Why an entry was refused. */
struct target_refusal {
        const char *reason; /* a word of the list above; "failed": the kernel, see sys */
        int sys;            /* errno, or 0 */
        char entry[TARGET_ERROR_SHOWN]; /* the entry's name, its begin; control bytes as "?" */
};

struct target_time {
        size_t name; /* where its name begins in `names` */
        struct timespec at;
};

struct target {
        int root;      /* borrowed: the directory */
        bool is_layer; /* whiteouts are applied; without it, files, directories and
                          symbolic links are unpacked, and others refused */
        struct target_limits limits;
        uint64_t entries, bytes, left_out; /* so far */
        uint64_t since_look;               /* bytes since the disk's room was looked at */
        int parent;                        /* the directory of the last entry, or -1 */
        char parent_name[TARGET_PATH_MAX + 1];
        char name[TARGET_PATH_MAX + 1]; /* of the entry at hand, in normal form */
        struct target_time *times;      /* of directories, set at the end */
        size_t time_count, time_room;
        char *names;
        size_t names_len, names_room;
        struct target_refusal refusal; /* after a call returned -1 */
};

/* One entry, as the archive says. Texts are borrowed. */
struct target_entry {
        const char *name; /* NULL: it is not text */
        mode_t mode;      /* with its type */
        const char *link; /* target of a symbolic link */
        const char *hard; /* name that a hard link names; NULL: it is none */
        uint64_t size;    /* bytes of a file */
        struct timespec at;
};

/* Begins; `root` is borrowed, and empty. End with target_close(). */
void target_open(struct target *p, int root, bool is_layer, const struct target_limits *limits);
void target_close(struct target *p);

/*
 * Makes the entry. *ret_fd: a new empty file that is open for writing, which the caller fills and
 * gives to target_filled(); or -1 if the entry has no content. 0, or -1 with p->refusal.
 */
int target_make(struct target *p, const struct target_entry *entry, int *ret_fd);

/* Before the caller writes `len` bytes of a file: is there room? 0, or -1 with p->refusal. */
int target_room(struct target *p, size_t len);

/* Sets length, mode and time of a filled file, and closes it. 0, or -1 with p->refusal. */
int target_filled(struct target *p, const struct target_entry *entry, int fd);

/* Sets the times of directories, after the last entry. 0, or -1 with p->refusal. */
int target_end(struct target *p);

/* Refuses the entry at hand. Returns -1. */
int target_refuse(struct target *p, const char *entry, const char *reason, int sys);

#endif
