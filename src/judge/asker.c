/*
 * judge/asker.c - asks carrel-judge, and answers its questions about files.
 *
 * Room: judge (deciding, pure). Touches: nothing; the caller sends and looks up.
 * Theory: one message after the other. An answer is one message of a question's size, so it always
 * has room in the socket; if it has none, the judge has not read, and the command is denied.
 */
#include "judge/asker.h"

#include <string.h>

int
judge_asker_begin(struct judge_asker *a, const struct judge_request *request, void *buffer,
                  struct error *e)
{
        size_t len = judge_request_write(a->arena, request, buffer, WIRE_BODY_MAX, e);

        a->rules_count = request->rules_count;
        a->lookups = 0;
        if (len == 0)
                return -1;
        return a->send(a->context, WIRE_JUDGE_THIS, buffer, len) < 0
                       ? judge_fail(e, "carrel-judge does not run")
                       : 0;
}

static int
answer(struct judge_asker *a, const struct wire_message *m, const void *body, struct error *e)
{
        static struct wire_judge_file files[JUDGE_NAMES_MAX];
        const char *names[JUDGE_NAMES_MAX];
        int count = judge_names_read(body, m->len, names);

        if (count <= 0 || ++a->lookups > JUDGE_LOOKUPS_MAX)
                return judge_fail(e, "carrel-judge asks for too many files");
        memset(files, 0, (size_t)count * sizeof files[0]);
        for (int i = 0; i < count; i++)
                a->look(a->context, names[i], &files[i]);
        return a->send(a->context, WIRE_JUDGE_FILES, files, (size_t)count * sizeof files[0]) < 0
                       ? judge_fail(e, "carrel-judge does not read")
                       : 0;
}

int
judge_asker_take(struct judge_asker *a, const struct wire_message *m, const void *body,
                 struct error *e)
{
        if (m->kind == WIRE_JUDGE_LOOKUP)
                return answer(a, m, body, e);
        if (m->kind != WIRE_JUDGED)
                return judge_fail(e, "the answer of carrel-judge makes no sense");
        return judgement_read(a->arena, body, m->len, a->rules_count, &a->judgement, &a->bad_list,
                              e) < 0
                       ? -1
                       : 1;
}
