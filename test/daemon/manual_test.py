#!/usr/bin/env python3
"""What the manual shows is true: scdoc accepts the pages, every manifest in them passes, every
example works.
"""
import html
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from daemon_rig import Daemon

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
CARREL = os.environ.get("CARREL", os.path.join(TOP, "build/carrel"))
PAGES = ("docs/man/carrel.1.scd", "docs/man/SANDBOX.md.5.scd")
WITH_MANIFESTS = ("docs/man/SANDBOX.md.5.scd", "README.md")
MANIFEST = re.compile(r"^```\w*\n(---\n.*?^---\n)(?:.*?)^```$", re.MULTILINE | re.DOTALL)
count = 0


def tell(is_good, what, why=""):
    global count
    count += 1
    print(f"{'ok' if is_good else 'not ok'} {count} - {what}")
    for line in () if is_good else str(why).splitlines():
        print("#", line)


def run(*words, **kwargs):
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=kwargs.pop("stdin", subprocess.DEVNULL),
                          cwd=TOP, text=True, errors="replace", timeout=60, check=False, **kwargs)


def read(path):
    with open(os.path.join(TOP, path), encoding="utf-8") as f:
        return f.read()


def pages_are_accepted():
    for page in PAGES:
        if not shutil.which("scdoc"):
            tell(True, f"{page} # SKIP scdoc is not installed here")
            continue
        with open(os.path.join(TOP, page), encoding="utf-8") as f:
            done = run("scdoc", stdin=f)
        tell(done.returncode == 0 and ".SH NAME" in done.stdout, f"scdoc accepts {page}", done.stdout[-500:])


def manifests_pass():
    for page in WITH_MANIFESTS:
        found = MANIFEST.findall(read(page))
        tell(found, f"{page} shows a manifest")
        for i, text in enumerate(found, 1):
            with tempfile.NamedTemporaryFile("w", suffix="-SANDBOX.md", encoding="utf-8") as f:
                f.write(text)
                f.flush()
                done = run(CARREL, "check", f.name, "--stage", "validate")
            tell(done.returncode == 0, f"manifest {i} of {page} is valid", text + done.stdout)


def examples_work():
    commands = re.findall(r"^## (\S+)$", run(CARREL, "docs", "commands").stdout, re.MULTILINE)
    examples = re.findall(r"^Example: `carrel (.*)`$", run(CARREL, "docs", "commands").stdout, re.MULTILINE)
    tell(len(commands) == len(examples) > 5, "every command has an example", f"{commands} {examples}")
    asking = [c for c, words in zip(commands, examples) if "[--state DIR]" in run(CARREL, "help", c).stdout and c != "audit"]
    with tempfile.TemporaryDirectory() as state:
        env = {**os.environ, "CARREL_STATE": state}
        run(CARREL, "run", "--audit", "-w", os.path.join(TOP, "examples/data-report/workspace"), "--", "true", env=env)    # for the example of `audit`
        for name, words in zip(commands, examples):
            if name not in asking:
                done = run("sh", "-c", f'"$0" {words.replace("> sandbox.schema.json", ">/dev/null")}', CARREL, env=env)
                tell(done.returncode == 0, f"carrel {words}", done.stdout[-800:])
    examples_work_with_a_daemon([words for c, words in zip(commands, examples) if c in asking and c != "serve"])


def examples_work_with_a_daemon(examples):
    """One after another, as in the manual: what the first creates, the later ones use."""
    try:
        daemon = Daemon().start()
    except AssertionError as e:
        tell(False, "a daemon starts for the examples", e)
        return
    try:
        for words in examples:
            done = run("sh", "-c", f'"$0" {words}', CARREL, env={**os.environ, "CARREL_STATE": daemon.state})
            lacks = done.returncode == 126 and "capability_unavailable" in done.stdout
            lacks_id = "APPROVAL-ID" in words and "approval_not_found" in done.stdout      # nothing waits here
            tell(done.returncode == 0 or lacks or lacks_id, f"carrel {words}" + (" # SKIP this host cannot freeze a sandbox" if lacks else ""), done.stdout[-800:])
    finally:
        daemon.end()
        shutil.rmtree(daemon.folder, ignore_errors=True)


def every_command_is_helped():
    for name in re.findall(r"^## (\S+)$", run(CARREL, "docs", "commands").stdout, re.MULTILINE):
        done = run(CARREL, "help", name)
        used = re.search(r"^Usage: carrel ((?:.*\n)+?)\n", done.stdout, re.MULTILINE)
        tell(used and used.group(1).startswith(name), f"carrel help {name} shows its usage", done.stdout)
        for option in re.findall(r"^  (-[-\w]+)", done.stdout, re.MULTILINE):
            tell(used and f"[{option}" in used.group(1), f"the usage of {name} names {option}", done.stdout)


def in_workspace(manifest, *words):
    """What `carrel WORDS` prints on standard error in a new workspace with this manifest."""
    with tempfile.TemporaryDirectory() as top:
        os.chmod(top, 0o755)
        with open(os.path.join(top, "SANDBOX.md"), "w", encoding="utf-8") as f:
            f.write(manifest)
        done = subprocess.run([CARREL, *words], cwd=top, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    return done.returncode, done.stderr


def messages_are_kind():
    with tempfile.TemporaryDirectory() as top:
        shown = run(CARREL, "run", "-w", top, "true").stdout
    proposed = re.search(r"^---\n.*?^---\n", shown, re.MULTILINE | re.DOTALL)
    tell(proposed, "where no sandbox is declared, a whole manifest is proposed", shown)
    proposed = proposed.group(0) if proposed else ""
    status, said = in_workspace(proposed, "run", "true")
    tell(status == 0 and said == "", "the proposed manifest works, and a good run says nothing", f"{status} {said}")
    status, said = in_workspace(proposed.replace("config: {}", "config: {}\nlimit: 1\nread_only: no-thanks"), "run", "true")
    tell(status == 126 and "Did you mean `limits`?" in said and "And 1 more: `carrel check " in said,
         "of two errors the first is shown, and what shows the other", said)
    status, said = in_workspace(proposed, "run", "no-such-command")
    tell(status == 127 and said.startswith("carrel: error: no-such-command:"), "a missing command is not blamed on the manifest", said)
    status, said = in_workspace(proposed, "run", "--timeout", "9q", "true")
    tell(status == 125 and "1500ms, 30s" in said and "--timeout" in said and "`carrel run --help`" in said, "a wrong duration leads to the right ones", said)
    status, said = in_workspace(proposed, "run", "./no-such-script")
    tell(status == 127 and "looked up inside the sandbox" in said, "a path that is not there: where it is looked up", said)
    status, said = in_workspace(proposed, "run", "-x", "true")
    tell(status == 125 and "`carrel run --help`" in said, "an unknown option leads to the help of its command", said)


def words_of(text):
    """The text without what differs between machines: numbers, and the place of a user's keys."""
    return re.sub(r": /\S+.*", "", re.sub(r"\d+", "N", text))


def picture_is_real():
    shown = html.unescape(re.sub(r"<[^>]*>", "", re.sub(r"</text>", "\n", read("docs/terminal.svg"))))
    with tempfile.TemporaryDirectory() as top:
        workspace = shutil.copytree(os.path.join(TOP, "examples/data-report/workspace"), os.path.join(top, "workspace"))
        for path in (top, workspace):
            os.chmod(path, 0o755)
        printed = subprocess.run([CARREL, "run", "-w", workspace, "--", "python3", "agent.py"], stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, text=True, timeout=60, check=False).stdout
    lines = words_of(printed).splitlines()
    tell(len(lines) == 6, "the agent of the example prints its report and five refusals", printed)
    for line in lines:
        tell(line in words_of(shown), f"the picture shows: {line}", shown)


def links_lead_somewhere():
    for page in ("README.md", "SECURITY.md", "CONTRIBUTING.md", "docs/ARCHITECTURE.md"):
        for target in re.findall(r"\]\(([^)#:]+)\)", read(page)):
            path = os.path.normpath(os.path.join(os.path.dirname(page), target))
            tell(os.path.exists(os.path.join(TOP, path)), f"{page} leads to {target}")


def main():
    picture_is_real()
    links_lead_somewhere()
    messages_are_kind()
    pages_are_accepted()
    manifests_pass()
    examples_work()
    every_command_is_helped()
    print(f"1..{count}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
