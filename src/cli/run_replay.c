/*
 * cli/run_replay.c - what `carrel run` does otherwise if it replays recorded commands.
 *
 * Room: cli (joining). Touches: fd.
 */
#include "cli/run_replay.h"

#include <stdio.h>
#include <string.h>

#include "base/write_all.h"
#include "cli/run_audit.h"
#include "cli/wall.h"
#include "prepare/digest.h"
#include "prepare/norm_digest.h"
#include "recorder/message.h"

/* A replay runs with what was recorded, or not at all. */
int
run_replay_check(const struct run_way *w, const struct replay_options *r, struct error *e)
{
        const char *cwd = r->count == 1 ? r->commands[0].cwd : NULL;
        char digest[PREPARE_DIGEST_TEXT];

        if (w->p.spec->env.auth_count > 0)
                return fail_at(e, ERROR_INVALID_ARGUMENT, NULL, "replay_secrets",
                               "the sandbox gets secrets, and their values were not recorded");
        if (cwd && strcmp(cwd, w->p.plan->cwd) != 0)
                return fail_at(e, ERROR_INVALID_ARGUMENT, NULL, "replay_directory",
                               "the command ran in %.200s, and a replay runs in %.200s", cwd,
                               w->p.plan->cwd);
        if ((r->allowed_sha256 ? prepare_allowed_digest(w->p.spec, digest, e)
                               : prepare_norm_digest(w->p.spec, digest, e)) < 0)
                return -1;
        if (strcmp(digest, r->allowed_sha256 ? r->allowed_sha256 : r->norm_sha256) == 0)
                return 0;
        (void)fail_at(e, ERROR_INVALID_ARGUMENT, NULL, "replay_manifest",
                      "the manifest or the host file does not allow what the recorded sandbox was "
                      "allowed");
        error_hint(e,
                   "Pass the manifest of that time with --file FILE. A command that was recorded "
                   "with options such as --memory or --allow cannot be replayed.");
        return -1;
}

static bool
has_variable(const struct environment *env, const char *name)
{
        size_t len = strlen(name);

        for (size_t i = 0; i < env->count; i++)
                if (strncmp(env->items[i], name, len) == 0 && env->items[i][len] == '=')
                        return true;
        return false;
}

int
run_replay_check_environment(const struct replay_command *r, const struct environment *env,
                             struct error *e)
{
        if (!r->env || r->env->kind != NODE_LIST)
                return 0;
        node_each(name, r->env)
        {
                if (!has_variable(env, name->text))
                        return fail_at(e, ERROR_INVALID_ARGUMENT, NULL, "replay_environment",
                                       "the command had the variable %.64s, and its value was not "
                                       "recorded",
                                       name->text);
        }
        return 0;
}

int
run_replay_close_network(struct run_way *w, const struct replay_options *r,
                         struct run_options *options, struct error *e)
{
        struct run_wall_options *closed = arena_new(&w->p.arena, struct run_wall_options);

        if (!closed)
                return fail(e, ERROR_NO_MEMORY, "no memory for the list of destinations");
        *closed = *options->wall;
        if (r->egress >= 0)
                closed->start = wall_start_stand_in;
        else
                closed->allow.count = closed->private_names.count = 0;
        options->wall = closed;
        return 0;
}

/* A command without a time limit gets that of `carrel run`. */
void
run_replay_choose(struct run_way *w, struct prepare_options *o, size_t i,
                  struct run_options *options)
{
        const struct replay_command *c = &o->replay->commands[i];

        o->again = c;
        o->command = c->words;
        o->command_count = c->word_count;
        if (c->timeout_ms > 0)
                w->limit = (struct time_limit){ c->timeout_ms, TIME_LIMIT_CALL };
        else if (i > 0 && o->replay->commands[i - 1].timeout_ms > 0)
                w->limit = (struct time_limit){ TIME_ALLOWED_RUN_MS, TIME_LIMIT_DEFAULT };
        options->timeout_ms = w->limit.ms;
        options->in = c->in;
        options->command.argv = (const char *const *)c->words;
        options->command.head.argc = (uint32_t)c->word_count;
        options->command.head.flags |= c->operation ? WIRE_EXEC_BUILTIN : 0;
        if (c->cwd)
                options->command.cwd = c->cwd;
}

void
run_replay_say(const struct replay_options *r)
{
        static char said[RECORDER_REF_MAX];
        const char *ref = run_audit_ref();

        if (!ref || strcmp(ref, said) == 0)
                return;
        (void)snprintf(said, sizeof said, "%s", ref);
        if (write_all(r->back, said, strlen(said)) == 0)
                (void)write_all(r->back, "\n", 1);
}
