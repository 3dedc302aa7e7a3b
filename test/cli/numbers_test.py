#!/usr/bin/env python3
"""Every number of a manifest at both ends of the range in its schema, and one past each end: none
wraps, none breaks a start. TAP.

The rows are read from `carrel schema`, so a new field is tested without a change here.
"""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import ALWAYS, CARREL, Workspace, check, end, manifest, need_programs

# How a command may end at the lowest value of a limit: it lacks something, and the report names it.
LEAST = {"timeout_ms": ("exited", "timed_out"), "memory_mb": ("exited", "oom_killed", None), "cpu_ms": ("exited", "cpu_limit"), "pids": ("exited",),
         "io_read_bps": ("exited", "timed_out"), "io_write_bps": ("exited", "timed_out"), "output_bytes": ("exited",), "disk_mb": ("exited",),
         "cpu_millicores": ("exited",), "open_files": ("exited", None)}
# Past 2^53, readers of JSON and YAML disagree about a number; at these values arithmetic in ms, us
# or ns would wrap.
EDGES = (18446744073709, 18446744073710, 9223372036854, 9223372036855, 18446744073709551, 4294967295, 4294967296, 4294967297, 2147483648)


def numbers(schema, path=()):
    """Each (path, minimum, maximum) of an integer below `limits` and `metadata.carrel`."""
    kind = schema.get("type")
    if kind == "integer" and path:
        yield path, schema.get("minimum"), schema.get("maximum")
    for name, below in schema.get("properties", {}).items():
        yield from numbers(below, (*path, name))


def text_of(path, number):
    """The manifest with the field at `path` set to `number`."""
    if path[0] == "limits":
        return manifest(limits="%s: %d" % (path[1], number))
    return manifest(carrel="limits: {%s: %d}" % (path[-1], number))


def ended(text):
    with Workspace(text) as ws:
        status, answer = ws.json(["true"])
        return status, answer.get("outcome"), (answer.get("error") or {}).get("code"), answer


def main():
    schema = json.loads(subprocess.run([CARREL, "schema"], stdout=subprocess.PIPE, timeout=ALWAYS, check=True).stdout)
    rows = [r for r in (*numbers(schema), *numbers(schema["$defs"]["metadata.carrel"], ("metadata", "carrel"))) if "limits" in r[0]]
    check("the schema has all ten limits, in snake case", {r[0][-1] for r in rows} >= set(LEAST), rows)
    for path, low, high in rows:
        name = path[-1]
        check("%s has both ends" % name, low is not None and high is not None, low, high)
        status, event, code, answer = ended(text_of(path, high))
        check("%s: %d runs" % (name, high), (status, event) == (0, "exited"), answer)
        status, event, code, answer = ended(text_of(path, low))
        check("%s: %d runs, or is told for what it is" % (name, low), event in LEAST[name] and code != "internal_error", answer)
        for beyond in (low - 1, high + 1):
            status, event, code, answer = ended(text_of(path, beyond))
            check("%s: %d is refused" % (name, beyond), (status, event) == (126, None) and code in ("sandbox_schema_invalid", "sandbox_manifest_syntax"), answer)
        wrong = [(n, got) for n in EDGES if low <= n <= high and name in ("timeout_ms", "cpu_ms", "memory_mb") for got in [ended(text_of(path, n))[:2]] if got != (0, "exited")]
        check("%s: no number between wraps" % name, not wrong, wrong)


def usage():
    """The report of a command that a limit ended has what it and its children used: pid 1 cannot
    report it any more.
    """
    with Workspace() as ws:
        script = "head -c 20000000 /dev/zero | tail -c 20000000 | sleep 100 & while :; do :; done"
        status, answer = ws.json(["sh", "-c", script], "--timeout", "1200ms")
        check("a command that its time limit ended says what it used", answer["outcome"] == "timed_out" and answer["cpu_ms"] > 0 and answer["memory_peak_kb"] > 15000, answer)


if __name__ == "__main__":
    need_programs()
    main()
    usage()
    end()
