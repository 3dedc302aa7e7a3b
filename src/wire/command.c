/*
 * wire/command.c - packs a command, and reads it.
 *
 * Room: wire (words). Touches: nothing.
 */
#include "wire/command.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

enum { FLAGS_KNOWN = WIRE_EXEC_AS_CALLER * 2 - 1 };

size_t
wire_command_len(const struct wire_command *c)
{
        size_t len = sizeof(struct wire_box_exec) + sizeof c->head + strlen(c->cwd) + 1;

        for (size_t i = 0; i < c->head.argc; i++)
                len += strlen(c->argv[i]) + 1;
        for (size_t i = 0; i < c->head.envc; i++)
                len += strlen(c->env[i]) + 1;
        /* what wire_command_read() would refuse: a caller cannot be answered there */
        if (c->head.argc == 0 || c->head.argc > WIRE_COMMAND_STRINGS_MAX ||
            c->head.envc > WIRE_COMMAND_STRINGS_MAX)
                return 0;
        return len <= WIRE_BODY_MAX ? len : 0;
}

static char *
put(char *at, const char *text)
{
        size_t len = strlen(text) + 1;

        memcpy(at, text, len);
        return at + len;
}

void
wire_command_write(const struct wire_command *c, const struct wire_box_exec *ask, void *out)
{
        struct wire_exec head = c->head;
        char *strings = (char *)out + sizeof *ask + sizeof head, *at = strings;

        for (size_t i = 0; i < head.argc; i++)
                at = put(at, c->argv[i]);
        for (size_t i = 0; i < head.envc; i++)
                at = put(at, c->env[i]);
        at = put(at, c->cwd);
        head.exec = ask->exec;
        head.strings_len = (uint32_t)(at - strings);
        memcpy(out, ask, sizeof *ask);
        memcpy((char *)out + sizeof *ask, &head, sizeof head);
}

int
wire_command_read(char *body, size_t len, char **pointers, size_t room, struct wire_exec *ret_head)
{
        size_t count, used = 0, to = 0;
        char *at = body + sizeof *ret_head;

        if (len < sizeof *ret_head)
                return -EPROTO;
        memcpy(ret_head, body, sizeof *ret_head);
        len -= sizeof *ret_head;
        if (ret_head->strings_len != len || len == 0 || at[len - 1] != '\0' ||
            (ret_head->flags & ~(uint32_t)FLAGS_KNOWN) != 0)
                return -EPROTO;
        count = (size_t)ret_head->argc + ret_head->envc + 1;
        if (ret_head->argc == 0 || ret_head->argc > WIRE_COMMAND_STRINGS_MAX ||
            ret_head->envc > WIRE_COMMAND_STRINGS_MAX || (pointers && count + 2 > room))
                return -E2BIG;
        for (size_t i = 0; i < count; i++, used += strlen(at + used) + 1) {
                if (used >= len)
                        return -EPROTO;
                if (pointers && i == ret_head->argc)
                        pointers[to++] = NULL;
                if (pointers && i + 1 == count)
                        pointers[to++] = NULL;
                if (pointers)
                        pointers[to++] = at + used;
        }
        return used == len ? 0 : -EPROTO;
}
