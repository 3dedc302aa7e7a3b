/*
 * cli/greeting_sandbox.c - the sandbox in which a provider's program greets.
 *
 * Room: cli (joining). Touches: memory files.
 * Theory: as prepare/elsewhere.c makes it for the daemon: the standard provider, the program's own
 * tools, limits. But without a network.
 */
#include "cli/greeting_sandbox.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "spec/provider.h"
#include "text/json.h"

enum { PROGRAM_MEMORY_MB = 1024 };

static void
write_tools(struct json_writer *w, const char *key, const struct host_provider *p)
{
        json_key(w, key);
        json_open_list(w);
        for (size_t i = 0; i < p->program.tools.count; i++)
                json_text(w, p->program.tools.items[i]);
        json_close_list(w);
}

static void
write_manifest(struct json_writer *w, const struct host_provider *p, uint64_t timeout_ms)
{
        json_open_map(w);
        json_member_text(w, "schema", "sandbox/v1");
        json_member_text(w, "provider", PROVIDER_STANDARD);
        json_key(w, "config");
        json_open_map(w);
        json_close_map(w);
        json_key(w, "limits");
        json_open_map(w);
        json_member_int(w, "timeout_ms", (int64_t)timeout_ms);
        json_member_int(w, "memory_mb", PROGRAM_MEMORY_MB);
        json_close_map(w);
        json_key(w, "metadata");
        json_open_map(w);
        json_key(w, "carrel");
        json_open_map(w);
        write_tools(w, "tools", p);
        json_close_map(w);
        json_close_map(w);
        json_close_map(w);
}

static void
write_host(struct json_writer *w, const struct host_provider *p, uint64_t timeout_ms)
{
        (void)timeout_ms;
        json_open_map(w);
        json_key(w, "providers");
        json_open_map(w);
        json_key(w, PROVIDER_STANDARD);
        json_open_map(w);
        json_member_bool(w, "isolated", true);
        json_close_map(w);
        json_close_map(w);
        write_tools(w, "tool_roots", p);
        json_close_map(w);
}

/* In memory, and open across an exec. JSON is YAML. -1: no memory. */
static int
make_file(const char *frame, const struct host_provider *p, uint64_t timeout_ms,
          void (*write_text)(struct json_writer *w, const struct host_provider *p, uint64_t ms))
{
        int fd = memfd_create("carrel-doctor", 0);
        struct json_writer w;
        bool is_written;

        json_init(&w, false);
        write_text(&w, p, timeout_ms);
        is_written = !w.is_broken && w.text && fd >= 0 &&
                     dprintf(fd, "%s%s\n%s", frame, w.text, frame) > 0;
        json_fini(&w);
        if (is_written)
                return fd;
        if (fd >= 0)
                (void)close(fd);
        return -1;
}

int
greeting_sandbox_open(struct greeting_sandbox *b, const struct host_provider *p,
                      uint64_t timeout_ms)
{
        static char words[][16] = { "/proc/self/exe", "run", "-f", "--host", "-w", "/", "--" };
        char *const head[] = { words[0],    words[1], words[2], b->paths[0], words[3],
                               b->paths[1], words[4], words[5], words[6] };
        size_t count = sizeof head / sizeof *head;

        b->files[0] = make_file("---\n", p, timeout_ms, write_manifest);
        b->files[1] = make_file("", p, timeout_ms, write_host);
        for (int i = 0; i < 2; i++)
                (void)snprintf(b->paths[i], sizeof b->paths[i], "/proc/self/fd/%d", b->files[i]);
        if (b->files[0] < 0 || b->files[1] < 0 ||
            count + p->program.argv.count >= GREETING_WORDS_MAX)
                return -1;
        memcpy(b->argv, head, sizeof head);
        for (size_t i = 0; i < p->program.argv.count; i++)
                b->argv[count++] = (char *)(uintptr_t)p->program.argv.items[i];
        b->argv[count] = NULL;
        return 0;
}

void
greeting_sandbox_close(struct greeting_sandbox *b)
{
        for (int i = 0; i < 2; i++) {
                if (b->files[i] >= 0)
                        (void)close(b->files[i]);
                b->files[i] = -1;
        }
}
