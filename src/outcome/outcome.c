/*
 * outcome/outcome.c - how a command ended.
 *
 * Room: outcome (deciding, pure). Touches: nothing.
 */
#include "outcome/outcome.h"

#include <string.h>

struct outcome_row {
        const char *name;
        enum error_code error;
        int status; /* -1: from exit_code or signal */
        const char *help;
};

static const struct outcome_row rows[OUTCOME_MAX] = {
        [OUTCOME_EXITED] = { "exited", ERROR_NONE, -1, "the command ended by itself" },
        [OUTCOME_SIGNALED] = { "signaled", ERROR_NONE, -1, "a signal ended the command" },
        [OUTCOME_TIMED_OUT] = { "timed_out", ERROR_TIMEOUT, 124,
                                "its time limit passed (--timeout, limits.timeout_ms, or that of "
                                "its task); all its processes were killed" },
        [OUTCOME_OOM_KILLED] = { "oom_killed", ERROR_OOM, 137, "it ran into limits.memory_mb" },
        [OUTCOME_CPU_LIMIT] = { "cpu_limit", ERROR_CPU_LIMIT, 137,
                                "it ran into limits.cpu_ms; its whole process tree was killed" },
        [OUTCOME_KILLED] = { "killed", ERROR_NONE, 137, "it was killed on request" },
        [OUTCOME_POLICY_KILLED] = { "policy_killed", ERROR_STORAGE_FULL, 137,
                                    "a rule ended it: the disk behind a writable mount, /tmp or "
                                    "the home was nearly full, of bytes or of inodes; or /tmp and "
                                    "the home took more than disk_mb on the host's disk "
                                    "(limits_reached has disk_mb)" },
        [OUTCOME_LOST] = { "lost", ERROR_BACKEND_FAILED, 125, "its end was not seen" },
};

static const struct outcome_limit_words limits[] = {
        { OUTCOME_DISK, "disk_mb",
          "the private disk of the sandbox (/tmp, home, /dev/shm) was full: limits.disk_mb",
          "Raise metadata.carrel.limits.disk_mb in SANDBOX.md, or write large files to a mount." },
        { OUTCOME_PIDS, "pids",
          "a process or thread was not started: the sandbox had as many as limits.pids allows",
          "Raise metadata.carrel.limits.pids in SANDBOX.md, or start fewer at once." },
        { OUTCOME_TASK_TIME, "per_task_loop",
          "timed out: the time of its task has passed (per_task_loop: timeout_ms of task.begin); "
          "all "
          "its processes were killed",
          "per_task_loop: begin a task with more time (timeout_ms of POST "
          "/v1/sandboxes/ID/tasks)." },
        { OUTCOME_SANDBOX_TIME, "per_sandbox_lifetime",
          "timed out: the time of its sandbox has passed (per_sandbox_lifetime: timeout_ms of "
          "create); "
          "all its processes were killed",
          "per_sandbox_lifetime: create one with more time (--timeout, timeout_ms), or extend it "
          "while "
          "it runs: carrel extend ID 30m." },
};

const struct outcome_limit_words *
outcome_limit_at(size_t index)
{
        return index < sizeof limits / sizeof *limits ? &limits[index] : NULL;
}

const char *
outcome_name(enum outcome_word word)
{
        return rows[word].name;
}

enum outcome_word
outcome_find(const char *name)
{
        int word = 0;

        while (word < OUTCOME_MAX && (!name || strcmp(rows[word].name, name) != 0))
                word++;
        return (enum outcome_word)word;
}

const char *
outcome_help(enum outcome_word word)
{
        return rows[word].help;
}

int
outcome_word_status(enum outcome_word word)
{
        return rows[word].status;
}

enum error_code
outcome_error(enum outcome_word word)
{
        return rows[word].error;
}

int
outcome_status(const struct outcome *o)
{
        if (rows[o->word].status >= 0)
                return rows[o->word].status;
        return o->word == OUTCOME_SIGNALED ? 128 + o->signal : o->exit_code;
}

bool
outcome_is_over_disk(const struct outcome *o)
{
        return o->word == OUTCOME_POLICY_KILLED && (o->reached & OUTCOME_DISK) != 0;
}

/* The sentence of an outer time limit that ended it. False: it was the command's own. */
static bool
explain_outer_time(const struct outcome *o, struct error *e)
{
        for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
                if ((o->reached & limits[i].limit & OUTCOME_OUTER_TIME) != 0) {
                        (void)fail(e, ERROR_TIMEOUT, "%s", limits[i].sentence);
                        error_hint(e, "%s", limits[i].hint);
                        return true;
                }
        return false;
}

bool
outcome_explain(const struct outcome *o, const struct time_limit *limit, struct error *e)
{
        const struct outcome_row *row = &rows[o->word];

        if (row->error == ERROR_NONE)
                return false;
        if (o->word == OUTCOME_TIMED_OUT) {
                if (!explain_outer_time(o, e))
                        time_limit_passed(limit, e);
        } else if (outcome_is_over_disk(o)) {
                (void)fail(e, row->error,
                           "/tmp and the home took more than limits.disk_mb; the process tree was "
                           "killed");
                error_hint(e, "Raise metadata.carrel.limits.disk_mb in SANDBOX.md, or write large "
                              "files to a mount.");
        } else {
                (void)fail(e, row->error, "the command was ended: %s", row->help);
        }
        return true;
}
