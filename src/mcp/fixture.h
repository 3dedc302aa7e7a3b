/*
 * mcp/fixture.h - the tools, resources and prompts that the MCP conformance suite expects. Test
 * builds only.
 *
 * In a build with -Dtest_switches=true, `test_fixture` in the URL of /mcp offers them for that one
 * request, from a table of fixed answers. Those answers use the same code as all others (era,
 * envelope, headers, caching hints, progress, errors). The shipped program refuses this parameter
 * like any other unknown one.
 */
#ifndef CARREL_MCP_FIXTURE_H
#define CARREL_MCP_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/switches.h"
#include "mcp/tool.h"
#include "text/json.h"

#ifdef CARREL_TEST_SWITCHES
/* Does this member of the URL's query, `len` bytes, request the fixture? */
bool fixture_is_asked(const char *pair, size_t len);

/*
 * Returns the static tools of the fixture, and *ret_count. None if `flags` (enum mcp_flag) lacks
 * MCP_FIXTURE.
 */
const struct tool *fixture_tools(unsigned flags, size_t *ret_count);

/* Adds the fixture's capabilities to the open map. */
void fixture_capabilities(struct json_writer *w, unsigned flags);

/* Answers the request if its method belongs to the fixture. Returns false if it does not. */
bool fixture_serve(struct mcp_request *r);
#else
static inline bool
fixture_is_asked(const char *pair, size_t len)
{
        (void)pair;
        (void)len;
        return false;
}
static inline const struct tool *
fixture_tools(unsigned flags, size_t *ret_count)
{
        (void)flags;
        *ret_count = 0;
        return NULL;
}
static inline void
fixture_capabilities(struct json_writer *w, unsigned flags)
{
        (void)w;
        (void)flags;
}
static inline bool
fixture_serve(struct mcp_request *r)
{
        (void)r;
        return false;
}
#endif

#endif
