/*
 * fuzz/wire.c - any bytes as a message, and any bytes as a command for pid 1 of a box.
 *
 * The bytes go through a socket pair as one datagram, and what arrives is taken apart. Beyond not
 * crashing: a message has a known kind and the length that was sent; a command has its strings, all
 * of them, one behind the other, and no byte more.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "guest/command.h"
#include "wire/message.h"

enum { ROOM = 512 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* A broken promise ends the process, in every build type. */
static void
must(int holds)
{
        if (!holds)
                abort();
}

static void
strings_check(const struct command *c, const char *body, size_t len)
{
        const char *at = body + sizeof c->head;
        int is_path_of_env = 0;

        for (uint32_t i = 0; i < c->head.argc; at += strlen(at) + 1, i++)
                must(c->argv[i] == at);
        for (uint32_t i = 0; i < c->head.envc; at += strlen(at) + 1, i++) {
                must(c->envp[i] == at);
                is_path_of_env |= c->path == at + 5;
        }
        must(c->cwd == at && at + strlen(at) + 1 == body + len);
        must(c->argv[c->head.argc] == NULL && c->envp[c->head.envc] == NULL);
        must(is_path_of_env || strcmp(c->path, "/usr/local/bin:/usr/bin:/bin") == 0);
}

/* A body of exactly its length: a sanitizer sees one byte too many. */
static void
command_check(const uint8_t *bytes, size_t len)
{
        struct wire_message m = { .kind = WIRE_EXEC, .len = len };
        char *body = malloc(len + (len == 0));
        char *pointers[ROOM];
        struct command c;

        must(body != NULL);
        if (len > 0)
                memcpy(body, bytes, len);
        if (command_read(&m, body, pointers, ROOM, &c) == 0)
                strings_check(&c, body, len);
        free(body);
}

static void
message_check(const uint8_t *data, size_t len)
{
        static int pair[2] = { -1, -1 };
        static _Alignas(8) char body[WIRE_BODY_MAX];
        struct wire_message m;
        int got;

        if (pair[0] < 0)
                must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
        if (len == 0 || send(pair[0], data, len, MSG_DONTWAIT) != (ssize_t)len)
                return;
        got = wire_receive(pair[1], 0, &m, body, sizeof body);
        if (got <= 0)
                return;
        must(m.kind > 0 && m.kind < WIRE_KIND_MAX && m.len == len - sizeof(struct wire_head) &&
             m.fd_count == 0);
        must(memcmp(body, data + sizeof(struct wire_head), m.len) == 0);
        if (m.kind == WIRE_EXEC)
                command_check(data + sizeof(struct wire_head), m.len);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
        message_check(data, len);
        command_check(data, len);
        return 0;
}
