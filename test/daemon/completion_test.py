#!/usr/bin/env python3
"""completion_test - shell completion, and the table of options that it is printed from. Prints TAP."""
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import ALWAYS, CARREL, check, end, need_programs, report
from daemon_rig import Daemon


def carrel(*words, env=None):
    return subprocess.run([CARREL, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=ALWAYS, check=False, env=env)


def offered(*words, env=None):
    """What `carrel completion` offers for the last of these words; nothing is ever printed to standard error."""
    done = carrel("completion", "--words", "--", *words, env=env)
    check("%s: nothing on standard error" % " ".join(words), (done.returncode, done.stderr) == (0, ""), done)
    return [line.split("\t")[0] for line in done.stdout.splitlines()]


def table():
    """Each option of each command: in usage, help, manual and completion, and refused in the same way."""
    names = re.findall(r"^  (\S+)  ", carrel("help").stdout, re.MULTILINE)
    check("the empty line offers every command", offered("") == names and "completion" in names, names)
    manual = carrel("docs", "commands", "--man").stdout
    for name in names:
        text = carrel("help", name).stdout
        options = re.findall(r"^  (-\S+)(?: (?! )(\S+))?  ", text, re.MULTILINE)
        usage = " ".join(re.search(r"^Usage: carrel %s((?:.*\n)+?)\n" % name, text, re.MULTILINE).group(1).split())
        wrong = ["usage: %s" % o for o, v in options if "[%s%s]" % (o, v and " " + v) not in usage]
        wrong += ["manual: %s" % o for o, _ in options if "*%s" % o.replace("-", "\\-") not in manual and o not in manual]
        found = offered(name, "-")
        wrong += ["completion: %s" % sorted(set(found) ^ {o for o, _ in options} ^ {"--help"})] if set(found) != {o for o, _ in options} | {"--help"} else []
        for option, value in options:
            done = carrel(name, option if value else option + "=x")
            if done.returncode != 125 or "%s %s" % (option, "needs a value" if value else "takes no value") not in done.stderr or "carrel %s --help" % name not in done.stderr:
                wrong.append("%s: %s" % (option, done))
        report("carrel %s: one table" % name, wrong)
        done = carrel(name, "--frobnicate")
        check("carrel %s --frobnicate" % name, done.returncode == 125 and 'unknown option "--frobnicate"' in done.stderr and "Next: " in done.stderr, done)


def words():
    check("a prefix", offered("re") == ["resume"])
    check("the words of an option", offered("check", "--stage", "") == ["parse", "validate", "resolve", "authorise"] and offered("check", "--stage", "re") == ["resolve"])
    check("after a =", offered("check", "--stage=v") == ["--stage=validate"])
    check("actions", offered("volume", "") == ["create", "ls", "rm", "prune"] and offered("allow", "m") == ["mount"])
    check("files and directories", (offered("check", ""), offered("run", "-w", ""), offered("allow", "tool", "")) == ([":file"], [":directory"], [":directory"]))
    check("a command, and its arguments", (offered("run", ""), offered("run", "--", ""), offered("run", "ls", ""), offered("run", "--", "ls", "-")) == ([":command"], [":command"], [":file"], [":file"]))
    check("an option's value is no word", offered("run", "--memory", "1g", "") == [":command"] and offered("run", "--memory", "") == [])
    check("presets of hosts", "@npm" in offered("run", "--allow", "@") and offered("network", "demo", "--allow", "@np") == ["@npm"])
    check("shells", offered("completion", "") == ["bash", "zsh", "fish"])
    check("  and in its usage", "\nUsage: carrel completion bash | zsh | fish\n" in carrel("help", "completion").stdout, carrel("help", "completion"))
    check("nothing for a command that does not exist", offered("frobnicate", "") == [])
    for wrong, said in (([], "needs the name of a shell"), (["tcsh"], 'invalid shell "tcsh"'), (["bash", "zsh"], 'unexpected argument "zsh"')):
        done = carrel("completion", *wrong)
        check("carrel completion %s" % " ".join(wrong), done.returncode == 125 and said in done.stderr and done.stdout == "", done)


BASH = """source <("$0" completion bash) || exit 1
compopt() { :; }
COMP_LINE=$1 COMP_POINT=${#1}
_carrel_completion "$0"
printf '%s\\n' "${COMPREPLY[@]}"
"""
ZSH = """autoload -Uz compinit
source <("$0" completion zsh) || exit 1
compadd() { [[ $1 = -l ]] && print -rl -- $found || print -r -- "${@[-1]}" }
compset() { : }
_files() { print -r -- "files $*" }
_command_names() { print -r -- commands }
words=("$0" "${(@s: :)1}")
CURRENT=$#words
_carrel
"""

def in_bash(line, env):
    done = subprocess.run(["bash", "-c", BASH, CARREL, "carrel " + line], capture_output=True, text=True, timeout=ALWAYS, check=False, env=env)
    return done.stdout.split() if done.stderr == "" else done.stderr


def in_zsh(line, env):
    done = subprocess.run(["zsh", "-f", "-c", ZSH, CARREL, line], capture_output=True, text=True, timeout=ALWAYS, check=False, env=env)
    return done.stdout.split() if done.stderr == "" else done.stderr


def in_fish(line, env):
    """With its own engine, which calls the program by the name on the command line."""
    path = os.path.dirname(CARREL) + ":" + env["PATH"]
    script = "source (carrel completion fish | psub)\nfor line in (complete -C 'carrel %s')\n        echo $line\nend\n" % line
    done = subprocess.run(["fish", "--no-config", "-c", script], capture_output=True, text=True, timeout=ALWAYS, check=False, env={**env, "PATH": path})
    return [x.split("\t")[0] for x in done.stdout.splitlines()] if done.stderr == "" else done.stderr


def shells(env, folder):
    with open(os.path.join(folder, "afile.md"), "w", encoding="utf-8"):
        pass
    for shell, ask in (("bash", in_bash), ("zsh", in_zsh), ("fish", in_fish)):
        if not shutil.which(shell):
            report("%s completes" % shell, skip="%s is not installed" % shell)
            continue
        for line, want in (("resu", ["resume"]), ("check --stage v", ["validate"]), ("exec sho", ["shown"]), ("cp sho", ["shown:"]), ("volume rm ca", ["cache"])):
            got = ask(line, env)
            check("%s: carrel %s" % (shell, line), [w for w in got if not w.startswith("files")] == want if isinstance(got, list) else False, got)
        got = ask("check %s/a" % folder, env)
        check("%s: a file" % shell, got in ([os.path.join(folder, "afile.md")], ["files"]), got)
        got = ask("run -", env)
        check("%s: options" % shell, isinstance(got, list) and ("--timeout" in got or "-t" in got), got)
    check("bash: what follows a = alone", in_bash("check --stage=va", env) == ["validate"], in_bash("check --stage=va", env))


def names():
    with Daemon() as d:
        env = {**os.environ, "CARREL_STATE": d.state}
        for name in ("shown", "other"):
            carrel("create", "--name", name, env=env)
        carrel("volume", "create", "cache", env=env)
        carrel("exec", "shown", "--", "true", env=env)
        check("names of sandboxes", offered("exec", "", env=env) == ["shown", "other"] and offered("stop", "shown", "o", env=env) == ["other"])
        check("and with --state", offered("exec", "--state", d.state, "s") == ["shown"] == offered("pause", "--state=" + d.state, "s"))
        check("of cp with a colon", offered("cp", "s", env=env) == ["shown:", ":file"])
        check("numbers of execs", offered("output", "shown", "", env=env) == ["1"])
        check("volumes", offered("volume", "rm", "", env=env) == ["cache"] and offered("run", "-v", "c", env=env) == ["cache:", ":directory"])
        shells(env, d.folder)
        with d.held(d.children()["carrel-keeper"]):
            check("a daemon that does not answer: the call ends, with nothing", offered("exec", "", env=env) == [])
    env["CARREL_STATE"] = "/nonexistent"
    check("without a daemon: nothing", offered("exec", "", env=env) == [] and offered("volume", "rm", "", env=env) == [] and offered("create", "--runtime", "", env=env) == [])


need_programs()
table()
words()
names()
end()
