/*
 * event/outcome.c - how a command ended.
 *
 * Room: event (deciding, pure). Touches: nothing.
 */
#include "event/outcome.h"

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
                                    "a rule ended it: the disk behind a writable mount was nearly "
                                    "full, of bytes or of inodes" },
        [OUTCOME_LOST] = { "lost", ERROR_BACKEND_FAILED, 125, "its end was not seen" },
};

static const struct outcome_limit_words limits[] = {
        { OUTCOME_DISK, "disk_mb",
          "the private disk of the sandbox (/tmp, home, /dev/shm) was full: limits.disk_mb",
          "Raise metadata.carrel.limits.disk_mb in SANDBOX.md, or write large files to a mount." },
        { OUTCOME_PIDS, "pids",
          "a process or thread was not started: the sandbox had as many as limits.pids allows",
          "Raise metadata.carrel.limits.pids in SANDBOX.md, or start fewer at once." },
};

const struct outcome_limit_words *
outcome_limit_at(size_t index)
{
        return index < sizeof limits / sizeof *limits ? &limits[index] : NULL;
}

void
outcome_write_limits(struct json_writer *w, unsigned reached)
{
        const struct outcome_limit_words *l;

        if (reached == 0)
                return;
        json_key(w, "limits_reached");
        json_open_list(w);
        for (size_t i = 0; (l = outcome_limit_at(i)) != NULL; i++)
                if ((reached & l->limit) != 0)
                        json_text(w, l->name);
        json_close_list(w);
}

const char *
outcome_name(enum outcome_word word)
{
        return rows[word].name;
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

void
outcome_write(struct json_writer *w, const struct outcome *o)
{
        json_member_text(w, "event", outcome_name(o->word));
        json_key(w, "exit_code");
        if (o->word == OUTCOME_EXITED)
                json_int(w, o->exit_code);
        else
                json_text(w, NULL);
        json_key(w, "signal");
        if (o->signal != 0)
                json_int(w, o->signal);
        else
                json_text(w, NULL);
        json_member_bool(w, "timed_out", o->word == OUTCOME_TIMED_OUT);
        json_member_bool(w, "oom_killed", o->word == OUTCOME_OOM_KILLED);
        json_member_int(w, "duration_ms", (int64_t)o->duration_ms);
        json_member_int(w, "cpu_ms", (int64_t)o->cpu_ms);
        json_member_int(w, "memory_peak_kb", (int64_t)o->memory_peak_kb);
        json_member_int(w, "stdout_bytes", (int64_t)o->stdout_bytes);
        json_member_int(w, "stderr_bytes", (int64_t)o->stderr_bytes);
        json_member_int(w, "dropped_bytes", (int64_t)o->dropped_bytes);
        outcome_write_limits(w, o->reached);
}
