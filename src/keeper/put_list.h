/*
 * keeper/put_list.h - the list of files that a call wrote (struct wire_box_put), for the audit log.
 */
#ifndef CARREL_KEEPER_PUT_LIST_H
#define CARREL_KEEPER_PUT_LIST_H

#include <stdbool.h>

#include "text/json.h"

enum { PUT_LIST_SHOWN = 32 * 1024 /* bytes of paths that one entry names */ };

/*
 * Appends the members `files`, `more` (how many are not in `files`) and `complete`: did the call
 * get all of its input? `fd`, borrowed: -1 or a file without such a list gives an empty one.
 * `is_whole` false: the end of the list was not kept, so that `complete` is left out.
 */
void put_list_write(int fd, bool is_whole, struct json_writer *w);

#endif
