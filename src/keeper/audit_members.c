/*
 * keeper/audit_members.c - members of the entries that the keeper records.
 *
 * Room: keeper (joining). Touches: nothing.
 */
#include "keeper/audit_members.h"

#include <string.h>

#include "prepare/commands.h"
#include "prepare/norm_digest.h"
#include "prepare/policy_digest.h"
#include "recorder/words.h"

/* The normal form takes longer to write than an entry, so its hash is kept with the judgment. */
void
audit_write_allowed(struct json_writer *w, const struct sandbox *s)
{
        struct prepared *p = s->prepared;
        struct error ignored;

        if (s->row.manifest.len > 0)
                recorder_write_sum_of(w, "manifest_sha256", s->row.manifest.bytes,
                                      s->row.manifest.len);
        if (!p || (p->norm_digest[0] == '\0' &&
                   prepare_norm_digest(p->spec, p->norm_digest, &ignored) < 0))
                return;
        json_member_text(w, "norm_sha256", p->norm_digest);
}

/* The version of the rules that the command was judged by. */
void
audit_write_policy(struct json_writer *w, const struct sandbox *s)
{
        struct prepared *p = s->prepared;
        struct error ignored;

        if (!p || !p->spec || !p->rules)
                return;
        if (p->policy_digest[0] == '\0' &&
            prepare_policy_digest(p->spec, p->rules, p->policy_digest, &ignored) < 0)
                return;
        if (p->policy_digest[0] != '\0')
                json_member_text(w, "policy_sha256", p->policy_digest);
}

/* A label that the manifest gives, never a user of the machine. */
void
audit_write_identity(struct json_writer *w, const struct sandbox *s)
{
        const struct spec *spec = s->prepared ? s->prepared->spec : NULL;

        if (!spec || spec->identity_count == 0)
                return;
        json_key(w, "identity");
        json_open_list(w);
        for (size_t i = 0; i < spec->identity_count; i++) {
                const struct spec_identity *one = &spec->identities[i];

                json_text(w, one->name ? one->name : one->ref ? one->ref : one->file);
        }
        json_close_list(w);
}

/* Of a call that writes files: what it announces before their content. */
void
audit_write_announced(struct json_writer *w, const struct record *r)
{
        struct record_entry entry;
        size_t at = 0, text = 0;

        json_key(w, "announced");
        json_open_list(w);
        while (record_next(r, &at, &entry) > 0 && text < RECORDER_WORDS_MAX)
                if (entry.tag == FIELD_WRITES) {
                        json_bytes(w, entry.value, strlen(entry.value));
                        text += entry.len;
                }
        json_close_list(w);
}

/* What only a command has. */
void
audit_write_command(struct json_writer *input, const struct exec_request *r)
{
        recorder_write_environment(input, r->command.env, r->command.head.envc);
        if (r->time.by != TIME_LIMIT_NONE) {
                json_member_int(input, "timeout_ms", (int64_t)r->time.ms);
                json_member_text(input, "timeout_by", time_limit_name(r->time.by));
        }
        json_member_bool(input, "terminal", (r->command.head.flags & WIRE_EXEC_TTY) != 0);
        json_member_bool(input, "background", (r->box.flags & BOX_EXEC_BACKGROUND) != 0);
        if ((r->box.flags & BOX_EXEC_KILL_REST) != 0)
                json_member_bool(input, "kill_rest", true);
}
