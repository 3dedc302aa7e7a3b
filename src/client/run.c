/*
 * client/run.c - runs a command from start to end in one call, and lists the execs of a sandbox.
 *
 * Room: client (joining). Touches: what exec and connection touch.
 * Theory: input is sent only as the command reads it, and output is read meanwhile, so the two
 * sides cannot deadlock.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "client/call.h"
#include "client/exec.h"
#include "client/record.h"

enum { AT_ONCE = 64 * 1024, KEEP_DEFAULT = 16 << 20 };

static void
begin_with_exec(struct carrel *c, const char *id, uint32_t exec)
{
        record_uint(client_begin(c, id), FIELD_EXEC, exec);
}

/* -- one call ---------------------------------------------------------------------------------- */

struct kept {
        struct buffer text;
        uint64_t lost, next;
};

struct running {
        struct carrel_exec *x;
        const char *input;
        size_t input_left;
        /* is_left: the wait for a port is over, and the command keeps running */
        int input_is_open, is_left;
        size_t keep_max;
        carrel_output_fn *output;
        void *ctx;
        struct kept kept[2];
};

static int
keep(struct kept *k, const struct carrel_piece *p, size_t max, struct error *e)
{
        size_t n = p->len < max - k->text.len ? p->len : max - k->text.len;

        k->lost += p->offset - k->next + (p->len - n);
        k->next = p->offset + p->len;
        if (buffer_add(&k->text, p->bytes, n, max) < 0)
                return fail(e, ERROR_NO_MEMORY, "no memory for the command's output");
        return 0;
}

static int
take_piece(struct running *r, const struct carrel_piece *p, struct error *e)
{
        if (p->kind == CARREL_PORT)
                r->is_left = 1;
        if (p->kind != CARREL_STDOUT && p->kind != CARREL_STDERR)
                return 0;
        if (!r->output)
                return keep(&r->kept[p->kind == CARREL_STDERR], p, r->keep_max, e);
        return r->output(r->ctx, p) != 0 ? fail(e, ERROR_CANCELED, "the caller ended the command")
                                         : 0;
}

static int
give_input(struct running *r, struct error *e)
{
        while (r->input_left > 0) {
                long taken = client_exec_write(r->x, r->input, r->input_left);

                if (taken == 0)
                        return 0;
                r->input += taken;
                r->input_left -= (size_t)taken;
        }
        if (!r->input_is_open)
                return 0;
        r->input_is_open = 0;
        return client_exec_write_end(r->x, e);
}

static int
run(struct running *r, struct error *e)
{
        for (;;) {
                struct carrel_piece p;
                struct pollfd fd;
                int got = 0;

                if (give_input(r, e) < 0)
                        return -1;
                while (!r->is_left && (got = client_exec_read(r->x, 0, &p, e)) > 0)
                        if (take_piece(r, &p, e) < 0)
                                return -1;
                if (r->is_left)
                        return 0;
                if (got < 0 || carrel_exec_end(r->x))
                        return got;
                fd = (struct pollfd){ carrel_exec_fd(r->x), carrel_exec_events(r->x), 0 };
                if (poll(&fd, 1, -1) < 0 && errno != EINTR)
                        return fail_sys(e, ERROR_INTERNAL, errno, "waiting for the command");
        }
}

static int
make_result(struct running *r, struct carrel_result **ret, struct error *e)
{
        struct carrel_result *result = answer_new(sizeof *result);

        if (!result)
                return fail(e, ERROR_NO_MEMORY, "no memory for the result");
        result->is_running = r->is_left;
        result->port = carrel_exec_port(r->x);
        result->end = r->is_left ? (struct carrel_end){ .outcome = "", .exit_code = -1 }
                                 : *carrel_exec_end(r->x);
        result->exec = carrel_exec_number(r->x);
        result->timeout_ms = carrel_exec_timeout(r->x, &result->timeout_by);
        if (carrel_exec_audit_ref(r->x))
                result->audit_ref = arena_text(answer_arena(result), carrel_exec_audit_ref(r->x));
        result->out = arena_copy(answer_arena(result),
                                 r->kept[0].text.len > 0 ? r->kept[0].text.bytes : "",
                                 r->kept[0].text.len);
        result->err = arena_copy(answer_arena(result),
                                 r->kept[1].text.len > 0 ? r->kept[1].text.bytes : "",
                                 r->kept[1].text.len);
        result->out_len = r->kept[0].text.len;
        result->err_len = r->kept[1].text.len;
        result->out_lost = r->kept[0].lost;
        result->err_lost = r->kept[1].lost;
        if (answer_check(answer_arena(result), e) < 0) {
                carrel_free(result);
                return -1;
        }
        *ret = result;
        return 0;
}

/* The result is valid without the denials too. */
static void
add_denied(struct carrel *c, const char *id, struct carrel_result *result)
{
        struct record r;
        struct error ignored;

        begin_with_exec(c, id, result->exec);
        if (result->end.denied_count == 0 ||
            connection_call(c, OP_EXEC_GET, &r, NULL, &ignored) < 0 ||
            answer_keep(result, &r, &ignored) < 0)
                return;
        r = client_record(result);
        if (answer_fill(answer_arena(result), &answer_exec_denials, &r, &result->denied, &ignored) <
            0)
                result->denied = (struct carrel_denials){ .count = 0 };
        result->denied_more = result->denied.more;
}

int
carrel_run(struct carrel *c, const char *id, const struct carrel_command *command, size_t keep_max,
           carrel_output_fn *output, void *ctx, struct carrel_result **ret, struct carrel_error *e)
{
        struct running r = { .keep_max = keep_max > 0 ? keep_max : KEEP_DEFAULT,
                             .output = output,
                             .ctx = ctx };
        struct carrel_command own = *command;
        struct error inner;
        int result;

        if (command->input_len > AT_ONCE) {
                r.input = command->input;
                r.input_left = command->input_len;
                own.input_len = 0;
                own.has_stdin = 1;
        }
        r.input_is_open = own.has_stdin;
        if (carrel_exec(c, id, &own, &r.x, e) < 0)
                return -1;
        result = run(&r, &inner);
        if (result == 0)
                result = make_result(&r, ret, &inner);
        if (result == 0 && r.is_left)
                (void)carrel_exec_detach(r.x, NULL); /* an exec that has gone needs no detach */
        else
                carrel_exec_free(r.x);
        if (result == 0)
                add_denied(c, id, *ret);
        buffer_fini(&r.kept[0].text);
        buffer_fini(&r.kept[1].text);
        return result < 0 ? answer_fail(e, &inner) : 0;
}

/* -- the list of execs ------------------------------------------------------------------------- */

int
carrel_exec_list(struct carrel *c, const char *id, struct carrel_execs **ret,
                 struct carrel_error *e)
{
        (void)client_begin(c, id);
        return client_call(c, OP_EXEC_LIST, ret, e);
}

int
carrel_exec_get(struct carrel *c, const char *id, uint32_t exec, struct carrel_exec_info **ret,
                struct carrel_error *e)
{
        begin_with_exec(c, id, exec);
        return client_find(c, OP_EXEC_GET, ERROR_EXEC_NOT_FOUND, ret, e);
}

int
carrel_signal(struct carrel *c, const char *id, uint32_t exec, int signal, struct carrel_error *e)
{
        begin_with_exec(c, id, exec);
        record_int(&c->w, FIELD_SIGNAL, signal);
        return client_call(c, OP_EXEC_SIGNAL, NULL, e);
}

int
carrel_kill(struct carrel *c, const char *id, uint32_t exec, int *ret_ran, struct carrel_error *e)
{
        begin_with_exec(c, id, exec);
        return client_existed(c, OP_EXEC_KILL, ret_ran, e);
}
