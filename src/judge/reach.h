/*
 * judge/reach.h - which paths and hosts the words of a command, or texts of a tool's arguments,
 * name.
 *
 * Text is judged, not the file system: symbolic links are not followed, and a name is not resolved.
 * What cannot be read as a listed path or host is refused.
 */
#ifndef CARREL_JUDGE_REACH_H
#define CARREL_JUDGE_REACH_H

#include <stdbool.h>
#include <stddef.h>

#include "spec/egress.h"
#include "spec/spec.h"

enum { REACH_PATH_MAX = 4096 };

/* Directories, absolute and normal ("/workspace"; "/" is everything). */
struct reach_paths {
        const struct spec_names *beneath;
        const char *cwd; /* absolute: of relative paths */
        bool has_moved;  /* a command changed it: what climbs from it is not known */
};

/* Is it absolute, without "//", ".", ".." and a "/" at its end? */
bool reach_path_is_normal(const char *path);

/* Is this one path, taken as a whole, beneath one of the directories? */
bool reach_path_is_listed(const struct reach_paths *p, const char *path);

/*
 * May a program get this word? Every absolute path in it, and every part that climbs with "..",
 * must be beneath a directory: /x, --file=/x, -I/x, if=/x, @/x, "open('/x')", file:///x. Paths of
 * URLs are none.
 */
bool reach_word_stays(const struct reach_paths *p, const char *word);

struct reach_hosts {
        const struct spec_egress *entries;
        size_t count;
};

/*
 * Is each host that a word names listed? URLs anywhere in it; for programs that connect to their
 * arguments (curl, ssh, ...: `program`, or NULL), also the word itself: name, user@name, name:port.
 */
bool reach_word_hosts(const struct reach_hosts *h, const char *program, const char *word);

/* Is this text, a host with or without a port or a URL, listed? */
bool reach_host_is_listed(const struct reach_hosts *h, const char *text);

#endif
