/*
 * outcome/outcome.h - how a command ended: exactly one of these words, everywhere.
 */
#ifndef CARREL_OUTCOME_OUTCOME_H
#define CARREL_OUTCOME_OUTCOME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "outcome/time_limit.h"
#include "text/sanitize.h"

enum outcome_word {
        OUTCOME_EXITED,        /* by itself; exit_code is set */
        OUTCOME_SIGNALED,      /* by a signal; signal is set */
        OUTCOME_TIMED_OUT,     /* limits.timeout_ms; the whole tree was killed */
        OUTCOME_OOM_KILLED,    /* limits.memory_mb */
        OUTCOME_CPU_LIMIT,     /* limits.cpu_ms */
        OUTCOME_KILLED,        /* on request */
        OUTCOME_POLICY_KILLED, /* by a rule: the free-space floor, or disk_mb in a directory */
        OUTCOME_LOST,          /* its end was not seen */
        OUTCOME_MAX
};

/* Limits that refuse something and end nothing: the command keeps running. open_files is not among
 * them, because the kernel does not count EMFILE. Of OUTCOME_TIMED_OUT: which of the outer time
 * limits ended it; none of both: the command's own. */
enum outcome_limit {
        /* limits.disk_mb: the private disk was full when the command ended; with
         * OUTCOME_POLICY_KILLED: it ended the command */
        OUTCOME_DISK = 1u << 0,
        OUTCOME_PIDS = 1u << 1, /* limits.pids: a process or a thread was not started while it ran.
                                   Known where a control group counts */
        OUTCOME_TASK_TIME = 1u << 2,    /* timeout_ms of task.begin had passed */
        OUTCOME_SANDBOX_TIME = 1u << 3, /* timeout_ms of create had passed */
        OUTCOME_OUTER_TIME = OUTCOME_TASK_TIME | OUTCOME_SANDBOX_TIME
};
struct outcome_limit_words {
        unsigned limit;
        const char *name /* "disk_mb" */, *sentence, *hint;
};

/* The one form of a command's end. api/ending.h reads and writes it. */
struct outcome {
        enum outcome_word word;
        int exit_code;           /* OUTCOME_EXITED: 0 to 255; else -1 */
        int signal;              /* OUTCOME_SIGNALED: its number; else 0 */
        uint64_t duration_ms;    /* from the start of the command to its end */
        uint64_t cpu_ms;         /* user and system, whole tree where a group counts it */
        uint64_t memory_peak_kb; /* largest process */
        uint64_t stdout_bytes, stderr_bytes, dropped_bytes;
        uint64_t denied;    /* network requests that were refused before it ended */
        unsigned reached;   /* enum outcome_limit, one bit each */
        unsigned sanitizes; /* what was looked for in its output: a mask of text/sanitize.h */
        uint64_t sanitized[SANITIZE_BITS]; /* how many of each kind were removed */
};

/* "exited", "timed_out", ... */
const char *outcome_name(enum outcome_word word);

/* The word with this name, or OUTCOME_MAX (also for NULL). */
enum outcome_word outcome_find(const char *name);

/* What the word means, in half a sentence. */
const char *outcome_help(enum outcome_word word);

/* The exit status that always goes with the word, or -1 where it is the command's own. */
int outcome_word_status(enum outcome_word word);

/* The error that goes with the word, or ERROR_NONE for exited, signaled and killed. */
enum error_code outcome_error(enum outcome_word word);

/* Exit status of `carrel run`: the command's own, 128 + signal, 124 timed out, 137 killed. */
int outcome_status(const struct outcome *o);

/*
 * Writes the error that goes with the outcome (its word, and what it reached), with its sentence
 * and hint. `limit` is the command's time limit. Returns false, and writes nothing, if there is
 * none.
 */
bool outcome_explain(const struct outcome *o, const struct time_limit *limit, struct error *e);

/* Did limits.disk_mb end the command, by the size of its private directory? */
bool outcome_is_over_disk(const struct outcome *o);

/* The words of those limits, one after another; NULL behind the last. */
const struct outcome_limit_words *outcome_limit_at(size_t index);

#endif
