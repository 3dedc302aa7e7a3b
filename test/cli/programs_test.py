#!/usr/bin/env python3
# slow: 25 s: 45 programs one after another, among them four compilers, a database server and three virtual machines
"""programs_test - the programs of docs/PROGRAMS.md that are installed here: each works, or is
refused with a reason. Prints TAP.
"""
import glob
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import Workspace, check, end, need_programs

PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "PROGRAMS.md")
C_FILE = "printf '#include <stdio.h>\\nint main(void) { int seven = 7; printf(\"%%d\\\\n\", seven); return 0; }\\n' > a.c; "

# program: its command, in a directory of its own; a pattern for its output
WORKS = {
    "bash": ("bash -c 'a=(1 2 3); (echo ${#a[@]})'", "^3$"),
    "git": ("git init -q r && cd r && echo x > f && git add f && git -c user.name=a -c user.email=a@b commit -qm first && git log --format=%s", "^first$"),
    "make": ("printf 'all: a b\\na b:\\n\\t@echo made $@\\n' > Makefile; make -j2", "made a(.|\\n)*made b|made b(.|\\n)*made a"),
    "gcc": (C_FILE + "gcc -o a a.c && ./a", "^7$"),
    "g++": (C_FILE + "g++ -x c++ -o a a.c && ./a", "^7$"),
    "clang": (C_FILE + "clang -o a a.c && ./a", "^7$"),
    "cmake": ("printf 'cmake_minimum_required(VERSION 3.5)\\nproject(p NONE)\\nadd_custom_target(hi ALL COMMAND echo hello from cmake)\\n' > CMakeLists.txt;"
              " cmake -S . -B b >/dev/null && cmake --build b", "hello from cmake"),
    "rustc": ("echo 'fn main() { println!(\"{}\", 3 + 4) }' > a.rs; rustc a.rs && ./a", "^7$"),
    "go": ("printf 'package main\\nfunc main() { println(3 + 4) }\\n' > a.go; go run a.go 2>&1", "^7$"),
    "python3": ("python3 -c 'import multiprocessing as m\nwith m.Pool(2) as p: print(sum(p.map(abs, [-3, -4])))'", "^7$"),
    "pip": ("pip list --disable-pip-version-check | head -2", "Package"),
    "node": ("node -e 'const w = require(\"worker_threads\"); new w.Worker(\"require(\\\"worker_threads\\\").parentPort.postMessage(3 + 4)\", {eval: true})"
             ".on(\"message\", (m) => console.log(m, require(\"os\").cpus().length > 0))'", "^7 true$"),
    "npm": ("mkdir p && cd p && echo '{\"name\":\"hello-cli\",\"version\":\"1.0.0\",\"bin\":{\"hello-cli\":\"h.js\"}}' > package.json &&"
            " printf '#!/usr/bin/env node\\nconsole.log(\"hello\", 7)\\n' > h.js && npm install -g --prefix ~/.local --no-audit --install-links . && hello-cli && which hello-cli",
            "^hello 7$(.|\\n)*^/home/agent/.local/bin/hello-cli$"),
    "corepack": ("corepack --version", "^[0-9]"),
    "perl": ("perl -e 'print 3 + 4, \"\\n\"'", "^7$"),
    "ruby": ("ruby -e 'puts 3 + 4'", "^7$"),
    "php": ("php -r 'echo 3 + 4, \"\\n\";'", "^7$"),
    "javac": ("echo 'class A { }' > A.java; javac A.java && ls A.class", "A.class"),
    "java": ("echo 'class A { public static void main(String[] a) { System.out.println(3 + 4); } }' > A.java; java A.java", "^7$"),
    "mvn": ("mvn -v", "Apache Maven"),
    "sqlite3": ("sqlite3 a.db 'pragma journal_mode=wal; create table t(n); insert into t values (3), (4); select sum(n) from t'", "^7$"),
    "psql": ("psql --version", "PostgreSQL"),
    "initdb": ("B=$(ls -d /usr/lib/postgresql/*/bin | tail -1); $B/initdb -D d >/dev/null && $B/pg_ctl -D d -w -l log -o \"-k $PWD -h ''\" start >/dev/null &&"
               " psql -h $PWD -d postgres -Atc 'select 3 + 4'; $B/pg_ctl -D d -m immediate stop >/dev/null", "^7$"),
    "redis-server": ("redis-server --version", "Redis"),
    "tar": ("echo x > f && tar -czf a.tgz f && tar -tzf a.tgz", "^f$"),
    "zip": ("echo x > f && zip -q a.zip f && ls a.zip", "a.zip"),
    "unzip": ("python3 -c 'import zipfile; zipfile.ZipFile(\"a.zip\", \"w\").writestr(\"f\", \"x\")' && unzip -l a.zip", "\\bf$"),
    "xz": ("echo seven | xz | xz -d", "^seven$"),
    "jq": ("echo '{\"a\": 7}' | jq .a", "^7$"),
    "rg": ("echo seven > f; rg -N seven f", "^seven$"),
    "vim": ("vim -es -u NONE -c 'call setline(1, \"seven\")' -c 'w f' -c q; cat f", "^seven$"),
    "nano": ("nano --version", "nano"),
    "less": ("echo seven > f; less f", "^seven$"),
    "man": ("mkdir -p man1; printf '.TH SEVEN 1\\n.SH NAME\\nseven \\\\- a number\\n' > man1/seven.1; man ./man1/seven.1 2>&1 | cat", "a number"),
    "chromium": ("printf '<title>x</title><canvas id=c></canvas><script>document.title = \"title \" + (3 + 4); c.getContext(\"2d\").fillRect(0, 0, 9, 9)</script>' > p.html;"
                 " C='chromium --headless --no-sandbox'; U=file://$PWD/p.html; $C --screenshot=a.png $U >/dev/null && $C --print-to-pdf=a.pdf $U >/dev/null &&"
                 " head -c 4 a.png | tail -c 3 && head -c 5 a.pdf && $C --dump-dom $U", "PNG%PDF-(.|\n)*<title>title 7</title>"),
    "tmux": ("tmux -S $PWD/s new -d -s seven 'sleep 100' && tmux -S $PWD/s ls; tmux -S $PWD/s kill-server", "^seven:"),
    "gdb": (C_FILE + "gcc -g -O0 -o a a.c && gdb -batch -ex 'break printf' -ex run -ex up -ex 'print seven' ./a 2>&1", "\\$1 = 7"),
    "strace": ("strace -e trace=execve true 2>&1", "execve\\(.*= 0"),
    "valgrind": (C_FILE + "gcc -g -o a a.c && valgrind --error-exitcode=9 ./a 2>&1", "ERROR SUMMARY: 0 errors"),
    "ffmpeg": ("ffmpeg -loglevel error -f lavfi -i anullsrc -t 1 a.wav && ls a.wav", "a.wav"),
    "openssl": ("openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=seven -keyout k -out c 2>/dev/null && openssl x509 -in c -noout -subject", "seven"),
    "gpg": ("gpg --batch --quiet --passphrase '' --quick-gen-key a@b && echo x > f && gpg --batch --quiet --sign f && gpg --verify f.gpg 2>&1", "Good signature"),
    "ssh-keygen": ("ssh-keygen -q -t ed25519 -N '' -f k && ssh-keygen -l -f k", "ED25519"),
    "rsync": ("mkdir a && echo seven > a/f && rsync -a a/ b/ && cat b/f", "^seven$"),
    "file": ("file /bin/sh -L", "ELF"),
    "ps": ("ps -o comm= -p $$", "sh"),
    "nproc": ("nproc", "^[1-9]"),
    "lscpu": ("lscpu -p=cpu | grep -v '^#' | wc -l | grep -x $(nproc --all) && lscpu", "^CPU\\(s\\): +[1-9]"),
    "dpkg": ("dpkg -S /usr/bin/env && dpkg -l coreutils && dpkg -L coreutils | grep -x /usr/bin/env", "^coreutils:(.|\\n)*^ii +coreutils(.|\\n)*^/usr/bin/env$"),
}
REFUSED = {
    "curl": ("curl -sS https://a.example", "Could not resolve host"),
    "wget": ("wget -O- https://a.example", "unable to resolve|Name or service not known"),
    "apt-get": ("apt-get install -y hello", "Unable to locate package|Read-only file system|Permission denied|are you root|is missing"),
    "docker": ("docker ps", "Cannot connect to the Docker daemon|no such file"),
    "sudo": ("sudo -n true", "no new privileges|must be owned|must be setuid"),
    "unshare": ("unshare -Ur true", "Operation not permitted|No space left|denied"),
}


def rows_of_page():
    with open(PAGE, encoding="utf-8") as page:
        return dict(re.findall(r"^\| `([^`]+)` \|[^|]*\| (works|refused) \|", page.read(), re.MULTILINE))


def is_installed(name):
    return bool(glob.glob("/usr/lib/postgresql/*/bin/initdb") and shutil.which("psql", path=PATH)) if name == "initdb" else bool(shutil.which(name, path=PATH))


def one(ws, name, is_refused, script, pattern):
    done = ws.sh("mkdir -p /tmp/w && cd /tmp/w && exec 2>&1 && %s" % script, "--timeout", "5m")
    text = done.stdout.decode(errors="replace")
    good = (done.returncode != 0) == is_refused and re.search(pattern, text, re.MULTILINE)
    check("%s %s" % (name, "is refused in words" if is_refused else "works"), good, done.returncode, text[-1500:], done.stderr.decode(errors="replace")[-500:])


need_programs()
ours = {**dict.fromkeys(WORKS, "works"), **dict.fromkeys(REFUSED, "refused")}
check("the page lists what is tested here, with its result", rows_of_page() == ours, set(rows_of_page().items()) ^ set(ours.items()))
with Workspace(limits="timeout_ms: 300000") as workspace:
    for program in [p for p in ours if is_installed(p)]:
        one(workspace, program, program in REFUSED, *(WORKS.get(program) or REFUSED[program]))
    absent = [p for p in ours if not is_installed(p)]
    print("# not installed here: %s" % " ".join(absent))
    hidden = ("/etc/maven/settings.xml", "/etc/php/8.2/fpm", "/etc/profile", "/etc/bash.bashrc", "/etc/npmrc", "/etc/pip.conf", "/var/lib/dpkg/statoverride")
    done = workspace.sh("ls -d /etc /var %s" % " ".join(hidden))
    check("settings that may hold secrets, set PATH or name accounts are not visible", done.stdout == b"/etc\n/var\n", done.stdout, done.stderr)
    done = workspace.sh("find /sys ! -type d; find /sys -writable; stat -f -c %T /sys; cat /sys/devices/system/cpu/online")
    lists = ["/sys/devices/system/cpu/" + name for name in ("online", "possible", "present")]
    with open(lists[0], encoding="ascii") as online:
        want = sorted(["tmpfs", online.read().strip(), *lists])
    check("of /sys there are the lists of processors alone, made and read-only", sorted(done.stdout.decode().split()) == want, done.stdout, done.stderr)
    shown = [p for p in ("/etc/debian_version", "/etc/timezone", "/etc/mime.types", "/var/lib/dpkg/status", "/var/lib/dpkg/info") if os.path.exists(p)]
    done = workspace.sh("cd /; for p in %s; do test -r $p && ! test -w $p && echo $p; done" % " ".join(shown))
    check("what is visible of the system's settings can be read, and not changed", done.stdout.decode().split() == shown, done.stdout, done.stderr)
end()
