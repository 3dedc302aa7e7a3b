#!/usr/bin/env python3
"""doc_fields_test - each field of src/document/fields.def is accounted for by `carrel doc generate`:
written from a fact (and refused in the configuration), required from the configuration (and refused
when absent), offered by the configuration, or listed in docs/DOCUMENT.md as not written, with the
reason. And each has a row in `carrel doc verify`.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import CARREL, PATIENCE

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
NUMBER = [0]
# everything that a manifest can say and a document shows
MANIFEST = """---
schema: sandbox/v1
id: "@test/all-fields"
version: 1.0.0
provider: local
config: {}
limits: {timeout_ms: 4000, memory_mb: 128}
network: {egress: [api.example.com]}
mounts: [{source: workspace, at: /workspace}]
metadata: {carrel: {limits: {cpu_millicores: 1000, pids: 48, disk_mb: 32, io_read_bps: 10000000, io_write_bps: 10000000}, egress: {bytes_per_second: 1000000},
    approve: [exec], commands: {deny: [dd], allow: [ls, 'true']}, tool_servers: {files: {command: [cat], sandbox: {provider: local, config: {}}}}}}
---
"""
REQUIRED = {
    "identity.provider": "example.com", "isolation.multi_tenant": False, "resources.timeouts": {"per_task_loop": "20m", "per_sandbox_lifetime": "4h"},
    "lifecycle.scheduled_deletion": "4h", "state.data_residency": ["eu-west-1"], "audit.retention": "30d", "cost_model": {"per_hour": 0, "example": "no charge"},
}
OFFERED = {
    "filesystem.mounted_data": [{"name": "a", "provenance": "b", "retention": "c"}], "audit.pii_handling": "pass-through", "attestation_evidence_url": "https://example.com/a",
    "compatible_harnesses": ["a"], "progressive_enforcement_state": "selective", "knowledge_cutoff_alignment": "none", "incident_history_url": "https://example.com/i", "review_cycle_days": 90,
}


def tell(what, is_good, *why):
    NUMBER[0] += 1
    print(f"{'ok' if is_good else 'not ok'} {NUMBER[0]} - {what}", flush=True)
    for line in () if is_good else why:
        print("# " + str(line).replace("\n", "\n# "))


def fields():
    """Path -> source of every row."""
    with open(os.path.join(TOP, "src", "document", "fields.def"), encoding="utf-8") as f:
        text = f.read()
    sections = dict(re.findall(r'^SECTION\((\w+), "(\w+)"', text, re.MULTILINE))
    found = {sections[s] + "." + name: source for s, name, source in re.findall(r'^FIELD\((\w+), (\w+), .*?,\s+(\w+),\s+"[^"]*"\)$', text, re.MULTILINE)}
    found.update(re.findall(r'^BESIDE\((\w+), \w+, (\w+),', text, re.MULTILINE))
    count = len(re.findall(r"^(?:FIELD|BESIDE)\(", text, re.MULTILINE))
    tell("every row is read", len(sections) == 10 and len(found) == count > 50, len(found), count)
    return found


def not_written():
    """Path -> reason, of the table in docs/DOCUMENT.md."""
    with open(os.path.join(TOP, "docs", "DOCUMENT.md"), encoding="utf-8") as f:
        part = f.read().split("### Fields that are not written\n", 1)[1].split("\n#", 1)[0]
    return dict(re.findall(r"^\| `([\w.]+)` \| (.+) \|$", part, re.MULTILINE))


def tree(rows):
    """{"a.b": 1} as {"a": {"b": 1}}."""
    top = {}
    for path, value in rows.items():
        section, _, name = path.rpartition(".")
        (top.setdefault(section, {}) if section else top)[name] = value
    return top


def at(doc, path):
    for key in path.split("."):
        doc = doc.get(key) if isinstance(doc, dict) else None
    return doc


class Bench:
    def __init__(self, top):
        self.work = os.path.join(top, "work")
        os.mkdir(self.work)
        self.env = {**os.environ, "HOME": top, "CARREL_STATE": os.path.join(top, "state")}
        self.put("SANDBOX.md", MANIFEST)

    def put(self, name, text):
        with open(os.path.join(self.work, name), "w", encoding="utf-8") as f:
            f.write(text)

    def carrel(self, *words):
        return subprocess.run([CARREL, *words], env=self.env, cwd=self.work, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False)

    def generate(self, config):
        self.put("doc.json", json.dumps(tree(config)))
        return self.carrel("doc", "generate", "--audit", "--starts", "3", "--format", "json", "--config", "doc.json")


def account(bench, enforced):
    sources, left_out = fields(), not_written()
    done = bench.generate({**REQUIRED, **OFFERED})
    tell("a document is generated", done.returncode == 0, done.stderr)
    doc = json.loads(done.stdout)
    less = json.loads(bench.generate(REQUIRED).stdout)
    tell("the configuration of this test has each field of the operator, and no other", set(REQUIRED) | set(OFFERED) == {p for p, s in sources.items() if s in ("OPERATOR", "OFFERED")},
         sorted(p for p, s in sources.items() if s in ("OPERATOR", "OFFERED")))
    for path, source in sources.items():
        if path == "resources.disk_io" and at(doc, path) is None:
            tell(f"{path}: not written, because it is not enforced here", not enforced["io"], enforced)
        elif path in left_out:
            tell(f"{path}: not written, and docs/DOCUMENT.md says why", at(doc, path) is None and source not in ("OPERATOR", "OFFERED") and len(left_out[path]) > 10, at(doc, path))
        elif source == "OFFERED":
            tell(f"{path}: as configured, else left out", at(doc, path) == OFFERED[path] and at(less, path) is None, at(doc, path), at(less, path))
        elif source == "OPERATOR":
            told = at(doc, path)
            told = {k: told[k] for k in REQUIRED[path]} if isinstance(REQUIRED[path], dict) else told
            without = bench.generate({p: v for p, v in REQUIRED.items() if p != path})
            tell(f"{path}: as configured, and refused if absent", told == REQUIRED[path] and without.returncode == 126 and path in without.stderr and not without.stdout, told, without)
        else:
            over = bench.generate({**REQUIRED, path: at(doc, path)})
            tell(f"{path}: written from a fact, and never from the configuration", at(doc, path) is not None and over.returncode == 126 and path + ": " in over.stderr, at(doc, path), over)
    tell("what is not written is a field", set(left_out) <= set(sources), left_out)
    bench.put("claims.json", json.dumps(doc))
    with open(os.path.join(TOP, "src", "cli", "doc_verify.c"), encoding="utf-8") as f:
        rows = set(re.findall(r'\{ "([\w.]+)", doc_prove_\w+ \}', f.read()))
    tell("each field of a section has a row in `doc verify`", rows == {p for p in sources if "." in p}, sorted(rows ^ {p for p in sources if "." in p}))


def main():
    with tempfile.TemporaryDirectory() as top:
        bench = Bench(top)
        limits = json.loads(bench.carrel("providers", "--json").stdout)["providers"][0]["limits"]
        if not (limits["memory"] and limits["cpu_millicores"]):
            print("1..0 # SKIP this machine cannot cap memory and CPU, so no document can be published here")
            return
        account(bench, limits)
    print(f"1..{NUMBER[0]}")


main()
