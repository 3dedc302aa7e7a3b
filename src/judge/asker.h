/*
 * judge/asker.h - the end of a judgement that has the file system: it sends the request, says which
 * file a name is, and reads the answer.
 *
 * Waiting for messages, with a bound of JUDGE_PATIENCE_MS, is the caller's.
 */
#ifndef CARREL_JUDGE_ASKER_H
#define CARREL_JUDGE_ASKER_H

#include "judge/message.h"
#include "wire/message.h"

struct judge_asker {
        /* Sends a message to carrel-judge. 0, or negative: it does not read. */
        int (*send)(void *context, uint16_t kind, const void *body, size_t len);
        /* Which file is a name, or a path with a slash? `ret` is zeroed. */
        void (*look)(void *context, const char *name, struct wire_judge_file *ret);
        void *context;
        size_t rules_count, lookups; /* set by judge_asker_begin() */
        struct judgement judgement;  /* of the end; in `arena` */
        size_t bad_list;             /* whose rules cannot be read */
        struct arena *arena;         /* borrowed */
};

/*
 * Sends the request. `buffer` has WIRE_BODY_MAX bytes, aligned to 8, and is free afterwards.
 * Errors: of judge_request_write(); ERROR_POLICY_DENIED, reason "judge_failed".
 */
int judge_asker_begin(struct judge_asker *a, const struct judge_request *request, void *buffer,
                      struct error *e);

/*
 * Takes one message, whose body is in `body`. 1: the judgement is there. 0: more follows. -1: no
 * judgement; errors of judgement_read().
 */
int judge_asker_take(struct judge_asker *a, const struct wire_message *m, const void *body,
                     struct error *e);

#endif
