"""An independent reader of audit logs, with Python's standard library alone. Not a test.

It knows docs/AUDIT.md and nothing of Carrel's source: canonical JSON, chain, signatures.
"""
import hashlib
import hmac
import json
import os


def canonical(value):
    """RFC 8785, for the values that entries have: integers, and keys that are ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def lines(folder):
    for name in sorted(n for n in os.listdir(folder) if n.startswith("log-")):
        with open(os.path.join(folder, name), "rb") as f:
            yield from f.read().splitlines()


def keys(folder):
    return {n[4:]: bytes.fromhex(open(os.path.join(folder, n), encoding="ascii").read()) for n in os.listdir(folder) if n.startswith("key-")}


def entries(folder):
    """Every entry, in order. ValueError names the first one that is wrong."""
    known, previous, key, at, time, begin = keys(folder), "GENESIS", None, 0, "", None
    for line in lines(folder):
        entry = json.loads(line)
        if begin is None:
            begin = entry["seq"], entry["prevHash"]
            at, previous = begin if begin[0] > 0 else (0, "GENESIS")
            may_begin = begin[0] == 0
        rest = {k: v for k, v in entry.items() if k != "hash"}
        ours = dict(rest["metadata"]["carrel"])
        mac = ours.pop("hmac")
        unsigned = canonical({**rest, "metadata": {"carrel": ours}})
        if (canonical(entry) != line or entry["seq"] != at or entry["prevHash"] != previous or entry["ts"] < time
                or hashlib.sha256(canonical(rest)).hexdigest() != entry["hash"] or (key and ours["key"] != key)
                or hmac.new(known[ours["key"]], previous.encode() + unsigned, hashlib.sha256).hexdigest() != mac):
            raise ValueError("entry %d" % at)
        previous, at, time = entry["hash"], at + 1, entry["ts"]
        if entry["action"] == "log.pruned" and entry["seq"] >= entry["input"]["first"] >= begin[0]:
            may_begin = may_begin or entry["input"]["first"] > begin[0] or entry["input"]["prevHash"] == begin[1]
        key = entry["input"]["key"] if entry["action"] == "key.rotated" else ours["key"]
        yield entry
    if begin and not may_begin:
        raise ValueError("the entries before %d are missing" % begin[0])


def verify(folder, kept=None):
    """What is wrong with the log, or None: entries, names of files, and that no checkpoint knows more. Signatures of checkpoints need more than the standard library."""
    try:
        found, names = list(entries(folder)), [n for n in sorted(os.listdir(folder)) if n.startswith("log-")]
        for name in names:
            with open(os.path.join(folder, name), "rb") as f:
                if json.loads(f.readline() or b'{"seq":-1}')["seq"] != int(name[4:-6]):
                    return "file " + name
    except (ValueError, KeyError, TypeError) as wrong:
        return str(wrong) or "entry"
    path = os.path.join(folder, "checkpoint.json")
    for c in ([kept] if kept else []) + ([json.load(open(path, encoding="utf-8"))] if os.path.exists(path) else []):
        there = [e for e in found if e["seq"] == c["seq"]]
        if not found or found[0]["metadata"]["carrel"]["chain"] != c["chain"] or (not there and c["seq"] >= found[0]["seq"]) or (there and there[0]["hash"] != c["hash"]):
            return "checkpoint"
    return None


def age(folder, more=0):
    """The same entries in one file, with times of 2020, made with the log's key, and `more` events of 64 KiB behind them. Returns them, and the last hash."""
    key = next(iter(keys(folder).values()))
    old, previous, out = list(entries(folder)), "GENESIS", []
    old += [{**json.loads(json.dumps(old[0])), "seq": old[-1]["seq"] + 1 + i, "ts": old[-1]["ts"], "action": "test.filler", "input": {"a": "x" * 65536}} for i in range(more)]
    for e in old:
        e["ts"], e["prevHash"] = ("2020-01-0%d" % (1 + 2 * e["seq"] // len(old))) + e["ts"][10:], previous
        del e["hash"], e["metadata"]["carrel"]["hmac"]
        e["metadata"]["carrel"]["hmac"] = hmac.new(key, previous.encode() + canonical(e), hashlib.sha256).hexdigest()
        e["hash"] = previous = hashlib.sha256(canonical(e)).hexdigest()
        out.append(e)
    for name in os.listdir(folder):
        if name.startswith("log-") or name == "checkpoint.json":
            os.unlink(os.path.join(folder, name))
    with open(os.path.join(folder, "log-000000000000.jsonl"), "wb") as f:
        f.write(b"".join(canonical(e) + b"\n" for e in out))
    return out, previous


def check_rows(rows, secret):
    """Rows of AIP-7's reference code."""
    previous = "0" * 64
    for number, row in enumerate(rows):
        signature = row.pop("signature")
        if row["prevSignature"] != previous or hmac.new(secret, previous.encode() + canonical(row), hashlib.sha256).hexdigest() != signature:
            raise ValueError("row %d" % number)
        previous = signature


def check_agentskit(text, secret):
    """Rows of AgentsKit's signed log, verified as its own `verify` does: taken apart, and written again in its order."""
    previous = None
    for number, line in enumerate(line for line in text.split("\n") if line):
        row = json.loads(line)
        body = json.dumps({k: row[k] for k in ("seq", "timestamp", "actor", "action", "payload", "prevHash")}, separators=(",", ":"), ensure_ascii=False).encode()
        if row["prevHash"] != (hashlib.sha256(previous).hexdigest() if previous else ""):
            raise ValueError("row %d: prev-hash" % number)
        if row["signature"] != hmac.new(secret, body, hashlib.sha256).hexdigest():
            raise ValueError("row %d: signature" % number)
        previous = body
