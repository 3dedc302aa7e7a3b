/*
 * recorder/owner.c - the log of one owner of the daemon.
 *
 * Room: recorder (joining). Touches: the audit logs below the current directory, mem.
 */
#include "recorder/owner.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/files.h"
#include "audit/log.h"
#include "base/name.h"
#include "clock/clock.h"
#include "recorder/handed.h"
#include "recorder/retention.h"

enum {
        OPEN_STEP = 16,
        OPEN_FILE_MAX = 256 * 1024,
        RETAIN_EVERY_MS = 24 * 3600 * 1000,
        OPEN_EVERY = 1024, /* entries after which the file "open" is written again */
        INPUT_ROOM = 96
};

static const char open_file[] = "open";

struct open_start {
        char sandbox[RECORDER_SANDBOX_LEN];
        uint32_t exec;
        bool has_end; /* which waits */
        uint64_t seq;
};

/* An entry that waits; its event points into `bytes`. */
struct waiting {
        struct waiting *next;
        struct recorder_entry head;
        struct audit_event event;
        char input[INPUT_ROOM]; /* of an end */
        struct handed handed;   /* of an end */
        unsigned char bytes[];
};

struct owner {
        struct owner *next;
        char name[RECORDER_OWNER_LEN];
        struct audit_log *log; /* NULL: closed */
        char chain[AUDIT_ID_TEXT];
        uint64_t next_seq;  /* entries before it are in `open` */
        uint64_t noted;     /* next_seq in the file "open" */
        uint64_t used;      /* when it was last, to close the one that was not used longest */
        uint64_t due_ms;    /* next attempt after a failure; 0: none failed */
        uint64_t retain_ms; /* when the retention is applied next */
        uint64_t ends_ms;   /* when the ends that wait are written by themselves; 0: none wait */
        bool is_loaded, has_start; /* has_start: an entry that is answered waits */
        bool has_kept;             /* content in this turn: the other owners are next */
        struct open_start *open;   /* ascending by `seq` */
        size_t open_count, open_room;
        struct waiting *first, **last;
        size_t event_count; /* of those that wait */
        uint64_t missed;    /* events that could not wait */
        struct handed_room content;
};

struct owners {
        const char *path;
        uint64_t keep_ms; /* retention; 0: forever */
        struct owner_reports reports;
        struct owner *first;
        size_t log_count;
        uint64_t clock;
        struct retention retention; /* of one owner at a time */
};

/* -- starts without an end --------------------------------------------------------------------- */

static struct open_start *
find_open(const struct owner *o, const char *sandbox, uint32_t exec)
{
        for (size_t i = o->open_count; i-- > 0;)
                if (o->open[i].exec == exec && strcmp(o->open[i].sandbox, sandbox) == 0)
                        return &o->open[i];
        return NULL;
}

static int
add_open(struct owner *o, const char *sandbox, uint32_t exec, uint64_t seq)
{
        struct open_start *grown;

        if (o->open_count == o->open_room) {
                grown = realloc(o->open, (o->open_room + OPEN_STEP) * 2 * sizeof *grown);
                if (!grown)
                        return -1;
                o->open = grown;
                o->open_room = (o->open_room + OPEN_STEP) * 2;
        }
        o->open[o->open_count] = (struct open_start){ .exec = exec, .seq = seq };
        (void)snprintf(o->open[o->open_count].sandbox, RECORDER_SANDBOX_LEN, "%s", sandbox);
        o->open_count++;
        return 0;
}

static void
remove_open(struct owner *o, const char *sandbox, uint32_t exec)
{
        struct open_start *start = find_open(o, sandbox, exec);
        size_t i = start ? (size_t)(start - o->open) : o->open_count;

        if (!start)
                return;
        memmove(start, start + 1, (o->open_count - i - 1) * sizeof *start);
        o->open_count--;
}

/* -- the file "open" --------------------------------------------------------------------------- */

/*
 * "NEXT CHAIN", then a line for each start: "SANDBOX EXEC SEQ"; then "end". Durable: the entries of
 * these starts can be in a file that the retention removed.
 */
static void
note_open(struct owner *o)
{
        size_t room = 128 + o->open_count * 72, at;
        char *text = room <= OPEN_FILE_MAX ? malloc(room) : NULL;
        struct error ignored;

        if (!text)
                return; /* the next recorder reads more of the log */
        at = (size_t)snprintf(text, room, "%" PRIu64 " %s\n", o->next_seq, o->chain);
        for (size_t i = 0; i < o->open_count; i++)
                at += (size_t)snprintf(text + at, room - at, "%s %" PRIu32 " %" PRIu64 "\n",
                                       o->open[i].sandbox, o->open[i].exec, o->open[i].seq);
        at += (size_t)snprintf(text + at, room - at, "end\n");
        if (audit_file_replace(o->log->dir, open_file, text, at, true, &ignored) == 0)
                o->noted = o->next_seq;
        free(text);
}

static bool
read_noted(struct owner *o, char *text)
{
        char *save = NULL, *line = strtok_r(text, "\n", &save);
        char chain[AUDIT_ID_TEXT], sandbox[RECORDER_SANDBOX_LEN];
        uint64_t next, seq;
        uint32_t exec;

        _Static_assert(AUDIT_ID_TEXT == 33 && RECORDER_SANDBOX_LEN == 24, "the widths below");
        if (!line || sscanf(line, "%" SCNu64 " %32s", &next, chain) != 2)
                return false;
        while ((line = strtok_r(NULL, "\n", &save)) && strcmp(line, "end") != 0)
                if (sscanf(line, "%23s %" SCNu32 " %" SCNu64, sandbox, &exec, &seq) != 3 ||
                    add_open(o, sandbox, exec, seq) < 0)
                        return false;
        if (!line)
                return false;
        o->next_seq = o->noted = next;
        memcpy(o->chain, chain, sizeof chain);
        return true;
}

/* What a power failure left of it is not used. */
static void
load_noted(struct owner *o)
{
        char *text = malloc(OPEN_FILE_MAX + 1);
        struct error ignored;
        size_t len = 0;

        o->open_count = 0;
        if (!text ||
            audit_file_read(o->log->dir, open_file, text, OPEN_FILE_MAX, &len, &ignored) < 0) {
                free(text);
                return;
        }
        text[len] = '\0';
        if (!read_noted(o, text))
                o->open_count = 0;
        free(text);
}

/* -- opening a log ----------------------------------------------------------------------------- */

static void
close_log(struct owners *all, struct owner *o)
{
        if (!o->log)
                return;
        if (o->is_loaded && o->next_seq > o->noted)
                note_open(o);
        audit_log_close(o->log);
        free(o->log);
        o->log = NULL;
        all->log_count--;
}

static void
close_oldest(struct owners *all)
{
        struct owner *oldest = NULL;

        for (struct owner *o = all->first; o; o = o->next)
                if (o->log && (!oldest || o->used < oldest->used))
                        oldest = o;
        if (oldest)
                close_log(all, oldest);
}

static bool
learn(void *ctx, const char *line, size_t len, const struct audit_entry *entry)
{
        struct owner *o = ctx;
        const struct node *input = node_find(entry->root, "input"),
                          *exec = node_find(input, "exec");
        const struct node *subject = node_find(node_find(entry->root, "subject"), "ref");

        (void)line;
        (void)len;
        o->next_seq = entry->seq + 1;
        (void)snprintf(o->chain, sizeof o->chain, "%s", entry->chain);
        /* an entry of `carrel run` has no number of an exec */
        if (!exec || exec->kind != NODE_INT || !subject || subject->kind != NODE_STRING)
                return true;
        if (strcmp(entry->action, "exec.started") == 0 ||
            strcmp(entry->action, RECORDER_CALLED) == 0)
                return add_open(o, subject->text, (uint32_t)exec->integer, entry->seq) == 0;
        if (strcmp(entry->action, recorder_ended_action((uint32_t)exec->integer)) == 0)
                remove_open(o, subject->text, (uint32_t)exec->integer);
        return true;
}

/* Opens the log, and learns which starts are open, unless that is known. */
static int
open_log(struct owners *all, struct owner *o, bool makes, struct error *e)
{
        char place[3 * RECORDER_OWNER_LEN + 1] = "";

        o->used = ++all->clock;
        if (!o->log) {
                if (all->log_count >= OWNER_LOGS_MAX)
                        close_oldest(all);
                o->log = malloc(sizeof *o->log);
                /* lint: `o` owns it until close_log() */
                if (!o->log)
                        return fail(e, ERROR_NO_MEMORY, "no memory for an audit log");
                (void)name_encode(o->name, place, sizeof place);
                if (audit_log_open(o->log, place, makes, e) < 0) {
                        free(o->log);
                        o->log = NULL;
                        return -1;
                }
                o->log->keeps_end = true;
                /* for messages */
                (void)snprintf(o->log->path, sizeof o->log->path, "%s/%s", all->path, place);
                all->log_count++;
        }
        if (o->is_loaded)
                return 0;
        load_noted(o);
        if (audit_log_read(o->log, o->next_seq, learn, o, e) < 0)
                return -1;
        o->is_loaded = true;
        return 0;
}

static bool
is_name(const char *name)
{
        return name[0] != '\0' && strlen(name) < RECORDER_OWNER_LEN;
}

static struct owner *
get(struct owners *all, const char *name)
{
        struct owner *o = all->first;

        while (o && strcmp(o->name, name) != 0)
                o = o->next;
        if (o || !is_name(name))
                return o;
        o = calloc(1, sizeof *o);
        if (!o)
                return NULL;
        (void)snprintf(o->name, sizeof o->name, "%s", name);
        o->last = &o->first;
        o->next = all->first;
        all->first = o;
        return o;
}

struct owners *
owners_new(const char *path, uint64_t keep_ms, const struct owner_reports *reports)
{
        struct owners *all = calloc(1, sizeof *all);

        if (all) {
                all->path = path;
                all->keep_ms = keep_ms;
                all->reports = *reports;
        }
        return all;
}

static void
report_open(const struct owners *all, const struct owner *o)
{
        for (size_t i = 0; i < o->open_count; i++) {
                struct recorder_open open = { .of = { .exec = o->open[i].exec },
                                              .seq = o->open[i].seq };

                memcpy(open.of.owner, o->name, sizeof open.of.owner);
                memcpy(open.of.sandbox, o->open[i].sandbox, sizeof open.of.sandbox);
                memcpy(open.chain, o->chain, sizeof open.chain);
                all->reports.open(&open);
        }
}

void
owners_load(struct owners *all)
{
        const struct dirent *entry;
        DIR *directory = opendir(".");
        struct error e;

        while (directory && (entry = readdir(directory))) {
                char name[RECORDER_OWNER_LEN];
                struct owner *o =
                        name_decode(entry->d_name, name, sizeof name) ? get(all, name) : NULL;

                if (!o)
                        continue;
                if (open_log(all, o, false, &e) == 0)
                        report_open(all, o);
                else
                        (void)fprintf(stderr, "carrel-recorder: the audit log of %s: %s\n", o->name,
                                      e.message);
        }
        if (directory)
                (void)closedir(directory);
}

/* -- entries that wait ------------------------------------------------------------------------- */

/* Somebody waits until it is on the disk. */
static bool
is_answered(const struct waiting *w)
{
        return w->head.what == RECORDER_START || w->head.what == RECORDER_NOTE;
}

static void
answer(const struct owners *all, const struct owner *o, const struct waiting *w, uint64_t seq,
       const struct error *e)
{
        struct recorder_done done = { .number = w->head.number,
                                      .answer = { .code = (uint32_t)e->code, .seq = seq } };

        if (!is_answered(w))
                return;
        memcpy(done.answer.chain, o->chain, sizeof done.answer.chain);
        all->reports.answer(&done, e);
}

static void
append(struct owner *o, struct waiting *w)
{
        w->next = NULL;
        *o->last = w;
        o->last = &w->next;
        o->has_start = o->has_start || is_answered(w);
        o->event_count += w->head.what == RECORDER_EVENT;
}

static struct waiting *
take_first(struct owner *o)
{
        struct waiting *w = o->first;

        o->first = w->next;
        if (!o->first)
                o->last = &o->first;
        o->event_count -= w->head.what == RECORDER_EVENT;
        return w;
}

static void
waiting_free(struct waiting *w)
{
        handed_fini(&w->handed);
        free(w);
}

static struct waiting *
waiting_new(const struct recorder_entry *head, const unsigned char *texts, size_t len, int *fds,
            size_t fd_count)
{
        struct waiting *w = malloc(sizeof *w + len);

        if (!w)
                return NULL;
        memset(w, 0, sizeof *w);
        memcpy(w->bytes, texts, len);
        w->head = *head;
        handed_take(&w->handed, head, fds, fd_count);
        if (recorder_event_read(w->bytes, len, &w->event))
                return w;
        waiting_free(w);
        return NULL;
}

bool
owners_add(struct owners *all, const unsigned char *entry, size_t len, int *fds, size_t fd_count)
{
        struct recorder_entry head;
        struct waiting *w;
        struct owner *o;

        if (len < sizeof head)
                return false;
        memcpy(&head, entry, sizeof head);
        head.of.owner[sizeof head.of.owner - 1] = '\0';
        head.of.sandbox[sizeof head.of.sandbox - 1] = '\0';
        o = get(all, head.of.owner);
        if (!o)
                return false;
        if (head.what == RECORDER_EVENT && o->event_count >= OWNER_EVENTS_MAX) {
                o->missed++;
                return true;
        }
        w = waiting_new(&head, entry + sizeof head, len - sizeof head, fds, fd_count);
        if (w)
                append(o, w);
        return w != NULL;
}

static const char lost[] = "{\"outcome\":\"lost\"}";

static void
add_end(struct owner *o, const struct open_start *start)
{
        const struct audit_event event = { .action = recorder_ended_action(start->exec),
                                           .actor_id = "host:carrel",
                                           .actor_role = "system",
                                           .subject_kind = "sandbox",
                                           .subject_ref = start->sandbox,
                                           .output = lost };
        struct recorder_entry head = { .of.exec = start->exec, .what = RECORDER_END };
        unsigned char texts[256];
        size_t len = recorder_event_write(&event, texts, sizeof texts);
        struct waiting *w;

        memcpy(head.of.sandbox, start->sandbox, sizeof head.of.sandbox);
        w = waiting_new(&head, texts, len, NULL, 0);
        if (w)
                append(o, w);
}

/* An end that waits already is recorded instead. */
static bool
has_end_waiting(const struct owner *o, const struct open_start *start)
{
        for (const struct waiting *w = o->first; w; w = w->next)
                if (w->head.what == RECORDER_END && w->head.of.exec == start->exec &&
                    strcmp(w->head.of.sandbox, start->sandbox) == 0)
                        return true;
        return false;
}

void
owners_settle(struct owners *all, const struct recorder_exec *of, const uint32_t *kept,
              size_t count)
{
        struct owner *o = get(all, of->owner);
        struct error ignored;

        if (!o || (!o->is_loaded && open_log(all, o, false, &ignored) < 0))
                return;
        for (size_t i = 0; i < o->open_count; i++) {
                const struct open_start *start = &o->open[i];
                bool is_kept = strcmp(start->sandbox, of->sandbox) != 0;

                for (size_t k = 0; k < count && !is_kept; k++)
                        is_kept = kept[k] == start->exec;
                if (!is_kept && !has_end_waiting(o, start))
                        add_end(o, start);
        }
}

/* -- writing ----------------------------------------------------------------------------------- */

/* false: its start is not open, or another end of it is in this batch. */
static bool
make_end(struct owner *o, struct waiting *w)
{
        struct open_start *start = find_open(o, w->head.of.sandbox, w->head.of.exec);

        if (!start || start->has_end)
                return false;
        start->has_end = true;
        (void)snprintf(w->input, sizeof w->input, "{\"exec\":%" PRIu32 ",\"start\":%" PRIu64 "}",
                       start->exec, start->seq);
        w->event.input = w->input;
        return true;
}

/* The files of an end are on the disk, or of no use: whoever holds them may free them. */
static void
let_go(const struct owners *all, const struct waiting *w)
{
        if (w->head.what == RECORDER_END && w->head.keeps != 0)
                all->reports.kept(&w->head.of);
}

/* false: it was refused, because there is no room for the content of its command. */
static bool
has_room(const struct owners *all, struct owner *o, struct waiting *w)
{
        struct error e = { .code = ERROR_NONE };

        if (w->head.what != RECORDER_START || w->head.keeps == 0 ||
            handed_look(&o->content, o->log, clock_boot_ms(), &e) == 0)
                return true;
        answer(all, o, w, 0, &e);
        waiting_free(w);
        return false;
}

/* Takes the first entries that are to be written, without those that are superfluous. */
static size_t
take_batch(const struct owners *all, struct owner *o, struct waiting **batch, size_t most)
{
        size_t count = 0;

        while (o->first && count < most && !o->has_kept) {
                struct waiting *w = take_first(o);

                if (w->head.what == RECORDER_END && !make_end(o, w)) {
                        let_go(all, w);
                        waiting_free(w);
                } else if (has_room(all, o, w)) {
                        o->has_kept = w->head.files != 0;
                        handed_keep(&w->handed, &o->content, o->log, &w->head, &w->event);
                        batch[count++] = w;
                }
        }
        return count;
}

static void
is_durable(const struct owners *all, struct owner *o, struct waiting *w, uint64_t seq)
{
        const struct error none = { .code = ERROR_NONE };

        if (w->head.what == RECORDER_START)
                (void)add_open(o, w->head.of.sandbox, w->head.of.exec, seq);
        else if (w->head.what == RECORDER_END)
                remove_open(o, w->head.of.sandbox, w->head.of.exec);
        answer(all, o, w, seq, &none);
        let_go(all, w);
        waiting_free(w);
}

/* What is answered is refused; the others wait again, before those that came later. */
static void
put_back(const struct owners *all, struct owner *o, struct waiting **batch, size_t count,
         const struct error *e)
{
        struct waiting *rest = o->first;

        o->first = NULL;
        o->last = &o->first;
        o->event_count = 0;
        o->has_start = false;
        for (size_t i = 0; i < count || rest; i++) {
                struct waiting *w = i < count ? batch[i] : rest;

                if (i >= count)
                        rest = rest->next;
                if (w->head.what == RECORDER_END && i < count) {
                        struct open_start *start =
                                find_open(o, w->head.of.sandbox, w->head.of.exec);

                        if (start)
                                start->has_end = false;
                        handed_again(&w->handed, &w->event);
                }
                if (is_answered(w)) {
                        answer(all, o, w, 0, e);
                        waiting_free(w);
                } else {
                        append(o, w);
                }
        }
}

static int
write_batch(struct owner *o, struct waiting **batch, size_t count, uint64_t *ret_last,
            struct error *e)
{
        struct audit_event events[AUDIT_EVENTS_MAX];
        char missed[64];
        size_t extra = o->missed > 0 ? 1 : 0;

        if (extra > 0) {
                (void)snprintf(missed, sizeof missed, "{\"count\":%" PRIu64 "}", o->missed);
                events[0] = (struct audit_event){ .action = "events.missed",
                                                  .actor_id = "host:carrel",
                                                  .actor_role = "system",
                                                  .subject_kind = "audit",
                                                  .subject_ref = o->name,
                                                  .output = missed };
        }
        for (size_t i = 0; i < count; i++)
                events[extra + i] = batch[i]->event;
        if (audit_log_append(o->log, events, extra + count, ret_last, o->chain, e) < 0)
                return -1;
        o->missed = 0;
        o->next_seq = *ret_last + 1;
        return 0;
}

/*
 * An entry that no log can take is left out, and counted in "events.missed". Anything else can pass
 * without a change of the entry, so it waits: ERROR_AUDIT_UNAVAILABLE (the disk, a missing key),
 * ERROR_AUDIT_BROKEN (the files), ERROR_NO_MEMORY.
 */
static bool
is_unfit(const struct error *e)
{
        return e->code == ERROR_INVALID_ARGUMENT || e->code == ERROR_REQUEST_TOO_LARGE;
}

/* Of an end, only that the command has ended is recorded. */
static void
leave_out(const struct owners *all, struct owner *o, struct waiting *w)
{
        struct open_start *start = find_open(o, w->head.of.sandbox, w->head.of.exec);

        o->missed += !is_answered(w);
        if (w->head.what == RECORDER_END && start) {
                start->has_end = false;
                add_end(o, start);
        }
        let_go(all, w);
        waiting_free(w);
}

static int
flush_batch(struct owners *all, struct owner *o, size_t most, struct error *e)
{
        struct waiting *batch[AUDIT_EVENTS_MAX];
        size_t count = take_batch(all, o, batch, most);
        uint64_t last = 0;

        if (count == 0 && o->missed == 0)
                return 0;
        if (write_batch(o, batch, count, &last, e) == 0) {
                for (size_t i = 0; i < count; i++)
                        is_durable(all, o, batch[i], last + 1 + i - count);
                return 0;
        }
        if (is_unfit(e) && count == 1) {
                answer(all, o, batch[0], 0, e);
                leave_out(all, o, batch[0]);
                return 0;
        }
        if (!is_unfit(e) || count == 0) {
                put_back(all, o, batch, count, e);
                return -1;
        }
        for (size_t i = count; i-- > 0;) { /* again, one by one */
                batch[i]->next = o->first;
                if (!o->first)
                        o->last = &batch[i]->next;
                o->first = batch[i];
                o->event_count += batch[i]->head.what == RECORDER_EVENT;
                if (batch[i]->head.what == RECORDER_END) {
                        struct open_start *start =
                                find_open(o, batch[i]->head.of.sandbox, batch[i]->head.of.exec);

                        if (start)
                                start->has_end = false;
                }
        }
        for (size_t i = 0; i < count && o->first; i++) {
                o->has_kept = false;
                if (flush_batch(all, o, 1, e) < 0)
                        return -1;
        }
        return 0;
}

/* Redacting and keeping the content of one command may take a second, so that it ends the turn. */
static void
flush_owner(struct owners *all, struct owner *o, uint64_t now_ms, bool is_last)
{
        struct error e = { .code = ERROR_NONE };
        int result = open_log(all, o, true, &e);
        bool is_over = false;

        if (result < 0)
                put_back(all, o, NULL, 0, &e);
        while (result == 0 && (o->first || o->missed > 0) && !is_over) {
                o->has_kept = false;
                result = flush_batch(all, o, AUDIT_EVENTS_MAX - 1, &e);
                is_over = o->has_kept && !is_last;
        }
        o->has_kept = false;
        o->has_start = false;
        if (result == 0 && o->next_seq - o->noted >= OPEN_EVERY)
                note_open(o);
        if (result < 0 && o->due_ms == 0)
                (void)fprintf(stderr, "carrel-recorder: the audit log of %s: %s\n", o->name,
                              e.message);
        o->due_ms = result < 0 ? now_ms + OWNER_RETRY_MS : 0;
}

/*
 * Ends and executions wait for the next sync of something else, or OWNER_ENDS_MS. Each command has
 * some: a sync of their own would make the start of the next command wait.
 */
static bool
has_prompt(const struct owner *o)
{
        for (const struct waiting *w = o->event_count > 0 ? o->first : NULL; w; w = w->next)
                if (w->head.what == RECORDER_EVENT &&
                    strcmp(w->event.action, "process.executed") != 0 &&
                    strcmp(w->event.action, "file.changed") != 0)
                        return true;
        return false;
}

static bool
is_due(struct owner *o, uint64_t now_ms, bool is_last)
{
        if (o->ends_ms == 0)
                o->ends_ms = now_ms + OWNER_ENDS_MS;
        /* a start tries at once, so that it succeeds as soon as there is space */
        if (o->has_start || is_last)
                return true;
        return o->due_ms <= now_ms && (o->ends_ms <= now_ms || has_prompt(o));
}

static uint64_t
least(uint64_t a, uint64_t b)
{
        return a < b ? a : b;
}

/* The file "open" first: it names the starts in files that go. */
static void
begin_retention(struct owners *all, struct owner *o, uint64_t now_ms)
{
        char place[3 * RECORDER_OWNER_LEN + 1] = "";
        struct error e;

        o->retain_ms = now_ms + RETAIN_EVERY_MS;
        if (open_log(all, o, false, &e) < 0)
                return;
        o->log->has_begun_file = false;
        if (o->noted < o->next_seq)
                note_open(o);
        if (o->noted < o->next_seq)
                return;
        (void)name_encode(o->name, place, sizeof place);
        if (retention_start(&all->retention, place, o, all->keep_ms, &e) < 0)
                (void)fprintf(stderr, "carrel-recorder: retention of the audit log of %s: %s\n",
                              o->name, e.message);
}

/* A part, so that entries of all owners need not wait for more. */
static void
continue_retention(struct owners *all)
{
        struct owner *o = all->retention.of;
        struct error e;
        uint64_t seq = 0;

        if (retention_step(&all->retention, &seq, &e) < 0)
                (void)fprintf(stderr, "carrel-recorder: retention of the audit log of %s: %s\n",
                              o->name, e.message);
        else if (seq >= o->next_seq)
                o->next_seq = seq + 1;
}

/* One log at a time. Returns when the next step is due. */
static uint64_t
retain(struct owners *all, uint64_t now_ms)
{
        uint64_t next_ms = UINT64_MAX;

        if (all->keep_ms == 0)
                return UINT64_MAX;
        if (all->retention.of)
                continue_retention(all);
        for (struct owner *o = all->first; o; o = o->next) {
                bool is_new = o->log && o->log->has_begun_file;

                if (!all->retention.of && (is_new || o->retain_ms <= now_ms))
                        begin_retention(all, o, now_ms);
                next_ms = least(next_ms, o->retain_ms);
        }
        return all->retention.of ? now_ms : next_ms;
}

static uint64_t
flush(struct owners *all, uint64_t now_ms, bool is_last)
{
        uint64_t next_ms = UINT64_MAX;

        for (struct owner *o = all->first; o; o = o->next) {
                struct error ignored; /* reported by the next entry */

                if (o->first && is_due(o, now_ms, is_last)) {
                        flush_owner(all, o, now_ms, is_last);
                        o->ends_ms = o->first ? now_ms : 0;
                }
                if (o->log && audit_log_due_ms(o->log) <= now_ms)
                        (void)audit_log_sign(o->log, &ignored);
                if (o->first)
                        next_ms = least(next_ms, o->due_ms > 0 ? o->due_ms : o->ends_ms);
                if (o->log)
                        next_ms = least(next_ms, audit_log_due_ms(o->log));
        }
        return is_last ? next_ms : least(next_ms, retain(all, now_ms));
}

uint64_t
owners_flush(struct owners *all, uint64_t now_ms)
{
        return flush(all, now_ms, false);
}

void
owners_free(struct owners *all)
{
        if (!all)
                return;
        retention_stop(&all->retention);
        (void)flush(all, UINT64_MAX - OWNER_RETRY_MS, true);
        for (struct owner *o = all->first, *next; o; o = next) {
                next = o->next;
                close_log(all, o);
                while (o->first)
                        waiting_free(take_first(o));
                free(o->open);
                free(o);
        }
        free(all);
}
