#!/usr/bin/env python3
# deep as root: the filter is the same for every user
"""The system call filter permits what the programs need that agents use.

Every program runs under the filter alone (filter-run), with AF_UNIX and, for some rows, without. A
program that this machine does not have is skipped by name.
"""
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DEEP = os.environ.get("CARREL_TEST_DEEP") == "1"
RUN = os.environ.get("FILTER_RUN") or os.path.join(ROOT, "build", "test", "filter-run")

ASYNCIO = """
import asyncio
async def go():
    p = await asyncio.create_subprocess_exec('echo', 'x', stdout=asyncio.subprocess.PIPE)
    assert (await p.communicate())[0] == b'x\\n'
    async def answer(r, w):
        w.write(await r.readline()); await w.drain(); w.close()
    s = await asyncio.start_server(answer, '127.0.0.1', 0)
    r, w = await asyncio.open_connection(*s.sockets[0].getsockname())
    w.write(b'hello\\n'); assert await r.readline() == b'hello\\n'
asyncio.run(go())
"""
POOL = """
import multiprocessing as m, sys
if __name__ == '__main__':
    with m.get_context(sys.argv[1]).Pool(2) as p:
        assert p.map(abs, [-1, -2]) == [1, 2]
"""
SQLITE = """
import sqlite3
d = sqlite3.connect('x.db'); d.execute('pragma journal_mode=wal'); d.execute('create table t(a)')
d.execute('insert into t values (1)'); d.commit(); assert d.execute('select a from t').fetchall() == [(1,)]
"""
NODE = """
const { Worker } = require('worker_threads'), cp = require('child_process'), http = require('http');
if (cp.execFileSync('echo', ['x']).toString() !== 'x\\n') process.exit(1);
const child = cp.spawn('cat', { stdio: ['pipe', 'pipe', 'inherit'] });
child.stdin.end('hello');
new Worker('require("worker_threads").parentPort.postMessage(1)', { eval: true }).on('message', () => {
    const s = http.createServer((q, a) => a.end('ok')).listen(0, '127.0.0.1', () =>
        http.get({ port: s.address().port, host: '127.0.0.1' }, a => { a.resume(); a.on('end', () => s.close()); }));
});
require('fs').writeFileSync('a', 'b'); require('fs').copyFileSync('a', 'c');
"""
JAVA = """
public class X { public static void main(String[] a) throws Exception {
    Thread t = new Thread(() -> System.out.print("x")); t.start(); t.join();
    System.out.println(new String(Runtime.getRuntime().exec(new String[]{"echo", "y"}).getInputStream().readAllBytes()));
} }
"""
C = '#include <pthread.h>\n#include <stdio.h>\nstatic void *f(void *a) { return a; }\n' \
    'int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_join(t, 0); return puts("hello") < 0; }\n'
GIT = "git init -q r && cd r && git config user.email a@b && git config user.name a && echo x >f && git add f &&" \
      "git commit -qm x && git gc -q && git status --short && cd .. && git clone -q r s && test -f s/f"
COREUTILS = "mkdir -p a/b && echo x >a/b/c && cp -a a d && mv d e && ln -s c e/b/l && ln e/b/c e/b/h && chmod 640 e/b/c &&" \
            "touch -d yesterday e/b/c && tar cf t.tar e && rm -r e && tar xf t.tar && find e -type f | xargs wc -c && mkfifo p &&" \
            "install -m 755 a/b/c i && df . && du -s a && sync f 2>/dev/null; stat a && timeout 5 sleep 0.01 && nproc && id"
POSTGRES = "PORT=$(python3 -c 'import socket; s = socket.socket(); s.bind((\"127.0.0.1\", 0)); print(s.getsockname()[1])'); PATH=$(ls -d /usr/lib/postgresql/*/bin | tail -1):$PATH; initdb -D db -A trust >/dev/null &&" \
           "pg_ctl -D db -w -s -o \"-c unix_socket_directories=$SOCKETS -h 127.0.0.1 -p $PORT\" start >log 2>&1 && psql -h 127.0.0.1 -p $PORT -tc 'select 41+1' postgres |" \
           "grep -q 42; s=$?; pg_ctl -D db -s -m fast stop; exit $s"
TMUX = "tmux -S ./s -f /dev/null new-session -d 'sleep 5' && tmux -S ./s list-sessions && tmux -S ./s kill-server"
CURL = "python3 -u -m http.server --bind 127.0.0.1 0 >port 2>/dev/null & until grep -q port port; do :; done;" \
       "curl -sf http://127.0.0.1:$(sed 's/.*port \\([0-9]*\\).*/\\1/' port)/ >/dev/null; s=$?; kill $!; exit $s"
GDB = ["gdb", "-q", "-batch", "-ex", "break main", "-ex", "run", "-ex", "continue", "./x"]
CHROMIUM = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", "data:text/html,<p>hello"]


def shell(text):
    return ["bash", "-c", text]


# what it is | program it needs | command | also without AF_UNIX | files | expected in its output
PROGRAMS = [
    ("bash with pipes and jobs", "bash", shell("sleep 0 & wait; (echo a; echo b) | sort -r | head -1; cat <(echo c)"), True, {}, "b"),
    ("coreutils", "tar", shell(COREUTILS), True, {}, "uid="),
    ("python with asyncio", "python3", ["python3", "-c", ASYNCIO], True, {}, ""),
    ("python with forked workers", "python3", ["python3", "p.py", "fork"], True, {"p.py": POOL}, ""),
    ("python with spawned workers", "python3", ["python3", "p.py", "spawn"], True, {"p.py": POOL}, ""),
    ("python with a fork server", "python3", ["python3", "p.py", "forkserver"], False, {"p.py": POOL}, ""),
    ("python with sqlite", "python3", ["python3", "-c", SQLITE], True, {}, ""),
    ("node with workers, children and http", "node", ["node", "-e", NODE], True, {}, ""),
    ("npm", "npm", ["npm", "init", "-y"], True, {}, "Wrote"),
    ("git", "git", shell(GIT), True, {}, ""),
    ("gcc and what it made", "gcc", shell("gcc -pthread -o x x.c && ./x"), True, {"x.c": C}, "hello"),
    ("make", "make", ["make", "-j2", "a", "b"], True, {"Makefile": "a b:\n\t@echo made $@\n"}, "made b"),
    ("java", "javac", shell("javac X.java && java X"), True, {"X.java": JAVA}, "y"),
    ("rust", "rustc", shell("rustc -o x x.rs && ./x"), True, {"x.rs": 'fn main() { println!("hello"); }'}, "hello"),
    ("go", "go", ["go", "run", "x.go"], True, {"x.go": 'package main\nfunc main() { println("hello") }'}, ""),
    ("postgres", "initdb", shell(POSTGRES), True, {}, ""),
    ("tmux", "tmux", shell(TMUX), False, {}, "1 windows"),
    ("gdb", "gdb", GDB, True, {"x.c": C, "build": "gcc -g -pthread -o x x.c"}, "hello"),
    ("strace", "strace", shell("strace -f -o t echo hello && grep -q execve t && grep -q '\"hello' t && cat t"), True, {}, "hello"),
    ("curl", "curl", shell(CURL), True, {}, ""),
    ("ssh-keygen", "ssh-keygen", ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "k"], True, {}, ""),
    ("chromium, its own sandbox off", "chromium", CHROMIUM, False, {}, "hello"),
]

HEAVY = ("npm", "javac", "rustc", "go", "initdb", "gdb")     # with the other filter only in a deep run: lighter programs show what it refuses


def is_here(program):
    found = shutil.which(program)
    if program == "initdb":
        found = found or any(os.path.exists(f"/usr/lib/postgresql/{v}/bin/initdb") for v in range(9, 30))
    return bool(found)


def user(program):
    """Databases and browsers refuse to start as root, and some calls give root other results, so
    programs run as an ordinary user. Programs in root's own home (rustup) run as root.
    """
    if os.geteuid() != 0 or (shutil.which(program) or "").startswith(os.path.expanduser("~/")):
        return {}
    return {"user": 65534, "group": 65534, "extra_groups": []}


def run(program, command, options, directory, files):
    for name, text in files.items():
        if name == "build":
            subprocess.run(text, shell=True, cwd=directory, check=True)
        else:
            with open(os.path.join(directory, name), "w", encoding="utf-8") as f:
                f.write(text)
    os.chmod(directory, 0o777)
    home = {"HOME": directory, "TMPDIR": directory, "LANG": "C.UTF-8", "PATH": os.environ["PATH"], "TERM": "xterm",
            "SHELL": "/bin/sh", "RUSTUP_HOME": os.path.expanduser("~/.rustup"), "SOCKETS": "" if options else "."}
    try:
        done = subprocess.run([RUN, *options, *command], cwd=directory, env=home, stdin=subprocess.DEVNULL, timeout=100,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, **user(program))
    except subprocess.TimeoutExpired as e:
        return "did not end", (e.stdout or b"").decode(errors="replace")
    return done.returncode, done.stdout.decode(errors="replace")


def main():
    count = 0
    for name, program, command, is_both, files, expected in PROGRAMS:
        for options in ([], ["--nounix"]) if is_both and (DEEP or program not in HEAVY) else ([],):
            count += 1
            title = name + (", no unix sockets" if options else "")
            if not is_here(program):
                print(f"ok {count} - {title} # SKIP this machine has no {program}", flush=True)
                continue
            with tempfile.TemporaryDirectory() as directory:
                status, output = run(program, command, options, directory, files)
            is_right = status == 0 and expected in output
            print(f"{'ok' if is_right else 'not ok'} {count} - {title}", flush=True)
            if not is_right:
                print("".join(f"# {line}\n" for line in [f"ended with {status}", *output.splitlines()[-15:]]), end="")
    print(f"1..{count}")
    return 0


if __name__ == "__main__":
    if not os.access(RUN, os.X_OK):
        print(f"Bail out! {RUN} is not built")
        sys.exit(1)
    sys.exit(main())
