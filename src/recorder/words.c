/*
 * recorder/words.c - the members of an entry that say which command it is.
 *
 * Room: recorder (joining). Touches: nothing.
 */
#include "recorder/words.h"

#include <sodium.h>
#include <string.h>

#include "audit/entry.h"

void
recorder_write_sum(struct json_writer *w, const char *key, const unsigned char sum[32])
{
        char text[AUDIT_HASH_TEXT];

        (void)sodium_bin2hex(text, sizeof text, sum, 32);
        json_member_text(w, key, text);
}

void
recorder_write_sum_of(struct json_writer *w, const char *key, const void *bytes, size_t len)
{
        unsigned char sum[crypto_hash_sha256_BYTES];

        (void)crypto_hash_sha256(sum, bytes, len);
        recorder_write_sum(w, key, sum);
}

void
recorder_write_command(struct json_writer *w, const char *const *words, size_t count)
{
        unsigned char sum[crypto_hash_sha256_BYTES];
        crypto_hash_sha256_state state;
        size_t text = 0, shown = 0;

        json_key(w, "argv");
        json_open_list(w);
        /* with its NUL: also the number of empty words has a bound */
        for (; shown < count && text + strlen(words[shown]) < RECORDER_WORDS_MAX; shown++) {
                text += strlen(words[shown]) + 1;
                json_text(w, words[shown]);
        }
        json_close_list(w);
        json_member_int(w, "argc", (int64_t)count);
        (void)crypto_hash_sha256_init(&state);
        for (size_t i = 0; i < count; i++)
                (void)crypto_hash_sha256_update(&state, (const unsigned char *)words[i],
                                                strlen(words[i]) + 1);
        (void)crypto_hash_sha256_final(&state, sum);
        recorder_write_sum(w, "argv_sha256", sum);
}

void
recorder_write_environment(struct json_writer *w, const char *const *items, size_t count)
{
        size_t text = 0;

        json_key(w, "env");
        json_open_list(w);
        for (size_t i = 0; i < count && text < RECORDER_WORDS_MAX; i++) {
                size_t len = strcspn(items[i], "=");

                text += len + 1;
                json_bytes(w, items[i], len);
        }
        json_close_list(w);
}

void
recorder_write_error(struct json_writer *w, const struct error *why)
{
        json_key(w, "error");
        json_open_map(w);
        json_member_text(w, "code", error_wire_name(why->code));
        if (why->path[0] != '\0')
                json_member_text(w, "path", why->path);
        if (why->reason[0] != '\0')
                json_member_text(w, "reason", why->reason);
        json_member_text(w, "message", why->message);
        json_close_map(w);
}
