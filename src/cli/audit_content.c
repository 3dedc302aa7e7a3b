/*
 * cli/audit_content.c - the kept contents of an entry of an audit log.
 *
 * Room: cli (joining, program). Touches: fd (standard output), the audit log.
 */
#include "cli/audit_content.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/content.h"
#include "text/visible.h"

enum { STEP = 4096 };

static const char *
text_of(const struct node *map, const char *key)
{
        const struct node *n = node_find(map, key);

        return n && n->kind == NODE_STRING ? n->text : NULL;
}

/* The same form as a command's output on a terminal: run/stream.h. */
static void
print_visible(const char *bytes, size_t len)
{
        static char out[STEP * VISIBLE_MAX + VISIBLE_HELD_MAX * VISIBLE_MAX];
        struct visible v = { .held_len = 0 };
        size_t end;

        while (len > 0) {
                size_t part = len < STEP ? len : STEP;

                end = visible_write(&v, bytes, part, false, out);
                (void)fwrite(out, 1, end, stdout);
                bytes += part;
                len -= part;
        }
        end = visible_write(&v, NULL, 0, true, out);
        (void)fwrite(out, 1, end, stdout);
}

static int
not_kept(const struct audit_entry *entry, const struct node *content, struct error *e)
{
        const char *message = text_of(content, "message");

        if (message)
                return fail(e, ERROR_AUDIT_UNAVAILABLE, "this content was not kept: %s", message);
        (void)fail_at(e, ERROR_INVALID_ARGUMENT, NULL, "not_kept",
                      "entry %" PRIu64 " (%s) has no kept content", entry->seq, entry->action);
        error_hint(e, strcmp(entry->action, "exec.ended") == 0
                              ? "Record it: carrel run --audit --keep-output -- COMMAND"
                              : "Name the entry exec.ended of the command: `carrel audit tail "
                                "--action exec.ended`.");
        return -1;
}

int
audit_content_print(const struct audit_log *log, const struct audit_entry *entry,
                    const char *stream, struct error *e)
{
        const struct node *content =
                node_find(node_find(node_find(entry->root, "output"), "content"), stream);
        const char *sha256 = text_of(content, "sha256");
        struct buffer bytes = { 0 };
        int result;

        if (!sha256)
                return not_kept(entry, content, e);
        result = audit_content_read(log, sha256, &bytes, e);
        if (result == 0 && isatty(STDOUT_FILENO))
                print_visible(bytes.bytes, bytes.len);
        else if (result == 0)
                (void)fwrite(bytes.bytes, 1, bytes.len, stdout);
        buffer_fini(&bytes);
        return result;
}
