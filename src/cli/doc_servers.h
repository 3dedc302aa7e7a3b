/*
 * cli/doc_servers.h - tool servers of a manifest, as a part of its document.
 */
#ifndef CARREL_CLI_DOC_SERVERS_H
#define CARREL_CLI_DOC_SERVERS_H

#include "cli/prepare.h"
#include "text/json.h"

/*
 * Writes the list of {name, permissions, auth_scopes}, from the block of each server as this host
 * permits it. A permission is "read PATH", "write PATH", "connect HOST:PORT", "env NAME" or "secret
 * NAME". Errors: those of verdict_reach(), ERROR_WORKSPACE_NOT_FOUND.
 */
int doc_servers_write(struct arena *arena, const struct run_way *way, struct json_writer *w,
                      struct error *e);

#endif
