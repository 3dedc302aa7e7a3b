/*
 * host/programs.h - which program a name or a path is, on this machine: by file, not by name.
 *
 * The directories are those that a sandbox has in its PATH, and sbin. Two names are the same
 * program if they are the same inode.
 */
#ifndef CARREL_HOST_PROGRAMS_H
#define CARREL_HOST_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "spec/spec.h"

enum { HOST_PROGRAM_DIRECTORIES = 32, HOST_PROGRAM_PATH = 4096 };

enum host_found {
        HOST_FOUND,
        HOST_ABSENT,
        HOST_UNKNOWN /* a name is then no program, also if a later directory of PATH has it */
};

/* Another root than this machine's, in which names are looked up. */
struct host_tree {
        /* the real path and the state of an absolute path */
        enum host_found (*find)(void *context, const char *path, char real[HOST_PROGRAM_PATH],
                                struct stat *ret);
        /* names in a directory, in no order; some may not exist */
        void (*each)(void *context, const char *path, void (*visit)(void *of, const char *name),
                     void *of);
        void (*close)(void *context);
        void *context;
};

struct host_programs {
        struct arena *arena;        /* borrowed */
        struct host_program *items; /* NULL: not listed yet */
        size_t count;
        int folder; /* descriptor that relative paths begin at; borrowed, or AT_FDCWD */
        const char *directories[HOST_PROGRAM_DIRECTORIES];
        size_t directory_count;
        /* NULL: all files of this machine count; else only those below these directories */
        const struct spec_names *roots;
        const struct host_tree *tree; /* NULL: this machine. Borrowed */
        /* a directory of PATH is not below the roots: what a name is cannot be known */
        bool is_open;
};

/* Both 0: no file. */
struct host_file_id {
        uint64_t device, inode;
};

/* Nothing is read before the first path is looked up. */
void host_programs_init(struct host_programs *p, struct arena *arena, int folder);

/*
 * Only what a sandbox has of this machine, at the same paths and read-only: `roots` (absolute,
 * normal; borrowed). `path` is the PATH of a command there. A relative path, a path with ".." and
 * a directory of PATH that is not below the roots are not known.
 */
void host_programs_confine(struct host_programs *p, const struct spec_names *roots,
                           const char *path);

/*
 * Only what `tree` has, which commands cannot write; `path` as above. A directory of PATH that the
 * tree does not know makes every name unknown. Closed by host_programs_fini().
 */
void host_programs_inside(struct host_programs *p, const struct host_tree *tree, const char *path);
void host_programs_fini(struct host_programs *p);

/* The file of a word and, as below, its name. */
const char *host_programs_look(struct host_programs *p, const char *word, struct host_file_id *ret);

/*
 * The name in PATH of the file that `word` is: a name, or a path if it has a slash. NULL: none.
 * `word`'s last part is preferred if it is one of the names. Borrowed from `word` or the arena.
 * Beyond 65,536 programs, or without memory for their list, some are not found.
 */
const char *host_programs_find(void *programs, const char *word);

/*
 * Is there surely no program of this name in PATH? False for a path, an unusual name, and if PATH
 * has a directory that is not known. *ret_near (borrowed from the arena): the name that was
 * probably meant, or NULL.
 */
bool host_programs_lack(struct host_programs *p, const char *name, const char **ret_near);

/* Are these the same file? False if one of them does not exist. */
bool host_programs_same(void *programs, const char *one, const char *other);

#endif
