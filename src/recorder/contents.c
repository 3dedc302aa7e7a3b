/*
 * recorder/contents.c - keeps what a command read and wrote.
 *
 * Room: recorder (joining). Touches: files in memory, the audit log.
 */
#include "recorder/contents.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "audit/redact.h"
#include "recorder/message.h"

static int
read_whole(int fd, char *bytes, size_t *ret_len, struct error *e)
{
        ssize_t got = 0;

        for (*ret_len = 0; fd >= 0 && *ret_len < RECORDER_KEEP_MAX; *ret_len += (size_t)got) {
                got = pread(fd, bytes + *ret_len, RECORDER_KEEP_MAX - *ret_len, (off_t)*ret_len);
                if (got <= 0)
                        break;
        }
        return got < 0 ? fail_sys(e, ERROR_AUDIT_UNAVAILABLE, errno, "reading what is to be kept")
                       : 0;
}

static void
write_content(struct audit_log *log, const struct contents_streams *s, size_t i, char *bytes,
              size_t *counts, struct json_writer *out)
{
        struct audit_content c = { .redacted = counts };
        struct error e = { .code = ERROR_NONE };
        size_t len = 0;
        int result = bytes && counts ? read_whole(s->fds[i], bytes, &len, &e) : -1;

        c.is_truncated = len < s->lengths[i];
        if (result == 0 && audit_content_put(log, bytes, len, &c, &e) == 0) {
                audit_content_write(out, &c);
                return;
        }
        if (!bytes || !counts)
                (void)fail(&e, ERROR_NO_MEMORY, "no memory for a content");
        json_open_map(out);
        json_member_text(out, "error", error_wire_name(e.code));
        json_member_text(out, "message", e.message);
        json_close_map(out);
}

void
recorder_contents_write(struct audit_log *log, const struct contents_streams *s,
                        struct json_writer *out)
{
        static const char *const names[AUDIT_CONTENT_STREAMS] = { "stdin", "stdout", "stderr",
                                                                  "egress" };
        size_t rules;

        (void)redact_rules(&rules);
        json_open_map(out);
        for (size_t i = 0; i < AUDIT_CONTENT_STREAMS; i++) {
                size_t *counts = NULL;
                char *bytes = NULL;

                if ((s->which & 1u << i) == 0)
                        continue;
                counts = calloc(rules, sizeof *counts);
                bytes = malloc(RECORDER_KEEP_MAX);
                json_key(out, names[i]);
                write_content(log, s, i, bytes, counts, out);
                free(counts);
                free(bytes);
        }
        json_close_map(out);
}
