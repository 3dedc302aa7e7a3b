/*
 * cli/trial.c - starts and ends a whole sandbox, to see whether this machine can.
 *
 * Room: cli (joining). Touches: processes, fd; what `carrel run` touches.
 * Theory: mechanisms that work one by one may still fail in a plan (a mount beneath /usr once did).
 * So `carrel doctor` takes the same path as `carrel run`, in a child. Manifest and host file are in
 * memory, and nothing is mounted. What is permitted here is not asked: `carrel providers` says it.
 */
#include "cli/trial.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/scoped.h"
#include "cli/trial_child.h"
#include "spec/field.h"
#include "text/json.h"

/* Bounds of what hangs, and no measure of what is slow. */
enum { DEADLINE_MS = 60000, BOOT_DEADLINE_MS = 150000, WORDS_ROOM = 2048, NOT_FOUND = 127 };

static const struct host_try row = {
        "whole_sandbox",
        "every step of a run, one after the other",
        NULL,
        "see the step that fails with: carrel plan --steps; then report it with the output of "
        "carrel doctor --json",
        true,
};

static void
add(struct host_report *report, enum attempt_result result, const char *detail)
{
        host_report_add(report, &row, PROVIDER_NEED_TIER, result, detail);
}

/* -- what carrel said -------------------------------------------------------------------------- */

/* Cuts the line that follows `mark` out of `words`, or gives NULL. */
static char *
line_after(char *words, const char *mark)
{
        char *at = strstr(words, mark);

        if (!at)
                return NULL;
        at += strlen(mark);
        at[strcspn(at, "\n")] = '\0';
        return at;
}

/*
 * "carrel: error: making the sandbox, step 11, bind /usr: ...", in the next line its code, and then
 * what to do.
 */
static void
tell(struct host_report *report, char *words)
{
        bool is_of_host = strstr(words, "\n    sandbox_backend_failed") ||
                          strstr(words, "\n    capability_unavailable");
        const char *hint = line_after(words, "\n    Next: ");
        const char *sentence = line_after(words, ": error: ");
        struct host_try_result *r = &report->results[report->count];

        if (!sentence)
                sentence = words;
        if (report->count == HOST_TRIES_MAX)
                return;
        add(report, is_of_host || sentence[0] == '\0' ? ATTEMPT_FAILS : ATTEMPT_IDLE,
            sentence[0] ? sentence : "it ended without a word");
        if (r->result == ATTEMPT_FAILS && hint && strstr(hint, "carrel doctor") == NULL)
                (void)snprintf(r->mend, sizeof r->mend, "%s", hint);
}

static void
tell_end(struct host_report *report, int status, char *words)
{
        if (status == TRIAL_CHILD_STOPPED) {
                add(report, ATTEMPT_IDLE, "not tried: it was interrupted");
                return;
        }
        report->is_tried = true;
        if (status == TRIAL_CHILD_LATE)
                add(report, ATTEMPT_FAILS, "no answer before the deadline");
        else if (status == 0)
                add(report, ATTEMPT_WORKS, "started, with a command in it, and ended");
        else if (status == NOT_FOUND && !report->provider->interpreter)
                add(report, ATTEMPT_WORKS, "started and ended; its command was not found");
        else
                tell(report, words);
}

static void
tell_no_image(struct host_report *report, struct trial_image *image)
{
        char words[WORDS_ROOM];

        (void)snprintf(words, sizeof words, "%s", image->said);
        tell_end(report, image->status, words);
        report->is_tried = false;
}

/* -- the sandbox ------------------------------------------------------------------------------- */

static bool
has_image(const struct provider *p)
{
        for (size_t i = 0; p->config && i < p->config->count; i++)
                if (strcmp(p->config->rows[i].name, "image") == 0)
                        return true;
        return false;
}

static int
write_manifest(const struct provider *p, const char *image)
{
        scoped_fd int file = memfd_create("carrel-doctor", MFD_CLOEXEC);

        if (file >= 0 &&
            dprintf(file, "---\nschema: sandbox/v1\nprovider: %s\nconfig: {%s%s%s}\n---\n", p->id,
                    image ? "image: \"" : "", image ? image : "", image ? "\"" : "") > 0)
                return fd_take(&file);
        return -1;
}

static int
write_host(const struct provider *p, const char *kernel)
{
        scoped_fd int file = memfd_create("carrel-doctor-host", MFD_CLOEXEC);
        struct json_writer w;
        bool is_written;

        json_init(&w, false);
        json_open_map(&w);
        if (kernel)
                json_member_text(&w, "machine_kernel", kernel);
        json_key(&w, "providers");
        json_open_map(&w);
        json_key(&w, p->id);
        json_open_map(&w);
        json_member_bool(&w, "isolated", true);
        json_close_map(&w);
        json_close_map(&w);
        json_close_map(&w);
        is_written = !w.is_broken && w.text && file >= 0 && dprintf(file, "%s\n", w.text) > 0;
        json_fini(&w);
        return is_written ? fd_take(&file) : -1;
}

static void
take_command(const struct provider *p, const char *image, struct trial_child *c, size_t at)
{
        if (p->interpreter) {
                c->words[at++] = p->interpreter;
                c->words[at++] = "-e";
                c->words[at] = "0";
        } else if (image) {
                c->words[at++] = TRIAL_IMAGE_PROGRAM;
                c->words[at] = "--version";
        } else {
                c->words[at] = "true";
        }
}

static void
start(const struct trial_desk *desk, struct host_report *report, const char *image, bool is_machine)
{
        scoped_fd int manifest = write_manifest(report->provider, image);
        scoped_fd int host = write_host(report->provider, desk->kernel);
        char words[WORDS_ROOM], paths[2][32];
        struct trial_child c = {
                .command = &command_run,
                .words = { "run", "-f", paths[0], "--host", paths[1], "-w", "/", "--" },
                .state = image ? desk->image.state : NULL,
                .label = is_machine ? "booting a virtual machine" : NULL,
                .deadline_ms = is_machine ? BOOT_DEADLINE_MS : DEADLINE_MS,
        };

        if (manifest < 0 || host < 0) {
                add(report, ATTEMPT_FAILS, "no memory for the attempt");
                return;
        }
        (void)snprintf(paths[0], sizeof paths[0], "/proc/self/fd/%d", manifest);
        (void)snprintf(paths[1], sizeof paths[1], "/proc/self/fd/%d", host);
        take_command(report->provider, image, &c, 8);
        tell_end(report, trial_child_run(&c, words, sizeof words), words);
}

void
trial_run(struct trial_desk *desk, struct host_report *report)
{
        bool is_machine = strcmp(report->provider->id, provider_of_machines()) == 0;
        bool wants_image = has_image(report->provider);

        if (!report->has_tier)
                add(report, ATTEMPT_IDLE, "not tried: it needs what is missing above");
        else if (is_machine && !desk->boots)
                add(report, ATTEMPT_IDLE,
                    "found, not tried: a machine takes some seconds to boot. Try it: "
                    "carrel doctor --boot");
        else if (wants_image && !trial_image_make(&desk->image, is_machine, DEADLINE_MS))
                tell_no_image(report, &desk->image);
        else
                start(desk, report, wants_image ? TRIAL_IMAGE_NAME : NULL, is_machine);
}
