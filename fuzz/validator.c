/*
 * fuzz/validator.c - validators: a JSON Schema and a value, in the first and second line; then
 * words with paths and hosts.
 *
 * What is promised: a schema that is read can be judged, within its bounds, and says why it is not
 * valid; a value is not valid against a schema and against its `not`; a path without "/" and ".."
 * stays where it is.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "judge/json_schema.h"
#include "judge/json_schema_check.h"
#include "judge/reach.h"
#include "text/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const struct text_limits limits = { 64 << 10, 32, 4096 };

static void
judge_value(const struct node *schema, const struct node *value, bool may_refer)
{
        struct node copy = *schema, opposite = { .kind = NODE_MAP, .len = 1, .first = &copy };
        char place[JSON_SCHEMA_PLACE_ROOM];
        bool is_valid = json_schema_allows(schema, value, place);
        struct error e;

        assert(is_valid == (place[0] == '\0'));
        copy.key = "not";
        copy.next = NULL;
        /* a reference to # would mean another schema then */
        if (is_valid && !may_refer && json_schema_check(&opposite, &e) == 0)
                assert(!json_schema_allows(&opposite, value, place) || strstr(place, "limit"));
}

static void
judge_word(const char *word)
{
        static const char *const directories[] = { "/workspace" };
        static const struct spec_names beneath = { directories, 1 };
        static const struct spec_egress entry = { .host = "a.example",
                                                  .ports = { 443 },
                                                  .port_count = 1 };
        const struct reach_paths paths = { &beneath, "/workspace", false };
        const struct reach_hosts hosts = { &entry, 1 };

        if (!strchr(word, '/') && !strstr(word, ".."))
                assert(reach_word_stays(&paths, word));
        if (reach_word_hosts(&hosts, "ssh", word) && strncmp(word, "https://", 8) == 0)
                assert(strcasestr(word, "a.example"));
        (void)reach_word_hosts(&hosts, "git", word);
        (void)reach_host_is_listed(&hosts, word);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
        const char *text = (const char *)data, *line = memchr(text, '\n', len);
        const struct node *schema, *value;
        size_t first = line ? (size_t)(line - text) : len;
        const char *end = line ? memchr(line + 1, '\n', len - first - 1) : NULL;
        struct arena arena;
        struct error e;
        char *word;

        arena_init(&arena, 8 << 20);
        if (end && json_read(&arena, text, first, &limits, &schema, &e) == 0 &&
            json_read(&arena, line + 1, (size_t)(end - line - 1), &limits, &value, &e) == 0 &&
            json_schema_check(schema, &e) == 0)
                judge_value(schema, value, memchr(text, '$', first) || memchr(text, '\\', first));
        word = end ? arena_copy(&arena, end + 1, len - (size_t)(end + 1 - text)) : NULL;
        if (word)
                judge_word(word);
        arena_fini(&arena);
        return 0;
}
