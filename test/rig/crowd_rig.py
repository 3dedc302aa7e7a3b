"""One tenant that requests much, and a command of another owner that must not be affected. Not a
test.
"""
import http.client
import json
import os
import threading

from box_rig import PATIENCE, until
from daemon_rig import Daemon

WAIT = 10 * PATIENCE                    # seconds, of an answer beside many others
PATIENT = {"schema": "sandbox/v1", "id": "@test/box", "version": "1.0.0", "provider": "local", "config": {}, "limits": {"timeout_ms": WAIT * 1000}}


class Crowd(Daemon):
    """A daemon that permits an owner more sandboxes than the default."""

    def start(self):
        path = os.path.join(self.folder, "host.json")
        with open(path, "w", encoding="ascii") as f:
            json.dump({"providers": {"local": {"isolated": True}}, "sandboxes_max": 300}, f)
        self.words = ("--host", path)
        return super().start()


class Tenant:
    def __init__(self, d, name):
        self.d = d
        self.all = {"Authorization": "Bearer " + d.must("POST", "/v1/tokens", {"owner": name})["token"]}
        self.read = {"Authorization": "Bearer " + d.must("POST", "/v1/tokens", {"owner": name, "scope": "read"})["token"]}

    def create(self, **fields):
        return self.must("POST", "/v1/sandboxes", fields)["id"]

    def call(self, method, path, body=None):
        """The answer, or why there is none."""
        try:
            return self.d.call(method, path, body, headers=self.all, timeout=WAIT)
        except (OSError, http.client.HTTPException) as e:
            return e

    def get(self, path):
        return self.call("GET", path)

    def must(self, method, path, body=None):
        return self.d.must(method, path, body, headers=self.all)

    def clear(self, ids):
        for box in ids:
            self.must("DELETE", "/v1/sandboxes/" + box)


class Victim:
    """A foreground command of the daemon's own user: it ends, with success, when the test lets it.
    """

    def __init__(self, d):
        self.d, self.box, self.answer = d, d.create(start=True, manifest=PATIENT), None
        self.before = d.children()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()
        until("the command runs", lambda: any(x["state"] == "running" for x in d.must("GET", "/v1/sandboxes/%s/execs" % self.box)["items"]))

    def run(self):
        try:
            self.answer = self.d.exec(self.box, "while [ ! -e /tmp/go ]; do sleep 0.05; done; echo well", timeout=WAIT)
        except (OSError, AssertionError) as e:
            self.answer = {"stdout": repr(e)}

    def ends_well(self):
        """Lets it end. Returns what was wrong, or nothing."""
        try:
            self.d.exec(self.box, ["touch", "/tmp/go"])
            self.thread.join()
            after = self.d.children()
            self.d.call("DELETE", "/v1/sandboxes/" + self.box)
        except (OSError, AssertionError) as e:
            self.thread.join()
            return "%r; the command: %r" % (e, self.answer)
        if after != self.before:
            return "other processes: %r, then %r" % (self.before, after)
        return "" if self.answer.get("stdout") == "well\n" else repr(self.answer)[:300]


def at_once(count, do):
    """Runs `do` in this number of threads, started together, and returns each result."""
    found, gate = [None] * count, threading.Barrier(count)

    def one(i):
        gate.wait()
        found[i] = do()
    threads = [threading.Thread(target=one, args=(i,)) for i in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return found
