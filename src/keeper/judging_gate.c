/*
 * keeper/judging_gate.c - rules for tools.
 *
 * Room: keeper (joining). Touches: nothing; judging.c asks.
 * Theory: only a call that some rule could speak of is judged, so that others cost nothing. An
 * operation whose arguments the keeper does not know is refused if a validator would have to see
 * them: the paths of file.write are in its stream.
 */
#include "keeper/judging_gate.h"

#include <string.h>

#include "judge/tool.h"
#include "keeper/judging.h"
#include "keeper/sandbox.h"

/* Which parameters of an operation are arguments of the tool. */
static const struct {
        enum operation_code op;
        struct {
                uint16_t tag;
                const char *name;
        } arguments[JUDGING_ARGUMENTS_MAX];
} known[] = {
        { OP_CODE, { { FIELD_LANGUAGE, "language" }, { FIELD_SOURCE, "code" } } },
        { OP_FILE_READ, { { FIELD_PATH, "path" } } },
        { OP_FILE_LIST, { { FIELD_PATH, "path" } } },
        { OP_FILE_STAT, { { FIELD_PATH, "path" } } },
        { OP_FILE_MKDIR, { { FIELD_PATH, "path" } } },
        { OP_FILE_MOVE, { { FIELD_PATH, "path" }, { FIELD_TARGET, "target" } } },
        { OP_FILE_REMOVE, { { FIELD_PATH, "path" } } },
};

/* False: the arguments of this operation are not known here. */
static bool
find_arguments(const struct call *c, struct judging_subject *ret)
{
        for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
                if (known[i].op != c->op->code)
                        continue;
                for (size_t k = 0; k < JUDGING_ARGUMENTS_MAX && known[i].arguments[k].name; k++)
                        ret->arguments[ret->argument_count++] = (struct judging_argument){
                                known[i].arguments[k].name,
                                record_get_text(&c->record, known[i].arguments[k].tag, ""),
                        };
                return true;
        }
        return false;
}

static enum call_state
fail_arguments(const char *tool, struct error *e)
{
        (void)fail_at(e, ERROR_CAPABILITY_UNAVAILABLE, "commands/validators", "validator_arguments",
                      "a validator must see the arguments of %.64s, and the daemon does not have "
                      "them, so it is refused",
                      tool);
        error_hint(e,
                   "Remove the validator of %.64s from the rules, or deny the tool: "
                   "docs/POLICY.md.",
                   tool);
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
        if (!find_arguments(c, &of) &&
            (tool_is_validated(own, of.tool) || tool_is_validated(host, of.tool)))
                return fail_arguments(of.tool, e);
        return judging_begin(c, s, &of, e);
}
