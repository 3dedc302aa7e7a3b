/*
 * hello.c - a sandbox from C: make one, put a file into it, run a command, stop it.
 *
 *     carrel serve &
 *     cc hello.c -o hello $(pkg-config --cflags --libs --static carrel) && ./hello
 */
#include <carrel/carrel.h>
#include <stdio.h>
#include <string.h>

static int
failed(const char *what, const struct carrel_error *e)
{
        fprintf(stderr, "%s: %s\n(%s) %s\n", what, e->message, e->code, e->hint);
        return e->exit_status;
}

static int
run_hello(struct carrel *c, const char *id)
{
        static const char script[] = "echo \"hello, $WHO\"\n";
        const struct carrel_file file = {
                .path = "hello.sh", .bytes = script, .len = strlen(script), .mode = -1
        };
        const char *argv[] = { "sh", "hello.sh" }, *env[] = { "WHO=world" };
        const struct carrel_command command = {
                .argv = argv, .argc = 2, .env = env, .env_count = 1, .timeout_ms = 5000
        };
        struct carrel_result *result;
        struct carrel_error e;
        int status;

        if (carrel_write_files(c, id, &file, 1, NULL, &e) < 0)
                return failed("writing hello.sh", &e);
        if (carrel_run(c, id, &command, 0, NULL, NULL, &result, &e) < 0)
                return failed("running it", &e);
        printf("%s(%s, exit status %d)\n", result->out, result->end.outcome,
               result->end.exit_status);
        status = result->end.exit_status;
        carrel_free(result);
        return status;
}

int
main(void)
{
        const struct carrel_config config = {
                .timeout_ms = 60000
        }; /* no manifest: no network, no mounts */
        struct carrel_sandbox *sandbox;
        struct carrel_error e;
        struct carrel *c;
        int status;

        if (carrel_open(NULL, &c, &e) < 0)
                return failed("reaching the daemon", &e);
        if (carrel_create(c, &config, &sandbox, &e) < 0) {
                carrel_close(c);
                return failed("making a sandbox", &e);
        }
        status = run_hello(c, sandbox->id);
        if (carrel_stop(c, sandbox->id, NULL, &e) < 0)
                status = failed("stopping it", &e);
        carrel_free(sandbox);
        carrel_close(c);
        return status;
}
