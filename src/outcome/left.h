/*
 * outcome/left.h - what commands left in a workspace on which host programs act: its word, and a
 * sentence for people.
 *
 * `carrel run`, the keeper's answers and every client use these words; the event of each is a row
 * of event/event.def.
 */
#ifndef CARREL_OUTCOME_LEFT_H
#define CARREL_OUTCOME_LEFT_H

#include <stdbool.h>
#include <stdint.h>

enum {
        LEFT_MESSAGE_ROOM = 32768,
        LEFT_COMMAND_ROOM = 8192,
        LEFT_NAME_ROOM = 1024 /* one of the names in a list, with the NUL */
};

/* The texts of struct wire_kept (wire/message.h): terminated, chosen by the payload. Borrowed. */
struct left_behind {
        unsigned what; /* enum wire_kept_what */
        const char *name, *kept, *key;
};

/* "moved", "repository", ...; NULL: not a value of enum wire_kept_what. */
const char *left_word(unsigned what);

/* Do these list in `kept`: what git would run; other names of the same kind, and in `key` how many
 * in all? */
bool left_is_repository(unsigned what);
bool left_is_folded(unsigned what);

/* How many names it stands for: 1, except for a folded one. */
uint64_t left_count(const struct left_behind *l);

/*
 * Walks the lines of a list: copies the line at *at to `ret` (LEFT_NAME_ROOM bytes) and moves *at
 * behind it. false at the end.
 */
bool left_next(const char **at, char *ret);

/* For a restored configuration: what the key does, as the end of a sentence. */
const char *left_effect(const struct left_behind *l);

/*
 * Writes the shell command that shows a repository without git, which would run what it shows, to
 * `ret` (LEFT_COMMAND_ROOM bytes). "" if it is no repository.
 */
void left_look(const struct left_behind *l, char *ret);

/*
 * Writes what happened and what to do, without "carrel: " and line end, to `ret` (LEFT_MESSAGE_ROOM
 * bytes). Names are copied as they are: escape the text for a terminal. "" if `what` is unknown.
 */
void left_message(const struct left_behind *l, char *ret);

#endif
