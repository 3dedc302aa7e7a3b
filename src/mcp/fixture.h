/*
 * mcp/fixture.h - what the MCP conformance suite wants to find at a server; nothing, in the shipped program.
 *
 * In a build with -Dtest_layers=true, `test_fixture` in the URL of /mcp offers tools, resources and prompts of the suite's names for that one request:
 * a table of fixed answers. They leave through the same code as every answer of ours (era, envelope, headers, caching hints, progress, errors).
 * The shipped program refuses that word as any other that it does not know.
 */
#ifndef CARREL_MCP_FIXTURE_H
#define CARREL_MCP_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>

#include "mcp/tools.h"

#ifdef CARREL_TEST_LAYERS
/* Does this member of the URL's query, `len` bytes, ask for the fixture? */
bool fixture_is_asked(const char *pair, size_t len);

/* Its tools, static, with *ret_count: none where `flags` (enum mcp_flag) have no MCP_FIXTURE. */
const struct tool *fixture_tools(unsigned flags, size_t *ret_count);

/* Adds its capabilities to the open map. */
void fixture_capabilities(struct json_writer *w, unsigned flags);

/* Answers the request, where its method is one of the fixture's. False: it is not. */
bool fixture_serve(struct mcp_request *r);
#else
static inline bool fixture_is_asked(const char *pair, size_t len) { (void)pair; (void)len; return false; }
static inline const struct tool *fixture_tools(unsigned flags, size_t *ret_count) { (void)flags; *ret_count = 0; return NULL; }
static inline void fixture_capabilities(struct json_writer *w, unsigned flags) { (void)w; (void)flags; }
static inline bool fixture_serve(struct mcp_request *r) { (void)r; return false; }
#endif

#endif
