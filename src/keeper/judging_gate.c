/*
 * keeper/judging_gate.c - rules for tools.
 *
 * Room: keeper (joining). Touches: nothing; judging.c asks.
 * Theory: only a call that some rule could speak of is judged, so that others cost nothing. A call
 * whose arguments the keeper does not have is refused if a validator would have to see them: a
 * write whose caller has not announced its files.
 */
#include "keeper/judging_gate.h"

#include <string.h>

#include "judge/tool.h"
#include "keeper/judging.h"
#include "keeper/judging_arguments.h"
#include "keeper/sandbox.h"

static enum call_state
fail_arguments(const char *tool, struct error *e)
{
        (void)fail_at(
                e, ERROR_CAPABILITY_UNAVAILABLE, "commands/validators", "validator_arguments",
                "a validator must see the arguments of %.64s, and this call does not announce "
                "them, so it is refused",
                tool);
        error_hint(e, "Send each file with its size, and a path that is UTF-8. See docs/POLICY.md, "
                      "\"Tools\".");
        return CALL_FAILED;
}

static enum call_state
take_verdict(struct call *c, struct sandbox *s, struct error *e)
{
        enum call_state state = judging_verdict(c, s, e);

        if (state == CALL_DONE) {
                judging_forget(c); /* a command of it is judged anew */
                c->is_tool_judged = true;
        }
        return state;
}

enum call_state
judging_gate(struct call *c, struct error *e)
{
        struct judging_subject of = { .tool = tool_name(c->op->name) };
        const struct node *own, *host;
        struct sandbox *s;
        struct error ignored;

        if (c->is_tool_judged || !tool_is_own(of.tool) || strcmp(of.tool, TOOL_SHELL) == 0)
                return CALL_DONE;
        s = registry_of_call(c, &ignored);
        if (!s || sandbox_judge(s, &ignored) < 0)
                return CALL_DONE; /* the operation reports it */
        if (judging_is_done(c))
                return take_verdict(c, s, e);
        own = s->prepared->spec->carrel.commands;
        host = s->prepared->rules->commands;
        if (!tool_is_ruled(own, of.tool) && !tool_is_ruled(host, of.tool))
                return CALL_DONE;
        if (!judging_has_arguments(c) &&
            (tool_is_validated(own, of.tool) || tool_is_validated(host, of.tool)))
                return fail_arguments(of.tool, e);
        return judging_begin(c, s, &of, e);
}
