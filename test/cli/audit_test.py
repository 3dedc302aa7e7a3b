#!/usr/bin/env python3
"""audit_test - `carrel run --audit` and `carrel audit`: what is recorded, when it is on the disk,
what happens if it cannot be, and that a change of the log is found (P30; J01, J02, J05 to J11).
"""
import fcntl
import hashlib
import hmac
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
import audit_chain
from box_rig import CARREL, PATIENCE

MANIFEST = "---\nschema: sandbox/v1\nprovider: local\nconfig: {}\nmounts: [{source: workspace, at: /workspace}]\n%s---\n"
NUMBER = [0]


def tell(what, is_good, *why):
    NUMBER[0] += 1
    print(f"{'ok' if is_good else 'not ok'} {NUMBER[0]} - {what}", flush=True)
    for line in () if is_good else why:
        print("# " + str(line).replace("\n", "\n# "))


class Bench:
    """A state directory and a workspace of their own."""

    def __init__(self, top, name):
        self.top = os.path.join(top, name)
        self.state, self.work = os.path.join(self.top, "state"), os.path.join(self.top, "work")
        os.makedirs(self.work)
        self.log = os.path.join(self.state, "audit", "uid:%d" % os.getuid())
        self.env = {**os.environ, "CARREL_STATE": self.state, "HOME": self.top}
        self.manifest()

    def manifest(self, more=""):
        with open(os.path.join(self.work, "SANDBOX.md"), "w", encoding="utf-8") as f:
            f.write(MANIFEST % more)

    def words(self, *words):
        return [CARREL, *words]

    def carrel(self, *words):
        return subprocess.run(self.words(*words), env=self.env, cwd=self.work, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False)

    def run(self, *command):
        return self.carrel("run", "--audit", "--", *command)

    def entries(self, has_facts=False):
        """Without what commands did meanwhile, unless asked: facts_exec_test has that."""
        return [e for e in audit_chain.entries(self.log) if has_facts or e["action"] != "process.executed"]

    def actions(self):
        return [e["action"] for e in self.entries()]

    def verify(self, *words):
        a = self.carrel("audit", "verify", "--json", *words)
        return a.returncode, json.loads(a.stdout)


def sha(text):
    return hashlib.sha256(text.encode()).hexdigest()


def records_a_command(b):
    a = b.carrel("run", "--audit", "-e", "TOKEN=hidden-value", "--", "sh", "-c", "echo out; echo error >&2; exit 3")
    tell("the command's own status and output are as without --audit", (a.returncode, a.stdout, a.stderr) == (3, "out\n", "error\n"), a)
    first, started, ended = b.entries()
    tell("the log begins with its chain", first["action"] == "log.initialized" and first["prevHash"] == "GENESIS", first)
    said = started["input"]
    words = ["sh", "-c", "echo out; echo error >&2; exit 3"]
    tell("exec.started has words, hash, directory, names of the environment, time limit and manifest",
         said["argv"] == words and said["argv_sha256"] == sha("\0".join(words) + "\0") and said["cwd"] == "/workspace" and "TOKEN" in said["env"]
         and said["timeout_ms"] == 600000 and said["manifest"]["sha256"] == sha(MANIFEST % ""), said)
    done = ended["output"]
    tell("exec.ended has outcome, status, and the hash of each stream",
         (done["outcome"], done["exit_code"]) == ("exited", 3) and done["stdout"] == {"bytes": 4, "sha256": sha("out\n")} and done["stderr"] == {"bytes": 6, "sha256": sha("error\n")},
         done)
    tell("both are of one sandbox and one actor", started["subject"] == ended["subject"] and started["actor"]["id"] == "uid:%d" % os.getuid(), started, ended)
    tell("no value of the environment is in the log", not any(b"hidden-value" in line for line in audit_chain.lines(b.log)))
    norm = json.loads(b.carrel("check", "--json", "SANDBOX.md").stdout)["norm"]
    tell("allowed_sha256 is that of the normal form, which `carrel check` prints", said["allowed_sha256"] == hashlib.sha256(audit_chain.canonical(norm)).hexdigest(), norm)
    b.carrel("run", "--audit", "--memory", "64m", "--", "true")
    tell("an option that changes what is allowed changes it", b.entries()[-2]["input"]["allowed_sha256"] != said["allowed_sha256"])


def records_refusals(b):
    b.run("no-such-command")
    tell("a command that is not there has a start and an end with the error", b.actions()[-2:] == ["exec.started", "exec.ended"]
         and b.entries()[-1]["output"]["error"]["code"] == "command_not_found", b.entries()[-1])
    b.manifest("network: {egress: 7}\n")
    b.run("true")
    b.manifest()
    last = b.entries()[-1]
    tell("a manifest that is refused is recorded with its error", last["action"] == "exec.refused" and last["output"]["error"]["code"] == "sandbox_schema_invalid"
         and last["input"]["argv"] == ["true"], last)
    a = b.carrel("run", "--audit", "--json", "--", "sh", "-c", "mkdir -p .vscode; echo {} >.vscode/settings.json")
    last = b.entries()[-1]
    tell("what is left behind in the workspace is in the record", len(last["output"]["found"]["left_behind"]) == 1, last)
    tell("`run --json` names the entry", json.loads(a.stdout)["audit_ref"] == "audit://%s/%d" % (last["metadata"]["carrel"]["chain"], last["seq"]), a.stdout)
    a = b.run("true", *[""] * 39990)
    said = b.entries()[-2]["input"]
    tell("39,991 words are a record with their count and hash", a.returncode == 0 and said["argc"] == 39991 and len(said["argv"]) < 17000
         and said["argv_sha256"] == sha("true\0" + "\0" * 39990), a.stderr)
    hostile = "a\nb\u2028{\"seq\":1}\x1b[2J"
    b.run("true", hostile)
    tell("a word with line ends, JSON and control bytes stays one entry (E06)", b.entries()[-2]["input"]["argv"][1] == hostile)
    shown = b.carrel("audit", "tail", "-n", "2", "--action", "exec.").stdout
    tell("and is printed without control bytes", "\x1b" not in shown and shown.count("\n") == 2, shown)


def is_written_first(b):
    """The entry is on the disk before the command runs: it cannot be read from inside, so the
    command waits, and the log is read meanwhile."""
    os.mkfifo(os.path.join(b.work, "go"))
    with subprocess.Popen(b.words("run", "--audit", "--", "sh", "-c", "echo ready; read x <go"), env=b.env, cwd=b.work, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True) as child:
        child.stdout.readline()
        tell("exec.started is in the log while the command runs", b.actions()[-1] == "exec.started", b.actions())
        child.kill()
        child.wait(PATIENCE)
    deadline = threading.Event()
    for _ in range(PATIENCE * 20):
        if b.actions()[-1] == "exec.ended":
            break
        deadline.wait(0.05)
    tell("a `carrel` that is killed leaves an end with the outcome lost (J07)", b.entries()[-1]["output"] == {"outcome": "lost"}, b.entries()[-1])
    os.unlink(os.path.join(b.work, "go"))


def is_ended_if_killed_while_it_begins(b):
    """`carrel` is killed while the recorder waits for the log, before its answer: the start is
    written later, and so must be the end."""
    log = os.open(b.log, os.O_RDONLY)
    fcntl.flock(log, fcntl.LOCK_EX)
    with subprocess.Popen(b.words("run", "--audit", "--", "true"), env=b.env, cwd=b.work, stdin=subprocess.DEVNULL) as child:
        recorder = None
        for _ in range(PATIENCE * 50):
            waiting = {int(w.split()[5]) for w in open("/proc/locks", encoding="ascii") if "-> FLOCK" in w}
            children = open("/proc/%d/task/%d/children" % (child.pid, child.pid), encoding="ascii").read().split()
            recorder = next((int(c) for c in children if int(c) in waiting), None)
            if recorder:
                break
            threading.Event().wait(0.02)
        end = os.pidfd_open(recorder)
        child.kill()
    os.close(log)
    select.select([end], [], [], PATIENCE)
    os.close(end)
    tell("a `carrel` that is killed before its start is written leaves both entries (J07)",
         b.actions()[-2:] == ["exec.started", "exec.ended"] and b.entries()[-1]["output"] == {"outcome": "lost"}, b.actions()[-3:])


def starts_nothing_without_a_record(b):
    mark = os.path.join(b.work, "mark")
    os.chmod(b.log, 0o755)
    a = b.run("touch", "mark")
    tell("a log that others can read: refused, nothing is started", a.returncode == 125 and "audit_unavailable" in a.stderr and not os.path.exists(mark), a)
    os.chmod(b.log, 0o700)
    key = os.path.join(b.log, next(n for n in os.listdir(b.log) if n.startswith("key-")))
    os.rename(key, key + ".away")
    os.rename(key + ".away", os.path.join(b.top, "away"))
    a = b.run("touch", "mark")
    tell("a missing key: refused, nothing is started", a.returncode == 125 and "audit_unavailable, key" in a.stderr and not os.path.exists(mark), a)
    os.rename(os.path.join(b.top, "away"), key)
    a = subprocess.run(["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fdatasync", "-e", "inject=fdatasync:error=EIO", *b.words("run", "--audit", "--", "touch", "mark")],
                       env=b.env, cwd=b.work, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False)
    tell("a disk that does not keep what is written: refused, nothing is started (J08)", a.returncode == 125 and "audit_unavailable" in a.stderr and not os.path.exists(mark), a)
    tell("and the log is as it was", b.verify()[1]["torn_bytes"] == 0 and b.verify()[0] == 0, b.verify())
    tell("once it does again, commands run", b.run("touch", "mark").returncode == 0 and os.path.exists(mark))
    os.unlink(mark)


def needs_a_state_directory(b):
    """Root has one without any variable."""
    if os.getuid() == 0:
        return
    mark = os.path.join(b.work, "mark")
    a = subprocess.run(b.words("run", "--audit", "--", "touch", "mark"), env={"PATH": os.environ["PATH"]}, cwd=b.work, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE,
                       check=False)
    tell("without HOME: one error, which names the variable to set", a.returncode == 125 and a.stderr.count("error:") == 1 and "export CARREL_STATE=" in a.stderr and not os.path.exists(mark), a)


def has_one_entry_for_each(b):
    """J06, J09: many at once, with every kind of end: one start and one end each."""
    before = len(b.entries())
    commands = [["true"], ["false"], ["sh", "-c", "kill -9 $$"], ["no-such-command"], ["sh", "-c", "yes | head -c 100000"]] * 3
    children = [subprocess.Popen(b.words("run", "--audit", "--", *c), env=b.env, cwd=b.work, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                for c in commands]
    for c in children:
        c.wait(PATIENCE)
    new = b.entries()[before:]
    starts = [e["subject"]["ref"] for e in new if e["action"] == "exec.started"]
    ends = [e["subject"]["ref"] for e in new if e["action"] == "exec.ended"]
    tell("15 commands at once: 15 starts and 15 ends, each once, in one chain", len(set(starts)) == 15 and sorted(starts) == sorted(ends) and len(new) == 30, new)


def finds_changes(b):
    kept = os.path.join(b.top, "kept.json")
    with open(kept, "w", encoding="utf-8") as f:
        f.write(b.carrel("audit", "checkpoint").stdout)
    tell("intact, and as long as the checkpoint says", b.verify("--checkpoint", kept)[0] == 0)
    log = os.path.join(b.log, "log-000000000000.jsonl")
    whole = open(log, "rb").read()
    lines = whole.splitlines(keepends=True)

    def changed(what, content, reason, *words):
        with open(log, "wb") as f:
            f.write(content)
        status, said = b.verify(*words)
        a = b.carrel("run", "--audit", "--", "true") if reason == "chain.truncated" and not words else None
        tell(what + ": " + reason, status == 126 and not said["intact"] and said["error"]["reason"] == reason, said)
        shown = b.carrel("audit", "verify", *words)
        tell("  and verify says what to do with the files", "move the directory %s to another place" % b.log in shown.stderr, shown)
        if a:
            tell("and such a log is not continued", a.returncode == 126 and "audit_broken" in a.stderr, a)
        with open(log, "wb") as f:
            f.write(whole)

    changed("a changed word", whole.replace(b'"exit_code":3', b'"exit_code":0', 1), "chain.tampered")
    changed("a removed entry", b"".join(lines[:3] + lines[4:]), "chain.seq_gap")
    changed("two swapped entries", b"".join(lines[:3] + [lines[4], lines[3]] + lines[5:]), "chain.seq_gap")
    changed("a doubled entry", b"".join(lines[:3] + lines[2:]), "chain.seq_gap")
    changed("the last entry cut off", b"".join(lines[:-1]), "chain.truncated")
    forged = rewritten(lines)
    changed("an entry replaced, with all hashes made anew, but without the key", forged, "chain.signature")
    mark = os.path.join(b.log, "checkpoint.json")
    away = os.path.join(b.top, "checkpoint.json")
    os.rename(mark, away)
    changed("cut off with its checkpoint, against the kept one", b"".join(lines[:-1]), "chain.truncated", "--checkpoint", kept)
    os.rename(away, mark)
    other = Bench(b.top, "other")
    other.run("true")
    status, said = other.verify("--checkpoint", kept)
    tell("another log in its place: checkpoint.other", status == 126 and said["error"]["reason"] == "checkpoint.other", said)
    tell("after all that, the log is intact", b.verify("--checkpoint", kept)[0] == 0)


def rewritten(lines):
    """The whole log with one status changed, and every hash right again."""
    out, previous = [], "GENESIS"
    for line in lines:
        e = json.loads(line)
        if e.get("output", {}).get("exit_code") == 3:
            e["output"]["exit_code"] = 0
        e["prevHash"] = previous
        del e["hash"]
        e["hash"] = previous = hashlib.sha256(audit_chain.canonical(e)).hexdigest()
        out.append(audit_chain.canonical(e) + b"\n")
    return b"".join(out)


def changes_its_key(b):
    before = b.entries()[-1]["metadata"]["carrel"]["key"]
    a = b.carrel("audit", "rotate")
    b.run("true")
    tell("after `rotate`, new entries have another key, and all verify (J05)",
         a.returncode == 0 and b.entries()[-1]["metadata"]["carrel"]["key"] != before and b.verify()[0] == 0, a)


def is_exported(b):
    secret = os.path.join(b.top, "secret")
    with open(secret, "w", encoding="utf-8") as f:
        f.write("test-secret\n")
    a = b.carrel("audit", "export", "--form", "agentgovernance", "--secret", secret)
    rows = [json.loads(line) for line in a.stdout.split("\n") if line]
    try:
        audit_chain.check_rows([dict(r) for r in rows], b"test-secret")
        why = None
    except ValueError as e:
        why = e
    tell("rows of AIP-7's reference code verify, one for each entry, with the entry as payload", not why and [r["payload"] for r in rows] == b.entries(has_facts=True), why, a.stderr)
    tell("as JSON lines: the log itself", b.carrel("audit", "export").stdout.encode() == b"".join(line + b"\n" for line in audit_chain.lines(b.log)))
    tell("--from begins later", json.loads(b.carrel("audit", "export", "--from", "3").stdout.split("\n")[0])["seq"] == 3)
    a = b.carrel("audit", "export", "--form", "agentskit")
    tell("without a secret: refused, with what to pass", a.returncode == 125 and "--secret FILE" in a.stderr, a)


def removes_secrets(b):
    token, mail = "ghp" + "_0123456789abcdefghijABCDEFGHIJ012345", "ann@example.org"
    words = ["sh", "-c", "true", "--password", "hunter2", token, "https://ann:s3cret@h/?to=" + mail, "4111 1111 1111 1111"]
    b.run(*words)
    log = b"\n".join(audit_chain.lines(b.log))
    tell("no secret and no personal data of the words is in the log", not [w for w in ("hunter2", token, "s3cret", mail, "4111 1111") if w.encode() in log])
    said = b.entries()[-2]["input"]
    tell("the entry says which rule removed how many", said["redacted"] == {"assignment": 1, "github-token": 1, "url-password": 1, "email": 1, "card-number": 1}, said)
    key = audit_chain.keys(b.log)[b.entries()[-2]["metadata"]["carrel"]["key"]]
    wanted = hmac.new(key, sha("\0".join(words) + "\0").encode(), hashlib.sha256).hexdigest()
    tell("and the digest of the words is one of the log's key", "argv_sha256" not in said and said["argv_hmac_sha256"] == wanted, said)
    b.run("no-such-" + token)
    tell("nor of an error's message", token.encode() not in b"".join(audit_chain.lines(b.log)) and b.verify()[0] == 0, b.entries()[-1])


def is_out_of_reach(b):
    a = subprocess.run(b.words("run", "--audit", "-w", b.top, "-f", os.path.join(b.work, "SANDBOX.md"), "--", "sh", "-c", "ls state/audit; cat state/audit/*/key-*"),
                       env=b.env, cwd=b.work, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False)
    tell("a workspace that contains the state directory shows it empty", a.returncode != 0 and not a.stdout and "cannot access 'state/audit'" in a.stderr, a)
    a = b.carrel("run", "--audit", "-w", b.log, "-f", os.path.join(b.work, "SANDBOX.md"), "--", "ls")
    tell("the log as workspace is refused, with what to do", a.returncode == 126 and "mount_denied, holds_state" in a.stderr and "-w DIR" in a.stderr
         and "CARREL_STATE=DIR" in a.stderr and not a.stdout, a)


def is_asked_for_by_the_host_file(b):
    """`audit: [run]`: each run is recorded, also a refused one, and no option of the caller changes
    that."""
    place = os.path.join(b.top, ".config", "carrel")
    os.makedirs(place)
    name, other, mark = os.path.join(place, "host.yaml"), os.path.join(b.top, "host.yaml"), os.path.join(b.work, "mark")
    for path, text in ((name, "audit: [run]\n"), (other, "providers: {local: {isolated: true}}\naudit: [run]\n")):
        with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as f:
            f.write(text)
    b.env.pop("XDG_CONFIG_HOME", None)
    before = len(b.entries())
    a = b.carrel("run", "--json", "--", "true")
    tell("audit: [run] in the user's host file: recorded without --audit", a.returncode == 0 and "audit_ref" in json.loads(a.stdout) and len(b.entries()) == before + 2, a)
    b.manifest("network: {egress: 7}\n")
    b.carrel("run", "--", "true")
    b.manifest()
    tell("a refused manifest too", b.actions()[-1] == "exec.refused", b.actions()[-3:])
    os.chmod(b.log, 0o755)
    a = b.carrel("run", "--", "touch", "mark")
    tell("no log, no command", a.returncode == 125 and "audit_unavailable" in a.stderr and not os.path.exists(mark), a)
    os.chmod(b.log, 0o700)
    os.unlink(name)
    before = len(b.entries())
    b.carrel("run", "--", "true")
    tell("without the field nothing is recorded", len(b.entries()) == before)
    b.carrel("run", "--host", other, "--", "true")
    tell("a file of --host can ask for it", len(b.entries()) == before + 2)
    with open(other, "w", encoding="utf-8") as f:
        f.write("# no audit\nproviders: {local: {isolated: true}}\n")
    a = b.carrel("run", "--host", other, "--", "true")
    tell("the word alone does not", a.returncode == 0 and len(b.entries()) == before + 2, a)
    if os.getuid() == 0:                               # a place of this test's own for /etc/carrel
        etc = os.path.join(b.top, "etc-carrel")
        os.mkdir(etc)
        with open(os.path.join(etc, "host.yaml"), "w", encoding="utf-8") as f:
            f.write("audit: [run]\n")
        script = "mount -t tmpfs none /mnt; cp -a /etc/. /mnt/; rm -rf /mnt/carrel; cp -r %s /mnt/carrel; mount --bind /mnt /etc; exec \"$@\"" % etc
        a = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", *b.words("run", "--host", other, "--", "true")], env=b.env, cwd=b.work, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                           timeout=PATIENCE, check=False)
        tell("--host does not turn off what the machine's file asks for", a.returncode == 0 and len(b.entries()) == before + 4, a)
    with open(other, "w", encoding="utf-8") as f:
        f.write("providers: {local: {isolated: true}}\naudit: [all]\n")
    a = b.carrel("run", "--host", other, "--", "touch", "mark")
    tell("another word is an error", a.returncode == 126 and not os.path.exists(mark) and "audit" in a.stderr, a)


def shows_entries(b):
    a = b.carrel("run", "--audit", "--json", "--", "sh", "-c", "ls /usr >/dev/null; exit 3")
    last = b.entries()[-1]
    lines = b.carrel("audit", "tail", "-n", "3").stdout.split("\n")[:-1]
    tell("tail has a line for each entry, with status and command, and executions below it",
         lines[0].endswith("  exec.started  sh -c 'ls /usr >/dev/null; exit 3'") and lines[-1].endswith("%d  exec.ended  exited 3  sh -c 'ls /usr >/dev/null; exit 3'" % last["seq"])
         and "                              ls /usr" in lines, lines)
    only = b.carrel("audit", "tail", "--action", "exec.ended", "-n", "2").stdout.split("\n")[:-1]
    tell("--action prints the last entries of this action", len(only) == 2 and all("  exec.ended  " in line for line in only), only)
    only = b.carrel("audit", "tail", "--action", "exec.", "-n", "4", "--json").stdout.split("\n")[:-1]
    tell("an action that ends with a dot: those that begin with it, and --json the entries as they are",
         [json.loads(line) for line in only] == [e for e in b.entries() if e["action"].startswith("exec.")][-4:], only)
    ref = json.loads(a.stdout)["audit_ref"]
    shown, by_number = b.carrel("audit", "show", ref), b.carrel("audit", "show", str(last["seq"]))
    tell("show prints an entry whole, by audit_ref or number", shown.stdout == by_number.stdout and ref in shown.stdout and last["hash"] in shown.stdout
         and "  exit_code       3\n" in shown.stdout, shown)
    tell("show --json: the entry as it is", json.loads(b.carrel("audit", "show", ref, "--json").stdout) == last)
    for words in (["show", "99999"], ["show", "audit://%s/1" % ("0" * 32)], ["show", "x"], ["show"], ["show", "1", "2"], ["tail", "1"]):
        a = b.carrel("audit", *words)
        tell("`audit %s` is refused" % " ".join(words), a.returncode == 125 and "invalid_argument" in a.stderr and not a.stdout, a)


def follows_the_log(b):
    with subprocess.Popen(b.words("audit", "tail", "-f", "-n", "1", "--action", "exec."), env=b.env, cwd=b.work, stdout=subprocess.PIPE, text=True) as child:
        first = child.stdout.readline()
        b.run("echo", "followed")
        started, ended = child.stdout.readline(), child.stdout.readline()
        child.send_signal(signal.SIGINT)
        child.wait(PATIENCE)
    tell("tail -f prints new entries as they are written, and ends with SIGINT", "  exec.ended  " in first and started.endswith("  exec.started  echo followed\n")
         and ended.endswith("  exec.ended  exited 0  echo followed\n") and child.returncode == -signal.SIGINT, first, started, ended, child.returncode)


def keeps_as_the_host_file_says(b):
    old = Bench(b.top, "retention")
    host = os.path.join(old.top, ".config", "carrel", "host.yaml")
    os.makedirs(os.path.dirname(host))
    first = os.path.join(old.log, "log-%012d.jsonl" % 0)
    old.run("true")
    out, _ = audit_chain.age(old.log)
    old.run("true")
    tell("without audit_retention everything is kept", os.path.exists(first) and old.verify()[0] == 0)
    for word in ("30", "0d", "30m", "123456d", "d"):
        with open(host, "w", encoding="utf-8") as f:
            f.write('audit_retention: "%s"\n' % word)
        a = old.run("true")
        tell('audit_retention: "%s" is refused' % word, a.returncode == 126 and "audit_retention" in a.stderr, a)
    with open(host, "w", encoding="utf-8") as f:
        f.write("audit_retention: 30d\n")
    a = old.carrel("audit", "prune", "--older-than", "29d")
    tell("prune with less than audit_retention is refused", a.returncode == 126 and "30 days" in a.stderr and "--older-than 30d" in a.stderr and os.path.exists(first), a)
    tell("verify says the retention", old.verify()[1].get("retention_days") == 30 and "kept for 30 days" in old.carrel("audit", "verify").stdout)
    old.run("true")
    tell("a run that begins no file removes nothing", os.path.exists(first))
    shutil.rmtree(old.log)
    old.run("true")
    out, _ = audit_chain.age(old.log)
    old.run("true")
    status, said = old.verify()
    tell("a run that begins a file applies the retention, and the rest verifies",
         status == 0 and said["first"] == len(out) and not os.path.exists(first) and old.actions()[-1] == "log.pruned", said, old.actions())
    shutil.rmtree(old.log)
    old.run("true")
    out, _ = audit_chain.age(old.log)
    with open(first, "rb") as f:
        lines = f.read().splitlines(keepends=True)
    with open(first, "wb") as f:
        f.write(lines[0] + lines[1].replace(b"2020-01-0", b"2020-02-0") + b"".join(lines[2:]))
    a = old.run("true")
    last = json.loads(list(audit_chain.lines(old.log))[-1])
    tell("a log that does not verify stays whole, says so, and goes on", a.returncode == 0 and os.path.exists(first)
         and last["action"] == "retention.refused" and last["output"]["error"]["reason"] == "chain.tampered", a, last)


def does_not_follow_a_gap(b):
    """L1: a line near the end is missing, and the end itself is intact."""
    cut = Bench(b.top, "gap")
    for _ in range(3):
        cut.run("true")
    path = os.path.join(cut.log, "log-%012d.jsonl" % 0)
    with open(path, "rb") as f:
        lines = f.read().splitlines(keepends=True)
    with open(path, "wb") as f:
        f.write(b"".join(lines[:2] + lines[3:]))
    a = cut.run("touch", "mark")
    tell("nothing is started after a line was removed in the middle", a.returncode == 126 and "entries were removed" in a.stderr and not os.path.exists(os.path.join(cut.work, "mark")), a)


def removes_old_files(b):
    """The same entries with other times and files: made with the log's key, as 40 days ago."""
    a = b.carrel("audit", "prune", "--older-than", "30d")
    tell("prune removes nothing that is newer", a.returncode == 0 and "nothing was removed" in a.stdout and b.verify()[0] == 0, a)
    old = Bench(b.top, "old")
    for _ in range(2):
        old.run("true")
    out, previous = audit_chain.age(old.log)
    old.run("true")
    files = sorted(n for n in os.listdir(old.log) if n.startswith("log-"))
    tell("another day has a file of its own", files[0] == "log-%012d.jsonl" % 0 and files[1] == "log-%012d.jsonl" % len(out), files)
    a = old.carrel("audit", "prune", "--older-than", "30d")
    status, said = old.verify()
    tell("prune removes files whose entries are all older; the rest verifies, from its first entry on",
         a.returncode == 0 and status == 0 and said["first"] == len(out) and not os.path.exists(os.path.join(old.log, files[0])), a, said)
    tell("log.pruned says what was removed", old.entries()[-1]["action"] == "log.pruned" and old.entries()[-1]["input"]["removed"]
         == {"files": 1, "first": 0, "last": len(out) - 1, "last_hash": previous}, old.entries()[-1])
    path = os.path.join(old.log, files[1])
    whole = open(path, "rb").read()
    lines = whole.splitlines(keepends=True)
    for what, content, reason in (("entries removed at the beginning", lines[1:], "chain.seq_gap"),
                                  ("log.pruned with another beginning, with all hashes made anew, but without the key",
                                   moved(lines[1:]), "chain.signature")):
        with open(path, "wb") as f:
            f.write(b"".join(content))
        os.rename(os.path.join(old.log, "checkpoint.json"), os.path.join(old.top, "checkpoint.json"))
        status, said = old.verify()
        try:
            independent = old.entries() and False
        except ValueError:
            independent = True
        tell("%s: %s" % (what, reason), status == 126 and said["error"]["reason"] == reason and independent, said)
        os.rename(os.path.join(old.top, "checkpoint.json"), os.path.join(old.log, "checkpoint.json"))
    with open(path, "wb") as f:
        f.write(whole)
    tell("intact again", old.verify()[0] == 0)


def moved(lines):
    """The entry log.pruned permits that the log begins here; hashes are right, signatures not."""
    out, previous = [], None
    for line in lines:
        e = json.loads(line)
        if previous:
            e["prevHash"] = previous
        if e["action"] == "log.pruned":
            e["input"]["first"], e["input"]["prevHash"] = json.loads(lines[0])["seq"], json.loads(lines[0])["prevHash"]
        del e["hash"]
        e["hash"] = previous = hashlib.sha256(audit_chain.canonical(e)).hexdigest()
        out.append(audit_chain.canonical(e) + b"\n")
    return out


def shows_its_help(b):
    a = b.carrel("audit", "verify", "--help")
    tell("--help works after an action too", a.returncode == 0 and a.stdout == b.carrel("audit", "--help").stdout, a)
    a = b.carrel("gate", "--policy", "/dev/null", "--", "verify", "--help")
    tell("but not in the place of a command's own", "Usage: carrel gate" not in a.stdout, a)


def main():
    top = os.path.realpath(tempfile.mkdtemp(prefix="carrel-audit-"))
    try:
        b = Bench(top, "bench")
        for part in (records_a_command, records_refusals, is_written_first, is_ended_if_killed_while_it_begins, has_one_entry_for_each, starts_nothing_without_a_record,
                     needs_a_state_directory, finds_changes, changes_its_key, is_exported, removes_secrets, is_out_of_reach, shows_entries, follows_the_log, removes_old_files, keeps_as_the_host_file_says, does_not_follow_a_gap, is_asked_for_by_the_host_file, shows_its_help):
            part(b)
    finally:
        shutil.rmtree(top, ignore_errors=True)
    print("1..%d" % NUMBER[0])


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    main()
