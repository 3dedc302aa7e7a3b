/*
 * prepare/environment.c - the environment of a command.
 *
 * Room: prepare (joining). Touches: the caller's environment, through an argument.
 * Theory: base set, then variables that save time without a network, then the image's, then
 * passthrough, then
 * secrets, then the caller's own -e; a later value replaces an earlier one. Nothing is inherited
 * (P13).
 */
#include "prepare/environment.h"

#include <string.h>

#include "plan/plan.h"
#include "plan/request.h"
#include "policy/approval_from.h"
#include "secret/bind.h"
#include "spec/approve.h"

static const char *
host_value(char *const *host, const char *name)
{
        size_t len = strlen(name);

        for (; host && *host; host++)
                if (strncmp(*host, name, len) == 0 && (*host)[len] == '=')
                        return *host + len + 1;
        return NULL;
}

static int
set(struct arena *arena, struct environment *env, const char *name, const char *value,
    struct error *e)
{
        size_t len = strlen(name), value_len = strlen(value);
        char *item = arena_alloc(arena, len + value_len + 2);
        size_t at = 0;

        if (!item)
                return fail(e, ERROR_NO_MEMORY, "no memory for the environment");
        /* lint: its end is set below; printf would leave a copy of a secret on the stack */
        memcpy(item, name, len);
        item[len] = '=';
        memcpy(item + len + 1, value, value_len + 1);
        while (at < env->count &&
               (strncmp(env->items[at], name, len) != 0 || env->items[at][len] != '='))
                at++;
        if (at == ENVIRONMENT_MAX)
                return fail(e, ERROR_QUOTA_EXCEEDED, "more than %d environment variables",
                            ENVIRONMENT_MAX);
        env->items[at] = item;
        if (at == env->count)
                env->items[++env->count] = NULL;
        return 0;
}

/*
 * What commands, and functions of the guest, can write: the user-wide places of pip and npm. The
 * system's are read-only. Under rules, and where a person approves `ls`, `ls` is the system's.
 */
static bool
is_ruled(const struct environment_request *r)
{
        return r->spec->carrel.commands || r->rules->commands ||
               approval_from_waits(r->spec, r->rules, spec_approve_operation("exec"));
}

#define IMAGE_PATH                                                                    \
        "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" /* as Docker's \
                                                                        */

const char *
environment_path(struct arena *arena, const struct spec *spec, const char *first_path,
                 bool is_ruled)
{
        const char *path = spec->image ? IMAGE_PATH : "/usr/local/bin:/usr/bin:/bin";

        for (size_t i = spec->carrel.tools.count; path && i-- > 0;)
                path = arena_format(arena, "%s/bin:%s:%s", spec->carrel.tools.items[i],
                                    spec->carrel.tools.items[i], path);
        if (path && first_path)
                path = arena_format(arena, "%s:%s", first_path, path);
        if (!is_ruled && !spec_is_root(spec))
                path = path ? arena_format(arena, PLAN_HOME "/.local/bin:%s", path) : NULL;
        return path ? path : "/usr/bin:/bin";
}

/*
 * The prompt shows that a shell inside is not one of the host. bash and zsh have their own escapes
 * for the directory; sh, dash and shells that start later expand $PWD, and so does bash. A prompt
 * in the user's own files inside overrides it.
 */
static int
set_prompt(struct arena *arena, const struct environment_request *r, struct environment *env,
           struct error *e)
{
        const char *slash = r->program ? strrchr(r->program, '/') : NULL,
                   *shell = slash        ? slash + 1
                            : r->program ? r->program
                                         : "";
        const char *end = strcmp(shell, "bash") == 0  ? "\\w \\$ "
                          : strcmp(shell, "zsh") == 0 ? "%~ %# "
                                                      : "$PWD $ ";
        const char *prompt = arena_format(arena, "(%s) %s", r->name ? r->name : "carrel", end);

        return set(arena, env, "PS1", prompt ? prompt : "(carrel) $ ", e);
}

/* The same user as in /etc/passwd inside. */
static int
set_user(struct arena *arena, const struct spec *spec, struct environment *env, struct error *e)
{
        const char *user = spec_is_root(spec) ? SPEC_USER_ROOT : PLAN_USER;
        const struct {
                const char *name, *value;
        } rows[] = {
                { "USER", user },
                { "LOGNAME", user },
                { "SHELL", PLAN_SHELL },
        };

        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                if (set(arena, env, rows[i].name, rows[i].value, e) < 0)
                        return -1;
        return 0;
}

static int
set_base(struct arena *arena, const struct environment_request *r, struct environment *env,
         struct error *e)
{
        const char *lang = host_value(r->host, "LANG");
        const char *term = r->has_terminal ? host_value(r->host, "TERM") : NULL;

        if (r->is_elsewhere) /* the rest is another machine's */
                return set(arena, env, "TERM", "dumb", e);
        if (set(arena, env, "PATH", environment_path(arena, r->spec, r->first_path, is_ruled(r)),
                e) < 0 ||
            set(arena, env, "HOME", plan_home(r->spec), e) < 0)
                return -1;
        if (set(arena, env, "LANG", lang && strlen(lang) < 64 ? lang : "C.UTF-8", e) < 0)
                return -1;
        if (set(arena, env, "TERM", term && strlen(term) < 64 ? term : "dumb", e) < 0)
                return -1;
        if (r->has_terminal && set_prompt(arena, r, env, e) < 0)
                return -1;
        return set(arena, env, "PWD", r->cwd, e) < 0 ? -1 : set_user(arena, r->spec, env, e);
}

/*
 * If network.egress lists nothing, no retry can succeed: package managers then fail at once. With a
 * list npm still retries, but within 6 s: its own default waits 70 s before it says that a name is
 * not listed. A sandbox without a list, whose list may change while it lives
 * (metadata.carrel.egress), keeps the defaults.
 */
static int
set_retries(struct arena *arena, const struct environment_request *r, struct environment *env,
            struct error *e)
{
        static const struct {
                const char *name, *value;
                bool has_list;
        } rows[] = {
                { "npm_config_fetch_retries", "0", false },
                { "PIP_RETRIES", "0", false },
                { "CARGO_NET_RETRY", "0", false },
                { "UV_HTTP_RETRIES", "0", false },
                { "npm_config_fetch_retry_mintimeout", "1000", true },
                { "npm_config_fetch_retry_maxtimeout", "5000", true },
        };
        bool has_list = r->spec->egress_count > 0;

        if (r->is_elsewhere || (!has_list && r->spec->wall.is_given))
                return 0;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                if (rows[i].has_list == has_list &&
                    set(arena, env, rows[i].name, rows[i].value, e) < 0)
                        return -1;
        return 0;
}

/* All but what says where the command runs. */
static int
set_image(struct arena *arena, const struct environment_request *r, struct environment *env,
          struct error *e)
{
        for (size_t i = 0; i < r->image_count; i++) {
                const char *item = r->image[i], *equals = strchr(item, '=');
                const char *name = equals ? arena_copy(arena, item, (size_t)(equals - item)) : NULL;

                if (!equals || equals == item)
                        continue;
                if (!name)
                        return fail(e, ERROR_NO_MEMORY, "no memory for the environment");
                if (strcmp(name, "PWD") != 0 && strcmp(name, "TERM") != 0 &&
                    set(arena, env, name, equals + 1, e) < 0)
                        return -1;
        }
        return 0;
}

static int
set_passthrough(struct arena *arena, const struct environment_request *r, struct environment *env,
                struct error *e)
{
        for (size_t i = 0; i < r->spec->env.passthrough_count; i++) {
                const char *name = r->spec->env.passthrough[i].name;
                const char *value = host_value(r->host, name);

                if (value && set(arena, env, name, value, e) < 0)
                        return -1;
        }
        return 0;
}

/* A variable that the caller replaces is not written first. */
static bool
is_replaced(const struct environment_request *r, const char *name)
{
        size_t len = strlen(name);

        for (size_t i = 0; i < r->extra_count; i++)
                if (strncmp(r->extra[i], name, len) == 0 && r->extra[i][len] == '=')
                        return true;
        return false;
}

static int
set_secrets(struct arena *arena, const struct environment_request *r, struct environment *env,
            struct error *e)
{
        const struct secret_bound *bound;
        size_t count;

        if (r->is_own)
                return 0;
        if (secret_bind(arena, &r->spec->env, r->rules, r->secrets, &bound, &count, e) < 0)
                return -1;
        for (size_t i = 0; i < count; i++)
                if (!is_replaced(r, bound[i].name) &&
                    set(arena, env, bound[i].name, bound[i].value, e) < 0)
                        return -1;
        return 0;
}

static bool
is_name(const char *text, size_t len)
{
        for (size_t i = 0; i < len; i++) {
                char c = text[i];

                if (!((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' ||
                      (i > 0 && c >= '0' && c <= '9')))
                        return false;
        }
        return len > 0 && len <= 128;
}

static int
set_extra(struct arena *arena, const struct environment_request *r, struct environment *env,
          struct error *e)
{
        for (size_t i = 0; i < r->extra_count; i++) {
                size_t len = strcspn(r->extra[i], "=");
                const char *name = arena_copy(arena, r->extra[i], len);

                if (!name)
                        return fail(e, ERROR_NO_MEMORY, "no memory for the environment");
                if (!is_name(name, len) || r->extra[i][len] != '=')
                        return fail(e, ERROR_INVALID_ARGUMENT,
                                    "-e takes NAME=value, and a name is letters, digits and _");
                if (set(arena, env, name, r->extra[i] + len + 1, e) < 0)
                        return -1;
        }
        return 0;
}

int
environment_make(struct arena *arena, const struct environment_request *request,
                 struct environment *ret, struct error *e)
{
        *ret = (struct environment){ .count = 0 };
        if (request->keeps_all)
                for (char *const *item = request->host; *item && ret->count < ENVIRONMENT_MAX;
                     item++)
                        ret->items[ret->count++] = *item;
        if (set_base(arena, request, ret, e) < 0 || set_retries(arena, request, ret, e) < 0 ||
            set_image(arena, request, ret, e) < 0 || set_passthrough(arena, request, ret, e) < 0)
                return -1;
        return set_secrets(arena, request, ret, e) < 0 ? -1 : set_extra(arena, request, ret, e);
}
