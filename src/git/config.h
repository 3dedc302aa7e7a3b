/*
 * git/config.h - a strict reader of git's configuration, and the list of keys that run nothing.
 *
 * The list is an allow-list: a key that is not in it, or an ordinary key with a value that is not
 * ordinary (a URL with a helper, a submodule that is updated by a command), counts as one that may
 * run a program, redirect a connection or read another file. Sections and keys are compared without
 * case, subsections with it, as git does.
 */
#ifndef CARREL_GIT_CONFIG_H
#define CARREL_GIT_CONFIG_H

#include <stddef.h>
#include <stdint.h>

enum {
        GIT_CONFIG_MAX = 64 << 10 /* bytes of a file; a longer one is not read */,
        GIT_KEY_ROOM = 256,
        GIT_VALUE_ROOM = 4096
};

/* One entry, as git sees it: `key` is section.key or section.subsection.key, section and key in
 * small letters. */
struct git_entry {
        char key[GIT_KEY_ROOM], value[GIT_VALUE_ROOM];
        size_t section_len; /* of the key's first part */
        int has_value;      /* 0: the key alone, which means true */
};

struct git_config { /* a reading that is under way */
        const char *at, *end;
        char section[GIT_KEY_ROOM]; /* with its subsection; "" before the first */
        size_t first_len;           /* of the section without it */
};

void git_config_open(struct git_config *c, const char *bytes, size_t len);

/*
 * The next entry: 1; 0 at the end; -1 where the file is not read to its end: more than
 * GIT_CONFIG_MAX bytes, control bytes (NUL, CR), a mark of the byte order, a key or a value without
 * room, and whatever git refuses itself.
 */
int git_config_next(struct git_config *c, struct git_entry *ret);

/* Does the entry run nothing and lead nowhere, whatever its value? */
int git_entry_is_harmless(const struct git_entry *e);

enum git_change { GIT_CHANGE_HARMLESS, GIT_CHANGE_ENTRY, GIT_CHANGE_UNREADABLE };

/*
 * What became of a configuration. HARMLESS: both are read, and the entries that are not harmless
 * are the same in both, in the same order. ENTRY: gives the key of the first that is new, gone or
 * other (GIT_KEY_ROOM bytes).
 */
enum git_change git_config_compare(const char *was, size_t was_len, const char *is, size_t is_len,
                                   char *ret_key);

/*
 * Writes the keys that are not harmless to `ret` (room bytes, at least GIT_KEY_ROOM), each once,
 * one a line; "..." is the last line where there is no room for more, and "config" where the file
 * is not read to its end. `is_submodule`: core.worktree may lead upwards, as git sets it there.
 * Gives the bytes without the NUL.
 */
size_t git_config_runs(const char *bytes, size_t len, int is_submodule, char *ret, size_t room);

/* For people: what git does with a key that is not harmless, as the end of a sentence. Also of
 * "hooks/NAME", "hooks", "commondir" and "config". */
const char *git_config_effect(const char *key);

#endif
