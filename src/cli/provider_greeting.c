/*
 * cli/provider_greeting.c - reads the greeting of a provider's program of the host file.
 *
 * Room: cli (joining). Touches: processes, fd; what `carrel run` touches.
 *
 *     carrel doctor <--hello-- carrel run, provider local: the program, its tools, no network
 *
 * Theory: the program is foreign code, so it runs as `carrel run` would run it, and what it says is
 * judged by the session of the bridge protocol. Without a network it cannot make or cost anything.
 */
#include "cli/provider_greeting.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/scoped.h"
#include "cli/greeting_sandbox.h"
#include "cli/provider_trial.h"
#include "prepare/elsewhere.h"

/* More than the protocol permits: a busy machine starts the sandbox first. */
enum { OUT_OF_THE_WAY = 10, GREETING_MS = 60000 };

const char *
provider_greeting_why_not(const struct host_provider *p)
{
        if (p->program.argv.count == 0)
                return "the host file names no program for it: docs/BRIDGE.md";
        if (p->can.egress == HOST_EGRESS_NONE)
                return "the host file does not say that its network is restricted: egress";
        if (access(p->program.argv.items[0], X_OK) < 0)
                return "its program cannot be executed";
        for (size_t i = 0; i < p->program.tools.count; i++)
                if (access(p->program.tools.items[i], R_OK | X_OK) < 0)
                        return "a directory of its tools cannot be read";
        return NULL;
}

/* -- the program ------------------------------------------------------------------------------- */

/* With `said` as its standard error. */
static int
start(struct trial *t, int said, char *const *argv, struct error *e)
{
        scoped_fd int saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, OUT_OF_THE_WAY);
        int result;

        if (saved < 0 || dup2(said, STDERR_FILENO) < 0)
                return fail(e, ERROR_BACKEND_FAILED, "no descriptor for the attempt");
        result = provider_start(&t->provider, t->loop, &trial_news, argv, environ, e);
        (void)dup2(saved, STDERR_FILENO);
        return result;
}

static bool
has_greeted(const struct trial *t)
{
        return t->provider.session.has_greeted;
}

/* The error of `carrel run`, or the last line: its warnings come before what the program says. */
static const char *
last_words(char *text)
{
        static const char mark[] = ": error: ";
        char *error = strstr(text, mark), *line;

        if (error) {
                error[strcspn(error, "\n")] = '\0';
                return error + sizeof mark - 1;
        }
        for (size_t len = strlen(text); len > 0 && text[len - 1] == '\n'; len--)
                text[len - 1] = '\0';
        line = strrchr(text, '\n');
        return line ? line + 1 : text;
}

static void
tell_silence(const struct trial *t, int said, struct provider_greeting *ret)
{
        off_t all = lseek(said, 0, SEEK_END);
        char text[4 * GREETING_TEXT];
        off_t room = (off_t)sizeof text - 1;
        ssize_t len = pread(said, text, sizeof text - 1, all > room ? all - room : 0);
        const char *line;

        text[len > 0 ? len : 0] = '\0';
        line = last_words(text);
        (void)snprintf(ret->detail, sizeof ret->detail, "%.250s%s%.300s",
                       t->is_broken ? t->why.message : "it sent no greeting in time",
                       *line ? ": " : "", line);
}

static void
tell_greeting(const struct trial *t, struct provider_greeting *ret)
{
        enum bridge_ability lacking =
                bridge_session_lacks(&t->provider.session, elsewhere_needs(&ret->provider->can));

        ret->abilities = t->provider.session.abilities;
        memcpy(ret->name, t->provider.session.name, sizeof ret->name);
        ret->works = lacking == BRIDGE_ABILITIES;
        if (ret->works) {
                (void)snprintf(ret->detail, sizeof ret->detail,
                               "it greeted, in version %d, and nothing was asked of it",
                               BRIDGE_VERSION);
                return;
        }
        (void)snprintf(ret->detail, sizeof ret->detail,
                       "the host file says that it has the ability \"%s\", and its greeting does "
                       "not",
                       bridge_ability_word(lacking));
        (void)snprintf(ret->mend, sizeof ret->mend,
                       "in the host file, remove \"%s: true\" from providers: %s, or name "
                       "another program",
                       bridge_ability_word(lacking), ret->provider->id);
}

static void
try_program(const struct host_provider *p, struct provider_greeting *ret)
{
        static struct trial t;
        scoped_fd int said = memfd_create("carrel-doctor-said", MFD_CLOEXEC);
        struct greeting_sandbox box;
        struct error e;

        t = (struct trial){ .clock = { .due_ms = LOOP_NEVER }, .step_ms = GREETING_MS };
        if (greeting_sandbox_open(&box, p, 2 * GREETING_MS) < 0 || said < 0 ||
            loop_new(&t.loop) < 0) {
                (void)snprintf(ret->detail, sizeof ret->detail, "no memory for the attempt");
                greeting_sandbox_close(&box);
                return;
        }
        if (start(&t, said, box.argv, &e) < 0) {
                (void)snprintf(ret->detail, sizeof ret->detail, "%s", e.message);
        } else {
                ret->is_started = true;
                if (trial_wait(&t, has_greeted))
                        tell_greeting(&t, ret);
                else
                        tell_silence(&t, said, ret);
                provider_stop(&t.provider);
        }
        loop_free(t.loop);
        greeting_sandbox_close(&box);
}

/* The command with its words, where they need no quotes. */
static void
write_mend(const struct host_provider *p, const char *why, struct provider_greeting *ret)
{
        static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                    "-_./:=,@+%";
        size_t used, room = sizeof ret->mend;

        if (why) {
                (void)snprintf(ret->mend, room,
                               "correct the lines of providers: %s in the host "
                               "file (docs/BRIDGE.md)",
                               p->id);
                return;
        }
        used = (size_t)snprintf(ret->mend, room, "see what it does: carrel provider test --");
        for (size_t i = 0; i < p->program.argv.count; i++) {
                const char *word = p->program.argv.items[i];
                size_t len = strlen(word);

                if (len == 0 || strspn(word, plain) != len || used + len + 2 > room) {
                        (void)snprintf(ret->mend, room,
                                       "see what it does: carrel provider test -- PROGRAM, with "
                                       "the words of the host file");
                        return;
                }
                used += (size_t)snprintf(ret->mend + used, room - used, " %s", word);
        }
}

void
provider_greeting_read(const struct host_provider *p, bool isolates, struct provider_greeting *ret)
{
        struct sigaction ignored = { .sa_handler = SIG_IGN }, before;
        const char *why = provider_greeting_why_not(p);

        *ret = (struct provider_greeting){ .provider = p };
        if (why || !isolates) {
                (void)snprintf(ret->detail, sizeof ret->detail, "not started: %s",
                               why ? why : "this machine has no sandbox for it");
        } else {
                (void)sigaction(SIGPIPE, &ignored, &before);
                try_program(p, ret);
                (void)sigaction(SIGPIPE, &before, NULL);
        }
        if (!ret->works && ret->mend[0] == '\0')
                write_mend(p, why, ret);
}
