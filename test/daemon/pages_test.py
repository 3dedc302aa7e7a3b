#!/usr/bin/env python3
"""pages_test - the examples of docs/*.md that are marked `sh tested`, typed as they are, do what
their page says.
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CARREL = os.environ.get("CARREL", os.path.join(TOP, "build", "carrel"))
PATIENCE = 300    # seconds: for a page that does not end, not for a busy machine
BLOCK = re.compile(r"^```sh tested\n(.*?)^```$", re.S | re.M)
# page, and the output of its example, in this order
PAGES = [("docs/REST.md", [r'"name":\s*"first"', r'"stdout":\s*"hello from a file"', r'"exec":\s*2', r'"stdout":\s*"1\\n2\\n3\\n"',
                           r"event: started", r"one", r"event: end", r'"existed":\s*true']),
         ("docs/SECRETS.md", [r"run: sk-example-1, password of acme/db", r"before: sk-example-1", r"after: sk-example-2", r"no grant gives", r"bind_denied", r"status 126",
                              r"secret-revealed openai-api-key as OPENAI_API_KEY"]),
         ("docs/AUDIT.md", [r"hello", r"status 3", r"no-such-command", r"status 127", r"log\.initialized", r"exec\.started", r"exited 3", r"command_not_found",
                            r"intact: 6 entries", r"chain\.truncated", r"status 126"])]


def run(script, folder):
    """Runs it in a shell with its own session, whose processes are all gone afterwards. Returns its
    status and all output.
    """
    state = os.path.join(folder, "state")
    env = dict(os.environ, STATE=state, PATH=os.path.dirname(CARREL) + ":" + os.environ["PATH"])
    with open(os.path.join(folder, "out"), "w+b") as out:
        child = subprocess.Popen(["bash", "-euc", script], stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=env, cwd=folder, start_new_session=True)
        try:
            status = child.wait(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            status = "it did not end"
        finally:
            try:
                os.killpg(child.pid, signal.SIGTERM)
            except ProcessLookupError:
                pass
        out.seek(0)
        return status, out.read().decode(errors="replace")


def failure(page, wanted):
    blocks = BLOCK.findall(open(os.path.join(TOP, page), encoding="utf-8").read())
    if not blocks:
        return "the page has no example marked `sh tested`"
    folder = tempfile.mkdtemp(prefix="carrel-page-")
    try:
        status, text = run("\n".join(blocks), folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if status != 0:
        return "status %s:\n%s" % (status, text)
    at = 0
    for pattern in wanted:
        found = re.compile(pattern).search(text, at)
        if not found:
            return "no %s from byte %d on:\n%s" % (pattern, at, text)
        at = found.end()
    return None


def main():
    print("1..%d" % len(PAGES))
    failed = 0
    for number, (page, wanted) in enumerate(PAGES, 1):
        why = failure(page, wanted)
        print("%s %d - the example of %s does what it says" % ("not ok" if why else "ok", number, page))
        if why:
            failed += 1
            print("".join("# " + line + "\n" for line in why.splitlines()), end="")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
