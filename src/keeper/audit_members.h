/*
 * keeper/audit_members.h - members of the entries that the keeper records (keeper/audit.h).
 */
#ifndef CARREL_KEEPER_AUDIT_MEMBERS_H
#define CARREL_KEEPER_AUDIT_MEMBERS_H

#include "keeper/exec.h"
#include "keeper/sandbox.h"
#include "text/json.h"

/* What the sandbox is allowed; the rules that hold for it; the labels of its manifest. */
void audit_write_allowed(struct json_writer *w, const struct sandbox *s);
void audit_write_policy(struct json_writer *w, const struct sandbox *s);
void audit_write_identity(struct json_writer *w, const struct sandbox *s);

/* Of a start: what a write announces before its content; what only a command has. */
void audit_write_announced(struct json_writer *w, const struct record *r);
void audit_write_command(struct json_writer *w, const struct exec_request *r);

#endif
