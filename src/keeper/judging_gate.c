/*
 * keeper/judging_gate.c - rules for tools.
 *
 * Room: keeper (joining). Touches: nothing; judging.c asks.
 * Theory: only a call that some rule could speak of is judged, so that others cost nothing. A call
 * whose arguments the keeper does not have is refused if a validator would have to see them: a
 * write whose caller has not announced its files, or has not sent the content that a rule names.
 */
#include "keeper/judging_gate.h"

#include <inttypes.h>
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

/* The caller sends the call again, with its content. */
static enum call_state
fail_content(struct call *c, const char *tool, struct error *e)
{
        uint64_t len = judging_announced_len(c);

        if (len > API_CONTENT_MAX) {
                (void)fail_at(e, ERROR_POLICY_DENIED, "commands/validators", "content_too_long",
                              "a rule must see the content of %.64s, and sees at most %d bytes in "
                              "one call, with 24 bytes and the path for each file; these are "
                              "%" PRIu64,
                              tool, (int)API_CONTENT_MAX, len);
                error_hint(e, "Nothing was written. Write fewer or shorter files in one call.");
        } else {
                (void)fail_at(
                        e, ERROR_CAPABILITY_UNAVAILABLE, "commands/validators", API_CONTENT_ASKED,
                        "a rule must see the content of %.64s, and this call does not have it",
                        tool);
                error_hint(e, "Use a client of this version. See docs/POLICY.md, \"Tools\".");
        }
        return CALL_FAILED;
}

static bool
must_see_content(const struct call *c, const struct node *own, const struct node *host,
                 const char *tool)
{
        struct record_entry entry;

        return (c->op->flags & OPERATION_FILES) != 0 &&
               record_find(&c->record, FIELD_INPUT, &entry) == 0 &&
               (tool_names_argument(own, tool, "content") ||
                tool_names_argument(host, tool, "content"));
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

/* What was denied before carrel-judge could be asked is an event too. */
static enum call_state
say_denied(struct sandbox *s, enum call_state state, const struct error *why)
{
        if (state == CALL_FAILED && why->code == ERROR_POLICY_DENIED)
                sandbox_publish(s, event_policy_denied((struct event_policy_denied){
                                           .path = why->path,
                                           .reason = why->reason,
                                           .message = why->message,
                                   }));
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
        if (!s)
                return CALL_DONE;    /* the operation reports it */
        if (sandbox_judge(s, e) < 0) /* without memory the operation could still succeed */
                return e->code == ERROR_NO_MEMORY ? CALL_FAILED : CALL_DONE;
        if (judging_is_done(c))
                return take_verdict(c, s, e);
        own = s->prepared->spec->carrel.commands;
        host = s->prepared->rules->commands;
        if (!tool_is_ruled(own, of.tool) && !tool_is_ruled(host, of.tool))
                return CALL_DONE;
        if (!judging_has_arguments(c) &&
            (tool_is_validated(own, of.tool) || tool_is_validated(host, of.tool)))
                return fail_arguments(of.tool, e);
        if (must_see_content(c, own, host, of.tool))
                return say_denied(s, fail_content(c, of.tool, e), e);
        return say_denied(s, judging_begin(c, s, &of, e), e);
}
