#!/usr/bin/env python3
"""metrics_test - GET /metrics: the text format of Prometheus, read by its own client library. Counts grow, labels are
escaped, owners are bounded, and only the daemon's own user and its tokens may read it.
"""
import json
import os
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import end, report
from daemon_rig import Daemon, until

ODD = 'a"b\\c\nd'
TYPES = {"carrel_build_info": "gauge", "carrel_sandboxes": "gauge", "carrel_sandboxes_created": "counter", "carrel_execs_started": "counter",
         "carrel_execs_ended": "counter", "carrel_usage_cpu_seconds": "counter", "carrel_usage_wall_seconds": "counter",
         "carrel_usage_memory_byte_seconds": "counter", "carrel_usage_storage_byte_seconds": "counter", "carrel_usage_output_bytes": "counter", "carrel_usage_egress_bytes": "counter", "carrel_approvals_waiting": "gauge", "carrel_pool_ready": "gauge"}
# The library is a package of the distribution, and so is the Python that has it.
READER = """import json, sys
from prometheus_client.parser import text_string_to_metric_families as families
print(json.dumps([[f.name, f.type, f.documentation, [[s.name, s.labels, s.value] for s in f.samples]] for f in families(sys.stdin.read())]))"""


def bearer(token):
    return {"Authorization": "Bearer " + token}


def parsed(text):
    made = subprocess.run(["/usr/bin/python3", "-c", READER], input=text, stdout=subprocess.PIPE, check=True)
    return json.loads(made.stdout)


class Scrape:
    def __init__(self, d, headers=None):
        self.answer = d.call("GET", "/metrics", headers=headers)
        self.families = parsed(self.answer.body) if self.answer.status == 200 else []
        self.samples = [s for f in self.families for s in f[3]]

    def get(self, name, **labels):
        """The one value with these labels; None if it is absent."""
        found = [value for n, have, value in self.samples if n == name and have == labels]
        return found[0] if len(found) == 1 else None


def owner_of(d):
    return d.must("POST", "/v1/tokens", {"scope": "read"})["owner"]


def format_of(d):
    s = Scrape(d)
    kind = s.answer.headers["Content-Type"]
    report("its type is that of the text format", [] if s.answer.status == 200 and kind == "text/plain; version=0.0.4; charset=utf-8" else ["%d %s" % (s.answer.status, kind)])
    wrong = ["%s is %s" % (f[0], f[1]) for f in s.families if TYPES.get(f[0]) != f[1] or not f[2]]
    series = [(n, sorted(labels.items())) for n, labels, _ in s.samples]
    wrong += ["%r twice" % (x,) for x in series if series.count(x) > 1]
    version = d.must("GET", "/v1/info")["version"]
    report("each metric has its type, a help, and each series once", wrong + ([] if s.get("carrel_build_info", version=version) == 1 else ["no version"]))
    absent = [n for n, _, _ in s.samples if n.startswith(("carrel_usage_", "carrel_pool_"))]
    report("what is not known is absent", absent)
    asked = d.call("GET", "/metrics", headers={"Accept": "application/json"})
    report("JSON, if Accept names it", [] if asked.status == 200 and asked.json["version"] == version and len(asked.json["states"]) == 5 else ["%r" % asked])


def counts(d):
    before = Scrape(d)
    d.must("POST", "/v1/sandboxes", {"name": "one", "start": True})
    d.exec("one", ["/bin/sh", "-c", "printf 12345; exit 3"])
    d.exec("one", ["/bin/sh", "-c", "kill -9 $$"])
    until("the second has ended", lambda: Scrape(d).get("carrel_execs_ended_total", outcome="signaled") == 1)
    used = d.must("GET", "/v1/sandboxes/one/usage")        # the box reports its totals
    after, owner = Scrape(d), owner_of(d)
    expected = {"carrel_sandboxes_created_total": 1, "carrel_execs_started_total": 2}
    wrong = ["%s: %r" % (n, after.get(n)) for n, v in expected.items() if before.get(n) != 0 or after.get(n) != v]
    wrong += [] if after.get("carrel_execs_ended_total", outcome="exited") == 1 and after.get("carrel_execs_ended_total", outcome="lost") == 0 else ["outcomes"]
    wrong += [] if before.get("carrel_sandboxes", state="running") == 0 and after.get("carrel_sandboxes", state="running") == 1 else ["states"]
    report("commands and sandboxes are counted", wrong)
    same = {"carrel_usage_output_bytes_total": used["output_total_bytes"], "carrel_usage_wall_seconds_total": used["wall_ms"] / 1000,
            "carrel_usage_cpu_seconds_total": used["cpu_ms"] / 1000}
    wrong = ["%s: %r, not %r" % (n, after.get(n, owner=owner), v) for n, v in same.items() if after.get(n, owner=owner) is None or after.get(n, owner=owner) < v]
    wrong += [] if after.get("carrel_usage_output_bytes_total", owner=owner) == 5 else ["output"]
    report("usage of the owner, in seconds and bytes", wrong)
    report("traffic that no connection had is absent", [n for n, _, _ in after.samples if "egress" in n])
    report("no approval waits", [] if after.get("carrel_approvals_waiting") == 0 else ["%r" % after.get("carrel_approvals_waiting")])


def use(d, owner, name):
    """A sandbox of this owner that wrote one byte, and has ended."""
    head = bearer(d.must("POST", "/v1/tokens", {"owner": owner})["token"])
    d.must("POST", "/v1/sandboxes", {"name": name, "start": True}, headers=head)
    d.must("POST", f"/v1/sandboxes/{name}/execs", {"argv": ["/bin/sh", "-c", "printf x"]}, headers=head)
    d.must("GET", f"/v1/sandboxes/{name}/usage", headers=head)
    d.must("DELETE", f"/v1/sandboxes/{name}", headers=head)


def labels(d):
    use(d, ODD, "odd")
    use(d, "other", "its")
    s = Scrape(d)
    report("a label with a quote, a backslash and a line break", [] if s.get("carrel_usage_output_bytes_total", owner=ODD) == 1 else ["%r" % s.answer.body])
    report("an owner with the name of the sum is one series with it", [] if s.get("carrel_usage_output_bytes_total", owner="other") == 1 else ["%r" % s.answer.body])


def rights(d):
    other = d.must("POST", "/v1/tokens", {"owner": "someone"})["token"]
    reader = d.must("POST", "/v1/tokens", {"owner": "someone", "scope": "read"})["token"]
    for what, token in (("all", other), ("read", reader)):
        a = d.call("GET", "/metrics", headers=bearer(token))
        ok = a.status == 403 and a.code == "sandbox_policy_denied" and a.json["error"]["reason"] == "admin" and "carrel key new" in a.json["error"]["hint"]
        report(f"a token of another owner, scope {what}, is refused", [] if ok else ["%r" % a])
    a = d.call("GET", "/metrics", headers=bearer("carrel_" + "0" * 64))
    report("an unknown token is refused", [] if a.status == 401 else ["%r" % a])
    own = d.must("POST", "/v1/tokens", {"scope": "read"})["token"]
    report("a token of the daemon's own user, scope read, may", [] if Scrape(d, bearer(own)).answer.status == 200 else ["refused"])
    wrong = ["%d" % d.call("GET", "/v1/tokens", headers=bearer(own)).status]
    report("and may not list tokens with it", [] if wrong == ["403"] else wrong)
    report("it takes no query", [] if d.call("GET", "/metrics?x=1").status == 400 else ["taken"])


def bounded(d):
    """Rows of 120 owners are in the store; each wrote one byte, and had more CPU time than all before."""
    total = sum(value for n, _, value in Scrape(d).samples if n == "carrel_usage_output_bytes_total")
    d.stop()
    db = sqlite3.connect(os.path.join(d.state, "state.db"))
    db.executemany("INSERT INTO usage (owner, sandbox, at, wall, cpu, memory, execs, output, egress_out, egress_in) VALUES (?, ?, 1, 1, ?, 1, 1, 1, ?, -1)",
                   [("o%03d" % i, "%016x" % i, (i + 1) * 10**15, -1 if i else 7) for i in range(120)])
    db.commit()
    db.close()
    d.start()
    s = Scrape(d)
    owners = [labels["owner"] for n, labels, _ in s.samples if n == "carrel_usage_output_bytes_total"]
    expected = ["o%03d" % i for i in range(119, 19, -1)] + ["other"]
    report("100 owners by CPU time, and the sum of the others", [] if owners == expected else ["%r" % owners])
    other = s.get("carrel_usage_output_bytes_total", owner="other")
    sent = [(labels, value) for n, labels, value in s.samples if n == "carrel_usage_egress_bytes_total"]
    report("no byte of the others is lost", [] if other == total + 20 and sent == [({"owner": "other", "direction": "out"}, 7)] else ["%r, %r" % (other, sent)])


def main():
    with Daemon() as d:
        format_of(d)
        counts(d)
        labels(d)
        rights(d)
        d.stop()
        d.start()
        s, owner = Scrape(d), owner_of(d)
        report("after a restart events count from 0, usage continues",
               [] if s.get("carrel_execs_started_total") == 0 and s.get("carrel_usage_output_bytes_total", owner=owner) == 5 else ["%r" % s.answer.body])
        bounded(d)
    end()


if __name__ == "__main__":
    main()
