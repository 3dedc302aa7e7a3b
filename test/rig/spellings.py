"""spellings - ways to write a command that removes a file, for tests of rules for commands.

Each is a text for a shell, and is denied where `rm` is denied and nothing is allowed that it could use instead. {F} is the file.
"""

SPELLINGS = (
    "rm {F}", "/bin/rm {F}", "/usr/bin/rm {F}", "/bin/../bin/rm {F}", "../../../../../../bin/rm {F}", "//bin//rm {F}", "/./bin/./rm {F}", "/proc/self/root/bin/rm {F}",
    "\\rm {F}", "r''m {F}", 'r""m {F}', "'rm' {F}", '"rm" {F}', "r\\m {F}", "$'rm' {F}", "$'\\x72m' {F}", "$'\\162m' {F}", '$"rm" {F}', "r\\\nm {F}",
    "true; rm {F}", "true;rm {F}", "true && rm {F}", "false || rm {F}", "true | rm {F}", "true & rm {F}", "true\nrm {F}", "true\r\nrm {F}", "rm\r {F}",
    "(rm {F})", "{ rm {F}; }", "! rm {F}", "if rm {F}; then true; fi", "if true; then rm {F}; fi", "while rm {F}; do break; done", "until rm {F}; do break; done", "for x in 1; do rm {F}; done",
    "case x in x) rm {F};; esac", "f() { rm {F}; }; f", "function f { rm {F}; }; f", "echo $(rm {F})", "echo `rm {F}`", 'echo "$(rm {F})"', "echo ${x:-$(rm {F})}", "cat <(rm {F})", "echo x >$(rm {F})", "cat <<E\n$(rm {F})\nE", "cat <<< $(rm {F})",
    "x=rm; $x {F}", "x=r; y=m; $x$y {F}", "${x:-rm} {F}", "rm${IFS}{F}", "rm$IFS{F}", "{rm,{F}}", "/b?n/rm {F}", "/bin/r[m] {F}", "/bin/r* {F}", "~/../../bin/rm {F}",
    "env rm {F}", "env -i rm {F}", "env X=1 rm {F}", "env -S 'rm {F}'", "command rm {F}", "command -p rm {F}", "exec rm {F}", "builtin eval rm {F}", "eval rm {F}", "eval 'r''m {F}'", "nice rm {F}", "nice -n 1 rm {F}", "timeout 5 rm {F}", "nohup rm {F}",
    "setsid rm {F}", "stdbuf -o0 rm {F}", "time rm {F}", "ionice -c3 rm {F}", "busybox rm {F}", "xargs rm {F} </dev/null", "echo {F} | xargs rm", "echo {F} | xargs -I X rm X", "find . -name x -exec rm {F} \\;", "find {F} -delete", "find . -ok rm {F} \\;",
    "sh -c 'rm {F}'", "bash -c 'rm {F}'", "sh -c \"sh -c 'rm {F}'\"", "echo 'rm {F}' | sh", "echo cm0geAo= | base64 -d | sh", "sh <<< 'rm {F}'", "sh <<E\nrm {F}\nE", ". ./script", "source ./script", "sh ./script", "./script", "/lib64/ld-linux-x86-64.so.2 /bin/rm {F}",
    "alias ls=rm; ls {F}", "PATH=.:$PATH ls", "export PATH=.; ls", "PATH=. ls", "export PAGER=rm; ls", "LD_PRELOAD=./x ls", "BASH_ENV=./script bash -c ls", "ENV=./script sh -c ls", "trap 'rm {F}' EXIT", "printf -v PATH .; ls", "read PATH; ls", "typeset PATH=.; ls",
    "hash -p /bin/rm ls; ls {F}", "enable -f ./x rm; rm {F}", "coproc rm {F}", "set -- rm {F}; \"$@\"", "unset PATH; ls", "((x=$(rm {F})))", "[[ -v a[$(rm {F})] ]]", "test -v 'a[$(rm {F})]'", "echo $((a[$(rm {F})]))", "wait -p PATH; ls", "./link {F}", "./copy {F}",
    "python3 -c 'import os; os.remove(\"{F}\")'", "perl -e 'unlink \"{F}\"'", "sudo rm {F}", "unshare rm {F}", "strace rm {F}", "watch rm {F}", "script -c 'rm {F}'", "flock x rm {F}", "awk 'BEGIN{system(\"rm {F}\")}'", "rm -- {F}", "echo x > {F}", "> {F}", ": > {F}",
    "cat </dev/tcp/127.0.0.1/1", "{x}>{F} ls", "ls |& rm {F}", "true &> {F}", "true >& {F}", "ls >| {F}")
