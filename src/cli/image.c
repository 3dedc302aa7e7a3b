/*
 * cli/image.c - `carrel image import|pull|ls|show|rm|prune`: roots for sandboxes.
 *
 * Room: cli (joining, program). Touches: fd (standard streams), the images of a state directory.
 * Theory: images need no daemon: they are files of the state directory's owner. The process gives
 * up every right but writing there before it reads a byte of an image, and carrel-unpack reads
 * archives. What must be done before, a download, is the action's `fetch`.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/scoped.h"
#include "cli/ask.h"
#include "cli/commands.h"
#include "cli/finding_print.h"
#include "cli/image_disk.h"
#include "cli/image_guard.h"
#include "cli/image_machine.h"
#include "cli/image_print.h"
#include "cli/image_pull.h"
#include "cli/options.h"
#include "cli/size_text.h"
#include "cli/value.h"
#include "clock/clock.h"
#include "daemon/state.h"
#include "image/disk.h"
#include "image/saved.h"
#include "seal/landlock.h"
#include "seal/seal.h"
#include "volume/erase.h"

enum { WORDS_MAX = 64, ARENA_MAX = 128 << 20, ROWS_MAX = 65536, SHOW_EVERY_MS = 200 };
enum { MACHINE_MB = 512 }; /* without limits.memory_mb: plan/machine.c */

struct asked {
        const char *state, *ref, *policy;
        const char *chosen; /* the state directory */
        uint64_t limit_mib;
        struct words words;
        const char *host;
        uint64_t memory_mb, saved_bytes;
        bool is_json, is_quiet, is_insecure, has_disk, removes;
        char pulled[IMAGE_PULL_ROOM]; /* below the store's `making`; empty: nothing */
        struct arena arena;
        struct image_store store;
        uint64_t shown_ms; /* when progress was last shown */
};

static int
failed(const struct asked *a, const struct error *e)
{
        return print_failure(NULL, e, a->is_json);
}

/* -- import ------------------------------------------------------------------------------------ */

static void
show_step(void *ctx, const char *what, uint64_t entries, uint64_t bytes)
{
        struct asked *a = ctx;
        char size[SIZE_TEXT];
        uint64_t now = clock_boot_ms();

        if (now - a->shown_ms < SHOW_EVERY_MS)
                return;
        a->shown_ms = now;
        (void)fprintf(stderr, "\r%s: %" PRIu64 " entries, %s   ", what, entries,
                      size_text(bytes, size));
        (void)fflush(stderr);
}

static void
end_steps(struct asked *a)
{
        if (a->shown_ms > 0)
                (void)fprintf(stderr, "\r%70s\r", "");
        a->shown_ms = 0;
}

static int
import(struct asked *a, struct image_import *asked)
{
        struct image_imported imported;
        struct error e;
        int result;

        asked->ref = a->ref;
        asked->limits = image_limits_standard;
        if (a->limit_mib > 0)
                asked->limits.bytes = a->limit_mib << 20;
        if (isatty(STDERR_FILENO) && !a->is_json)
                asked->progress = (struct image_progress){ show_step, a };
        result = image_import(&a->store, &a->arena, asked, &imported, &e);
        end_steps(a);
        if (result < 0 && e.code == ERROR_STORAGE_FULL)
                error_hint(&e,
                           "The images are in %.200s/images: free some space there (carrel image "
                           "prune), or choose another state directory with --state DIR.",
                           a->chosen);
        return result < 0 ? failed(a, &e) : image_print_imported(&imported, a->is_json);
}

static int
image_add(struct asked *a)
{
        struct image_import asked = { .source = a->words.items[1],
                                      .name = a->words.count > 2 ? a->words.items[2] : NULL };
        struct error e;

        if (a->words.count > 3) {
                (void)fail(&e, ERROR_INVALID_ARGUMENT, "image import takes a source and a name");
                return failed(a, &e);
        }
        return import(a, &asked);
}

/* -- pull -------------------------------------------------------------------------------------- */

/* Before anything is downloaded: what the image will be called here. */
static int
check_pulled_name(struct asked *a, struct error *e)
{
        const char *from, *name;

        if (image_pull_name(a->words.items[1], &from, e) < 0)
                return -1;
        name = a->words.count > 2 ? a->words.items[2] : from;
        if (image_name_is_free(name))
                return 0;
        (void)fail_at(e, ERROR_INVALID_ARGUMENT, NULL, "name", "%.200s cannot be its name here",
                      name);
        if (a->words.count > 2)
                error_hint(e, "A name has %s.", IMAGE_NAME_SHAPE);
        else
                error_hint(e, "Say what to call it: carrel image pull %.200s %.*s:pinned", from,
                           (int)strcspn(from, "@"), from);
        return -1;
}

static int
fetch(struct asked *a, struct error *e)
{
        struct image_pull asked = { .name = a->words.items[1],
                                    .is_plain = a->is_insecure,
                                    .is_shown = isatty(STDERR_FILENO) && !a->is_json };
        char *policy = NULL;
        int result;

        if (a->words.count > 3)
                return fail(e, ERROR_INVALID_ARGUMENT,
                            "image pull takes the name of an image, and what to call it here");
        if (check_pulled_name(a, e) < 0)
                return -1;
        if (a->policy) {
                policy = realpath(a->policy, NULL);
                if (!policy)
                        return fail_sys(e, ERROR_FILE_UNREADABLE, errno, "opening %.200s",
                                        a->policy);
                asked.policy = policy;
        }
        /* nobody prunes the directory while the lock is held */
        result = image_store_lock(&a->store, false, true, e) < 0
                         ? -1
                         : image_pull(&a->store, &asked, a->pulled, e);
        free(policy);
        return result;
}

static int
image_add_pulled(struct asked *a)
{
        char place[64];
        struct image_import asked = { .source = place };
        struct error e;

        if (image_pull_name(a->words.items[1], &asked.name, &e) < 0)
                return failed(a, &e);
        asked.origin = asked.name;
        if (a->words.count > 2)
                asked.name = a->words.items[2];
        (void)snprintf(place, sizeof place, "/proc/self/fd/%d/%s/image", a->store.making,
                       a->pulled);
        return import(a, &asked);
}

/* -- ls and show ------------------------------------------------------------------------------- */

struct listing {
        struct asked *a;
        struct image_row *rows;
        size_t count;
        struct error *e;
};

static int
add_row(void *ctx, const char *name, const struct digest *image)
{
        struct listing *l = ctx;
        struct image_record record;
        struct image_row *row = &l->rows[l->count];

        if (l->count == ROWS_MAX)
                return 0;
        if (record_read(&l->a->store, &l->a->arena, image, &record, l->e) < 0)
                return -1;
        *row = (struct image_row){ .id = *image,
                                   .bytes = record.bytes,
                                   .imported_ms = record.imported_ms,
                                   .layers = record.layer_count };
        (void)snprintf(row->name, sizeof row->name, "%s", name);
        l->count++;
        return 0;
}

static int
by_name(const void *a, const void *b)
{
        return strcmp(((const struct image_row *)a)->name, ((const struct image_row *)b)->name);
}

static int
image_ls(struct asked *a)
{
        struct error e;
        struct listing l = { .a = a, .rows = calloc(ROWS_MAX, sizeof *l.rows), .e = &e };
        int status;

        if (!l.rows) {
                (void)fail(&e, ERROR_NO_MEMORY, "no memory for the list of images");
                return failed(a, &e);
        }
        if (image_store_names(&a->store, add_row, &l, &e) < 0) {
                status = failed(a, &e);
        } else {
                qsort(l.rows, l.count, sizeof *l.rows, by_name);
                status = image_print_list(l.rows, l.count, a->is_json, a->is_quiet);
        }
        free(l.rows);
        return status;
}

static int
image_show(struct asked *a)
{
        struct image_record record;
        struct digest id;
        struct error e;

        if (image_store_find(&a->store, a->words.items[1], &id, &e) < 0 ||
            record_read(&a->store, &a->arena, &id, &record, &e) < 0)
                return failed(a, &e);
        return image_print(a->words.items[1], &record, a->is_json);
}

/* -- disk -------------------------------------------------------------------------------------- */

static int
make_disk(struct asked *a, struct error *e)
{
        struct digest id;

        if (a->words.count > 2)
                return fail(e, ERROR_INVALID_ARGUMENT, "image disk takes the name of one image");
        if (image_store_find(&a->store, a->words.items[1], &id, e) < 0)
                return -1;
        a->has_disk = image_disk_exists(&a->store, &id);
        /* nobody prunes the directory or a layer while the lock is held */
        if (a->has_disk || image_store_lock(&a->store, false, true, e) < 0)
                return a->has_disk ? 0 : -1;
        return image_disk_make(&a->store, &a->arena, &id, a->pulled, e);
}

static int
image_keep_disk(struct asked *a)
{
        scoped_fd int dir = -1;
        struct digest id;
        struct error e;

        if (image_store_find(&a->store, a->words.items[1], &id, &e) < 0)
                return failed(a, &e);
        if (!a->has_disk) {
                dir = openat(a->store.making, a->pulled, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                if (image_disk_keep(&a->store, dir, IMAGE_DISK_FILE, &id, &e) < 0)
                        return failed(a, &e);
        }
        return image_print_disk(a->words.items[1], !a->has_disk, a->is_json);
}

/* -- machine ----------------------------------------------------------------------------------- */

static int
save_machine(struct asked *a, struct error *e)
{
        struct image_machine asked = { .host = a->host,
                                       .name = a->words.items[1],
                                       .memory_mb = a->memory_mb > 0 ? a->memory_mb : MACHINE_MB };
        struct digest id;

        if (a->words.count > 2)
                return fail(e, ERROR_INVALID_ARGUMENT, "image machine takes the name of one image");
        if (image_store_find(&a->store, a->words.items[1], &id, e) < 0)
                return -1;
        if (a->removes) {
                (void)image_saved_remove(&a->store, &id);
                return 0;
        }
        return state_choose(&a->arena, a->state, &asked.state, e) < 0
                       ? -1
                       : image_machine_save(&a->store, &asked, &a->saved_bytes, e);
}

static int
image_show_machine(struct asked *a)
{
        return image_print_machine(a->words.items[1], a->saved_bytes, a->is_json);
}

/* -- rm and prune ------------------------------------------------------------------------------ */

static int
image_prune(struct asked *a)
{
        struct image_collected collected;
        struct error e;

        if (image_collect(&a->store, &a->arena, &collected, &e) < 0)
                return failed(a, &e);
        return image_print_collected(&collected, a->is_json);
}

static int
image_rm(struct asked *a)
{
        struct error e;

        for (size_t i = 1; i < a->words.count; i++)
                if (image_store_unname(&a->store, a->words.items[i], &e) < 0)
                        return failed(a, &e);
        for (size_t i = 1; i < a->words.count && !a->is_json; i++)
                (void)puts(a->words.items[i]);
        return image_prune(a);
}

/* -- the command ------------------------------------------------------------------------------- */

static const struct action {
        const char *name, *needs, *example;
        int (*run)(struct asked *a);
        int (*fetch)(struct asked *a, struct error *e); /* with the caller's rights, or NULL */
        bool is_guarded;                                /* erase what it leaves if it is killed */
} actions[] = {
        { "import", "a file or directory", " python.tar python:3.12", image_add, NULL, true },
        { "pull", "the name of an image", " python:3.12", image_add_pulled, fetch, true },
        { "ls", NULL, "", image_ls, NULL, false },
        { "show", "the name of an image", " python:3.12", image_show, NULL, false },
        { "disk", "the name of an image", " python:3.12", image_keep_disk, make_disk, true },
        { "machine", "the name of an image", " python:3.12", image_show_machine, save_machine,
          false },
        { "rm", "the name of an image", " python:3.12", image_rm, NULL, false },
        { "prune", NULL, "", image_prune, NULL, false },
};

static int
wrong_words(const struct action *action, struct error *e)
{
        (void)fail(e, ERROR_INVALID_ARGUMENT, "image %s %s%s", action->name,
                   action->needs ? "needs " : "takes nothing more",
                   action->needs ? action->needs : "");
        error_hint(e, "For example: carrel image %s%s. `carrel image --help` shows the rest.",
                   action->name, action->example);
        return -1;
}

static const struct action *
find_action(struct asked *a, struct error *e)
{
        for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
                if (a->words.count == 0 || strcmp(a->words.items[0], actions[i].name) != 0)
                        continue;
                if (actions[i].needs ? a->words.count > 1 : a->words.count == 1)
                        return &actions[i];
                (void)wrong_words(&actions[i], e);
                return NULL;
        }
        if (a->words.count > 0) {
                (void)value_word_check(VALUE_IMAGE_ACTION, (struct value_place){ "image", NULL },
                                       a->words.items[0], e);
                return NULL;
        }
        (void)fail(e, ERROR_INVALID_ARGUMENT,
                   "image needs to know what to do: import, pull, ls, show, disk, machine, rm or "
                   "prune");
        error_hint(e, "For example: carrel image ls. `carrel image --help` shows the rest.");
        return NULL;
}

/* Opens the store, and gives up the rest. */
static int
enter(struct asked *a, const struct action *action, struct error *e)
{
        struct seal_place place = { LANDLOCK_FS_ALL & ~(unsigned)LANDLOCK_EXECUTE, -1 };

        if (image_store_open(a->chosen, &a->store, e) < 0 ||
            (action->fetch && action->fetch(a, e) < 0))
                return -1;
        place.fd = a->store.dir;
        return seal_enter(SEAL_IMPORT, &place, 1, e);
}

struct job {
        struct asked *asked;
        const struct action *action;
};

static int
do_action(void *ctx)
{
        const struct job *job = ctx;
        struct asked *a = job->asked;
        struct error e;
        int status = enter(a, job->action, &e) < 0 ? failed(a, &e) : job->action->run(a);

        if (a->pulled[0])
                (void)erase_all(a->store.making, a->pulled);
        image_store_close(&a->store);
        return status;
}

static int
cmd_image(int argc, char **argv)
{
        static struct asked a = { .store = { -1, -1, -1, -1, -1, -1 } };
        const struct action *action;
        struct error e;
        int status;

        if (options_read(&command_image, argc, argv, &a, &a.words, &e) < 0)
                return failed(&a, &e);
        action = find_action(&a, &e);
        if (!action)
                return failed(&a, &e);
        arena_init(&a.arena, ARENA_MAX);
        if (state_choose(&a.arena, a.state, &a.chosen, &e) < 0 || state_make(a.chosen, &e) < 0)
                status = failed(&a, &e);
        else if (action->is_guarded)
                status = image_guard(a.chosen, do_action, &(struct job){ &a, action });
        else
                status = do_action(&(struct job){ &a, action });
        arena_fini(&a.arena);
        return status;
}

static const struct option options[] = {
        OPTION_TEXT(struct asked, ref, VALUE_TEXT, "--ref", "NAME",
                    "import: the image to take, if the source holds several"),
        OPTION_NUMBER(struct asked, limit_mib, VALUE_SIZE, "--limit", "SIZE",
                      "import: how large the files of a layer may be (default: 32g)"),
        OPTION_TEXT(
                struct asked, policy, VALUE_FILE, "--policy", "FILE",
                "pull: skopeo reaches only the hosts of network.egress of this SANDBOX.md, or of "
                "a list as `carrel gate` reads it"),
        OPTION_FLAG(struct asked, is_insecure, "--insecure",
                    "pull: the registry may use HTTP, or a certificate that no authority signed"),
        OPTION_NUMBER(struct asked, memory_mb, VALUE_SIZE, "--memory", "SIZE",
                      "machine: its limits.memory_mb (default: 512m); one for each size"),
        OPTION_TEXT(struct asked, host, VALUE_FILE, "--host", "FILE",
                    "machine: host policy file (default: the one of `carrel run`)"),
        OPTION_FLAG(struct asked, removes, "--remove", "machine: remove those that were saved"),
        OPTION_FLAG(struct asked, is_quiet, "-q", "ls: names only"),
        OPTION_TEXT(struct asked, state, VALUE_DIRECTORY, "--state", "DIR",
                    "the state directory (default: CARREL_STATE, /var/lib/carrel as root, else "
                    "~/.local/state/carrel)"),
        OPTION_FLAG(struct asked, is_json, "--json", JSON_DOC),
        OPTION_END,
};

static const struct operand operands[] = {
        { "import SOURCE [NAME]", VALUE_FILE,
          "add an image: a directory in OCI layout, an archive of `docker save` or `podman save`, "
          "or a tar file of a root directory",
          true },
        { "pull NAME [AS]", VALUE_TEXT,
          "add an image of a registry, downloaded by skopeo: python:3.12, ghcr.io/owner/name:tag",
          true },
        { "ls", VALUE_TEXT, "list name, id, layers, size and age", true },
        { "show NAME", VALUE_TEXT, "print what an image consists of, and what it sets", true },
        { "disk NAME", VALUE_TEXT,
          "make the disk of an image, which virtual machines need, with mkfs.erofs", true },
        { "machine NAME", VALUE_TEXT,
          "boot the virtual machine of an image once and save it: sandboxes without mounts start "
          "with it",
          true },
        { "rm NAME...", VALUE_TEXT, "remove images; layers stay while a sandbox uses them", true },
        { "prune", VALUE_TEXT, "remove layers that no image has, and what killed imports left",
          true },
        { NULL },
};

const struct command command_image = {
        .name = "image",
        .help = "Import, list and remove images: roots for sandboxes.",
        .options = options,
        .operands = operands,
        .words_max = WORDS_MAX,
        .example = "carrel image ls",
        .run = cmd_image,
};
