/*
 * cli/doc_verify.c - `carrel doc verify`: proves a document claim by claim against a live sandbox.
 *
 * Room: cli (joining, program). Touches: processes, fd, clock; what `carrel run` touches.
 * Theory: each field of the document has a row here. A row compares the claim with what is decided
 * (the parts of doc_facts.h), tries it in sandboxes of its own, or belongs to the closed list of
 * claims that nothing here can prove. A claim that cannot be tried is not proven.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/doc.h"
#include "cli/doc_facts.h"
#include "cli/doc_log.h"
#include "cli/doc_streams.h"
#include "cli/finding_print.h"
#include "document/kind.h"
#include "document/value.h"

enum {
        STARTS = 20,
        START_FACTOR = 3,
        WORDS_MAX = 300, /* of one probe */
        TASKS_TRIED_MAX = 256,
        MEMORY_TRIED_MAX_MB = 512,
        DISK_TRIED_MAX_MB = 256,
        TIME_TRIED_MAX_MS = 60000,
        SCALED_MS = 1000,
        STATUS_REFUTED = 126,
};

enum result { PROVEN, REFUTED, OUTSIDE, REMARK };

static const char *const result_words[] = { "proven", "refuted", "outside proof", "remark" };

struct proving {
        struct doc_asked *a;
        struct run_way *way;
        struct doc_probe probe; /* not recorded */
        struct doc_facts *facts;
        const struct node *doc;
        struct json_writer json;
        size_t counts[4];
        struct error broken; /* a probe that could not run: the first one; code NONE: none */
};

static void say(struct proving *p, enum result result, const char *path, const char *fmt, ...)
        __attribute__((format(printf, 4, 5)));

static void
say(struct proving *p, enum result result, const char *path, const char *fmt, ...)
{
        char text[512];
        va_list ap;

        va_start(ap, fmt);
        (void)vsnprintf(text, sizeof text, fmt, ap);
        va_end(ap);
        p->counts[result]++;
        if (!p->a->is_json) {
                (void)printf("%-13s  %s: ", result_words[result], path);
                print_escaped(stdout, text, false);
                (void)fputc('\n', stdout);
                (void)fflush(stdout);
                return;
        }
        json_open_map(&p->json);
        json_member_text(&p->json, "result", result_words[result]);
        json_member_text(&p->json, "claim", path);
        json_member_text(&p->json, "detail", text);
        json_close_map(&p->json);
}

/* -- probes ------------------------------------------------------------------------------------ */

/* The text of a probe's standard output; "" if it could not run. */
static const char *
output(struct proving *p, const struct doc_probe *probe, const char *const *command,
       struct doc_probed *ret)
{
        const struct node *out;
        struct error e;

        *ret = (struct doc_probed){ .status = -1 };
        if (doc_probe_run(&p->a->arena, probe, command, ret, &e) < 0) {
                if (p->broken.code == ERROR_NONE)
                        p->broken = e;
                return "";
        }
        out = node_find(ret->json, "stdout");
        return out && out->kind == NODE_STRING ? out->text : "";
}

static const char *
shell(struct proving *p, const char *script, const char *argument, struct doc_probed *ret)
{
        const char *const command[] = { "/bin/sh", "-c", script, "sh", argument, NULL };

        return output(p, &p->probe, command, ret);
}

/* Is there a whole line equal to `line`? */
static bool
has_line(const char *text, const char *line)
{
        size_t len = strlen(line);

        for (const char *at = text; (at = strstr(at, line)) != NULL; at += len)
                if ((at == text || at[-1] == '\n') && (at[len] == '\n' || at[len] == '\0'))
                        return true;
        return false;
}

static const char *
ending(const struct doc_probed *done)
{
        const struct node *word = node_find(done->json, "outcome");

        return word && word->kind == NODE_STRING ? word->text : "";
}

/* -- what is decided here ---------------------------------------------------------------------- */

static const struct node *
part(struct proving *p, const char *path)
{
        const struct node *n;
        struct error e;

        for (size_t i = 0; i < p->facts->count; i++) {
                const char *json = p->facts->items[i].json;

                if (strcmp(p->facts->items[i].path, path) == 0)
                        return json && json_read(&p->a->arena, json, strlen(json),
                                                 &text_limits_manifest, &n, &e) == 0
                                       ? n
                                       : NULL;
        }
        return NULL;
}

static const char *
shown(struct proving *p, const struct node *n)
{
        struct json_writer w;
        const char *text;

        json_init(&w, false);
        json_node(&w, n);
        text = w.text ? arena_text(&p->a->arena, w.text) : NULL;
        json_fini(&w);
        return text ? text : "";
}

static bool
is_same(struct proving *p, const struct node *a, const struct node *b)
{
        if (a->kind == NODE_STRING && b->kind == NODE_STRING)
                return document_is_name(a->text, b->text);
        return strcmp(shown(p, a), shown(p, b)) == 0;
}

static void
prove_same(struct proving *p, const char *path, const struct node *claim)
{
        const struct node *here = part(p, path);

        if (!here)
                say(p, REFUTED, path, "nothing here makes it so");
        else if (is_same(p, claim, here))
                say(p, PROVEN, path, "%.200s", shown(p, here));
        else
                say(p, REFUTED, path, "it is %.200s here", shown(p, here));
}

/* A name that the manifest does not give is the operator's own. */
static void
prove_identity(struct proving *p, const char *path, const struct node *claim)
{
        if (part(p, path))
                prove_same(p, path, claim);
        else
                say(p, OUTSIDE, path, "the operator's");
}

static void
outside(struct proving *p, const char *path, const struct node *claim)
{
        (void)claim;
        say(p, OUTSIDE, path, "the operator's word");
}

/* -- files ------------------------------------------------------------------------------------- */

static const char path_script[] =
        "for d; do if [ -d \"$d\" ]; then f=\"$d/.carrel-doc-$$\"; if (: > \"$f\") 2>/dev/null; "
        "then rm -f \"$f\"; echo \"w $d\"; else echo \"r $d\"; fi; "
        "elif [ -c \"$d\" ]; then echo \"c $d\"; "
        "elif [ -e \"$d\" ]; then if (: >> \"$d\") 2>/dev/null; then echo \"w $d\"; "
        "else echo \"r $d\"; fi; else echo \"n $d\"; fi; done";

static const char *
try_paths(struct proving *p, const char *const *paths, size_t count)
{
        const char *command[WORDS_MAX + 8] = { "/bin/sh", "-c", path_script, "sh" };
        struct doc_probed done;

        for (size_t i = 0; i < count && i < WORDS_MAX; i++)
                command[4 + i] = paths[i];
        return output(p, &p->probe, command, &done);
}

static void
prove_root(struct proving *p, const char *path, const struct node *claim)
{
        struct doc_probed done;
        const char *out = shell(p, "pwd", "", &done);

        say(p, has_line(out, claim->text) ? PROVEN : REFUTED, path, "commands start in %.*s",
            (int)strcspn(out, "\n"), out);
}

static size_t
take_paths(const struct node *list, const char **paths, size_t count)
{
        node_each(item, list) if (count < WORDS_MAX) paths[count++] = item->text;
        return count;
}

static void
prove_each(struct proving *p, const char *path, const struct node *claim, char wanted)
{
        const char *paths[WORDS_MAX];
        size_t count = take_paths(claim, paths, 0);
        const char *out = try_paths(p, paths, count);

        for (size_t i = 0; i < count; i++) {
                static const struct {
                        char letter;
                        const char *words;
                } kinds[] = { { 'w', "it can be written" },
                              { 'r', "it cannot be written" },
                              { 'c', "it is a device" },
                              { 'n', "it does not exist inside" } };
                const char *words = "it was not tried";
                bool is_good = false;

                for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
                        if (has_line(out, arena_format(&p->a->arena, "%c %s", kinds[k].letter,
                                                       paths[i]))) {
                                words = kinds[k].words;
                                is_good = kinds[k].letter == wanted;
                        }
                say(p, is_good ? PROVEN : REFUTED, path, "%.200s: %s", paths[i], words);
        }
        if (claim->len > WORDS_MAX)
                say(p, REFUTED, path, "more than %d paths were not tried", WORDS_MAX);
}

static bool
is_covered(const struct node *list, const char *path)
{
        node_each(item, list)
        {
                size_t len = strlen(item->text);

                while (len > 1 && item->text[len - 1] == '/')
                        len--;
                if (strncmp(item->text, path, len) == 0 && (path[len] == '/' || path[len] == '\0'))
                        return true;
        }
        return false;
}

/* Directories that could be writable without being listed: well-known ones, and every mount. */
static void
prove_no_others(struct proving *p, const char *path, const struct node *claim)
{
        static const char *const known[] = { "/",     "/usr",  "/usr/local", "/usr/local/bin",
                                             "/etc",  "/var",  "/var/lib",   "/opt",
                                             "/root", "/boot", "/srv",       "/mnt",
                                             "/home", "/dev",  "/proc",      "/proc/sys",
                                             "/sys",  "/run",  "/tmp",       "/dev/shm" };
        const char *paths[WORDS_MAX], *out;
        struct doc_probed done;
        size_t count = 0, open = 0;
        char *mounts = arena_text(&p->a->arena, shell(p,
                                                      "while read -r a b c; do echo \"$b\"; done < "
                                                      "/proc/self/mounts",
                                                      "", &done)),
             *rest = NULL;

        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
                if (!is_covered(claim, known[i]))
                        paths[count++] = known[i];
        for (char *m = mounts ? strtok_r(mounts, "\n", &rest) : NULL; m && count < WORDS_MAX;
             m = strtok_r(NULL, "\n", &rest))
                if (!is_covered(claim, m))
                        paths[count++] = m;
        out = try_paths(p, paths, count);
        for (size_t i = 0; i < count; i++)
                if (has_line(out, arena_format(&p->a->arena, "w %s", paths[i]))) {
                        open++;
                        say(p, REFUTED, path, "%.200s can be written, and is not listed", paths[i]);
                }
        if (out[0] == '\0' || !mounts)
                say(p, REFUTED, path, "other paths could not be tried");
        else if (open == 0)
                say(p, PROVEN, path, "none of %zu other directories can be written", count);
}

static void
prove_writable(struct proving *p, const char *path, const struct node *claim)
{
        prove_each(p, path, claim, 'w');
        prove_no_others(p, path, claim);
}

static void
prove_fixed(struct proving *p, const char *path, const struct node *claim)
{
        prove_each(p, path, claim, 'r');
}

/* -- network ----------------------------------------------------------------------------------- */

enum reached { REACHED, NOT_REACHED, NOT_TRIED };

/* Was a destination refused because it is not allowed, by the report of the run? */
static bool
is_denied(const struct doc_probed *done, const char *host)
{
        static const char *const reasons[] = { "not_listed", "port_not_listed", "no_network",
                                               "no_name", "host_port_not_listed" };
        const struct node *denied = node_find(done->json, "denied");

        for (const struct node *n = denied ? denied->first : NULL; n; n = n->next) {
                const struct node *name = node_find(n, "host"), *why = node_find(n, "reason");

                if (!name || name->kind != NODE_STRING || name->text[0] == '\0')
                        name = node_find(n, "address");
                if (!name || !node_is_text(name, host))
                        continue;
                for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
                        if (why && node_is_text(why, reasons[i]))
                                return true;
        }
        return false;
}

static enum reached
connect_to(struct proving *p, const char *host, int64_t port)
{
        static const char script[] =
                "trap '' PIPE; echo begun; exec 3<>\"/dev/tcp/$1/$2\" && echo connected && printf "
                "'HEAD / "
                "HTTP/1.1\\r\\nHost: %s\\r\\nConnection: close\\r\\n\\r\\n' \"$1\" >&3 && "
                "read -t 2 -r x <&3; exit 0";
        const char *const command[] = { "bash", "-c", script,
                                        "bash", host, arena_format(&p->a->arena, "%" PRId64, port),
                                        NULL };
        struct doc_probed done;
        const char *out = output(p, &p->probe, command, &done);

        if (!has_line(out, "begun"))
                return NOT_TRIED;
        return has_line(out, "connected") && !is_denied(&done, host) ? REACHED : NOT_REACHED;
}

static bool
is_listed(const struct node *list, const char *host, int64_t port)
{
        node_each(entry, list)
        {
                const struct node *name = node_find(entry, "host"),
                                  *number = node_find(entry, "port");

                if (name && number && document_is_name(name->text, host) && number->integer == port)
                        return true;
        }
        return false;
}

static void
prove_entry(struct proving *p, const char *path, const struct node *list, const struct node *entry)
{
        const char *name = node_find(entry, "host")->text;
        int64_t port = node_find(entry, "port")->integer;
        bool is_domain = name[0] == '*';
        const char *host = is_domain ? arena_format(&p->a->arena, "carrel-doc%s", name + 1) : name;
        const char *other =
                is_domain ? name + 2 : arena_format(&p->a->arena, "carrel-doc.%s", name);
        enum reached open = connect_to(p, host, port), beside;

        if (open == NOT_TRIED) {
                say(p, REFUTED, path, "%.200s:%" PRId64 " cannot be tried: the sandbox has no bash",
                    name, port);
                return;
        }
        say(p, open == REACHED ? PROVEN : REFUTED, path, "%.200s:%" PRId64 " is %s", name, port,
            open == REACHED ? "let through" : "denied");
        if (!is_listed(list, other, port)) {
                beside = connect_to(p, other, port);
                say(p, beside == NOT_REACHED ? PROVEN : REFUTED, path, "%.200s:%" PRId64 " is %s",
                    other, port, beside == NOT_REACHED ? "denied" : "open, and is not listed");
        }
        if (port < 65535 && !is_listed(list, name, port + 1)) {
                beside = connect_to(p, host, port + 1);
                say(p, beside == NOT_REACHED ? PROVEN : REFUTED, path, "%.200s:%" PRId64 " is %s",
                    name, port + 1, beside == NOT_REACHED ? "denied" : "open, and is not listed");
        }
}

static void
prove_egress(struct proving *p, const char *path, const struct node *claim)
{
        const struct node *here = part(p, path);
        size_t unlisted = 0;

        node_each(entry, claim) prove_entry(p, path, claim, entry);
        for (const struct node *entry = here ? here->first : NULL; entry; entry = entry->next) {
                const struct node *name = node_find(entry, "host"),
                                  *port = node_find(entry, "port");

                if (is_listed(claim, name->text, port->integer))
                        continue;
                unlisted++;
                say(p, REFUTED, path, "%.200s:%" PRId64 " is open, and is not listed", name->text,
                    port->integer);
        }
        if (unlisted == 0 && here)
                say(p, PROVEN, path, "no other destination is open: %zu of %zu are listed",
                    here->len, here->len);
}

/* A name that is not listed has no address inside. */
static void
prove_default(struct proving *p, const char *path, const struct node *claim)
{
        struct doc_probed done;
        enum reached open;

        (void)claim;
        (void)shell(p, "getent hosts carrel-doc-unlisted.example", "", &done);
        open = connect_to(p, "192.0.2.1", 443);
        if (done.status == 0 || open == REACHED)
                say(p, REFUTED, path, "a name or an address that is not listed leads somewhere");
        else
                say(p, PROVEN, path,
                    "an unlisted name has no address; an unlisted address is "
                    "denied");
}

static void
prove_dns(struct proving *p, const char *path, const struct node *claim)
{
        if (claim->kind == NODE_MAP)
                prove_same(p, path, claim);
        else if (document_is_name(claim->text, "allowlist") ||
                 document_is_name(claim->text, "deny"))
                prove_default(p, path, claim);
        else
                say(p, REFUTED, path, "only listed names are answered here: allowlist");
}

/* -- limits ------------------------------------------------------------------------------------ */

static void
prove_amount(struct proving *p, const char *path, const struct node *claim,
             bool (*read)(const char *text, uint64_t *ret), const char *how)
{
        const struct node *here = part(p, path);
        uint64_t wanted, real;

        if (!here || !read(here->text, &real))
                say(p, REFUTED, path, "there is no cap here");
        else if (!read(claim->text, &wanted) || wanted != real)
                say(p, REFUTED, path, "the cap is %s here", here->text);
        else
                say(p, PROVEN, path, "%s: %s", here->text, how);
}

static void
prove_cpu(struct proving *p, const char *path, const struct node *claim)
{
        prove_amount(p, path, claim, document_millicores, "the control group has this quota");
}

static void
prove_memory(struct proving *p, const char *path, const struct node *claim)
{
        uint64_t mb = p->way->p.spec->limits.memory_mb;
        struct doc_probed done;

        if (mb == SPEC_UNSET || mb > MEMORY_TRIED_MAX_MB) {
                prove_amount(p, path, claim, document_quantity, "the control group has this cap");
                return;
        }
        (void)shell(p, "head -c $1 /dev/zero | tail -c $1 > /dev/null",
                    arena_format(&p->a->arena, "%" PRIu64, (mb + 64) << 20), &done);
        if (strcmp(ending(&done), "oom_killed") == 0)
                prove_amount(p, path, claim, document_quantity, "a command that used more ended");
        else
                say(p, REFUTED, path, "a command could use more than %" PRIu64 " MiB", mb);
}

static void
prove_disk(struct proving *p, const char *path, const struct node *claim)
{
        uint64_t mb = p->way->p.plan->disk_mb;
        struct doc_probed done;
        const char *out;

        if (mb == SPEC_UNSET || mb > DISK_TRIED_MAX_MB) {
                prove_amount(p, path, claim, document_quantity,
                             "the private places have this size");
                return;
        }
        out = shell(p, "head -c $1 /dev/zero > /tmp/carrel-doc || [ $? -ne 1 ] || echo full",
                    arena_format(&p->a->arena, "%" PRIu64, (mb + 1) << 20), &done);
        if (has_line(out, "full") || strcmp(ending(&done), "oom_killed") == 0)
                prove_amount(p, path, claim, document_quantity, "more could not be written");
        else
                say(p, REFUTED, path, "more than %" PRIu64 " MiB could be written", mb);
}

static void
prove_tasks(struct proving *p, const char *path, const struct node *claim)
{
        static const char script[] = "i=0; while [ $i -lt $1 ]; do sleep 3 & i=$((i+1)); "
                                     "echo $i; done 2>/dev/null; exit 0";
        uint64_t cap = p->way->p.plan->pids;
        struct doc_probed done;
        const char *out;

        if (cap == SPEC_UNSET || claim->integer < 0 || (uint64_t)claim->integer != cap) {
                say(p, REFUTED, path, "the cap is %" PRIu64 " here", cap == SPEC_UNSET ? 0 : cap);
                return;
        }
        if (cap > TASKS_TRIED_MAX) {
                say(p, PROVEN, path, "%" PRIu64 ": the control group or rlimit has this cap", cap);
                return;
        }
        out = shell(p, script, arena_format(&p->a->arena, "%" PRIu64, cap + 8), &done);
        if (out[0] == '\0' || has_line(out, arena_format(&p->a->arena, "%" PRIu64, cap + 1)))
                say(p, REFUTED, path, "more than %" PRIu64 " processes could start", cap);
        else
                say(p, PROVEN, path, "no more than %" PRIu64 " processes could start", cap);
}

static void
prove_call_time(struct proving *p, const char *path, uint64_t claimed_ms)
{
        uint64_t real = p->way->limit.ms;
        bool is_scaled = real > TIME_TRIED_MAX_MS;
        struct doc_probe probe = p->probe;
        struct doc_probed done;
        const char *const command[] = { "sleep",
                                        arena_format(&p->a->arena, "%" PRIu64, real / 1000 + 30),
                                        NULL };

        if (real == SPEC_UNSET || claimed_ms != real) {
                say(p, REFUTED, path, "a command is ended after %" PRIu64 " ms here",
                    real == SPEC_UNSET ? 0 : real);
                return;
        }
        if (is_scaled && !p->a->is_scaled) {
                say(p, REMARK, path,
                    "%" PRIu64 " ms is the limit; not tried, because it takes that long. Add "
                    "--scaled to try with %d ms",
                    real, SCALED_MS);
                return;
        }
        probe.timeout_ms = is_scaled ? SCALED_MS : 0;
        (void)output(p, &probe, command, &done);
        say(p, strcmp(ending(&done), "timed_out") == 0 ? PROVEN : REFUTED, path,
            "a command that slept was %s after %" PRIu64 " ms%s",
            strcmp(ending(&done), "timed_out") == 0 ? "ended" : "not ended", done.took_us / 1000,
            is_scaled ? " (scaled)" : "");
}

static void
prove_timeouts(struct proving *p, const char *path, const struct node *claim)
{
        uint64_t call = 0, life = 0;

        (void)document_duration(node_find(claim, "per_tool_call")->text, &call);
        (void)document_duration(node_find(claim, "per_sandbox_lifetime")->text, &life);
        prove_call_time(p, "resources.timeouts.per_tool_call", call);
        say(p, OUTSIDE, "resources.timeouts.per_task_loop", "the harness's");
        say(p, life >= p->way->limit.ms ? PROVEN : REFUTED,
            "resources.timeouts.per_sandbox_lifetime",
            "a sandbox of `carrel run` ends with its command, after at most %" PRIu64 " ms",
            p->way->limit.ms);
        (void)path;
}

/* -- start, packages, controls ----------------------------------------------------------------- */

static void
prove_start(struct proving *p, const char *path, const struct node *claim)
{
        const uint64_t *times;
        struct error e;
        double median;

        if (doc_facts_measure(&p->a->arena, &p->probe, STARTS, &times, &e) < 0) {
                say(p, REFUTED, path, "it cannot be measured: %.200s", e.message);
                return;
        }
        median = doc_facts_percentile(times, STARTS, 50);
        say(p, median <= claim->real * START_FACTOR ? PROVEN : REMARK, path,
            "%.1f ms now, of %d starts%s", median, STARTS,
            median <= claim->real * START_FACTOR ? "" : "; that is more than 3 times the claim");
}

static void
prove_packages(struct proving *p, const char *path, const struct node *claim)
{
        const struct node *here = part(p, path);
        size_t missing = 0, unlisted = 0;
        const char *first = "";

        for (const struct node *item = claim->first; item; item = item->next) {
                bool found = false;

                for (const struct node *n = here ? here->first : NULL; n && !found; n = n->next)
                        found = strcmp(n->text, item->text) == 0;
                if (!found && missing++ == 0)
                        first = item->text;
        }
        for (const struct node *n = here ? here->first : NULL; n; n = n->next) {
                bool found = false;

                for (const struct node *item = claim->first; item && !found; item = item->next)
                        found = strcmp(n->text, item->text) == 0;
                unlisted += !found;
        }
        if (missing > 0)
                say(p, REFUTED, path, "%zu are not installed, the first is %.200s", missing, first);
        if (unlisted > 0)
                say(p, REFUTED, path, "%zu are installed and not listed", unlisted);
        if (missing + unlisted == 0)
                say(p, PROVEN, path, "%zu packages", claim->len);
}

static bool
has_control_step(const struct proving *p, const char *name)
{
        const char *on;

        for (size_t i = 0; (on = doc_facts_control(p->way->p.plan, i)) != NULL; i++)
                if (document_is_name(on, name))
                        return true;
        return false;
}

/* Is the sandbox in another namespace than this process? */
static bool
is_apart(const char *out, const char *kind)
{
        char link[64], own[64] = "", path[32];
        ssize_t len;

        (void)snprintf(path, sizeof path, "/proc/self/ns/%s", kind);
        len = readlink(path, own, sizeof own - 1);
        (void)snprintf(link, sizeof link, "%s:[", kind);
        return len > 0 && strstr(out, link) && !has_line(out, own);
}

/* What the inside says; NULL: nothing that it can say. */
static const char *
seen_inside(const char *out, const char *name, bool *ret_holds)
{
        static const struct {
                const char *name, *line;
        } lines[] = { { "seccomp_filter", "Seccomp:\t2" },
                      { "syscall_filter", "Seccomp:\t2" },
                      { "no_new_privileges", "NoNewPrivs:\t1" },
                      { "capability_drop", "CapBnd:\t0000000000000000" },
                      { "read_only_rootfs", "root is fixed" },
                      { "secret_isolation", "secret: none" } };

        for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
                if (document_is_name(lines[i].name, name)) {
                        *ret_holds = has_line(out, lines[i].line);
                        return lines[i].line;
                }
        if (document_is_name("user_namespace", name) ||
            document_is_name("network_namespace", name)) {
                *ret_holds =
                        is_apart(out, document_is_name("user_namespace", name) ? "user" : "net");
                return "another namespace";
        }
        return NULL;
}

static void
prove_controls(struct proving *p, const char *path, const struct node *claim)
{
        static const char script[] =
                "grep -E '^(NoNewPrivs|Seccomp|CapEff|CapBnd):' /proc/self/status; "
                "readlink /proc/self/ns/user; readlink /proc/self/ns/net; "
                "(: > /.carrel-doc) 2>/dev/null || echo 'root is fixed'; "
                "echo \"secret: ${" DOC_PROBE_SECRET "-none}\"";
        struct doc_probed done;
        const char *out = shell(p, script, "", &done);

        node_each(item, claim)
        {
                const struct node *named =
                        item->kind == NODE_MAP ? node_find(item, "control") : item;
                const struct node *enforced = node_find(item, "enforced");
                const char *name = named->text, *seen;
                bool holds = false;

                if (enforced && ((enforced->kind == NODE_BOOL && !enforced->boolean) ||
                                 node_is_text(enforced, "configurable")))
                        say(p, OUTSIDE, path, "%.100s is not said to be on", name);
                else if ((seen = seen_inside(out, name, &holds)) != NULL)
                        say(p, holds ? PROVEN : REFUTED, path, "%.100s: %s%s", name,
                            holds ? "inside: " : "inside it is not so: ", seen);
                else if (has_control_step(p, name))
                        say(p, PROVEN, path, "%.100s: a step of the plan, and a sandbox started",
                            name);
                else if (document_is_name(name, "signed_audit_log") && p->a->is_audited)
                        say(p, PROVEN, path, "%.100s: the probe was recorded", name);
                else
                        say(p, REFUTED, path, "%.100s is not on here", name);
        }
}

/* -- logs and people --------------------------------------------------------------------------- */

static void
prove_streams(struct proving *p, const char *path, const struct node *claim)
{
        const struct node *here = part(p, path);

        node_each(item, claim)
        {
                bool found = false;

                for (const struct node *n = here ? here->first : NULL; n; n = n->next)
                        found = found || document_is_name(n->text, item->text);
                say(p, found ? PROVEN : REFUTED, path, "%.40s is %s", item->text,
                    found ? "in the log" : "not in the log as a whole");
        }
}

/* A list of something that nothing here has. */
static void
prove_none(struct proving *p, const char *path, const struct node *claim)
{
        if (claim->len == 0)
                say(p, PROVEN, path, "none");
        else
                say(p, REFUTED, path, "nothing here enforces it");
}

/* -- the table --------------------------------------------------------------------------------- */

static const struct {
        const char *path;
        void (*prove)(struct proving *p, const char *path, const struct node *claim);
} rows[] = {
        { "identity.name", prove_identity },
        { "identity.id", prove_identity },
        { "identity.version", prove_identity },
        { "identity.provider", outside },
        { "identity.runtime_class", prove_same },
        { "isolation.tier", prove_same },
        { "isolation.runtime_class", prove_same },
        { "isolation.shared_kernel", prove_same },
        { "isolation.multi_tenant", outside },
        { "isolation.attestation_supported", prove_same },
        { "filesystem.root", prove_root },
        { "filesystem.writable_paths", prove_writable },
        { "filesystem.read_only_paths", prove_fixed },
        { "filesystem.mounted_data", outside },
        { "filesystem.persistence", prove_same },
        { "filesystem.max_disk", prove_disk },
        { "network.default", prove_default },
        { "network.egress_allowlist", prove_egress },
        { "network.ingress", prove_none },
        { "network.dns_policy", prove_dns },
        { "network.bandwidth_limit", prove_same },
        { "resources.cpu", prove_cpu },
        { "resources.memory", prove_memory },
        { "resources.gpu", prove_none },
        { "resources.disk_io", prove_none },
        { "resources.process_limit", prove_tasks },
        { "resources.timeouts", prove_timeouts },
        { "lifecycle.provisioning", prove_same },
        { "lifecycle.cold_start_p50_ms", prove_start },
        { "lifecycle.cold_start_p99_ms", outside },
        { "lifecycle.cold_start_load_profile", outside },
        { "lifecycle.pause_resume_supported", prove_same },
        { "lifecycle.scheduled_deletion", outside },
        { "lifecycle.singleton_guarantee", prove_same },
        { "state.snapshot_supported", prove_same },
        { "state.snapshot_format", prove_none },
        { "state.snapshot_encryption_at_rest", prove_same },
        { "state.resumability", prove_same },
        { "state.data_residency", outside },
        { "tools.installed_packages", prove_packages },
        { "tools.executables_allowlist", prove_none },
        { "tools.commands_disallowed", prove_none },
        { "tools.tool_servers", prove_none },
        { "tools.human_in_the_loop", prove_none },
        { "audit.log_streams", prove_streams },
        { "audit.log_immutability", prove_same },
        { "audit.retention", outside },
        { "audit.replay_supported", prove_same },
        { "audit.pii_handling", outside },
        { "threat_model.trust_boundary", outside },
        { "threat_model.untrusted_inputs", outside },
        { "threat_model.in_scope_risks", outside },
        { "threat_model.out_of_scope_risks", outside },
        { "threat_model.mandatory_controls", prove_controls },
};

static void
prove_field(struct proving *p, const char *path, const struct node *claim)
{
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                if (strcmp(rows[i].path, path) == 0) {
                        rows[i].prove(p, path, claim);
                        return;
                }
        say(p, REFUTED, path, "no proof of this claim is known");
}

static void
prove_all(struct proving *p)
{
        for (size_t s = 0; s < document_kind.member_count; s++) {
                const struct document_field *top = &document_kind.members[s];
                const struct node *section = node_find(p->doc, top->name);

                if (section && !document_is_section(top))
                        outside(p, top->name, section);
                for (size_t i = 0;
                     section && document_is_section(top) && i < top->kind->member_count; i++) {
                        const char *name = top->kind->members[i].name;
                        const struct node *claim = node_find(section, name);
                        const char *path = arena_format(&p->a->arena, "%s.%s", top->name, name);

                        if (claim && path)
                                prove_field(p, path, claim);
                }
        }
}

static int
conclude(struct proving *p)
{
        bool is_good = p->counts[REFUTED] == 0 && p->broken.code == ERROR_NONE;

        if (!p->a->is_json) {
                (void)printf("%zu proven, %zu refuted, %zu outside proof, %zu remarks\n",
                             p->counts[PROVEN], p->counts[REFUTED], p->counts[OUTSIDE],
                             p->counts[REMARK]);
                if (p->broken.code != ERROR_NONE)
                        (void)print_failure(NULL, &p->broken, false);
                return is_good ? 0 : STATUS_REFUTED;
        }
        json_close_list(&p->json);
        json_member_bool(&p->json, "ok", is_good);
        for (size_t i = 0; i < sizeof result_words / sizeof *result_words; i++)
                json_member_int(&p->json, i == OUTSIDE ? "outside_proof" : result_words[i],
                                (int64_t)p->counts[i]);
        if (p->broken.code != ERROR_NONE) {
                json_key(&p->json, "error");
                json_error(&p->json, &p->broken);
        }
        json_close_map(&p->json);
        return json_print(&p->json, stdout) != 0 ? 125 : is_good ? 0 : STATUS_REFUTED;
}

/* Only a good document makes claims that have a meaning. */
static int
check_first(struct doc_asked *a, const struct node *doc, struct error *e)
{
        const struct document_options options = { .is_draft = true };
        struct document_findings f;

        document_findings_init(&f, &a->arena);
        document_check(doc, &options, &f);
        if (f.error_count == 0)
                return 0;
        (void)fail_at(e, ERROR_SCHEMA_INVALID, f.first ? f.first->path : "",
                      f.first ? f.first->code : "", "the document has %zu errors", f.error_count);
        error_hint(e, "carrel doc check %s", a->words.items[1]);
        return -1;
}

int
doc_verify(struct doc_asked *a)
{
        const struct prepare_options o = { .file = a->file,
                                           .workspace = a->workspace,
                                           .host_file = a->host_file };
        static struct run_way way;
        static struct proving p;
        const char *about = a->words.items[1];
        struct doc_probe recorded;
        struct error e;
        int status;

        p = (struct proving){ .a = a, .way = &way };
        p.facts = arena_new(&a->arena, struct doc_facts);
        if (!p.facts || doc_read(a, 1, &p.doc, &e) < 0 || check_first(a, p.doc, &e) < 0)
                return p.facts ? print_failure(about, &e, a->is_json) : 125;
        if ((a->is_audited && doc_log_open(a, &e) < 0) || run_way_init(&way, &e) < 0 ||
            prepare(&o, &way, &e) < 0) {
                status = print_failure(way.file_name, &e, a->is_json);
        } else {
                p.probe = (struct doc_probe){ .file = a->file,
                                              .workspace = a->workspace,
                                              .host_file = a->host_file };
                recorded = p.probe;
                recorded.state = a->log;
                *p.facts = (struct doc_facts){
                        .arena = &a->arena, .way = &way, .probe = &recorded, .starts = 1
                };
                json_init(&p.json, true);
                json_open_map(&p.json);
                json_member_text(&p.json, "file", about);
                json_key(&p.json, "claims");
                json_open_list(&p.json);
                if (doc_facts_collect(p.facts, &e) < 0 || doc_facts_try(p.facts, &e) < 0) {
                        status = print_failure(NULL, &e, a->is_json);
                        json_fini(&p.json);
                } else {
                        prove_all(&p);
                        status = conclude(&p);
                }
        }
        doc_log_close(a);
        run_way_fini(&way);
        return status;
}
