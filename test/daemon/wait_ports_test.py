#!/usr/bin/env python3
"""Waiting for a declared port, over each interface: REST, `carrel exec`, libcarrel. In the
foreground and in the background, with a time limit, with a command that ends first, across a
restart of the daemon. The server inside starts to listen when the test tells it to, so nothing
depends on timing.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import PATIENCE, CARREL, TREE, check, end, need_programs, report, until
from daemon_rig import Daemon

# Prints a line, and listens on the port when /tmp/go exists.
SERVER = ("import os, socket, time\nprint('begun', flush=True)\n"
          "while not os.path.exists('/tmp/go'): time.sleep(0.01)\n"
          "s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(('127.0.0.1', 8000)); s.listen()\n"
          "print('listening', flush=True)\ntime.sleep(1000)")
ARGV = ["python3", "-c", SERVER]


class Waiting:
    """A sandbox with a declared port, and the daemon's commands."""

    def __init__(self, d):
        self.d, self.id = d, d.create(ports=[8000])
        self.path = "/v1/sandboxes/%s/execs" % self.id

    def carrel(self, *words):
        return subprocess.Popen([CARREL, *words], env={**os.environ, "CARREL_STATE": self.d.state}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)

    def go(self):
        self.d.exec(self.id, "touch /tmp/go")

    def running(self):
        """The number of the server's exec, once it runs."""
        found = lambda: [x["exec"] for x in self.d.must("GET", self.path)["items"] if x["state"] == "running" and x["command"].startswith("python3")]
        until("the server runs", found)
        return found()[0]

    def begun(self, exec):
        """Until the server has printed its first line."""
        for name, _ in self.d.stream("GET", self.path + "/%d/output" % exec):
            if name == "stdout":
                return

    def over(self, exec):
        """The command continues; ends it, and what it waited for."""
        state = self.d.must("GET", self.path + "/%d" % exec)
        self.d.must("DELETE", self.path + "/%d" % exec)
        self.d.exec(self.id, "rm -f /tmp/go")
        return "running" if state["state"] in ("starting", "running") else state["state"]


def rest(w):
    d = w.d
    got = d.must("POST", w.path, {"argv": ARGV, "wait_ports": True, "wait_ports_ms": 1})
    check("REST: past its time limit the wait ends without a port, and the command goes on", got["state"] in ("starting", "running") and "port" not in got, got)
    w.begun(got["exec"])
    w.go()
    later = d.must("GET", w.path + "/%d?wait_ports=true" % got["exec"])
    check("  and can be waited for again, by its number", (later["state"], later.get("port")) == ("running", 8000), later)
    check("  its port is known from then on", d.must("GET", w.path + "/%d" % got["exec"]).get("port") == 8000)
    check("  and it runs", w.over(got["exec"]) == "running")
    told = []
    for name, data in d.stream("POST", w.path, {"argv": ARGV, "wait_ports": True, "background": True}):
        told.append(name)
        if name == "stdout" and told.count("stdout") == 1:
            w.go()
        if name == "port":
            exec = data["exec"]
            check("REST: over events the port is one of them", data["port"] == 8000, data)
            break
    check("  after what came before", told[0] == "started" and "port" in told, told)
    w.over(exec)
    got = d.must("POST", w.path, {"command": "exit 3", "wait_ports": True})
    check("REST: a command that ends first is its end", (got["state"], got["exit_code"], "port" in got) == ("ended", 3, False), got)
    bare = d.create()
    got = d.call("POST", "/v1/sandboxes/%s/execs" % bare, {"command": "true", "wait_ports": True})
    check("where no port is declared the wait is refused", (got.status, got.code) == (400, "invalid_argument") and got.json["error"]["path"] == "wait_ports", got)
    d.must("DELETE", "/v1/sandboxes/" + bare)


def restart(w):
    p = w.carrel("exec", "--json", "-d", "--wait-ports", w.id, "--", *ARGV)
    number = w.running()
    w.begun(number)
    w.d.restart_parts(lambda: os.kill(w.d.children()["carrel-keeper"], signal.SIGKILL))
    w.go()
    out, err = p.communicate(timeout=PATIENCE)
    check("carrel: a wait goes on when the daemon's parts are started again", p.returncode == 0 and json.loads(out)["port"] == 8000, p.returncode, out, err)
    w.over(number)


def command(w):
    p = w.carrel("exec", "-d", "--wait-ports", w.id, "--", *ARGV)
    number = w.running()
    w.begun(number)
    check("carrel exec -d --wait-ports does not return before", p.poll() is None)
    w.go()
    out, err = p.communicate(timeout=PATIENCE)
    check("  it returns when the port listens, with the number", p.returncode == 0 and out == b"%d\n" % number and b"port 8000 is listening" in err, p.returncode, out, err)
    check("  and the command goes on", w.over(number) == "running")

    p = w.carrel("exec", "--wait-ports", w.id, "--", *ARGV)
    said = p.stdout.readline()
    w.go()
    out, err = p.communicate(timeout=PATIENCE)
    number = re.search(rb"port 8000 is listening; the command keeps running as exec (\d+)", err)
    check("carrel exec --wait-ports shows what it prints until then, and leaves it running", said == b"begun\n" and p.returncode == 0 and number, p.returncode, said + out, err)
    check("  which it does", w.over(int(number.group(1))) == "running")

    p = w.carrel("exec", "-d", "--wait-ports", "--wait-timeout", "1ms", w.id, "--", *ARGV)
    out, err = p.communicate(timeout=PATIENCE)
    check("past --wait-timeout the status is 124, with what to type", p.returncode == 124 and b"within 1 ms" in err and b"`carrel kill " + w.id.encode() in err, p.returncode, out, err)
    check("  and the command goes on", w.over(int(out)) == "running")

    p = w.carrel("exec", "--json", "--wait-ports", "--wait-timeout", "1ms", w.id, "--", *ARGV)
    out, err = p.communicate(timeout=PATIENCE)
    got = json.loads(out)
    check("as JSON, too", (p.returncode, got["state"], "outcome" in got) == (124, "running", False), p.returncode, out, err)
    w.over(got["exec"])

    p = w.carrel("exec", "-d", "--wait-ports", w.id, "--", "sh", "-c", "exit 3")
    out, err = p.communicate(timeout=PATIENCE)
    check("a command that ends first gives its status", p.returncode == 3 and b"before a declared port listened" in err, p.returncode, out, err)
    for words in (("--wait-timeout", "1s"),):
        p = w.carrel("exec", *words, w.id, "--", "true")
        _, err = p.communicate(timeout=PATIENCE)
        check("%s is refused with what to do" % " ".join(words), p.returncode == 125 and b"Next: " in err, p.returncode, err)


PROGRAM = r"""
#include <carrel/carrel.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

static int
fail(const struct carrel_error *e)
{
        printf("%s: %s\n", e->code, e->message);
        return 1;
}

int
main(int argc, char **argv)
{
        struct carrel_command command = { .argv = (const char *const[]){ "python3", "-c", argv[2] }, .argc = 3, .waits_ports = 1 };
        struct carrel_result *result;
        struct carrel_exec *x;
        struct carrel_piece piece;
        struct carrel_error e;
        struct carrel *c;
        int pieces = 0;

        if (carrel_open(NULL, &c, &e) < 0)
                return fail(&e);
        command.is_background = argc > 3 && strcmp(argv[3], "background") == 0;
        command.wait_ports_ms = argc > 3 && strcmp(argv[3], "limit") == 0;
        if (argc > 3 && strcmp(argv[3], "poll") == 0) {
                if (carrel_exec(c, argv[1], &command, &x, &e) < 0)
                        return fail(&e);
                do {
                        struct pollfd p = { carrel_exec_fd(x), carrel_exec_events(x), 0 };
                        int got = carrel_exec_read(x, 0, &piece, &e);

                        if (got < 0)
                                return fail(&e);
                        if (got == 0)
                                (void)poll(&p, 1, -1);
                        else if (piece.kind == CARREL_STDOUT && pieces++ == 0)
                                (void)puts("begun"), (void)fflush(stdout);
                } while (piece.kind != CARREL_PORT && piece.kind != CARREL_END);
                printf("%u %u\n", carrel_exec_number(x), carrel_exec_port(x));
                (void)carrel_exec_detach(x, NULL);
        } else {
                if (carrel_run(c, argv[1], &command, 0, NULL, NULL, &result, &e) < 0)
                        return fail(&e);
                printf("%u %u %d\n", result->exec, result->port, result->is_running);
                carrel_free(result);
        }
        carrel_close(c);
        return 0;
}
"""


def library(w):
    archive = os.path.join(TREE, "build-test", "include", "libcarrel.a")
    if not os.path.exists(archive) or not shutil.which("cc"):
        report("libcarrel waits for a port", skip="there is no build-test/include/libcarrel.a, or no cc")
        return
    source, program = os.path.join(w.d.folder, "wait.c"), os.path.join(w.d.folder, "wait")
    with open(source, "w", encoding="utf-8") as f:
        f.write(PROGRAM)
    done = subprocess.run(["cc", "-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-I", os.path.join(TREE, "include"), source, archive, "-lyaml", "-ljansson", "-o", program], stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        report("the program compiles", [done.stderr.decode()])
        return

    def run(*words):
        return subprocess.Popen([program, w.id, SERVER, *words], env={**os.environ, "CARREL_STATE": w.d.state}, stdout=subprocess.PIPE, text=True)
    for mode in ("foreground", "background"):
        w.go()
        out, _ = run(mode).communicate(timeout=PATIENCE)
        number, port, running = out.split()
        check("carrel_run() with waits_ports returns when the port listens, %s" % mode, (port, running) == ("8000", "1"), out)
        check("  and the command goes on", w.over(int(number)) == "running")
    out, _ = run("limit").communicate(timeout=PATIENCE)
    number, port, running = out.split()
    check("  or when its time is over", (port, running) == ("0", "1"), out)
    w.over(int(number))
    p = run("poll")
    p.stdout.readline()
    w.go()
    out, _ = p.communicate(timeout=PATIENCE)
    number, port = out.split()
    check("one descriptor to poll has output and the port", port == "8000", out)
    check("  and what was detached goes on", w.over(int(number)) == "running")


def main():
    need_programs()
    with Daemon() as d:
        w = Waiting(d)
        rest(w)
        command(w)
        restart(w)
        library(w)
        d.must("DELETE", "/v1/sandboxes/" + w.id)
    end()


main()
