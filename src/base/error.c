/*
 * base/error.c - how a function says why it could not.
 *
 * Room: base (words). Touches: nothing.
 * Knows the table of codes. Knows nothing of who prints an error or exits because of one.
 */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct code_row {
        const char *wire;
        int http;
        int exit_status;
        const char *hint;
};

static const struct code_row rows[ERROR_MAX] = {
        [ERROR_NONE] = { "none", 200, 0, "" },
#define ERROR_CODE(name, wire, http, exit_status, hint) \
        [ERROR_##name] = { wire, http, exit_status, hint },
#include "base/error_codes.def"
#undef ERROR_CODE
};

static const struct code_row *
row_of(enum error_code code)
{
        return (unsigned)code < ERROR_MAX ? &rows[code] : &rows[ERROR_INTERNAL];
}

static void
begin(struct error *e, enum error_code code)
{
        memset(e, 0, sizeof *e);
        e->code = code;
}

int
fail(struct error *e, enum error_code code, const char *fmt, ...)
{
        va_list ap;

        begin(e, code);
        va_start(ap, fmt);
        (void)vsnprintf(e->message, sizeof e->message, fmt, ap);
        va_end(ap);
        return -1;
}

int
fail_sys(struct error *e, enum error_code code, int sys, const char *fmt, ...)
{
        va_list ap;
        size_t used;

        begin(e, code);
        e->sys = sys;
        va_start(ap, fmt);
        (void)vsnprintf(e->message, sizeof e->message, fmt, ap);
        va_end(ap);
        used = strlen(e->message);
        (void)snprintf(e->message + used, sizeof e->message - used, ": %s", strerror(sys));
        if (sys == EMFILE)
                error_hint(e, "This process may open too few files. Raise the limit in the shell "
                              "that starts it: ulimit -n 1024");
        return -1;
}

int
fail_at(struct error *e, enum error_code code, const char *path, const char *reason,
        const char *fmt, ...)
{
        va_list ap;

        begin(e, code);
        (void)snprintf(e->path, sizeof e->path, "%s", path ? path : "");
        (void)snprintf(e->reason, sizeof e->reason, "%s", reason ? reason : "");
        va_start(ap, fmt);
        (void)vsnprintf(e->message, sizeof e->message, fmt, ap);
        va_end(ap);
        return -1;
}

int
error_wrap(struct error *e, const char *fmt, ...)
{
        char inner[sizeof e->message];
        va_list ap;
        size_t used;

        memcpy(inner, e->message, sizeof inner);
        va_start(ap, fmt);
        (void)vsnprintf(e->message, sizeof e->message, fmt, ap);
        va_end(ap);
        used = strlen(e->message);
        (void)snprintf(e->message + used, sizeof e->message - used, ": %.*s",
                       (int)(sizeof inner - 1), inner);
        return -1;
}

void
error_hint(struct error *e, const char *fmt, ...)
{
        va_list ap;

        va_start(ap, fmt);
        (void)vsnprintf(e->hint, sizeof e->hint, fmt, ap);
        va_end(ap);
}

const char *
error_wire_name(enum error_code code)
{
        return row_of(code)->wire;
}

const char *
error_code_hint(enum error_code code)
{
        return row_of(code)->hint;
}

int
error_http_status(enum error_code code)
{
        return row_of(code)->http;
}

int
error_exit_status(enum error_code code)
{
        return row_of(code)->exit_status;
}

enum error_code
error_code_find(const char *wire_name)
{
        for (int code = 0; code < ERROR_MAX; code++)
                if (strcmp(rows[code].wire, wire_name) == 0)
                        return (enum error_code)code;
        return ERROR_NONE;
}

const char *
error_hint_text(const struct error *e)
{
        return e->hint[0] != '\0' ? e->hint : error_code_hint(e->code);
}
