/*
 * loop/startup.c - what one program of Carrel passes to another on its command line.
 *
 * Room: loop (words). Touches: descriptors that are named (fcntl).
 */
#include "loop/startup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { FD_FIRST = 3, FD_MOST = 1 << 20 };

static int
wrong(const char *name, const char *what, struct error *e)
{
        return fail(e, ERROR_INVALID_ARGUMENT, "%.64s %s", name, what);
}

static int
read_number(const char *text, uint64_t most, uint64_t *ret)
{
        char *end;

        errno = 0;
        *ret = strtoull(text, &end, 10);
        return errno == 0 && *text >= '0' && *text <= '9' && *end == '\0' && *ret <= most ? 0 : -1;
}

static int
read_fd(const char *name, const char *text, int *ret, struct error *e)
{
        uint64_t number;

        if (read_number(text, FD_MOST, &number) < 0 || number < FD_FIRST)
                return wrong(name, "is no number of a descriptor", e);
        if (fcntl((int)number, F_SETFD, FD_CLOEXEC) < 0)
                return wrong(name, "is no open descriptor", e);
        *ret = (int)number;
        return 0;
}

/* The place of the value: of a list, its next member; NULL: it is full, or was given before. */
static void *
place(const struct startup_option *row, size_t seen, void *into)
{
        static const size_t sizes[] = { [STARTUP_FD] = sizeof(int),
                                        [STARTUP_NUMBER] = sizeof(uint64_t),
                                        [STARTUP_TEXT] = sizeof(char *),
                                        [STARTUP_FLAG] = sizeof(bool) };
        char *first = (char *)into + row->offset;

        if (seen >= (row->room > 0 ? row->room : 1))
                return NULL;
        if (row->room > 0)
                *(size_t *)(void *)((char *)into + row->offset_count) = seen + 1;
        return first + seen * sizes[row->kind];
}

static int
read_value(const struct startup_option *row, const char *value, void *to, struct error *e)
{
        switch (row->kind) {
        case STARTUP_FD:
                return read_fd(row->name, value, to, e);
        case STARTUP_NUMBER:
                return read_number(value, row->most, to) < 0
                               ? wrong(row->name, "is no number, or too large", e)
                               : 0;
        case STARTUP_TEXT:
                *(const char **)to = value;
                return 0;
        case STARTUP_FLAG:
                *(bool *)to = true;
                return 0;
        }
        return wrong(row->name, "has no kind", e);
}

int
startup_read(const struct startup_option *rows, size_t count, int argc, char **argv, void *into,
             struct error *e)
{
        size_t seen[STARTUP_OPTIONS_MAX] = { 0 };

        if (count > STARTUP_OPTIONS_MAX)
                return fail(e, ERROR_INTERNAL, "too many options");
        for (int i = 1; i < argc; i++) {
                size_t row = 0;
                void *to;

                while (row < count && strcmp(argv[i], rows[row].name) != 0)
                        row++;
                if (row == count)
                        return wrong(argv[i], "is unknown", e);
                to = place(&rows[row], seen[row]++, into);
                if (!to)
                        return wrong(argv[i], "is given too often", e);
                if (rows[row].kind != STARTUP_FLAG && ++i == argc)
                        return wrong(rows[row].name, "has no value", e);
                if (read_value(&rows[row], argv[i], to, e) < 0)
                        return -1;
        }
        for (size_t row = 0; row < count; row++)
                if (rows[row].is_required && seen[row] == 0)
                        return wrong(rows[row].name, "is missing", e);
        return 0;
}
