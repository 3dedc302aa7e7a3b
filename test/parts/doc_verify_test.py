#!/usr/bin/env python3
# slow: 45 s: each claim of five documents is tried in sandboxes of its own
"""doc_verify_test - `carrel doc verify`: a true document is proven against live sandboxes, and one
false claim of each kind is refuted.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import CARREL, PATIENCE, SWITCHES

MANIFEST = """---
schema: sandbox/v1
id: "@test/research"
version: 1.0.0
provider: local
config: {}
limits: {timeout_ms: 2000, memory_mb: 96}
network: {egress: [api.example.com, "*.a.test:8443"]}
mounts: [{source: workspace, at: /workspace}]
metadata: {carrel: {limits: {cpu_millicores: 1000, pids: 40, disk_mb: 16}, tool_servers: {files: {command: [cat], auth_scopes: [repo],
    sandbox: {schema: sandbox/v1, provider: local, config: {}, network: {egress: ["api.example.com:443"]}, mounts: [{source: workspace, at: /data, mode: read-only}]}}}}}
---
"""
CONFIG = """identity: {provider: example.com}
isolation: {multi_tenant: false}
resources: {timeouts: {per_task_loop: 20m, per_sandbox_lifetime: 4h}}
lifecycle: {scheduled_deletion: 4h}
state: {data_residency: [eu-west-1]}
audit: {retention: 30d}
cost_model: {per_hour: 0, example: no charge}
"""
# a false claim of each kind: the path, and what it is changed to
FALSE = {
    "identity.name": "other", "identity.id": "other", "identity.version": "9.9.9", "identity.runtime_class": "gvisor", "isolation.runtime_class": "gvisor", "isolation.tier": "T3", "isolation.shared_kernel": False,
    "isolation.attestation_supported": True, "filesystem.root": "/home", "filesystem.persistence": "ephemeral", "filesystem.max_disk": "1Gi",
    "network.ingress": [{"port": 8080, "auth": "bearer_token"}], "network.dns_policy": "open", "network.bandwidth_limit": "1MB/s", "resources.cpu": "500m",
    "resources.memory": "64Mi", "resources.process_limit": 20, "resources.gpu": {"type": "a", "count": 1}, "lifecycle.provisioning": "warm_pool",
    "lifecycle.singleton_guarantee": True, "state.snapshot_supported": True, "state.snapshot_encryption_at_rest": True, "state.snapshot_format": "tar", "state.resumability": "cross_provider", "tools.commands_disallowed": ["rm"], "tools.executables_allowlist": ["true"],
    "resources.disk_io": {"iops": 100, "bandwidth": "1MB/s"},
    "tools.tool_servers": [{"name": "a", "permissions": [], "auth_scopes": []}], "tools.human_in_the_loop": ["data_deletion"], "audit.replay_supported": True,
}
# rows that no false document can have refuted, and why
NEVER_REFUTED = {
    "network.default": "a document can only say deny; it is refuted if an unlisted destination is open",
    "lifecycle.cold_start_p50_ms": "a slower start is a remark, because the load differs",
    "lifecycle.cold_start_p99_ms": "as the p50",
}
NUMBER = [0]


def tell(what, is_good, *why):
    NUMBER[0] += 1
    print(f"{'ok' if is_good else 'not ok'} {NUMBER[0]} - {what}", flush=True)
    for line in () if is_good else why:
        print("# " + str(line).replace("\n", "\n# "))


class Bench:
    def __init__(self, top):
        self.work = os.path.join(top, "work")
        os.mkdir(self.work)
        self.env = {**os.environ, "HOME": top, "CARREL_STATE": os.path.join(top, "state")}
        self.put("SANDBOX.md", MANIFEST)
        self.put("doc.yaml", CONFIG)

    def put(self, name, text):
        with open(os.path.join(self.work, name), "w", encoding="utf-8") as f:
            f.write(text)

    def carrel(self, *words):
        return subprocess.run([CARREL, *words], env=self.env, cwd=self.work, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False)

    def verify(self, doc, *words):
        self.put("claims.json", json.dumps(doc))
        done = self.carrel("doc", "verify", "--json", "claims.json", *words)
        return done, json.loads(done.stdout)


def change(doc, path, value):
    section, field = path.split(".")
    doc[section][field] = value


def true_document(bench, doc):
    before = os.listdir(bench.work)
    done, answer = bench.verify(doc, "--audit")
    tell("a true document: nothing is refuted", done.returncode == 0 and answer["ok"] and answer["refuted"] == 0 and answer["proven"] >= 55,
         [c for c in answer["claims"] if c["result"] == "refuted"], done.stderr)
    outside = {c["claim"] for c in answer["claims"] if c["result"] == "outside proof"}
    tell("outside proof is a closed list", outside == {
        "identity.provider", "isolation.multi_tenant", "lifecycle.cold_start_load_profile",
        "lifecycle.scheduled_deletion", "state.data_residency", "audit.retention", "threat_model.trust_boundary", "threat_model.untrusted_inputs",
        "threat_model.in_scope_risks", "threat_model.out_of_scope_risks", "cost_model"}, sorted(outside))
    tell("nothing is left in the workspace", set(os.listdir(bench.work)) == set(before) | {"claims.json"}, os.listdir(bench.work))


def false_document(bench, doc):
    for path, value in FALSE.items():
        change(doc, path, value)
    doc["lifecycle"]["pause_resume_supported"] = not doc["lifecycle"]["pause_resume_supported"]
    files, threats, tools, audit = doc["filesystem"], doc["threat_model"], doc["tools"], doc["audit"]
    files["writable_paths"] = [p for p in files["writable_paths"] if p != "/tmp"] + ["/usr/local", "/not-there"]
    files["read_only_paths"] = files["read_only_paths"] + ["/tmp"]
    doc["network"]["egress_allowlist"] = [{"host": "evil.test", "port": 443}, {"host": "api.example.com", "port": 443}]
    doc["resources"]["timeouts"].update(per_tool_call="1s", per_sandbox_lifetime="1s")
    tools["installed_packages"] = tools["installed_packages"][:-1] + ["ghost:1"]
    missing = [s for s in ("stdout", "stderr", "file_writes", "exec") if s not in audit["log_streams"]]
    audit["log_streams"] = ["stdout", "stderr", "network", "file_writes", "exec"]
    threats["mandatory_controls"] = ["output_sanitization", "microvm_boundary", "signed_audit_log", "seccomp_filter"]
    doc["lifecycle"].update(cold_start_p50_ms=0.01, cold_start_p99_ms=0.02)
    done, answer = bench.verify(doc)
    refuted = [(c["claim"], c["detail"]) for c in answer["claims"] if c["result"] == "refuted"]
    tell("a false document: exit status 126", done.returncode == 126 and not answer["ok"], done.stderr)
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "src", "cli", "doc_verify.c"), encoding="utf-8") as f:
        provable = {path for path, how in re.findall(r'\{ "([\w.]+)", doc_prove_(\w+) \}', f.read()) if how != "outside"}
    ways = {".".join(claim.split(".")[:2]) for claim, _ in refuted}
    tell("a false claim of every kind that can be proven is refuted", provable - ways == set(NEVER_REFUTED) and len(provable) > 35, sorted((provable - ways) ^ set(NEVER_REFUTED)))
    for path in FALSE:
        tell(f"refuted: {path}", any(claim == path for claim, _ in refuted), [c for c in answer["claims"] if c["claim"] == path])
    details = (
        ("filesystem.writable_paths", "/usr/local: it cannot be written"), ("filesystem.writable_paths", "/not-there: it does not exist inside"),
        ("filesystem.writable_paths", "/tmp can be written, and is not listed"), ("filesystem.read_only_paths", "/tmp: it can be written"),
        ("network.egress_allowlist", "evil.test:443 is denied"), ("network.egress_allowlist", "api.example.com:80 is open, and is not listed"),
        ("network.egress_allowlist", "*.a.test:8443 is open, and is not listed"), ("resources.timeouts.per_tool_call", "a command is ended after 2000 ms here"),
        ("resources.timeouts.per_sandbox_lifetime", "after at most 2000 ms"), ("tools.installed_packages", "1 are not installed, the first is ghost:1"),
        ("tools.installed_packages", "1 are installed and not listed"), ("threat_model.mandatory_controls", "output_sanitization is not on here"),
        ("threat_model.mandatory_controls", "microvm_boundary is not on here"), ("threat_model.mandatory_controls", "signed_audit_log is not on here"),
        ("audit.log_immutability", "nothing here makes it so"), *(("audit.log_streams", s + " is not in the log as a whole") for s in missing),
    )
    for path, detail in details:
        tell(f"refuted: {path}: {detail}", any(claim == path and detail in why for claim, why in refuted), [r for r in refuted if r[0] == path])
    kept = [c for c in answer["claims"] if c["result"] == "proven"]
    tell("what is true beside it is proven", any("seccomp_filter" in c["detail"] for c in kept) and any("api.example.com:443 is let through" in c["detail"] for c in kept), kept)
    remarks = {c["claim"] for c in answer["claims"] if c["result"] == "remark"}
    tell("a slower start is a remark", {"lifecycle.cold_start_p50_ms", "lifecycle.cold_start_p99_ms"} <= remarks, answer["claims"])


RULES = """metadata: {carrel: {approve: [exec, file.write], limits: {cpu_millicores: 1000, pids: 40, disk_mb: 16},
    commands: {commands_disallowed: ['rm -rf /workspace', 'curl | bash'], deny: [dd], allow: [ls, 'true']}}}
---
"""


def results(answer, path):
    return [(c["result"], c["detail"]) for c in answer["claims"] if c["claim"] == path]


def rules(bench):
    """Rules and approvals are written into the document, and proven; the boundary is tried without them."""
    keep = os.path.join(bench.work, "keep")
    bench.put("keep", "x")
    bench.put("SANDBOX.md", MANIFEST[:MANIFEST.index("metadata:")] + RULES)
    made = bench.carrel("doc", "generate", "--audit", "--starts", "3", "--config", "doc.yaml", "--format", "json")
    tell("a document is generated for a sandbox with rules", made.returncode == 0, made.stderr)
    doc = json.loads(made.stdout)
    doc["lifecycle"].update(cold_start_p50_ms=60000, cold_start_p99_ms=60000)
    tools = doc["tools"]
    tell("it lists the rules that are on", (tools["commands_disallowed"], tools["executables_allowlist"], tools["human_in_the_loop"])
         == (["rm -rf /workspace", "curl | bash", "dd"], ["ls", "true"], ["exec.start", "file.write"]), tools)
    tell("and the control that they are", "manual_approval_gates" in doc["threat_model"]["mandatory_controls"], doc["threat_model"])
    done, answer = bench.verify(doc, "--audit")
    tell("a true document with rules: nothing is refuted", done.returncode == 0 and answer["ok"] and answer["proven"] >= 55, [c for c in answer["claims"] if c["result"] == "refuted"], done.stderr)
    tell("each disallowed command is denied", results(answer, "tools.commands_disallowed") == [("proven", t + ": denied") for t in tools["commands_disallowed"]], answer["claims"])
    tell("a program that is not listed is denied", ("proven", "id, which is not listed: denied") in results(answer, "tools.executables_allowlist"), answer["claims"])
    tell("a command waits for a person", ("proven", "exec.start: a command did not start without an answer") in results(answer, "tools.human_in_the_loop"), answer["claims"])
    tell("an operation of the daemon is a remark", any(r == "remark" and d.startswith("file.write") for r, d in results(answer, "tools.human_in_the_loop")), answer["claims"])
    tell("the log of the probe is verified", any(r == "proven" and "signed_audit_log: a probe left" in d for r, d in results(answer, "threat_model.mandatory_controls")), answer["claims"])
    false = json.loads(json.dumps(doc))
    false["tools"].update(commands_disallowed=["true", "curl | bash", "dd"], executables_allowlist=["ls", "cat"], human_in_the_loop=["exec", "network"])
    done, answer = bench.verify(false, "--audit")
    for path, detail in (("tools.commands_disallowed", "true: the rules permit it"), ("tools.commands_disallowed", "rm -rf /workspace is enforced, and is not listed"),
                         ("tools.executables_allowlist", "cat: the rules do not permit it"), ("tools.executables_allowlist", "true is enforced, and is not listed"),
                         ("tools.human_in_the_loop", "network does not wait for a person here"), ("tools.human_in_the_loop", "file.write is enforced, and is not listed")):
        tell(f"refuted: {detail}", ("refuted", detail) in results(answer, path), results(answer, path))
    bench.put("SANDBOX.md", MANIFEST)
    done, answer = bench.verify(doc, "--audit")
    for path, detail in (("tools.commands_disallowed", "rm -rf /workspace: the rules permit it"), ("tools.executables_allowlist", "id runs, and is not listed"),
                         ("tools.human_in_the_loop", "exec.start does not wait for a person here"), ("threat_model.mandatory_controls", "manual_approval_gates: a command started without an answer")):
        tell(f"without rules, refuted: {detail}", ("refuted", detail) in results(answer, path), results(answer, path))
    tell("a command that a document calls dangerous is never run", os.path.exists(keep), os.listdir(bench.work))
    os.unlink(keep)


def servers(bench, doc):
    """Permissions of a tool server are tried in its own sandbox; each false one is refuted."""
    path = "tools.tool_servers"
    tell("the document has the tool servers of the manifest", doc["tools"]["tool_servers"] == [{"name": "files", "permissions": ["read /data", "connect api.example.com:443"], "auth_scopes": ["repo"]}], doc["tools"])
    done, answer = bench.verify(doc, "--audit")
    got = results(answer, path)
    for detail in ("files: /data cannot be written", "files: /workspace does not exist inside", "files: /etc cannot be written", "api.example.com:443 is let through", "api.example.com:444 is denied",
                   "an unlisted name has no address; an unlisted address is denied"):
        tell(f"proven: {detail}", ("proven", detail) in got and done.returncode == 0, got)
    for change_one, detail in ((lambda s: s[0]["permissions"].__setitem__(0, "write /data"), 'files: "write /data" of its permissions is not so here'),
                               (lambda s: s[0]["permissions"].pop(), 'files: "connect api.example.com:443" is so, and its permissions do not list it'),
                               (lambda s: s[0]["auth_scopes"].append("admin"), 'files: "admin" of its auth_scopes is not so here'),
                               (lambda s: s.append({"name": "other", "permissions": [], "auth_scopes": []}), "the manifest declares no tool server other"),
                               (lambda s: s.clear(), "the tool server files is declared, and is not listed")):
        false = json.loads(json.dumps(doc))
        change_one(false["tools"]["tool_servers"])
        done, answer = bench.verify(false, "--audit", "--only", path)
        tell(f"refuted: {detail}", ("refuted", detail) in results(answer, path) and done.returncode == 126, results(answer, path))


def replays(bench):
    """replay_supported is what a replay showed; log_streams are what the configuration records."""
    def audit(answer, field):
        return results(answer, "audit." + field)

    bench.put("SANDBOX.md", MANIFEST.replace('network: {egress: [api.example.com, "*.a.test:8443"]}\n', ""))
    made = bench.carrel("doc", "generate", "--audit", "--keep-output", "--starts", "3", "--config", "doc.yaml", "--format", "json")
    doc = json.loads(made.stdout) if made.returncode == 0 else {"audit": {}}
    tell("with content, and without a network: replay_supported", doc["audit"].get("replay_supported") is True, made.stderr, doc["audit"])
    tell("with content both output streams are recorded", {"stdout", "stderr"} <= set(doc["audit"].get("log_streams", ())), doc["audit"])
    done, answer = bench.verify(doc, "--audit", "--keep-output", "--only", "audit")
    tell("proven: a command was replayed", audit(answer, "replay_supported") == [("proven", "true: a recorded command printed the same when it was replayed")], answer["claims"], done.stderr)
    tell("proven: each stream", done.returncode == 0 and [r for r, _ in audit(answer, "log_streams")] == ["proven"] * len(doc["audit"]["log_streams"]), answer["claims"])
    done, answer = bench.verify(doc, "--audit", "--only", "audit")
    tell("refuted where content is not kept: replay_supported, with the reason", any(r == "refuted" and "is not kept" in d for r, d in audit(answer, "replay_supported")), answer["claims"])
    tell("refuted where content is not kept: stdout", ("refuted", "stdout is not in the log as a whole") in audit(answer, "log_streams"), answer["claims"])
    doc["audit"]["replay_supported"] = False
    done, answer = bench.verify(doc, "--audit", "--keep-output", "--only", "audit.replay_supported")
    tell("refuted: false where a replay works", [r for r, _ in audit(answer, "replay_supported")] == ["refuted"], answer["claims"])
    done = bench.carrel("doc", "verify", "claims.json", "--only", "audit.nothing")
    tell("--only of no claim proves nothing", done.returncode == 126 and "no claim audit.nothing" in done.stderr and "such as network" in done.stderr, done)
    bench.put("SANDBOX.md", MANIFEST)
    made = bench.carrel("doc", "generate", "--audit", "--keep-output", "--starts", "3", "--config", "doc.yaml", "--format", "json")
    tell("with a destination: false, and the reason on standard error", made.returncode == 0 and json.loads(made.stdout)["audit"]["replay_supported"] is False and "destinations" in made.stderr, made)


def sanitized(bench):
    """The control is claimed and proven with all three kinds, and refuted if one is missing."""
    path = "threat_model.mandatory_controls"
    for kinds, result, detail in (("control, hidden, secrets", "proven", "output_sanitization: control, hidden and secrets were printed, and removed"),
                                  ("hidden, secrets", "refuted", "is not on here: control was printed"), ("control, secrets", "refuted", "is not on here: hidden was printed"),
                                  ("control, hidden", "refuted", "is not on here: secrets was printed")):
        bench.put("SANDBOX.md", MANIFEST.replace("{carrel: {limits", "{carrel: {sanitize_output: [%s], limits" % kinds))
        if kinds.count(",") == 2:
            made = bench.carrel("doc", "generate", "--audit", "--starts", "3", "--config", "doc.yaml", "--format", "json")
            doc = json.loads(made.stdout)
            tell("it is generated", "output_sanitization" in doc["threat_model"]["mandatory_controls"], doc["threat_model"], made.stderr)
        doc["threat_model"]["mandatory_controls"] = ["output_sanitization"]
        _, answer = bench.verify(doc, "--only", path)
        tell(f"sanitize_output: [{kinds}]: it is {result}", [r for r, d in results(answer, path) if detail in d] == [result], answer["claims"])


def controls_off(bench, doc):
    """Where a control is really off, the claim that it is on is refuted."""
    bench.env["CARREL_TEST_DISABLE"] = "filter,landlock,caps,no_new_privs,env"
    bench.put("claims.json", json.dumps(doc))
    done = subprocess.run([SWITCHES, "doc", "verify", "--json", "claims.json", "--audit"], env=bench.env, cwd=bench.work, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=PATIENCE, check=False)
    del bench.env["CARREL_TEST_DISABLE"]
    claims = json.loads(done.stdout)["claims"]
    for name in ("seccomp_filter", "landlock", "capability_drop", "no_new_privileges", "secret_isolation"):
        tell(f"with its mechanism off: {name} is refuted", any(c["result"] == "refuted" and c["detail"].startswith(name) for c in claims),
             [c for c in claims if c["claim"].endswith("controls")], done.stderr)


def main():
    with tempfile.TemporaryDirectory() as top:
        bench = Bench(top)
        limits = json.loads(bench.carrel("providers", "--json").stdout)["providers"][0]["limits"]
        if not (limits["memory"] and limits["cpu_millicores"]):
            print("1..0 # SKIP this machine cannot cap memory and CPU, so no document can be published here")
            return
        made = bench.carrel("doc", "generate", "--audit", "--starts", "5", "--config", "doc.yaml", "--format", "json")
        tell("a document is generated", made.returncode == 0, made.stderr)
        # a load of the other tests is no fault of the figure
        doc = json.loads(made.stdout)
        doc["lifecycle"].update(cold_start_p50_ms=60000, cold_start_p99_ms=60000)
        true_document(bench, json.loads(json.dumps(doc)))
        servers(bench, json.loads(json.dumps(doc)))
        controls_off(bench, json.loads(json.dumps(doc)))
        false_document(bench, doc)
        replays(bench)
        rules(bench)
        sanitized(bench)
        done = bench.carrel("doc", "verify", "doc.yaml")
        tell("a document that is none is not proven", done.returncode == 126 and "carrel doc check doc.yaml" in done.stderr, done)
    print(f"1..{NUMBER[0]}")


main()
