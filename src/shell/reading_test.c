/*
 * shell/reading_test.c - what a command would run: the spellings of attacks, and plain commands.
 */
#include "shell/reading.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* The programs of a small host; paths are those of /bin, and a link to rm. */
static const char *
find(void *context, const char *word)
{
        static const char *const names[] = {
                "tar",     "sort",   "split",  "awk",     "sed",         "perl",    "make",
                "vim",     "rsync",  "ssh",    "gzip",    "systemd-cat", "node",    "socat",
                "zip",     "ls",     "rm",     "cat",     "grep",        "sh",      "bash",
                "env",     "xargs",  "find",   "nice",    "timeout",     "sudo",    "busybox",
                "echo",    "printf", "git",    "curl",    "base64",      "python3", "nohup",
                "time",    "dash",   "true",   "[",       "test",        "wc",      "sg",
                "ld.so",   "x86_64", "i386",   "aarch64", "ssh-agent",   "capsh",   "tmux",
                "logsave", "scp",    "install"
        };
        const char *name = strncmp(word, "/bin/", 5) == 0 ? word + 5 : word;

        (void)context;
        if (strcmp(word, "./link-to-rm") == 0)
                return "rm";
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
                if (strcmp(names[i], name) == 0)
                        return names[i];
        return NULL;
}

/* "ls rm" for two programs; carriers in parentheses, those that code names in brackets, doubts as
 * ?word. */
static void
describe(const struct shell_reading *r, char *out, size_t room)
{
        size_t len = 0;

        out[0] = '\0';
        for (size_t i = 0; i < r->count && len < room - 64; i++) {
                const struct shell_action *a = &r->actions[i];

                len += (size_t)snprintf(out + len, room - len, "%s%s%s%s", i > 0 ? " " : "",
                                        a->doubt        ? "?"
                                        : a->is_named   ? "["
                                        : a->is_carrier ? "("
                                                        : "",
                                        a->doubt ? shell_doubt_word(a->doubt) : a->program,
                                        a->is_named     ? "]"
                                        : a->is_carrier ? ")"
                                                        : "");
        }
}

struct row {
        const char *text, *wanted;
};

static const struct row plain[] = {
        { "", "" },
        { "ls -l /tmp", "ls" },
        { "ls; cat f && grep x f || wc f & rm y", "ls cat grep wc rm" },
        { "cat f | grep x | wc -l", "cat grep wc" },
        { "if grep -q x f; then ls; elif cat g; then wc f; else rm f; fi", "grep ls cat wc rm" },
        { "for x in a b; do cat $x; done", "cat" },
        { "while grep x f; do ls; done", "grep ls" },
        { "until grep x f; do ls; done", "grep ls" },
        { "(ls; cat f)", "ls cat" },
        { "{ ls; cat f; }", "ls cat" },
        { "! ls", "ls" },
        { "x=1; echo \"$x\" '$x' ${x}", "echo" },
        { "LANG=C ls", "ls" },
        { "export LC_ALL=C; ls", "ls" },
        { "ls 2>/dev/null >/dev/null 2>&1 <f", "ls" },
        { "ls # rm", "ls" },
        { "echo a#b", "echo" },
        { "ls \\\n -l", "ls" },
        { "cd /tmp && ls", "ls" },
        { "set -e; ls", "ls" },
        { "echo $((1 + 2))", "echo" },
        { "echo ${x:-a} ${x%.c} ${#x}", "echo" },
        { "[ -f x ] && ls", "[ ls" },
        { "test -f x || ls", "test ls" },
        { "sh -c 'ls; cat f'", "(sh) ls cat" },
        { "bash -ec \"ls\"", "(bash) ls" },
        { "env LANG=C ls", "(env) ls" },
        { "env", "env" },
        { "timeout -s KILL 5 nice -n 3 nohup ls", "(timeout) (nice) (nohup) ls" },
        { "xargs -0 -n 1 grep x", "(xargs) grep" },
        { "find . -name '*.c' -exec grep x {} \\; -print", "find grep" },
        { "exit 3", "" },
        { "xargs -I{} grep x {}", "(xargs) grep" },
        { "xargs -n1 -I{} sort {} -o out/{}", "(xargs) sort" },
        { "find . -exec sort {} -o d/{}.x \\;", "find sort" },
        { "git stash show stash@{0} {}", "git" },
        { "git -c user.name=x -c core.pager=cat log", "git cat" },
        { "git -c core.hooksPath=/dev/null commit", "git" },
        { "git -c core.fsmonitor=false status", "git" },
        { "git -c alias.l=log l", "git" },
        { "git -c protocol.file.allow=always clone a", "git" },
        { "git -c credential.helper=store push", "git" },
        { "git config core.editor true", "git" },
        { "git push -u origin", "git" },
        { "git cherry-pick -x a", "git" },
        { "git clean -fdx", "git" },
        { "git rebase --exec 'make test' a", "git make" },
        { "git submodule foreach --recursive git pull", "git git" },
        { "git commit -c HEAD", "git" },
        { "git clone --config core.longpaths=true a", "git" },
        { "git -c submodule.x.update=rebase pull", "git" },
        { "install --strip a b", "install" },
        { "scp -o ProxyCommand=none -o 'PermitLocalCommand no' a b:", "scp" },
        { "tar -I gzip -xf File", "tar gzip" },
        { "tar -czfFoo.tar x", "tar" },
        { "tar xf IF.tar", "tar" },
        { "tar --checkpoint-action=dot -cf a b", "tar" },
        { "sort -S 1 --compress-program=gzip x", "sort gzip" },
        { "sort -- --compress-program=rm", "sort" },
        { "rsync -avze 'ssh -p 22' a b", "rsync ssh" },
        { "make -j4 CC=gcc SHELL=/bin/bash", "make (bash)" },
        { "make SHELLFLAGS=x 'CFLAGS=-O2 -DX=1' -C E", "make" },
        { "vim +12 x", "vim" },
        { "awk '/rm|x/{print $1\"|rm|\"$2 || 1}' f", "awk" },
        { "sed -e 's/rm/mv/g' -e '/rm/,$p' f", "sed" },
        { "sed 's/a e rm/x/' f", "sed" },
        { "sed -i.bak 's/[a-z]*rm/e/;s/[[:space:]]*$//' f", "sed" },
        { "sed 's/\\[rm/x/g' f", "sed" },
        { "perl -pe 's/rm/x/' f", "perl" },
        { "python3 -c 'print(\"rm\")'", "python3" },
        { "python3 rm -c 'system'", "python3" },
        { "node -e 'a.replace(/rm/, 1)'", "node" },
        { "ls & wait -n -f 7; wait", "ls" },
};

/* Group L of the catalogue of attacks: each must name rm, or be a doubt. */
static const struct row spellings[] = {
        { "ls; rm f", "ls rm" },
        { "ls && rm f", "ls rm" },
        { "ls || rm f", "ls rm" },
        { "ls | rm f", "ls rm" },
        { "ls & rm f", "ls rm" },
        { "ls\nrm f", "ls rm" },
        { "ls\rrm f", "?control" },
        { "ls $(rm f)", "rm ls" },
        { "ls `rm f`", "rm ls" },
        { "ls \"$(rm f)\"", "rm ls" },
        { "ls \"`rm f`\"", "rm ls" },
        { "ls ${x:-$(rm f)}", "rm ls" },
        { "echo $(( $(rm f) ))", "?evaluates rm echo" },
        { "ls <(rm f)", "?shells_differ rm ls" },
        { "ls >(rm f)", "?shells_differ rm ls" },
        { "ls > /bin/rm", "ls ?writes" },
        { "ls >> f", "ls ?writes" },
        { "ls >| f", "ls ?shells_differ" },
        { "ls &> f", "ls ?shells_differ" },
        { "> f rm x", "?writes rm" },
        { "env >/dev/null rm f", NULL },
        { "sh </dev/null -c 'rm f'", NULL },
        { "a=(rm f); ls", "?shells_differ ls" },
        { "x+=1 ls", "?shells_differ ls" },
        { "select x in a; do rm f; done", NULL },
        { "time -f x rm f", "?option" },
        { "env -C /bin ./rm f", "(env) ?unknown_program" },
        { "env -u X $x rm", "(env) ?expansion" },
        { "timeout $x rm f", "?expansion" },
        { "function f { rm x; }; f", "?compound rm ?unknown_program" },
        { "!ls", NULL },
        { "ls \xc2\xa0; rm f", "ls rm" },
        { "ls\xc2\xa0rm f", NULL },
        { "ls \xff", "?control" },
        { "echo \"a`rm f`b\"", "rm echo" },
        { "echo `echo \\`rm f\\``", NULL },
        { "echo $(<f)", NULL },
        { "echo \"\\\\$(rm f)\"", "rm echo" },
        { "echo \"\\$(rm f)\"", "echo" },
        { "ls ;; rm f", NULL },
        { "ls a\n\\\nrm f", "?shells_differ ls" },
        { "[ f\nrm ]", NULL },
        { "if rm f; then :; fi", "rm" },
        { "ls & & rm f", NULL },
        { "ls ${x[$(rm f)]}", NULL },
        { "ls ${x:=$(rm f)}", NULL },
        { "let 'x[$(rm f)]'", "?builtin" },
        { "test -v 'x[$(rm f)]'", "?evaluates test" },
        { "test \"$x\"", "?evaluates test" },
        { "wait -n -p 'x[$(rm f)]'", "?evaluates" },
        { "wait -np PATH", "?evaluates" },
        { "sg root -c 'rm f'", "sg ?runs_others" },
        { "ld.so /bin/rm f", "ld.so ?runs_others" },
        { "ssh-agent rm f", "ssh-agent ?runs_others" },
        { "x86_64 rm f", "x86_64 ?runs_others" },
        { "i386 rm f", "i386 ?runs_others" },
        { "aarch64 rm f", "aarch64 ?runs_others" },
        { "capsh -- -c 'rm f'", "capsh ?runs_others" },
        { "tmux new-session 'rm f'", "tmux ?runs_others" },
        { "logsave x rm f", "logsave ?runs_others" },
        { ": {PATH}>/dev/null; ls", "?shells_differ ls" },
        { "ls {PATH}</dev/null", "ls ?shells_differ" },
        { "x='-p y'; wait $x", "?evaluates" },
        { "cat </dev/tcp/127.0.0.1/80", "cat ?network" },
        { "\\rm f", "rm" },
        { "r\\m f", "rm" },
        { "r''m f", "rm" },
        { "r\"\"m f", "rm" },
        { "'rm' f", "rm" },
        { "\"rm\" f", "rm" },
        { "r\\\nm f", "?shells_differ ?unknown_program" },
        { "ls\\\nm f", "?shells_differ ls" },
        { "$'\\x72m' f", "?shells_differ ?expansion" },
        { "$\"rm\" f", "?shells_differ ?expansion" },
        { "rm${IFS}-rf${IFS}/", "?expansion" },
        { "$x f", "?expansion" },
        { "${x:-rm} f", "?expansion" },
        { "x=rm; $x f", "?expansion" },
        { "x=r; y=m; $x$y f", "?expansion" },
        { "/b?n/rm f", "?expansion" },
        { "/bin/r* f", "?expansion" },
        { "/bin/[r]m f", "?expansion" },
        { "~/rm f", "?expansion" },
        { "/bin/rm f", "rm" },
        { "./link-to-rm f", "rm" },
        { "cd /; bin/rm f", "?unknown_program" },
        { "./copy-of-rm f", "?unknown_program" },
        { "/proc/self/root/bin/rm f", "?unknown_program" },
        { "/lib64/ld-linux-x86-64.so.2 /bin/rm f", "?unknown_program" },
        { "env rm f", "(env) rm" },
        { "env -i rm f", "(env) rm" },
        { "env -S 'rm f'", "?option" },
        { "env PATH=. ls", "?environment (env) ls" },
        { "command rm f", "rm" },
        { "command -p rm f", "rm" },
        { "builtin command rm f", "rm" },
        { "exec rm f", "rm" },
        { "exec -a ls rm f", "?option" },
        { "busybox rm f", "(busybox) rm" },
        { "echo f | xargs rm", "echo (xargs) rm" },
        { "echo rm | xargs -I{} {} f", "echo (xargs) ?expansion" },
        { "echo rm | xargs -0Ils ls f", "echo ?option (xargs) ls" },
        { "echo rm | xargs sh -c", "echo (xargs) (sh) ?expansion" },
        { "echo rm | xargs env", "echo (xargs) ?expansion" },
        { "find . -exec rm {} \\;", "find rm" },
        { "find . -exec {} \\;", "find ?expansion" },
        { "find . -delete", "find rm" },
        { "find . -fprint /etc/passwd", "find ?writes" },
        { "nice rm f", "(nice) rm" },
        { "nice -n 5 rm f", "(nice) rm" },
        { "timeout 5 rm f", "(timeout) rm" },
        { "timeout --unknown 5 rm f", "?option" },
        { "time rm f", "(time) rm" },
        { "nohup rm f", "(nohup) rm" },
        { "sudo rm f", "sudo ?runs_others" },
        { "sh -c 'rm f'", "(sh) rm" },
        { "sh -c \"r''m f\"", "(sh) rm" },
        { "sh -c \"$x\"", "(sh) ?expansion" },
        { "bash -lc 'rm f'", "(bash) rm" },
        { "bash --login -c 'rm f'", "(bash) rm" },
        { "bash -l", "bash ?script" },
        { "sh -c \"sh -c 'rm f'\"", "(sh) (sh) rm" },
        { "sh file", "sh ?script" },
        { ". file", "?builtin" },
        { "source file", "?builtin" },
        { "eval rm f", "?builtin" },
        { "trap 'rm f' EXIT", "?builtin" },
        { "alias ls=rm; ls", "?builtin ls" },
        { "echo cm0gZgo= | base64 -d | sh", "echo base64 sh ?script" },
        { "curl x | bash", "curl bash ?script" },
        { "f() { rm x; }; f", "?compound rm ?unknown_program" },
        { "ls() { rm x; }; ls", "?compound rm ls" },
        { "case x in x) rm f;; esac", "?compound rm" },
        { "cat <<E\n$(rm f)\nE\n", NULL },
        { "cat <<< $(rm f)", NULL },
        { "xargs -I{} rm {}", "(xargs) rm" },
        { "xargs -I{} sh -c 'ls {}'", "(xargs) (sh) ?expansion" },
        { "xargs -I r{},m} f", "?expansion (xargs) ?expansion" },
        { "xargs -I r{},{m,x}} f", NULL },
        { "r{},m} f", "?expansion" },
        { "xargs -I{} {}m f", "(xargs) ?expansion" },
        { "r{}m f", "?unknown_program" },
        { "{}{rm,x} f", NULL },
        { "{r{},rm} f", NULL },
        { "git -c alias.x='!rm f' x", "git rm" },
        { "git -calias.x='!rm f' x", "git rm" },
        { "git -c Core.Pager='r\\m f' log", "git rm" },
        { "git -c core.sshCommand='ssh -o ProxyCommand=rm' fetch", "git ssh ?runs_others" },
        { "git -c core.sshCommand=rm fetch", "git rm" },
        { "git -c core.hooksPath=x commit", "git ?runs_others" },
        { "git -c protocol.ext.allow=always clone ext::x", "git ?runs_others" },
        { "git -c diff.x.textconv='rm f' diff", "git rm" },
        { "git -c core.pager=\"$x\" log", "git ?expansion" },
        { "git --exec-path=/tmp x", "git ?runs_others" },
        { "git -C a bisect run rm f", "git rm" },
        { "git submodule foreach 'rm f'", "git rm" },
        { "git rebase -x 'rm f' a", "git rm" },
        { "git rebase -ix 'rm f' a", "git rm" },
        { "git filter-branch --tree-filter 'rm f'", "git rm" },
        { "git config alias.x '!rm f'", "git rm" },
        { "git clone --config core.sshCommand='rm f' a", "git rm" },
        { "git --config-env=alias.x=Y x", "git ?runs_others" },
        { "git -c core.alternateRefsCommand='rm f' fetch", "git rm" },
        { "git -c gpg.ssh.defaultKeyCommand='rm f' commit -S", "git rm" },
        { "git -c submodule.x.update='!rm f' submodule update", "git rm" },
        { "git -c tar.x.command='rm f' archive --format=x a", "git rm" },
        { "git push --exe='rm f' a", "git rm" },
        { "git send-email --to-cmd='rm f' a", "git rm" },
        { "install --strip-p rm a b", "install rm" },
        { "scp -o 'ProxyCommand=rm none' a b:", "scp ?runs_others" },
        { "git fetch --upload-p='rm f' x", "git rm" },
        { "git grep -nO'rm f' x", "git rm" },
        { "tar cf x y --checkpoint=1 --checkpoint-action=exec='rm f'", "tar rm" },
        { "tar xf x --to-comm 'rm f'", "tar rm" },
        { "tar xf x -I 'rm f'", "tar rm" },
        { "tar -xIrm -f x", "tar rm" },
        { "tar xIf rm x", "tar ?runs_others" },
        { "tar xOIf rm x", "tar ?runs_others" },
        { "tar xf x --us=rm", "tar rm" },
        { "tar xf x --to-command \"$x\"", "tar ?expansion" },
        { "tar xf x -I 'gzip; rm f'", "tar gzip rm" },
        { "sort --compress-prog=rm x", "sort rm" },
        { "sort --co=rm x", "sort rm" },
        { "split --f='rm f' x", "split rm" },
        { "split --filter='cat | rm f' x", "split cat rm" },
        { "rsync -e rm a b", "rsync rm" },
        { "rsync -avze 'ssh -o ProxyCommand=x' a b", "rsync ssh ?runs_others" },
        { "zip -TT 'rm f' x", "zip rm" },
        { "make SHELL=/bin/rm x", "make rm" },
        { "make --eval=x", "make ?runs_others" },
        { "make --ev=x", "make ?runs_others" },
        { "make -sE x", "make ?runs_others" },
        { "make SHELL:=/bin/rm x", "make rm" },
        { "make 'SHELL = /bin/rm' x", "make rm" },
        { "make 'X!=rm f'", "make ?runs_others" },
        { "make 'X=$(shell rm f)'", "make ?runs_others" },
        { "vim -c '!rm f'", "vim ?runs_others" },
        { "vim '+!rm f' x", "vim ?runs_others" },
        { "socat EXEC:'rm f' -", "socat rm" },
        { "socat '-!!system:rm f' -", "socat rm" },
        { "socat '!!!!EXEC:rm f' -", "socat rm" },
        { "systemd-cat rm f", "systemd-cat ?runs_others" },
        { "awk 'BEGIN{system(\"rm f\")}'", "awk [rm]" },
        { "awk '{print | \"rm f\"}' x", "awk [rm]" },
        { "awk 'BEGIN{\"/bin/rm f\"|getline}'", "awk [rm]" },
        { "sed '1e rm f' x", "sed [rm]" },
        { "sed 's/.*/rm f/e' x", "sed [rm]" },
        { "sed -n '$!{e rm f;}' x", "sed [rm]" },
        { "sed 's|a|/bin/rm|ge' x", "sed [rm]" },
        { "sed 's/[/]/rm f/e' x", "sed [rm]" },
        { "sed '/[^]/[:alpha:]/]/e rm f' x", "sed [rm]" },
        { "sed --ex='1e rm f' x", "sed [rm]" },
        { "sed '/[[:e rm' x", "sed" },
        { "awk --source='BEGIN{system(\"rm f\")}'", "awk [rm]" },
        { "python3 -c 'import os; os.system(\"rm f\")'", "python3 [rm]" },
        { "python3 -Bc 'import subprocess; subprocess.run([\"/bin/rm\"])'", "python3 [rm]" },
        { "perl -e 'system \"rm f\"'", "perl [rm]" },
        { "perl -ne '`rm f`' x", "perl [rm]" },
        { "node --eval='require(\"child_process\").execSync(\"rm f\")'", "node [rm]" },
        { "env python3 -c 'exec(\"rm\")'", "(env) python3 [rm]" },
        { "PATH=.:$PATH ls", "?environment ls" },
        { "export PAGER='rm f'; git log", "?environment git" },
        { "PAGER='rm f' git log", "?environment git" },
        { "typeset -x PAGER=rm; git log", "?builtin git" },
        { "declare -x PAGER=rm; git log", "?builtin git" },
        { "printf -v PAGER rm; git log", "?evaluates printf git" },
        { "read PATH; ls", "?builtin ls" },
        { "http_proxy=x; curl y", "?environment curl" },
        { "for PATH in .; do ls; done", "?environment ls" },
        { "unset PATH; ls", "?builtin ls" },
        { "[ -v 'x[$(rm f)]' ]", NULL },
        { "[[ -v x ]]", "?evaluates" },
        { "echo $((x))", "?evaluates echo" },
        { "echo ${!x} ${x@P}", "?evaluates ?evaluates echo" },
        { "((x = 1)); ls", NULL },
        { "coproc rm f", "?shells_differ ?builtin" },
        { "{rm,f}", NULL },
        { "ls |& rm f", "ls ?shells_differ rm" },
        { "ls 'unfinished", NULL },
        { "ls )", NULL },
};

static void
check_rows(const struct row *rows, size_t count)
{
        for (size_t i = 0; i < count; i++) {
                struct shell_facts facts = { find, NULL };
                struct shell_reading r;
                struct arena memory;
                char got[4096];

                arena_init(&memory, SHELL_MEMORY);
                shell_read_text(&memory, rows[i].text, strlen(rows[i].text), &facts, &r);
                describe(&r, got, sizeof got);
                if (rows[i].wanted ? strcmp(got, rows[i].wanted) != 0 : !strchr(got, '?'))
                        print_message("# %s: %s, not %s\n", rows[i].text, got,
                                      rows[i].wanted ? rows[i].wanted : "a doubt");
                if (rows[i].wanted)
                        assert_string_equal(got, rows[i].wanted);
                else
                        assert_non_null(strchr(got, '?'));
                arena_fini(&memory);
        }
}

static void
plain_commands_are_resolved(void **state)
{
        (void)state;
        check_rows(plain, sizeof plain / sizeof *plain);
}

static void
each_spelling_is_seen(void **state)
{
        (void)state;
        check_rows(spellings, sizeof spellings / sizeof *spellings);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(plain_commands_are_resolved),
                cmocka_unit_test(each_spelling_is_seen),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
