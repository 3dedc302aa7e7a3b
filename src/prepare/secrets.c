/*
 * prepare/secrets.c - secrets for one command, when this process asks the sources itself.
 *
 * Room: prepare (joining). Touches: the host's sources of credentials, including commands.
 * Theory: in its own file, so that the keeper, which asks another process, links no code that
 * executes programs.
 */
#include "prepare/prepare.h"
#include "secret/sources.h"

static int
fetch(struct arena *arena, const struct prepared *p, const struct secret_bound *wanted,
      size_t count, const struct secret_values *variables, const struct prepare_source *instead,
      struct secret_values *values, struct error *e)
{
        const struct secret_sources sources = { p->rules->sources, p->rules->secrets_file,
                                                variables };
        const char **slugs = arena_array(arena, const char *, count + 1);
        size_t failed = 0;

        if (!slugs)
                return fail(e, ERROR_NO_MEMORY, "no memory for the names of secrets");
        for (size_t i = 0; i < count; i++)
                slugs[i] = wanted[i].slug;
        if ((instead ? instead->fetch(instead->ctx, slugs, count, values, &failed, e)
                     : secret_sources_fetch(&sources, slugs, count, values, &failed, e)) == 0)
                return 0;
        secret_asked_by(&p->spec->env, failed, e);
        return -1;
}

/*
 * The workspace may say what it needs, but not which of the host's secrets that is: any user who
 * can write there could bind any secret to a permitted variable. The host file must name the
 * inventory.
 */
static int
check_tied(const struct prepared *p, struct error *e)
{
        const char *ref = p->spec->env.auth_ref;
        const struct host_inventory *inventory = ref ? host_rules_inventory(p->rules, ref) : NULL;

        if (!inventory || !inventory->is_of_workspace)
                return 0;
        (void)fail_at(e, ERROR_AUTH_UNRESOLVABLE, "env/auth/ref", "not_named",
                      "the host file does not name the inventory %.200s, so it gives no access to "
                      "the host's secrets",
                      ref);
        error_hint(e,
                   "Add it to the file given with --host: secrets: {\"%.80s\": {file: "
                   "/absolute/path/of/SECRETS.md}}",
                   ref);
        return -1;
}

int
prepare_secrets(struct arena *arena, const struct prepared *p, char **environment,
                const struct prepare_source *instead, struct secret_values **ret, struct error *e)
{
        struct secret_values *variables = NULL, *values = NULL;
        struct secret_bound *wanted;
        size_t count;
        int result = prepare_secrets_wanted(arena, p, NULL, &wanted, &count, e);

        *ret = NULL;
        if (result == 0)
                result = secret_variables_take(&p->rules->sources, environment, &variables, e);
        if (result == 0 && count > 0) {
                values = secret_values_new();
                result = check_tied(p, e) < 0 ? -1
                         : values ? fetch(arena, p, wanted, count, variables, instead, values, e)
                                  : fail(e, ERROR_NO_MEMORY, "no memory for the values of secrets");
        }
        secret_values_free(variables);
        if (result < 0)
                secret_values_free(values);
        else
                *ret = values;
        return result;
}
