/*
 * policy/host_program.c - the program that a host file names for a provider.
 *
 * Room: policy (deciding, pure). Touches: mem.
 * Theory: a manifest cannot name a program, and neither can a user's own host file: only the
 * operator chooses what runs for a provider, what it sees and what it may connect to.
 */
#include <string.h>

#include "policy/host_provider.h"

enum { WORDS_MAX = 64 };

static const char *const members[] = { "program", "tools", "reaches" };

bool
host_program_has(const char *key)
{
        for (size_t i = 0; i < sizeof members / sizeof *members; i++)
                if (strcmp(members[i], key) == 0)
                        return true;
        return false;
}

static int
read_words(struct arena *arena, const struct node *n, const char *path, struct spec_names *ret,
           struct error *e)
{
        const char **items = arena_array(arena, const char *, WORDS_MAX);
        size_t count = 0;

        if (!items)
                return fail(e, ERROR_NO_MEMORY, "no memory for the host's rules");
        if (n->kind != NODE_LIST || n->len > WORDS_MAX)
                return fail_at(e, ERROR_SCHEMA_INVALID, path, "type",
                               "%s is a list of at most %d words", n->key, WORDS_MAX);
        node_each(word, n)
        {
                if (word->kind != NODE_STRING || word->len == 0)
                        return fail_at(e, ERROR_SCHEMA_INVALID, path, "type",
                                       "each entry of %s is a word", n->key);
                items[count++] = word->text;
        }
        *ret = (struct spec_names){ items, count };
        return 0;
}

static int
read_reaches(struct arena *arena, const struct node *n, const char *path, struct host_program *ret,
             struct error *e)
{
        struct spec_egress *entries = arena_array(arena, struct spec_egress, WORDS_MAX);
        struct spec_names words = { NULL, 0 };

        if (read_words(arena, n, path, &words, e) < 0)
                return -1;
        if (!entries)
                return fail(e, ERROR_NO_MEMORY, "no memory for the host's rules");
        for (size_t i = 0; i < words.count; i++)
                if (egress_permitted_read(arena, words.items[i], &entries[i], e) < 0)
                        return error_wrap(e, "%s/%zu", path, i);
        ret->reaches = entries;
        ret->reach_count = words.count;
        return 0;
}

static int
check_absolute(const struct spec_names *names, size_t count, const char *path, const char *what,
               struct error *e)
{
        for (size_t i = 0; i < count; i++)
                if (names->items[i][0] != '/')
                        return fail_at(e, ERROR_SCHEMA_INVALID, path, "pattern",
                                       "%s must be an absolute path, not \"%.200s\"", what,
                                       names->items[i]);
        return 0;
}

void
host_program_bound(const struct node *n, struct host_ability *can)
{
        struct host_ability said = *can;

        *can = (struct host_ability){ .tier = said.tier,
                                      .egress = node_find(n, "egress") ? said.egress
                                                                       : HOST_EGRESS_NONE,
                                      .is_isolated = said.is_isolated,
                                      .can_pause = said.can_pause && node_find(n, "pause"),
                                      .caps_time = said.caps_time,
                                      .caps_output = said.caps_output };
        can->caps_memory = said.caps_memory && node_find(n, "memory");
        can->caps_cpu = said.caps_cpu && node_find(n, "cpu");
        can->caps_millicores = said.caps_millicores && node_find(n, "cpu_millicores");
        can->caps_pids = said.caps_pids && node_find(n, "pids");
        can->caps_files = said.caps_files && node_find(n, "open_files");
        can->caps_io = said.caps_io && node_find(n, "io");
        can->caps_disk = said.caps_disk && node_find(n, "disk");
}

int
host_program_read(struct arena *arena, const struct node *n, const char *path,
                  struct host_program *ret, struct error *e)
{
        const struct node *program = node_find(n, members[0]), *tools = node_find(n, members[1]),
                          *reaches = node_find(n, members[2]);

        *ret = (struct host_program){ .reach_count = 0 };
        if (program && read_words(arena, program, path, &ret->argv, e) < 0)
                return -1;
        if (ret->argv.count == 0 && (program || tools || reaches))
                return fail_at(e, ERROR_SCHEMA_INVALID, path, "missing",
                               "a provider's program is a list of words: program: "
                               "[/usr/bin/python3, /opt/provider/provider.py]");
        if (check_absolute(&ret->argv, ret->argv.count > 0, path, "the program", e) < 0)
                return -1;
        if (tools && (read_words(arena, tools, path, &ret->tools, e) < 0 ||
                      check_absolute(&ret->tools, ret->tools.count, path, "each of tools", e) < 0))
                return -1;
        return reaches ? read_reaches(arena, reaches, path, ret, e) : 0;
}
