/*
 * prepare/command.c - the environment of one command, with the values that its sandbox may
 * have.
 *
 * Room: prepare (joining). Touches: mem.
 * Theory: first access, then the value, then the environment. The process that passes the value to
 * a command did not choose it.
 */
#include <string.h>

#include "prepare/prepare.h"
#include "prepare/rootfs.h"

int
prepare_secrets_wanted(struct arena *arena, const struct prepared *p, const char *actor,
                       struct secret_bound **ret, size_t *ret_count, struct error *e)
{
        struct host_rules rules = *p->rules;

        rules.actor = actor;
        return secret_wanted(arena, &p->spec->env, &rules, ret, ret_count, e);
}

/* The sandbox's variables, then the command's. */
static int
join(struct arena *arena, const struct prepare_command *c, struct environment_request *request,
     struct error *e)
{
        const char **all =
                arena_array(arena, const char *, c->sandbox_env_count + c->command->head.envc + 1);

        if (!all)
                return fail(e, ERROR_NO_MEMORY, "no memory for the environment");
        if (c->sandbox_env_count > 0)
                memcpy(all, c->sandbox_env, sizeof *all * c->sandbox_env_count);
        if (c->command->head.envc > 0)
                memcpy(all + c->sandbox_env_count, c->command->env,
                       sizeof *all * c->command->head.envc);
        request->extra = all;
        request->extra_count = c->sandbox_env_count + c->command->head.envc;
        return 0;
}

int
prepare_environment(struct arena *arena, const struct prepared *p,
                    const struct prepare_command *command, struct environment *ret, struct error *e)
{
        const struct wire_command *c = command->command;
        struct host_rules rules = *p->rules;
        struct environment_request request = { .spec = p->spec,
                                               .rules = &rules,
                                               .secrets = command->secrets,
                                               .cwd = c->cwd ? c->cwd : p->cwd,
                                               .first_path = p->runtime ? PLAN_RUNTIME_DIR : NULL,
                                               .has_terminal = (c->head.flags & WIRE_EXEC_TTY) != 0,
                                               .name = command->name,
                                               .program = c->argv[0],
                                               .is_own = (c->head.flags & WIRE_EXEC_BUILTIN) != 0,
                                               .host = command->host,
                                               .is_elsewhere = p->bridge != NULL,
                                               .keeps_all = command->keeps_all };

        if (p->image) {
                request.image = p->image->held.record.environment.items;
                request.image_count = p->image->held.record.environment.count;
        }
        rules.actor = command->actor;
        return join(arena, command, &request, e) < 0 ? -1
                                                     : environment_make(arena, &request, ret, e);
}

void
prepare_environment_wipe(struct environment *env)
{
        for (size_t i = 0; i < env->count; i++)
                explicit_bzero((char *)(uintptr_t)env->items[i], strlen(env->items[i]));
        env->count = 0;
        env->items[0] = NULL;
}
