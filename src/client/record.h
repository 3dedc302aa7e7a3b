/*
 * client/record.h - the record from which an answer of the library was read.
 *
 * `carrel --json` prints it as REST does. Programs that use the library do not see it.
 */
#ifndef CARREL_CLIENT_RECORD_H
#define CARREL_CLIENT_RECORD_H

#include "wire/record.h"

/*
 * The record of a struct that a call of the library returned, borrowed from it; empty for those
 * that are not made of one record (files, the result of a command without refusals).
 */
struct record client_record(const void *answer);

#endif
