/*
 * cli/doc_verify.c - `carrel doc verify`: proves a document claim by claim against a live sandbox.
 *
 * Room: cli (joining, program). Touches: processes, fd, clock; what `carrel run` touches.
 * Theory: each field of the document has a row here. A row compares the claim with what is decided
 * (the parts of doc_facts.h), tries it in sandboxes of its own (doc_prove_*.c), or belongs to the
 * closed list of claims that nothing here can prove. A claim that cannot be tried is not proven.
 */
#include <string.h>

#include "cli/doc_log.h"
#include "cli/doc_proof.h"
#include "cli/doc_rules.h"
#include "cli/finding_print.h"
#include "document/kind.h"

enum { STATUS_REFUTED = 126 };

static const struct {
        const char *path;
        doc_proof *prove;
} rows[] = {
        { "identity.name", doc_prove_identity },
        { "identity.id", doc_prove_identity },
        { "identity.version", doc_prove_identity },
        { "identity.provider", doc_prove_outside },
        { "identity.runtime_class", doc_prove_same },
        { "isolation.tier", doc_prove_same },
        { "isolation.runtime_class", doc_prove_same },
        { "isolation.shared_kernel", doc_prove_same },
        { "isolation.multi_tenant", doc_prove_outside },
        { "isolation.attestation_supported", doc_prove_same },
        { "filesystem.root", doc_prove_root },
        { "filesystem.writable_paths", doc_prove_writable },
        { "filesystem.read_only_paths", doc_prove_fixed },
        { "filesystem.mounted_data", doc_prove_outside },
        { "filesystem.persistence", doc_prove_same },
        { "filesystem.max_disk", doc_prove_disk },
        { "network.default", doc_prove_default },
        { "network.egress_allowlist", doc_prove_egress },
        { "network.ingress", doc_prove_none },
        { "network.dns_policy", doc_prove_dns },
        { "network.bandwidth_limit", doc_prove_same },
        { "resources.cpu", doc_prove_cpu },
        { "resources.memory", doc_prove_memory },
        { "resources.gpu", doc_prove_gpu },
        { "resources.disk_io", doc_prove_same },
        { "resources.process_limit", doc_prove_tasks },
        { "resources.timeouts", doc_prove_timeouts },
        { "lifecycle.provisioning", doc_prove_same },
        { "lifecycle.cold_start_p50_ms", doc_prove_start },
        { "lifecycle.cold_start_p99_ms", doc_prove_start },
        { "lifecycle.cold_start_load_profile", doc_prove_outside },
        { "lifecycle.pause_resume_supported", doc_prove_same },
        { "lifecycle.scheduled_deletion", doc_prove_outside },
        { "lifecycle.singleton_guarantee", doc_prove_same },
        { "state.snapshot_supported", doc_prove_same },
        { "state.snapshot_format", doc_prove_none },
        { "state.snapshot_encryption_at_rest", doc_prove_same },
        { "state.resumability", doc_prove_same },
        { "state.data_residency", doc_prove_outside },
        { "tools.installed_packages", doc_prove_packages },
        { "tools.executables_allowlist", doc_prove_allowed },
        { "tools.commands_disallowed", doc_prove_disallowed },
        { "tools.tool_servers", doc_prove_servers },
        { "tools.human_in_the_loop", doc_prove_people },
        { "audit.log_streams", doc_prove_streams },
        { "audit.log_immutability", doc_prove_log },
        { "audit.retention", doc_prove_outside },
        { "audit.replay_supported", doc_prove_replay },
        { "audit.pii_handling", doc_prove_outside },
        { "threat_model.trust_boundary", doc_prove_outside },
        { "threat_model.untrusted_inputs", doc_prove_outside },
        { "threat_model.in_scope_risks", doc_prove_outside },
        { "threat_model.out_of_scope_risks", doc_prove_outside },
        { "threat_model.mandatory_controls", doc_prove_controls },
};

static void
prove_field(struct doc_proving *p, const char *path, const struct node *claim)
{
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                if (strcmp(rows[i].path, path) == 0) {
                        rows[i].prove(p, path, claim);
                        return;
                }
        doc_say(p, DOC_REFUTED, path, "no proof of this claim is known");
}

/* Of --only: the claim itself, or one below it. */
static bool
is_asked(const struct doc_asked *a, const char *path)
{
        size_t len = a->only ? strlen(a->only) : 0;

        return !a->only ||
               (strncmp(a->only, path, len) == 0 && (path[len] == '\0' || path[len] == '.'));
}

static void
prove_all(struct doc_proving *p)
{
        for (size_t s = 0; s < document_kind.member_count; s++) {
                const struct document_field *top = &document_kind.members[s];
                const struct node *section = node_find(p->doc, top->name);

                if (section && !document_is_section(top) && is_asked(p->a, top->name))
                        doc_prove_outside(p, top->name, section);
                for (size_t i = 0;
                     section && document_is_section(top) && i < top->kind->member_count; i++) {
                        const char *name = top->kind->members[i].name;
                        const struct node *claim = node_find(section, name);
                        const char *path = arena_format(&p->a->arena, "%s.%s", top->name, name);

                        if (claim && path && is_asked(p->a, path))
                                prove_field(p, path, claim);
                }
        }
}

static int
conclude(struct doc_proving *p)
{
        bool is_good = p->counts[DOC_REFUTED] == 0 && p->broken.code == ERROR_NONE;

        if (p->a->only && p->counts[DOC_PROVEN] + p->counts[DOC_REFUTED] + p->counts[DOC_OUTSIDE] +
                                          p->counts[DOC_REMARK] ==
                                  0) {
                (void)fail(&p->broken, ERROR_INVALID_ARGUMENT,
                           "--only: the document has no claim %.100s", p->a->only);
                error_hint(&p->broken, "A claim is a section of the document, such as network, or "
                                       "one of its fields: network.default");
        }
        is_good = is_good && p->broken.code == ERROR_NONE;

        if (!p->a->is_json) {
                (void)printf("%zu proven, %zu refuted, %zu outside proof, %zu remarks\n",
                             p->counts[DOC_PROVEN], p->counts[DOC_REFUTED], p->counts[DOC_OUTSIDE],
                             p->counts[DOC_REMARK]);
                if (p->broken.code != ERROR_NONE)
                        (void)print_failure(NULL, &p->broken, false);
                return is_good ? 0 : STATUS_REFUTED;
        }
        json_close_list(&p->json);
        json_member_bool(&p->json, "ok", is_good);
        for (size_t i = 0; i < DOC_RESULTS; i++)
                json_member_int(&p->json, i == DOC_OUTSIDE ? "outside_proof" : doc_result_words[i],
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
                      f.first ? f.first->code : "", "the document has %zu error%s", f.error_count,
                      f.error_count == 1 ? "" : "s");
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
        static struct doc_proving p;
        const char *about = a->words.items[1];
        struct doc_probe recorded;
        struct error e;
        int status;

        p = (struct doc_proving){ .a = a, .way = &way };
        p.facts = arena_new(&a->arena, struct doc_facts);
        if (!p.facts || doc_read(a, 1, &p.doc, &e) < 0 || check_first(a, p.doc, &e) < 0)
                return p.facts ? print_failure(about, &e, a->is_json) : 125;
        if ((a->is_audited && doc_log_open(a, &e) < 0) || run_way_init(&way, &e) < 0 ||
            prepare(&o, &way, &e) < 0 ||
            doc_rules_open(a, &way, &p.probe.file, &p.probe.workspace, &e) < 0) {
                status = print_failure(way.file_name, &e, a->is_json);
        } else {
                p.probe.host_file = a->host_file;
                recorded = p.probe;
                recorded.state = a->log;
                recorded.keeps_output = a->keeps_output;
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
        doc_rules_close(a);
        doc_log_close(a);
        run_way_fini(&way);
        return status;
}
