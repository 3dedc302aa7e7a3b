/*
 * fuzz/judge.c - messages to and from carrel-judge: any bytes, read as a request, as names of a
 * lookup, and as an answer.
 *
 * What is promised: a request that is read has words and trees within their bounds; an answer that
 * is read has no action that is stricter than its verdict.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "judge/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
        const char *names[JUDGE_NAMES_MAX];
        struct judge_request request;
        struct judgement j;
        struct arena arena;
        struct error e;
        size_t list;
        void *body = aligned_alloc(8, (len + 8) / 8 * 8); /* as a message lies */
        int count;

        if (!body)
                return 0;
        memcpy(body, data, len);
        arena_init(&arena, 8 << 20);
        if (judge_request_read(&arena, body, len, &request, &e) == 0) {
                assert(request.rules_count <= JUDGE_RULES_MAX);
                for (size_t i = 0; i < request.word_count; i++)
                        assert(strlen(request.words[i]) < len);
        }
        count = judge_names_read(body, len, names);
        for (int i = 0; i < count; i++)
                assert(strlen(names[i]) < len);
        if (judgement_read(&arena, body, len, 2, &j, &list, &e) == 0)
                for (size_t i = 0; i < j.count; i++)
                        assert(j.actions[i].verdict <= j.verdict && j.actions[i].list < 2);
        else
                assert(e.code == ERROR_SCHEMA_INVALID || e.code == ERROR_POLICY_DENIED);
        arena_fini(&arena);
        free(body);
        return 0;
}
