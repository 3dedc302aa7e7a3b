/*
 * cli/doc_prove_controls.c - proves controls, and what the log of a document holds.
 *
 * Room: cli (joining). Touches: what doc_proof.h touches, /proc.
 */
#include "cli/doc_proof.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "audit/log.h"
#include "cli/audit_place.h"
#include "cli/doc_streams.h"
#include "document/value.h"

static bool
has_control_step(const struct doc_proving *p, const char *name)
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
        return len > 0 && strstr(out, link) && !doc_has_line(out, own);
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
                        *ret_holds = doc_has_line(out, lines[i].line);
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

/* The log of the recorded probe has its entries, and each signature and the chain are right. */
static int
check_log(struct doc_proving *p, uint64_t *ret_entries, struct error *e)
{
        struct audit_log log = { .dir = -1 };
        struct audit_verdict verdict;
        const char *path;
        int result;

        if (!p->a->log)
                return fail(e, ERROR_AUDIT_UNAVAILABLE, "nothing is recorded without --audit");
        if (audit_place(&p->a->arena, NULL, p->a->log, &path, e) < 0 ||
            audit_log_open(&log, path, false, e) < 0)
                return -1;
        result = audit_log_verify(&log, NULL, true, &verdict, e);
        audit_log_close(&log);
        if (result == 0 && verdict.head.next == 0)
                result = fail(e, ERROR_AUDIT_UNAVAILABLE, "the log of a probe has no entry");
        *ret_entries = verdict.head.next;
        return result;
}

static void
prove_log(struct doc_proving *p, const char *path, const char *name)
{
        uint64_t entries = 0;
        struct error e = { 0 };

        if (check_log(p, &entries, &e) < 0)
                doc_say(p, DOC_REFUTED, path, "%.100s is not on here: %.200s", name, e.message);
        else
                doc_say(p, DOC_PROVEN, path,
                        "%.100s: a probe left %" PRIu64 " entries, each signed and chained", name,
                        entries);
}

/* A log that shows changes: checked as it was written. */
void
doc_prove_log(struct doc_proving *p, const char *path, const struct node *claim)
{
        uint64_t entries = 0;
        struct error e = { 0 };
        bool is_on = check_log(p, &entries, &e) == 0;

        if (claim->boolean == is_on)
                doc_say(p, DOC_PROVEN, path, "%s: %" PRIu64 " entries of a probe were verified",
                        is_on ? "true" : "false", entries);
        else
                doc_say(p, DOC_REFUTED, path, "nothing here makes it so: %.200s",
                        is_on ? "the log is chained and signed" : e.message);
}

/* Each kind is printed, in two pieces where that could hide it, and looked for in the result. */
static void
prove_sanitization(struct doc_proving *p, const char *path, const char *name)
{
        static const char script[] =
                "printf 'begin\\033[31m \\302\\2332J \\033]0;t\\007 \\b\\r\\n'; "
                "printf '\\342\\200\\256 \\342\\200\\213 \\363\\240\\201\\201 \\302\\255 AKIA'; "
                "printf 'IOSFODNN7EXAMPLE end\\n'";
        static const struct {
                const char *kind, *printed;
        } rows[] = { { "control", "\033" },
                     { "control", "\302\233" },
                     { "control", "\a" },
                     { "control", "\b" },
                     { "hidden", "\342\200\256" },
                     { "hidden", "\342\200\213" },
                     { "hidden", "\363\240\201\201" },
                     { "hidden", "\302\255" },
                     { "secrets", "IOSFODNN" } };
        struct doc_probed done;
        const char *out = doc_shell(p, script, "", &done);

        if (!strstr(out, "begin") || !strstr(out, " end")) {
                doc_say(p, DOC_REFUTED, path, "%.100s: the output of a probe is not there", name);
                return;
        }
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                if (strstr(out, rows[i].printed)) {
                        doc_say(p, DOC_REFUTED, path,
                                "%.100s is not on here: %s was printed, and is in the result", name,
                                rows[i].kind);
                        return;
                }
        doc_say(p, DOC_PROVEN, path,
                "%.100s: control, hidden and secrets were printed, and removed", name);
}

void
doc_prove_controls(struct doc_proving *p, const char *path, const struct node *claim)
{
        static const char script[] =
                "grep -E '^(NoNewPrivs|Seccomp|CapEff|CapBnd):' /proc/self/status; "
                "readlink /proc/self/ns/user; readlink /proc/self/ns/net; "
                "(: > /.carrel-doc) 2>/dev/null || echo 'root is fixed'; "
                "echo \"secret: ${" DOC_PROBE_SECRET "-none}\"";
        struct doc_probed done;
        const char *out = doc_shell(p, script, "", &done);

        node_each(item, claim)
        {
                const struct node *named =
                        item->kind == NODE_MAP ? node_find(item, "control") : item;
                const struct node *enforced = node_find(item, "enforced");
                const char *name = named->text, *seen;
                bool holds = false;

                if (enforced && ((enforced->kind == NODE_BOOL && !enforced->boolean) ||
                                 node_is_text(enforced, "configurable")))
                        doc_say(p, DOC_OUTSIDE, path, "%.100s is not said to be on", name);
                else if ((seen = seen_inside(out, name, &holds)) != NULL)
                        doc_say(p, holds ? DOC_PROVEN : DOC_REFUTED, path, "%.100s: %s%s", name,
                                holds ? "inside: " : "inside it is not so: ", seen);
                else if (has_control_step(p, name))
                        doc_say(p, DOC_PROVEN, path,
                                "%.100s: a step of the plan, and a sandbox started", name);
                else if (document_is_name(name, "signed_audit_log"))
                        prove_log(p, path, name);
                else if (document_is_name(name, DOC_SANITIZATION))
                        prove_sanitization(p, path, name);
                else if (document_is_name(name, "manual_approval_gates") ||
                         document_is_name(name, "hitl_approval"))
                        doc_prove_gate(p, path, name);
                else
                        doc_say(p, DOC_REFUTED, path, "%.100s is not on here", name);
        }
}

void
doc_prove_streams(struct doc_proving *p, const char *path, const struct node *claim)
{
        const struct node *here = doc_part(p, path);

        node_each(item, claim)
        {
                bool found = false;

                for (const struct node *n = here ? here->first : NULL; n; n = n->next)
                        found = found || document_is_name(n->text, item->text);
                doc_say(p, found ? DOC_PROVEN : DOC_REFUTED, path, "%.40s is %s", item->text,
                        found ? "in the log" : "not in the log as a whole");
        }
}

/* doc_facts_collect() has replayed a command, if one can be. */
void
doc_prove_replay(struct doc_proving *p, const char *path, const struct node *claim)
{
        const struct node *here = doc_part(p, path);
        bool is_supported = here && here->boolean;

        doc_say(p, claim->boolean == is_supported ? DOC_PROVEN : DOC_REFUTED, path, "%s: %s",
                is_supported ? "true" : "false", p->facts->why_replay);
}
