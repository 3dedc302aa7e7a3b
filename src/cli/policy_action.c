/*
 * cli/policy_action.c - prints what rules say about one program of a command.
 *
 * Room: cli (joining, program). Touches: fd (standard output).
 */
#include "cli/policy_action.h"

#include <stdio.h>

#include "cli/finding_print.h"
#include "prepare/commands.h"
#include "shell/reading.h"

void
policy_action_members(struct json_writer *w, const struct judge_action *action)
{
        json_member_text(w, "program", action->program);
        json_member_text(w, "written", action->written);
        json_member_text(w, "verdict", command_verdict_word(action->verdict));
        json_member_text(w, "reason", action->reason);
        if (action->entry)
                json_member_text(w, "entry", action->entry);
        json_member_text(w, "meaning", prepare_reason_meaning(action->reason));
}

void
policy_action_print(const struct judge_action *action)
{
        (void)printf("%-5s  ", command_verdict_word(action->verdict));
        print_escaped(stdout, action->program ? action->program : action->written, false);
        (void)printf(": %s", prepare_reason_meaning(action->reason));
        if (shell_doubt_find(action->reason) != SHELL_NO_DOUBT)
                (void)printf(" (%s)", action->reason);
        if (action->entry) {
                (void)fputs(", by the entry \"", stdout);
                print_escaped(stdout, action->entry, false);
                (void)fputc('"', stdout);
        }
        (void)fputc('\n', stdout);
}
