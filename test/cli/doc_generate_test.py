#!/usr/bin/env python3
"""doc_generate_test - `carrel doc generate`: it lists everything that only the operator knows, its
example works when pasted, nothing that is enforced can be configured, and the output passes
`carrel doc check` in each form.
"""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import CARREL, PATIENCE

MANIFEST = """---
schema: sandbox/v1
id: "@test/research"
version: 1.0.0
provider: local
config: {}
limits: {timeout_ms: 4000, memory_mb: 128}
network: {egress: [api.example.com]}
mounts: [{source: workspace, at: /workspace}]
metadata: {carrel: {limits: {cpu_millicores: 1000, pids: 48, disk_mb: 32}}}
---
"""
NUMBER = [0]


def tell(what, is_good, *why):
    NUMBER[0] += 1
    print(f"{'ok' if is_good else 'not ok'} {NUMBER[0]} - {what}", flush=True)
    for line in () if is_good else why:
        print("# " + str(line).replace("\n", "\n# "))


class Bench:
    def __init__(self, top):
        self.top, self.work = top, os.path.join(top, "work")
        os.mkdir(self.work)
        self.env = {**os.environ, "HOME": top, "CARREL_STATE": os.path.join(top, "state")}
        self.put("SANDBOX.md", MANIFEST)

    def put(self, name, text):
        with open(os.path.join(self.work, name), "w", encoding="utf-8") as f:
            f.write(text)

    def carrel(self, *words):
        return subprocess.run([CARREL, *words], env=self.env, cwd=self.work, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False)

    def generate(self, *words):
        return self.carrel("doc", "generate", "--audit", "--starts", "3", *words)


def refusals(bench):
    done = bench.generate()
    named = ("identity.provider", "isolation.multi_tenant", "resources.timeouts.per_task_loop", "resources.timeouts.per_sandbox_lifetime",
             "lifecycle.scheduled_deletion", "state.data_residency", "audit.retention", "cost_model")
    tell("one error lists everything that only the operator knows", done.returncode == 126 and all(name in done.stderr for name in named) and not done.stdout, done)
    example = done.stderr.split("--config doc.yaml:\n", 1)[1]
    bench.put("doc.yaml", example)
    done = bench.carrel("doc", "generate", "--starts", "3", "--config", "doc.yaml")
    tell("without a log there is no document, and the reason says what to add", done.returncode == 126 and "--audit" in done.stderr, done)
    for text, name in (("resources: {memory: 8Gi}", "resources.memory"), ("network: {egress_allowlist: []}", "network.egress_allowlist"),
                       ("lifecycle: {cold_start_p50_ms: 1}", "lifecycle.cold_start_p50_ms"), ("resources: {timeouts: {per_tool_call: 1s}}", "resources.timeouts.per_tool_call"),
                       ("identity: {name: other}", "identity.name"), ("tools: {human_in_the_loop: []}", "tools.human_in_the_loop"), ("identity: {nam: other}", "identity.nam")):
        bench.put("more.yaml", text + "\n")
        done = bench.generate("--config", "more.yaml")
        tell(f"{name} cannot be configured", done.returncode == 126 and name + ": " in done.stderr, done)
    bench.put("more.yaml", "")
    done = bench.generate("--config", "more.yaml")
    tell("an empty file of the operator is named as the place", done.returncode == 126 and done.stderr.startswith("more.yaml:1:1: error:"), done)
    bench.put("SANDBOX.md", MANIFEST.replace(", memory_mb: 128", ""))
    done = bench.generate("--config", "doc.yaml")
    tell("a cap that is not set is no cap: the error says what to add", done.returncode == 126 and "limits: {memory_mb: 1024}" in done.stderr, done)
    bench.put("SANDBOX.md", MANIFEST)


def outputs(bench):
    done = bench.generate("--config", "doc.yaml")
    bench.put("out.yaml", done.stdout)
    tell("the example of the error, pasted, is enough", done.returncode == 0 and bench.carrel("doc", "check", "out.yaml").stdout == "out.yaml: OK\n", done.stderr)
    for form in ("json", "jsonld"):
        done = bench.generate("--config", "doc.yaml", "--format", form)
        bench.put("out." + form, done.stdout)
        tell(form + " passes the check", done.returncode == 0 and bench.carrel("doc", "check", "out." + form).returncode == 0, done.stderr)
    tree = json.loads(done.stdout)
    tell("caps are those of the manifest", tree["resources"]["memory"] == "128Mi" and tree["resources"]["cpu"] == "1000m" and tree["resources"]["process_limit"] == 48
         and tree["filesystem"]["max_disk"] == "32Mi" and tree["resources"]["timeouts"]["per_tool_call"] == "4000ms", tree["resources"])
    tell("the allow list has each port", tree["network"]["egress_allowlist"] == [{"host": "api.example.com", "port": p, "protocol": "tcp"} for p in (80, 443)], tree["network"])
    tell("cold starts are measured, with their load", 0 < tree["lifecycle"]["cold_start_p50_ms"] <= tree["lifecycle"]["cold_start_p99_ms"]
         and tree["lifecycle"]["cold_start_load_profile"].startswith("3 runs of `true`"), tree["lifecycle"])
    tell("the tier is that of the provider table, and no more", tree["isolation"]["tier"] == "T1" and tree["isolation"]["shared_kernel"] is True, tree["isolation"])
    tell("controls are mechanisms that are on", {"seccomp_filter", "landlock", "signed_audit_log", "egress_allowlist"} <= set(tree["threat_model"]["mandatory_controls"])
         and "output_sanitization" not in tree["threat_model"]["mandatory_controls"], tree["threat_model"])
    tell("streams that the log holds are published", "network" in tree["audit"]["log_streams"], tree["audit"])
    tell("the caller's own log has no entry of it", not os.path.exists(os.path.join(bench.top, "state", "audit")), os.listdir(bench.top))
    tell("interpreters say their version", any(p.startswith("python:3.") for p in tree["tools"]["installed_packages"]), tree["tools"])


def main():
    with tempfile.TemporaryDirectory() as top:
        bench = Bench(top)
        limits = json.loads(bench.carrel("providers", "--json").stdout)["providers"][0]["limits"]
        if not (limits["memory"] and limits["cpu_millicores"]):
            print("1..0 # SKIP this machine cannot cap memory and CPU, so no document can be published here")
            return
        refusals(bench)
        outputs(bench)
    print(f"1..{NUMBER[0]}")


main()
