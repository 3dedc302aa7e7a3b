#!/usr/bin/env python3
"""What posture.py finds open in a sandbox is exactly what posture.accepted names.

First with the system call filter alone, as the user that runs the test (for root nothing else
refuses), and without it, so that the probes are seen to find something. Then in a whole sandbox,
while the host listens outside, and the same probes without a sandbox.
"""
import os
import shutil
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
import posture

RIG = os.path.dirname(os.path.abspath(posture.__file__))
BUILD = os.path.join(os.path.dirname(os.path.dirname(RIG)), "build")
RUN = os.environ.get("FILTER_RUN") or os.path.join(BUILD, "test", "filter-run")
CARREL = os.environ.get("CARREL") or os.path.join(BUILD, "carrel")
PROBE, ACCEPTED = os.path.join(RIG, "posture.py"), posture.accepted_read(os.path.join(RIG, "posture.accepted"))
NOT_THE_FILTERS = {"sys.uevent_helper_w", "sys.cg_release_agent_w", "sys.cg_procs_w"}
SECRET = "not-to-be-seen-inside"
ORDINARY = 65534
MANIFEST = "---\nschema: sandbox/v1\nid: '@test/posture'\nversion: 1.0.0\nprovider: local\nconfig: {}\n" \
           "mounts: [{source: workspace, at: /workspace}]\n---\n"
# What stands for the host must be found by the probes outside; otherwise they prove nothing inside.
HOST_OPEN = {"unix.abstract_host", "unix.path_host_robind", "net.host_loopback", "made.sys_more", "etc.secretive"}

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


def people():
    """This user; as root, also an ordinary user that owns nothing."""
    yield ("root" if os.getuid() == 0 else "an ordinary user"), os.getuid(), []
    if os.getuid() == 0:
        yield "an ordinary user", ORDINARY, ["setpriv", f"--reuid={ORDINARY}", f"--regid={ORDINARY}", "--clear-groups"]


def posture_of(uid, command, outside):
    """As the host: listen where the sandbox must not reach, leave a secret and an open descriptor.
    """
    with tempfile.TemporaryDirectory(dir=outside) as work, socket.socket(socket.AF_UNIX) as named, \
            socket.socket(socket.AF_UNIX) as abstract, socket.socket() as port:
        name, path = f"posture-{os.getpid()}", os.path.join(work, "s")
        named.bind(path)
        abstract.bind("\0" + name)
        port.bind(("127.0.0.1", 0))
        for s in (named, abstract, port):
            s.listen()
        os.chmod(path, 0o777)
        shutil.copy(PROBE, work)
        with open(os.path.join(work, "SANDBOX.md"), "w", encoding="utf-8") as f:
            f.write(MANIFEST)
        for place in (work, *(os.path.join(work, n) for n in os.listdir(work))):
            os.chown(place, uid, -1)
        places = {"PROBE_SOCKET": path, "PROBE_ABSTRACT": name, "PROBE_PORT": str(port.getsockname()[1])}
        descriptor = os.open(__file__, os.O_RDONLY)
        done = subprocess.run([*command(work, places), "python3", "posture.py"], cwd=work, stdin=subprocess.DEVNULL, text=True, timeout=120,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, pass_fds=[descriptor],
                              env={**os.environ, "PROBE_SECRET": SECRET, **places})
        os.close(descriptor)
    return done.stdout.splitlines(), done.stderr.splitlines()[:6] if not done.stdout else []


def test_sandbox():
    if not os.access(CARREL, os.X_OK):
        report("a sandbox leaves open what is accepted", [f"{CARREL} is missing: ./dev build"])
        return
    with tempfile.TemporaryDirectory() as outside:
        os.chmod(outside, 0o755)
        program = shutil.copy(CARREL, outside)
        for who, uid, prefix in people():
            def sandbox(work, places):
                return [*prefix, program, "run", "-w", work, *[a for k, v in places.items() for a in ("-e", f"{k}={v}")], "--"]

            lines, why = posture_of(uid, sandbox, outside)
            report(f"a sandbox of {who} leaves open what is accepted", posture.judge(lines, ACCEPTED) + why)
            lines, why = posture_of(uid, lambda work, places: prefix, outside)
            found = opened(lines) - ACCEPTED.keys()
            report(f"outside, the same probes of {who} find more", [] if HOST_OPEN <= found else [str(sorted(HOST_OPEN - found)), *why])


if __name__ == "__main__":
    test_filter_alone()
    test_judge()
    test_sandbox()
    print(f"1..{len(results)}")
