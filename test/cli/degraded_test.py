#!/usr/bin/env python3
"""With one kernel mechanism taken away, the verdicts inside are the same, or the start is a typed
refusal; never a weaker sandbox. TAP.
"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import ALWAYS, CARREL, SHIM, Workspace, end, need_programs, report
import subprocess

MISSING = ("landlock", "openat2", "clone3", "userns", "cgroup", "mount_api", "seccomp", "pidfd", "close_range", "mountns", "pidns", "netns", "mount", "no_new_privs")
WHOLE = ("openat2", "clone3", "cgroup", "pidfd", "close_range")     # there are other ways: these must still run
TYPED = ("capability_unavailable", "sandbox_backend_failed", "sandbox_provider_untrusted")
POSTURE = r"""
import ctypes, json, os, socket, sys
l = ctypes.CDLL(None, use_errno=True)
def refused(call):
    try: return call() is False
    except OSError: return True
status = dict(line.split(":\t", 1) for line in open("/proc/self/status") if ":\t" in line)
print(json.dumps({
    "uid": os.getuid() != 0,
    "caps": int(status["CapEff"], 16) == 0 and int(status["CapBnd"], 16) == 0,
    "no_new_privs": status["NoNewPrivs"].strip() == "1",
    "filter": status["Seccomp"].strip() == "2" and l.syscall(425, 1, None) == -1 and ctypes.get_errno() in (1, 38),
    "vsock": refused(lambda: socket.socket(40, 1) and None), "userns": l.unshare(0x10000000) == -1, "mount": l.mount(b"none", b"/tmp", b"tmpfs", 0, None) == -1,
    "canary": not os.path.exists(sys.argv[1]), "home": not os.path.exists("/root/.bashrc"), "pids": len([p for p in os.listdir("/proc") if p.isdigit()]) <= 3,
    "net": os.listdir("/sys/class/net") == ["lo"] if os.path.isdir("/sys/class/net") else len(open("/proc/net/dev").readlines()) == 3,
    "fds": sorted(os.listdir("/proc/self/fd"))[:3] == ["0", "1", "2"] and len(os.listdir("/proc/self/fd")) == 4,
    "usr": refused(lambda: open("/usr/x", "w") and None), "manifest": refused(lambda: open("/workspace/SANDBOX.md", "a") and None),
    "bashrc": refused(lambda: open("/workspace/SANDBOX.md", "a") and None)}))
"""


def run(ws, prefix, canary):
    done = subprocess.run([*prefix, *ws.argv(["python3", "-c", POSTURE, canary], "--json")], stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=ALWAYS, check=False, pass_fds=[7])
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        return None, "status %d, no JSON: %s %s" % (done.returncode, done.stdout[:300], done.stderr[:300])
    if "stdout" in answer:
        try:
            return json.loads(answer["stdout"]), answer
        except ValueError:
            return None, "the posture was not told: %s" % answer
    return answer["error"]["code"], answer


def main():
    need_programs()
    with Workspace(limits="memory_mb: 128, timeout_ms: 20000", carrel="limits: {pids: 60}") as ws:
        canary = os.path.join(ws.folder, "canary")
        with open(canary, "w", encoding="ascii") as out:
            out.write("x")
        os.dup2(os.open(canary, os.O_RDONLY), 7)    # what a caller may have left open
        whole, answer = run(ws, [], canary)
        report("with everything there, every verdict is closed", [] if isinstance(whole, dict) and all(whole.values()) else [str(whole), str(answer)])
        bare = subprocess.run([sys.executable, "-c", POSTURE, canary], capture_output=True, pass_fds=[7], check=False, cwd=ws.path)
        open_ones = [k for k, v in json.loads(bare.stdout).items() if not v] if bare.stdout else []
        report("(control) outside a sandbox the same checks find what is open", [] if len(open_ones) >= 6 else [str(open_ones), str(bare.stderr)])
        if not os.access(SHIM, os.X_OK):
            report("the degraded matrix", skip=SHIM + " is not built")
            end()
        for name in MISSING:
            for sys_name in ("ENOSYS", "EPERM"):
                got, answer = run(ws, [SHIM, "%s=%s" % (name, sys_name), "--"], canary)
                wrong = []
                if isinstance(got, dict):
                    wrong = ["%s is open" % k for k, v in got.items() if not v]
                elif got not in TYPED or name in WHOLE:
                    wrong = ["%s: %s" % (got, answer)]
                report("without %s (%s): %s" % (name, sys_name, "the same" if isinstance(got, dict) else "refused, " + str(got)), wrong)
    end()


if __name__ == "__main__":
    main()
