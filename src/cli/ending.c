/*
 * cli/ending.c - how a command ended, as `carrel run --json` and `carrel exec --json` print it.
 *
 * Room: cli (joining, program). Touches: nothing.
 */
#include "cli/ending.h"

#include "api/ending.h"
#include "cli/finding_print.h"

struct outcome
ending_of_carrel(const struct carrel_end *end)
{
        enum outcome_word word = outcome_find(end->outcome);

        return (struct outcome){ .word = word < OUTCOME_MAX ? word : OUTCOME_LOST,
                                 .exit_code = end->exit_code,
                                 .signal = end->signal,
                                 .duration_ms = end->duration_ms,
                                 .cpu_ms = end->cpu_ms,
                                 .memory_peak_kb = end->memory_peak_kb,
                                 .stdout_bytes = end->stdout_bytes,
                                 .stderr_bytes = end->stderr_bytes,
                                 .dropped_bytes = end->dropped_bytes,
                                 .denied = end->denied_count,
                                 .reached = end->limits_reached,
                                 .sanitizes = end->sanitizes,
                                 .sanitized = { [SANITIZE_BIT_control] = end->removed_controls,
                                                [SANITIZE_BIT_hidden] = end->removed_hidden,
                                                [SANITIZE_BIT_secrets] = end->removed_secrets } };
}

void
ending_write_json(struct json_writer *w, const struct ending *x)
{
        ending_write(w, &x->outcome);
        ending_write_limit(w, &x->limit);
        json_member_bool(w, "timed_out", x->outcome.word == OUTCOME_TIMED_OUT);
        json_key(w, "stdout");
        json_bytes(w, x->out, x->out_len);
        json_key(w, "stderr");
        json_bytes(w, x->err, x->err_len);
        json_member_bool(w, "truncated", x->outcome.dropped_bytes > 0);
}

void
ending_write_error(struct json_writer *w, const struct ending *x)
{
        struct error e;

        if (!outcome_explain(&x->outcome, &x->limit, &e))
                return;
        json_key(w, "error");
        json_error(w, &e);
}
