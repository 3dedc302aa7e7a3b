/*
 * fuzz/shell.c - shell commands: any bytes, read as a text.
 *
 * What is promised: the reading ends, every action has a program or a doubt, and a text with a
 * control character has a doubt.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "shell/reading.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const char *
find(void *context, const char *word)
{
        static const char *const names[] = { "sh",  "env",     "xargs", "find", "timeout",
                                             "rm",  "ls",      "git",   "tar",  "make",
                                             "awk", "python3", "rsync", "vim",  "sed" };

        (void)context;
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
                if (strcmp(names[i], word) == 0)
                        return names[i];
        return NULL;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
        struct shell_facts facts = { find, NULL };
        struct shell_reading r;
        struct arena memory;
        bool has_doubt = false;

        arena_init(&memory, SHELL_MEMORY);
        shell_read_text(&memory, (const char *)data, len, &facts, &r);
        assert(r.count <= SHELL_ACTIONS_MAX);
        for (size_t i = 0; i < r.count; i++) {
                assert((r.actions[i].doubt == SHELL_NO_DOUBT) == (r.actions[i].program != NULL));
                assert(r.actions[i].written);
                has_doubt = has_doubt || r.actions[i].doubt != SHELL_NO_DOUBT;
        }
        assert(has_doubt || !memchr(data, '\r', len));
        arena_fini(&memory);
        return 0;
}
