#!/usr/bin/env python3
"""carrel code without a daemon: code in a new sandbox, with the manifest of the workspace or the
default sandbox without a network; the language by option, file name or first line.
"""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import CARREL, PATIENCE, check, end, need_programs

MANIFEST = """---
schema: sandbox/v1
provider: local
config: {}
mounts:
  - {source: workspace, at: /workspace}
env: {passthrough: [GIVEN]}
limits: {timeout_ms: 20000}
---
"""


def code(*words, cwd, text=""):
    p = subprocess.run([CARREL, "code", *words], input=text.encode(), capture_output=True, cwd=cwd, timeout=PATIENCE, check=False)
    return p.returncode, p.stdout.decode(), p.stderr.decode()


def write(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
        f.write(text)
    return os.path.join(folder, name)


def without_a_manifest(place):
    got = code("-l", "python", cwd=place, text="import sys; print(6 * 7); sys.exit(5)")
    check("code from standard input runs without a manifest", got[:2] == (5, "42\n"), got)
    got = code("-l", "sh", cwd=place, text="ls -A ~ | wc -l; ls %s 2>&1" % place)
    check("the default sandbox has a private home and no mount of this directory", got[1].startswith("0\n") and "No such file" in got[1], got)
    got = code("-l", "python", cwd=place, text="import socket\ntry: socket.create_connection(('127.0.0.1', 9), 5)\nexcept ConnectionRefusedError: print('alone')\n"
               "try: socket.create_connection(('192.0.2.1', 9), 5)\nexcept OSError as e: print(e.errno)")
    check("and no network", got[1] == "alone\n101\n", got)
    script = write(place, "a.py", "import sys; print(sys.stdin.read().upper())")
    got = code(script, cwd=place, text="from here")
    check("with a file, standard input is the code's, and its name says the language", got[:2] == (0, "FROM HERE\n"), got)
    got = code(write(place, "b", "#!/usr/bin/env bash\na=(x y); echo ${a[1]}\n"), cwd=place)
    check("the first line says the language", got[:2] == (0, "y\n"), got)
    got = code("--timeout", "300ms", "-l", "sh", cwd=place, text="sleep 1000 & sleep 1000")
    check("a time limit ends it with status 124", got[0] == 124, got)
    got = code("--json", "-l", "sh", cwd=place, text="echo a; echo b >&2; exit 3")
    j = json.loads(got[1])
    check("--json", (j["stdout"], j["stderr"], j["exit_code"], j["outcome"], got[0]) == ("a\n", "b\n", 3, "exited", 3), got)


def refusals(place):
    rows = (("no language", [], "x", 125, "carrel code -l python -"),
            ("an unknown language", ["-l", "cobol"], "x", 125, "The sandbox has"),
            ("code that is too long", ["-l", "sh"], "#" * 131071, 125, "131070"),
            ("a NUL", ["-l", "sh"], "echo a\0b", 125, "NUL"),
            ("a file that is not there", ["none.py"], "", 125, "none.py"),
            ("--cwd without --in", ["-l", "sh", "--cwd", "/"], "", 125, "--in"),
            ("--in with a manifest", ["-l", "sh", "--in", "x", "-f", "y"], "", 125, "--in"))
    for name, words, text, status, part in rows:
        got = code(*words, cwd=place, text=text)
        check("refused: " + name, got[0] == status and part in got[2] and got[1] == "", got)
    if not any(os.access(d + "/ruby", os.X_OK) for d in ("/usr/local/bin", "/usr/bin", "/bin")):
        got = code("-l", "ruby", cwd=place, text="puts 1")
        check("a language without an interpreter is runtime_unknown, with those that are there",
              "runtime_unknown" in got[2] and "python, shell" in got[2] and got[0] == 126, got)


def with_a_manifest(place):
    write(place, "SANDBOX.md", MANIFEST)
    os.makedirs(os.path.join(place, "sub"))
    got = code("-l", "sh", "-e", "GIVEN=1", cwd=place, text="pwd; echo $GIVEN; echo made >made.txt")
    check("the workspace's SANDBOX.md holds", got[:2] == (0, "/workspace\n1\n") and os.path.exists(os.path.join(place, "made.txt")), got)
    write(place, "SANDBOX.md", MANIFEST.replace("config: {}", "config: {}\nread_only: true"))
    got = code("-l", "sh", cwd=place, text="true")
    check("read_only refuses code", got[0] == 126 and "sandbox_read_only" in got[2], got)


need_programs()
with tempfile.TemporaryDirectory(dir="/var/tmp") as top:
    os.chmod(top, 0o755)
    without_a_manifest(top)
    refusals(top)
    with_a_manifest(top)
end()
