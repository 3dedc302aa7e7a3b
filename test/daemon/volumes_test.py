#!/usr/bin/env python3
# slow: 30 s: sandboxes start one after the other, and the daemon again
"""Volumes of a daemon: REST, two owners with the same names, removal while in use or still needed, a restart, and a pool. Prints TAP."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import check, end, need_programs, until
from daemon_rig import Daemon

CARREL = os.environ.get("CARREL", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../build/carrel"))
BLOCK = {"provider": "local", "config": {}}


def storage(name):
    return {"inline": {"provider": "carrel-volume", "config": {"name": name}}}


def mounted(name, at="/v", **more):
    return {**BLOCK, "mounts": [{"source": storage(name), "at": at, **more}]}


def home(name):
    return {**BLOCK, "metadata": {"carrel": {"home": name}}}


class Owner:
    def __init__(self, d, name=None):
        self.d = d
        self.head = {"Authorization": "Bearer " + d.must("POST", "/v1/tokens", {"owner": name})["token"]} if name else {}

    def call(self, method, path, body=None):
        return self.d.call(method, path, body, headers=self.head)

    def must(self, method, path, body=None):
        return self.d.must(method, path, body, headers=self.head)

    def create(self, block):
        return self.must("POST", "/v1/sandboxes", {"manifest": block})["id"]

    def sh(self, box, script):
        return self.must("POST", f"/v1/sandboxes/{box}/execs", {"command": script})

    def stop(self, box):
        self.must("DELETE", f"/v1/sandboxes/{box}")

    def volumes(self):
        return {v["name"]: v for v in self.must("GET", "/v1/volumes")["items"]}


def volume_place(d, *parts):
    return os.path.join(d.state, "volumes", *parts)


def rest(d):
    own = Owner(d)
    check("there is no volume at first", own.volumes() == {})
    made = [own.must("POST", "/v1/volumes", {"name": "cache"}) for _ in range(2)]
    check("POST creates one, and does not change it again", made[0] == made[1] and made[0]["name"] == "cache" and made[0]["size"] == 0 and "used_by" not in made[0], made)
    wrong = [(name, a) for name in ("", "..", "a/b", "A", "x" * 65, "0123456789abcdef") for a in [own.call("POST", "/v1/volumes", {"name": name})] if a.status not in (400, 422)]
    wrong += [(path, a) for path, status in (("..", 400), ("%2e%2e", 400), ("none", 200), ("..%2fcache", 400)) for a in [own.call("DELETE", "/v1/volumes/" + path)]
              if a.status == 200 and a.json != {"existed": False}]
    check("names that are none are refused", not wrong and set(own.volumes()) == {"cache"}, wrong)
    box = own.create(home("work"))
    check("create makes no volume", "work" not in own.volumes())
    first = own.sh(box, "echo one >~/x; cat ~/x")
    row = own.volumes()["work"]
    check("the first command makes the home's volume", first["stdout"] == "one\n" and row["used_by"] == box and row["file_count"] == 1, first, row)
    refused = own.call("DELETE", "/v1/volumes/work")
    check("a volume in use is not removed, and the sandbox is named", refused.status == 409 and refused.code == "volume_in_use" and box in json.dumps(refused.json), refused)
    other = own.create(mounted("work", mode="read-only"))
    seen = own.sh(other, "cat /v/x; echo two >/v/x || echo held")
    check("a second sandbox of the owner reads it at the same time", seen["stdout"] == "one\nheld\n", seen)
    own.stop(box)
    own.stop(other)
    waits = own.create(mounted("work"))
    refused = own.call("DELETE", "/v1/volumes/work")
    check("nor while a sandbox names it that is not made yet", refused.status == 409 and waits in json.dumps(refused.json), refused)
    check("what was written is there for the next", own.sh(waits, "cat /v/x")["stdout"] == "one\n")
    own.sh(waits, "cd /v; i=0; while [ $i -lt 500 ]; do mkdir d; cd d; echo >f; i=$((i+1)); done; chmod 0 . /v/d")
    own.stop(waits)
    until("the volume is free", lambda: "used_by" not in own.volumes()["work"])
    gone = own.must("DELETE", "/v1/volumes/work")
    check("it is removed when no sandbox names it", gone == {"existed": True} and set(own.volumes()) == {"cache"} and own.must("DELETE", "/v1/volumes/work") == {"existed": False}, gone)
    place = volume_place(d, f"uid:{os.getuid()}")
    until("its content is erased, however deep", lambda: os.listdir(place) == ["cache"])
    check("its content is erased, however deep", True)


def owners(d):
    one, two = Owner(d, "tenant-a"), Owner(d, "tenant/../b")
    boxes = [(o, o.create(home("same")), text) for o, text in ((one, "one"), (two, "two"))]
    seen = [o.sh(box, f"cat ~/x; echo {text} >~/x; cat ~/x")["stdout"] for o, box, text in boxes]
    check("two owners with one name have two volumes", seen == ["one\n", "two\n"], seen)
    check("each lists its own", all(set(o.volumes()) == {"same"} and o.volumes()["same"]["used_by"] == box for o, box, _ in boxes))
    places = sorted(os.listdir(volume_place(d)))
    check("an owner's name is one directory", places == sorted([f"uid:{os.getuid()}", "tenant-a", "tenant=2f=2e=2e=2fb"]), places)
    one.stop(boxes[0][1])
    until("the volume of the first is free", lambda: "used_by" not in one.volumes()["same"])
    one.must("DELETE", "/v1/volumes/same")
    check("removing one leaves the other's", two.sh(boxes[1][1], "cat ~/x")["stdout"] == "two\n" and "same" in two.volumes())
    for i in range(16):
        one.must("POST", "/v1/volumes", {"name": f"v{i}"})
    full, box = one.call("POST", "/v1/volumes", {"name": "more"}), one.create(mounted("more"))
    started = one.call("POST", f"/v1/sandboxes/{box}/execs", {"command": "true"})
    check("another owner has 16 at most, also by a command", full.status == 429 and full.json["error"]["reason"] == "volumes_max" and started.status == 429 and "more" not in one.volumes(), full, started)


def restart(d):
    own = Owner(d)
    box = own.create(mounted("kept"))
    own.sh(box, "echo one >/v/x")
    d.stop()
    left = volume_place(d, f"uid:{os.getuid()}", ".gone-0123456789abcdef")
    os.makedirs(os.path.join(left, "data", "deep"), 0o700)
    d.start()
    until("what was still to be erased is erased", lambda: not os.path.exists(left))
    check("a restarted daemon erases what was removed before", True)
    refused = own.call("DELETE", "/v1/volumes/kept")
    check("a restarted daemon knows what is in use", refused.status == 409 and box in json.dumps(refused.json) and own.sh(box, "cat /v/x")["stdout"] == "one\n", refused)
    own.stop(box)


def erasing(place):
    """How many removed volumes the keeper has locked: it locks one while it erases it."""
    gone = {os.stat(os.path.join(place, name)).st_ino for name in os.listdir(place) if name.startswith(".gone-")}
    with open("/proc/locks", encoding="ascii") as f:
        return sum(words[1] == "FLOCK" and int(words[5].split(":")[2]) in gone for words in (line.split() for line in f)), len(gone)


def turns(d):
    """However much one owner has in volumes, the keeper reads a little of it at a time."""
    for name, counted in (("tenant-c", 2000), (None, 2100)):
        o = Owner(d, name)
        place = volume_place(d, name or f"uid:{os.getuid()}")
        o.must("POST", "/v1/volumes", {"name": "full"})
        for i in range(2100):
            with open(os.path.join(place, "full", "data", str(i)), "w", encoding="ascii"):
                pass
        row = o.volumes()["full"]
        check(f"of {name or 'its own user'} it counts {counted} entries", row["file_count"] == counted and row["partial"] == (counted == 2000), row)
    others = [Owner(d, name) for name in ("tenant-c", "tenant-d")]
    for i, o in enumerate(others):
        for n in range(2):
            o.must("POST", "/v1/volumes", {"name": f"v{n}"})
            for f in range(2500):
                with open(os.path.join(volume_place(d, f"tenant-{'cd'[i]}", f"v{n}", "data", str(f))), "w", encoding="ascii"):
                    pass
    most = [0, 0]

    def is_erased():
        seen = [erasing(volume_place(d, name)) for name in ("tenant-c", "tenant-d")]
        most[0], most[1] = max(most[0], seen[0][0]), max(most[1], seen[1][0])
        return all(left == 0 for _, left in seen)

    for o in others:
        for n in range(2):
            o.must("DELETE", f"/v1/volumes/v{n}")
            is_erased()
    until("what two owners removed is erased", is_erased)
    check("of each owner it erases one volume at a time", most == [1, 1], most)
    others[0].must("DELETE", "/v1/volumes/full")
    Owner(d).must("DELETE", "/v1/volumes/full")


def command_line(d):
    env = {**os.environ, "CARREL_STATE": d.state}

    def carrel(*words):
        return subprocess.run([CARREL, *words], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)

    with tempfile.TemporaryDirectory() as work:
        with open(os.path.join(work, "SANDBOX.md"), "w", encoding="utf-8") as f:
            f.write("---\nschema: sandbox/v1\nprovider: local\nconfig: {}\n---\n")
        made = carrel("create", "-w", work, "--name", "cli", "-v", "shared:/v", "-q")
        wrote = carrel("exec", "cli", "--", "sh", "-c", "echo of the daemon >/v/x")
        read = carrel("run", "-w", work, "-v", "shared:/v", "--", "cat", "/v/x")
    check("create -v and run -v of one user reach the same volume", read.stdout == "of the daemon\n", made, wrote, read)
    done = carrel("volume", "rm", "shared", "--json")
    check("volume rm asks the daemon", done.returncode == 126 and json.loads(done.stdout)["error"]["code"] == "volume_in_use" and made.stdout.strip() in done.stdout, done)
    done = carrel("volume", "prune", "--force", "--json")
    check("volume prune leaves what the daemon's sandboxes name", "shared" in {v["name"] for v in json.loads(carrel("volume", "ls", "--json").stdout)["items"]} and
          "cache" in json.loads(done.stdout)["removed"], done)
    carrel("stop", "cli")


def pool():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "SANDBOX.md")
        with open(path, "w", encoding="utf-8") as f:
            f.write("---\nschema: sandbox/v1\nprovider: local\nconfig: {}\nmetadata: {carrel: {home: pooled}}\n---\n")
        with Daemon("--pool", "1", "--pool-manifest", path) as d:
            until("the daemon says why none is ready", lambda: "so it has no volumes" in d.log_text())
            claimed = d.call("POST", "/v1/claims", {"manifest": home("pooled")})
            check("a ready sandbox has no owner yet, and no volumes", claimed.status >= 400 and not os.path.exists(volume_place(d)), claimed)


def main():
    need_programs()
    with Daemon() as d:
        for part in (rest, owners, restart, turns, command_line):
            part(d)
    pool()
    end()


if __name__ == "__main__":
    main()
