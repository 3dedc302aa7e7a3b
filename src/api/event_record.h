/*
 * api/event_record.h - an event in bytes: as a record between processes and in the keeper's list,
 * and as JSON.
 *
 * The members, in this order: event, at_ms, id, status, cause, then those of event/event.def.
 */
#ifndef CARREL_API_EVENT_RECORD_H
#define CARREL_API_EVENT_RECORD_H

#include "event/event.h"
#include "text/json.h"
#include "wire/record.h"

/* Writes what is not absent. */
void event_record(struct record_writer *w, const struct event *e);

/*
 * Reads it back: texts are borrowed from the record; an ending goes to `ret_end`, which `ret`
 * points to then. 0; -1: it has no word.
 */
int event_record_read(const struct record *r, struct event *ret, struct outcome *ret_end);

/* Writes the members into an open map. */
void event_json(struct json_writer *w, const struct event *e);

/* The same, with the words of a command as the list `argv`: what follows an option like --password
 * is removed from the audit log. */
void event_audit_json(struct json_writer *w, const struct event *e);

#endif
