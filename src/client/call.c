/*
 * client/call.c - one call of an operation, and its answer as a struct of carrel.h.
 *
 * Room: client (joining). Touches: what its connection touches.
 */
#include "client/call.h"

#include <string.h>

#include "client/record.h"

struct record_writer *
client_begin(struct carrel *c, const char *id)
{
        struct record_writer *w = connection_begin(c);

        record_text(w, FIELD_ID, id);
        return w;
}

int
client_read(const struct answer_shape *shape, const struct record *r, void *ret, struct error *e)
{
        void *answer = answer_new(shape->size);
        struct record kept;

        if (!answer)
                return fail(e, ERROR_NO_MEMORY, "no memory for the answer");
        if (answer_keep(answer, r, e) == 0) { /* its texts stay in the record */
                kept = client_record(answer);
                if (answer_fill(answer_arena(answer), shape, &kept, answer, e) == 0) {
                        *(void **)ret = answer;
                        return 0;
                }
        }
        carrel_free(answer);
        return -1;
}

int
client_try_as(struct carrel *c, enum operation_code op, const struct answer_shape *shape, void *ret,
              struct error *e)
{
        struct record r;

        if (connection_call(c, op, &r, NULL, e) < 0)
                return -1;
        return ret ? client_read(shape, &r, ret, e) : 0;
}

int
client_try(struct carrel *c, enum operation_code op, void *ret, struct error *e)
{
        return client_try_as(c, op, answer_shape_of(operation(op)), ret, e);
}

int
client_call(struct carrel *c, enum operation_code op, void *ret, struct carrel_error *e)
{
        struct error inner;

        return client_try(c, op, ret, &inner) < 0 ? answer_fail(e, &inner) : 0;
}

int
client_find(struct carrel *c, enum operation_code op, enum error_code absent, void *ret,
            struct carrel_error *e)
{
        struct error inner;

        if (client_try(c, op, ret, &inner) == 0)
                return 0;
        if (inner.code != absent)
                return answer_fail(e, &inner);
        *(void **)ret = NULL;
        return 0;
}

int
client_existed(struct carrel *c, enum operation_code op, int *ret_existed, struct carrel_error *e)
{
        struct record r;
        struct error inner;
        int existed = 0;

        if (connection_call(c, op, &r, NULL, &inner) == 0)
                existed = record_get_bool(&r, FIELD_EXISTED, 0);
        else if (op != OP_STOP || inner.code != ERROR_NOT_FOUND)
                return answer_fail(e, &inner);
        if (ret_existed)
                *ret_existed = existed;
        return 0;
}

int
client_text(struct carrel *c, enum operation_code op, uint16_t tag, char **ret, struct error *e)
{
        struct record r;
        const char *text;
        char *copy;

        if (connection_call(c, op, &r, NULL, e) < 0)
                return -1;
        text = record_get_text(&r, tag, NULL);
        if (!text)
                return fail(e, ERROR_PROTOCOL, "the daemon's answer lacks its text");
        copy = answer_new(strlen(text) + 1);
        if (!copy)
                return fail(e, ERROR_NO_MEMORY, "no memory for the answer");
        memcpy(copy, text, strlen(text) + 1);
        *ret = copy;
        return 0;
}
