/*
 * mcp/tools_mastra_words.c - reads the arguments of Mastra's three tools, and ends their requests.
 *
 * Room: mcp (joining). Touches: nothing.
 * Theory: arguments are accepted as in Mastra's schemas: a number may be a numeric text, and some
 * may be null.
 */
#include <stdlib.h>
#include <string.h>

#include "api/ending.h"
#include "mcp/tools_mastra.h"

/* -- arguments --------------------------------------------------------------------------------- */

int
mastra_wrong(struct error *e, const char *name, const char *expected)
{
        return fail_at(e, ERROR_INVALID_ARGUMENT, name, NULL, "Invalid arguments: %s: expected %s",
                       name, expected);
}

/* Accepts a number or a numeric text, because models send both. */
static bool
to_number(const struct node *n, double *ret)
{
        const char *at;

        if (n->kind == NODE_INT || n->kind == NODE_FLOAT) {
                *ret = n->real;
                return true;
        }
        if (n->kind != NODE_STRING)
                return false;
        at = n->text + strspn(n->text, " \t\r\n");
        at += *at == '-';
        if (strspn(at, "0123456789") == 0)
                return false;
        at += strspn(at, "0123456789");
        if (*at == '.' && strspn(at + 1, "0123456789") > 0)
                at += 1 + strspn(at + 1, "0123456789");
        if (at[strspn(at, " \t\r\n")] != '\0')
                return false;
        *ret = strtod(n->text, NULL);
        return true;
}

static const struct node *
argument(const struct mcp_request *r, const char *name, unsigned flags)
{
        const struct node *n = node_find(r->arguments, name);

        return n && n->kind == NODE_NULL && flags & MASTRA_MAY_BE_NULL ? NULL : n;
}

int
mastra_read_tail(const struct mcp_request *r, unsigned flags, int64_t *ret, struct error *e)
{
        const struct node *n = argument(r, "tail", flags);
        double value;

        *ret = TOOLS_TAIL;
        if (!n)
                return 0;
        if (!to_number(n, &value) ||
            !(value >= -9007199254740991.0 && value <= 9007199254740991.0) ||
            (double)(int64_t)value < value || (double)(int64_t)value > value)
                return mastra_wrong(e, "tail", "a whole number");
        *ret = (int64_t)value;
        return 0;
}

int
mastra_read_timeout(const struct mcp_request *r, int64_t *ret, struct error *e)
{
        const struct node *n = argument(r, "timeout", MASTRA_MAY_BE_NULL);
        double value;

        *ret = 0;
        if (!n)
                return 0;
        if (!to_number(n, &value) || !(value >= 0 && value <= 31536000))
                return mastra_wrong(e, "timeout", "a number of seconds from 0 to 31536000");
        *ret = (int64_t)(value * 1000);
        if (value > 0 && *ret == 0)
                *ret = 1;
        return 0;
}

int
mastra_read_flag(const struct mcp_request *r, const char *name, bool *ret, struct error *e)
{
        const struct node *n = argument(r, name, 0);

        *ret = n && n->boolean;
        return n && n->kind != NODE_BOOL ? mastra_wrong(e, name, "true or false") : 0;
}

int
mastra_read_text(const struct mcp_request *r, const char *name, unsigned flags, const char **ret,
                 struct error *e)
{
        const struct node *n = argument(r, name, flags);

        *ret = n ? n->text : NULL;
        return n && n->kind != NODE_STRING ? mastra_wrong(e, name, "a text") : 0;
}

/* -- output ------------------------------------------------------------------------------------ */

struct tools_output
mastra_output(const struct mcp_request *r)
{
        return (struct tools_output){ &r->out, &r->err, r->exec.tail, TOOLS_TOKENS };
}

void
mastra_answer(struct mcp_request *r, struct mcp_bytes *take_text, bool is_error)
{
        struct mcp_bytes text = *take_text;
        struct error e;

        if (text.is_broken) {
                (void)fail(&e, ERROR_NO_MEMORY, "there is no memory left for this output");
                request_fail(r, &e);
        } else {
                request_text(r, text.text, text.len, is_error);
        }
        mcp_bytes_fini(&text);
}

int
mastra_exit_code(const struct channel_end *end)
{
        struct outcome o = ending_of(end);

        return outcome_status(&o);
}
