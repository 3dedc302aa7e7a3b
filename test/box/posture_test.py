#!/usr/bin/env python3
"""What posture.py finds open in a sandbox is what posture.accepted names, and nothing else.

First the system call filter by itself, as the user who runs the test (for root nothing else is in its way), and the
same without it, so that the probes are seen to find something. Then a whole sandbox, with the host listening outside.
"""
import os
import shutil
import socket
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import posture  # noqa: E402

BUILD = os.path.join(os.path.dirname(os.path.dirname(HERE)), "build")
RUN = os.environ.get("FILTER_RUN") or os.path.join(BUILD, "test", "filter-run")
CARREL = os.environ.get("CARREL") or os.path.join(BUILD, "carrel")
PROBE, ACCEPTED = os.path.join(HERE, "posture.py"), posture.accepted_read(os.path.join(HERE, "posture.accepted"))
NOT_THE_FILTERS = {"sys.uevent_helper_w", "sys.cg_release_agent_w", "sys.cg_procs_w"}
SECRET = "not-to-be-seen-inside"

results = []


def report(name, wrong, skip=""):
    results.append(not wrong)
    print(f"{'not ok' if wrong else 'ok'} {len(results)} - {name}{' # SKIP ' + skip if skip else ''}", flush=True)
    for line in wrong:
        print("#", line)


def opened(lines):
    return {line.split("\t")[0] for line in lines if line.split("\t")[1:2] == ["OPEN"]}


def is_of_filter(name):
    return name.startswith(("sock.", "sys.", "tty.", "cap.", "st.nnp", "st.seccomp")) and name not in NOT_THE_FILTERS


def run(command, **more):
    with tempfile.TemporaryDirectory() as directory:
        done = subprocess.run(command, cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=120,
                              text=True, check=False, **more)
    return done.stdout.splitlines()


def test_filter_alone():
    with_it = run([RUN, sys.executable, PROBE])
    left = sorted(n for n in opened(with_it) if is_of_filter(n) and n not in ACCEPTED)
    report("the filter alone leaves open what is accepted", [f"{n} is OPEN" for n in left] + ([] if with_it else ["no answer"]))
    without = opened(run([sys.executable, PROBE]))
    found = [n for n in without if is_of_filter(n) and n not in ACCEPTED]
    report("without the filter the same probes find more", [] if len(found) >= 5 else [f"only {sorted(found)}"])


def test_judge():
    good = [f"{name}\tclosed\t" for name, _, _ in posture.probes()]
    report("a closed posture is accepted", posture.judge(good, ACCEPTED))
    cases = {
        "an open surface is not": ([*good[:-1], good[-1].replace("closed", "OPEN")], ACCEPTED),
        "a missing answer is not": (good[1:], ACCEPTED),
        "an accepted id that does not exist is not": (good, {**ACCEPTED, "sys.nothing": "a reason"}),
        "silence is not": ([], ACCEPTED),
    }
    for name, (lines, accepted) in cases.items():
        report(name, [] if posture.judge(lines, accepted) else ["it was accepted"])


def test_sandbox():
    """As the host, listen where the sandbox must not reach, leave a secret and a descriptor lying about."""
    if not os.access(CARREL, os.X_OK):
        report("a sandbox leaves open what is accepted", [], skip=f"{CARREL} is not built")
        return
    with tempfile.TemporaryDirectory() as outside, tempfile.TemporaryDirectory() as work, \
            socket.socket(socket.AF_UNIX) as named, socket.socket(socket.AF_UNIX) as abstract, socket.socket() as port:
        name, path = f"posture-{os.getpid()}", os.path.join(outside, "s")
        named.bind(path)
        abstract.bind("\0" + name)
        port.bind(("127.0.0.1", 0))
        for s in (named, abstract, port):
            s.listen()
        shutil.copy(PROBE, work)
        os.chmod(work, 0o777)
        places = [f"PROBE_SOCKET={path}", f"PROBE_ABSTRACT={name}", f"PROBE_PORT={port.getsockname()[1]}"]
        descriptor = os.open(__file__, os.O_RDONLY)
        lines = run([CARREL, "run", "-w", work, *[a for p in places for a in ("-e", p)], "--", "python3", "posture.py"],
                    env={**os.environ, "PROBE_SECRET": SECRET}, pass_fds=[descriptor])
        os.close(descriptor)
    report("a sandbox leaves open what is accepted", posture.judge(lines, ACCEPTED))


if __name__ == "__main__":
    test_filter_alone()
    test_judge()
    test_sandbox()
    print(f"1..{len(results)}")
