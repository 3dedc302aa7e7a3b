#!/usr/bin/env python3
"""doc_test - `carrel doc check`, `admit` and `review` at the command line: forms of input, places,
exit statuses, JSON; and that the JSON Schema agrees. The rules are cases: test/conform/geodocs.yaml.
"""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import CARREL, PATIENCE

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
NUMBER = [0]


def tell(what, is_good, *why):
    NUMBER[0] += 1
    print(f"{'ok' if is_good else 'not ok'} {NUMBER[0]} - {what}", flush=True)
    for line in () if is_good else why:
        print("# " + str(line).replace("\n", "\n# "))


def carrel(*words):
    return subprocess.run([CARREL, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False)


class Folder:
    def __init__(self, top):
        self.top = top
        with open(os.path.join(TOP, "examples", "sandbox-doc.yaml"), encoding="utf-8") as f:
            self.good = f.read()

    def put(self, name, text):
        path = os.path.join(self.top, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def doc(self, name="doc.yaml", old=None, new=None):
        text = self.good
        if old is not None:
            assert old in text, old
            text = text.replace(old, new)
        return self.put(name, text)


def forms(folder):
    done = carrel("doc", "check", folder.doc())
    tell("a good document: OK, and nothing else", done.returncode == 0 and done.stdout.endswith("doc.yaml: OK\n"), done)
    done = carrel("doc", "check", folder.put("page.md", "---\n" + folder.good + "---\n# Research sandbox\n"))
    tell("the front matter of a page", done.returncode == 0, done)
    text = json.dumps({"@context": "https://example.com/sandbox", "@type": "SandboxDocument", "identity": {"name": "x"}})
    done = carrel("doc", "check", "--json", folder.put("doc.jsonld", text))
    codes = {(f["code"], f["path"]) for f in json.loads(done.stdout)["errors"]}
    tell("JSON-LD: its own keys are no fields", done.returncode == 126 and ("missing_section", "audit") in codes and not any("@" in p for _, p in codes)
         and not any("@" in f["path"] for f in json.loads(done.stdout)["warnings"]), done)
    done = carrel("doc", "check", folder.put("twice.yaml", folder.good + "cost_model: 2\n"))
    tell("a key that is there twice is a syntax error", done.returncode == 126 and "sandbox_manifest_syntax" in done.stderr, done)
    done = carrel("doc", "check", os.path.join(folder.top, "none.yaml"))
    tell("a file that is not there", done.returncode != 0 and "none.yaml" in done.stderr, done)


def places(folder):
    bad = folder.doc("bad.yaml", "port: 443", "port: 70000")
    done = carrel("doc", "check", bad)
    line = next(i for i, text in enumerate(open(bad, encoding="utf-8"), 1) if "70000" in text)
    tell("an error has line, column, path, code and hint", done.returncode == 126 and f"bad.yaml:{line}:" in done.stdout
         and "network.egress_allowlist[0].port" in done.stdout and "egress_entry_invalid\n    Next: " in done.stdout, done)
    done = carrel("doc", "check", folder.put("esc.yaml", folder.good + '"\\e[31mx": 1\n'))
    tell("control bytes of a document do not reach the terminal", done.returncode == 0 and "\033" not in done.stdout and "\\x1b[31mx" in done.stdout, done)
    draft = folder.doc("draft.yaml", "log_immutability: true", "log_immutability: false")
    tell("draft: a warning; production: an error", carrel("doc", "check", draft, "--profile", "draft").returncode == 0
         and carrel("doc", "check", draft).returncode == 126)
    done = carrel("doc", "check", draft, "--profile", "final")
    tell("an unknown profile is refused", done.returncode == 125 and "production or draft" in done.stderr, done)


def decisions(folder):
    doc = folder.doc()
    rows = (
        (("--risk", "medium"), 0, "allow"),
        (("--risk", "high"), 126, "refuse:tier"),
        (("--risk", "low", "--destination", "api.example.com:443"), 0, "allow"),
        (("--risk", "low", "--destination", "api.example.com:22"), 126, "refuse:egress"),
        (("--risk", "low", "--destination", "[::1]:443"), 126, "refuse:egress"),
        (("--risk", "low", "--operation", "data_deletion"), 1, "ask_user"),
        (("--risk", "low", "--elapsed", "per_tool_call=40s"), 126, "abort:per_tool_call"),
        (("--risk", "low", "--elapsed", "per_tool_call=20s", "--elapsed", "per_task_loop=21m"), 126, "abort:per_task_loop"),
        # all that is asked counts, not only the last
        (("--risk", "low", "--elapsed", "per_tool_call=40s", "--elapsed", "per_tool_call=1s"), 126, "abort:per_tool_call"),
        (("--risk", "low", "--operation", "data_deletion", "--operation", "read_file"), 1, "ask_user"),
        (("--risk", "low", "--destination", "evil.example", "--destination", "api.example.com"), 126, "refuse:egress"),
        (("--risk", "low", "--operation", "data_deletion", "--destination", "evil.example"), 126, "refuse:egress"),
        (("--risk", "low", "--operation", "data_deletion", "--elapsed", "per_tool_call=1h"), 1, "ask_user"),
        (("--risk", "low", "--destination", "api.example.com", "--operation", "read_file"), 0, "allow"),
    )
    for words, status, decision in rows:
        text, answer = carrel("doc", "admit", doc, *words), carrel("doc", "admit", doc, "--json", *words)
        tell("admit %s: %s" % (" ".join(words), decision), text.returncode == status == answer.returncode and text.stdout.startswith(decision + ":")
             and json.loads(answer.stdout)["decision"] == decision, text, answer)
    done = carrel("doc", "admit", doc, "--risk", "low", "--destination", "evil.example", "--destination", "a.example:0")
    tell("a port that is none: a destination as example", done.returncode == 125 and "api.example.com:443" in done.stderr, done)
    done = carrel("doc", "admit", doc)
    tell("without a risk: what to add", done.returncode == 125 and "--risk low" in done.stderr, done)
    done = carrel("doc", "admit", doc, "--risk", "low", "--elapsed", "loop=5m")
    tell("a layer that is none", done.returncode == 125 and "per_task_loop" in done.stderr, done)
    done = carrel("doc", "admit", folder.doc("bad.yaml", "default: deny", "default: allow"), "--risk", "low")
    tell("a document with errors: the decision, and a warning", done.returncode == 0 and "1 error" in done.stderr, done)


def reviews(folder):
    old, new = folder.doc(), folder.doc("new.yaml", "us-east1", "eu-west-1")
    done = carrel("doc", "review", old, new)
    tell("a change that needs a review", done.returncode == 1 and "state.data_residency" in done.stdout and "review_required" in done.stdout, done)
    tell("no change", carrel("doc", "review", old, old).returncode == 0)


def schema():
    done = carrel("schema", "--doc")
    tree = json.loads(done.stdout)
    timeouts = tree["properties"]["resources"]["properties"]["timeouts"]
    tell("the schema has the ten sections and the three timeouts", len(tree["required"]) == 10 and len(timeouts["required"]) == 3
         and tree["properties"]["network"]["properties"]["default"] == {"description": "Always deny.", "const": "deny"}, tree["required"], timeouts)
    tell("the schema describes every field", all("description" in field for section in tree["properties"].values() for field in section.get("properties", {}).values()))


def main():
    with tempfile.TemporaryDirectory() as top:
        folder = Folder(top)
        for part in (forms, places, decisions, reviews):
            part(folder)
    schema()
    print(f"1..{NUMBER[0]}")


main()
