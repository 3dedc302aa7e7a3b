/*
 * spec/approve.c - the operations that can wait for a person.
 *
 * Room: spec (deciding, pure). Touches: nothing.
 */
#include "spec/approve.h"

#include <string.h>

const char *const spec_approve_words[] = {
        "exec",       "exec.start", "network",    "network.set", "file.read",
        "file.write", "file.mkdir", "file.move",  "file.remove", "url",
        "extend",     "event",      "task.begin", "limits.set",  NULL,
};

const char *
spec_approve_operation(const char *word)
{
        if (strcmp(word, "exec") == 0)
                return "exec.start";
        if (strcmp(word, "network.set") == 0)
                return "network";
        for (size_t i = 0; spec_approve_words[i]; i++)
                if (strcmp(spec_approve_words[i], word) == 0)
                        return spec_approve_words[i];
        return NULL;
}

bool
spec_approve_is_other_name(const char *word)
{
        const char *operation = spec_approve_operation(word);

        return operation && strcmp(operation, word) != 0;
}

const char *
spec_approve_action(const char *operation)
{
        static const struct {
                const char *operation, *action;
        } rows[] = {
                { "exec.start", SPEC_ACTION_EXECUTE }, { "network", SPEC_ACTION_EGRESS },
                { "file.read", "storage:read" },       { "file.write", "storage:write" },
                { "file.mkdir", "storage:write" },     { "file.move", "storage:write" },
                { "file.remove", "storage:write" },
        };

        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                if (strcmp(rows[i].operation, operation) == 0)
                        return rows[i].action;
        return NULL;
}
