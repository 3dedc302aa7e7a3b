#!/usr/bin/env python3
# slow: 30 s: deadlines of seconds pass in daemons, one after the other
"""doc_times_test - `carrel doc verify` tries the three layers of time of a document in a daemon of its own: what is true is proven, what is false is refuted, also where a daemon ends
nothing (CARREL_TEST_DEADLINES).
"""
import copy
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import CARREL, PATIENCE, SWITCHES, check, end, side_by_side

MANIFEST = """---
schema: sandbox/v1
id: "@test/research"
version: 1.0.0
provider: local
config: {}
limits: {timeout_ms: 1500, memory_mb: 96}
mounts: [{source: workspace, at: /workspace}]
metadata: {carrel: {limits: {cpu_millicores: 1000, pids: 40, disk_mb: 16}}}
---
"""
CONFIG = """identity: {provider: example.com}
isolation: {multi_tenant: false}
resources: {timeouts: {per_task_loop: 2s, per_sandbox_lifetime: 3s}}
lifecycle: {scheduled_deletion: 4h}
state: {data_residency: [eu-west-1]}
audit: {retention: 30d}
cost_model: {per_hour: 0, example: no charge}
"""
LAYERS = ("per_tool_call", "per_task_loop", "per_sandbox_lifetime")
TRIED = "a daemon ended its commands after "
CASES = (  # name, what the document says, words, the result of each layer and a part of its detail
    ("all three are true, and tried", {}, (), (("proven", "was ended after"), ("proven", TRIED), ("proven", TRIED))),
    ("a command that ends earlier than claimed", {"per_tool_call": "2s"}, (), (("refuted", "after 1500 ms here"), ("proven", TRIED), ("proven", TRIED))),
    ("a task that outlives its sandbox", {"per_task_loop": "4s"}, (), (("proven", ""), ("refuted", "the sandbox of the task lives for 3000 ms"), ("proven", TRIED))),
    ("a sandbox that ends before its command", {"per_task_loop": "1s", "per_sandbox_lifetime": "1s"}, (), (("proven", ""), ("proven", TRIED), ("refuted", "after at most 1500 ms"))),
    ("longer than can be tried", {"per_task_loop": "20m", "per_sandbox_lifetime": "4h"}, (), (("proven", ""), ("remark", "--scaled"), ("remark", "--scaled"))),
    ("the same with a second", {"per_task_loop": "20m", "per_sandbox_lifetime": "4h"}, ("--scaled",), (("proven", ""), ("proven", "(scaled)"), ("proven", "(scaled)"))),
    ("longer than a daemon takes", {"per_sandbox_lifetime": "10000h"}, ("--scaled",), (("proven", ""), ("refuted", "a daemon does not take it"), ("proven", "(scaled)"))),
)


def carrel(work, *words, program=CARREL, more=None):
    env = {**os.environ, "HOME": work, "CARREL_STATE": os.path.join(work, "state"), **(more or {})}
    return subprocess.run([program, *words], env=env, cwd=work, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False)


def verify(work, doc, name, *words, **how):
    with open(os.path.join(work, name), "w", encoding="utf-8") as f:
        json.dump(doc, f)
    done = carrel(work, "doc", "verify", name, "--only", "resources.timeouts", "--json", *words, **how)
    claims = {c["claim"].rpartition(".")[2]: (c["result"], c["detail"]) for c in json.loads(done.stdout or '{"claims": []}')["claims"]}
    return done, [claims.get(layer, ("", "")) for layer in LAYERS]


def case(work, doc, number):
    name, change, words, wanted = CASES[number]
    mine = copy.deepcopy(doc)
    mine["resources"]["timeouts"].update(change)
    done, got = verify(work, mine, "claims-%d.json" % number, *words)
    good = all(result == word and part in detail for (result, detail), (word, part) in zip(got, wanted))
    check(name, good and done.returncode == (126 if any(word == "refuted" for word, _ in wanted) else 0), got, done.stderr)


def switched_off(work, doc):
    done, got = verify(work, doc, "claims-off.json", program=SWITCHES, more={"CARREL_TEST_DEADLINES": "none"})
    check("a daemon that ends nothing refutes the task and the lifetime", done.returncode == 126 and [r for r, _ in got] == ["proven", "refuted", "refuted"]
          and all("are not ended after" in d for _, d in got[1:]), got, done.stderr)


with tempfile.TemporaryDirectory(prefix="carrel-doc-times-") as top:
    for file, text in (("SANDBOX.md", MANIFEST), ("doc.yaml", CONFIG)):
        with open(os.path.join(top, file), "w", encoding="utf-8") as out:
            out.write(text)
    made = carrel(top, "doc", "generate", "--audit", "--starts", "3", "--config", "doc.yaml", "--format", "json")
    if "cannot enforce limits.memory_mb" in made.stderr:
        print("1..0 # SKIP this machine cannot cap memory and CPU, so no document can be published here")
        sys.exit(0)
    check("a document is generated", made.returncode == 0, made.stderr)
    if made.returncode == 0:
        document = json.loads(made.stdout)
        side_by_side(*(lambda n=n: case(top, document, n) for n in range(len(CASES))), lambda: switched_off(top, document))
        check("no directory is left", not [n for n in os.listdir("/tmp") if n.startswith("carrel-times-") and os.stat("/tmp/" + n).st_uid == os.getuid()
                                           and not os.path.exists("/tmp/" + n + "/state")])
end()
