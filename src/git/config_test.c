/* git/config_test.c - what git/config.h promises. */
#include "git/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit.h"

static void
each_form_is_read(void **state)
{
        static const struct {
                const char *text, *key, *value;
        } rows[] = {
                { "[user]\n\tname = A B\n", "user.name", "A B" },
                { "[USER] NaMe=A  B  ; c", "user.name", "A  B" },
                { "# x\n; y\n\n[user]# z\nname=\"A # B\" # c\n", "user.name", "A # B" },
                { "[remote \"Ori.gin\"]\nURL = https://h/x\n", "remote.Ori.gin.url",
                  "https://h/x" },
                { "[remote.Origin]\nurl = x\n", "remote.origin.url", "x" },
                { "[remote \"a\\\"b\\\\c\"]\nurl = x\n", "remote.a\"b\\c.url", "x" },
                { "[a]\nb = one\\\n two\\t\\\"\\n\n", "a.b", "one two\t\"\n" },
                { "[a]\nb = \"  x  \"  y  \n", "a.b", "  x    y" },
                { "[a]b", "a.b", "" },
                { "[core]\nfsmonitor\n", "core.fsmonitor", "" },
                { "[a.b \"C\"]\nd = \xc3\xa4\n", "a.b.C.d", "\xc3\xa4" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                struct git_config c;
                struct git_entry e;

                git_config_open(&c, rows[i].text, strlen(rows[i].text));
                if (git_config_next(&c, &e) != 1 || strcmp(e.key, rows[i].key) != 0 ||
                    strcmp(e.value, rows[i].value) != 0 || git_config_next(&c, &e) != 0)
                        fail_msg("row %zu: %s = %s", i, e.key, e.value);
        }
}

static void
what_git_refuses_and_more_is_not_read(void **state)
{
        static const struct {
                const char *text;
                size_t len;
        } rows[] = {
#define ROW(text) { text, sizeof(text) - 1 }
                ROW("\xef\xbb\xbf[user]\nname = x\n"),
                ROW("[user]\r\nname = x\r\n"),
                ROW("[user]\nname = x\0y\n"),
                ROW("name = x\n"),
                ROW("[user\nname = x\n"),
                ROW("[user \"x]\nname = x\n"),
                ROW("[user \"x\ny\"]\nname = x\n"),
                ROW("[user x]\nname = x\n"),
                ROW("[user \"x\" ]\nname = x\n"),
                ROW("[]\nname = x\n"),
                ROW("[user]\n1name = x\n"),
                ROW("[user]\nna_me = x\n"),
                ROW("[user]\nname: x\n"),
                ROW("[user]\nname = \"x\n"),
                ROW("[user]\nname = \\x\n"),
                ROW("[us er]\nname = x\n"),
                ROW("[user]\nname = x\\"),
                ROW("[us\x7f"
                    "er]\n"),
                ROW("[user]\nname = \x1b[1m\n"),
                ROW("=\n"),
#undef ROW
        };
        static char huge[GIT_CONFIG_MAX + 2];
        struct git_config c;
        struct git_entry e;
        int got;

        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                git_config_open(&c, rows[i].text, rows[i].len);
                while ((got = git_config_next(&c, &e)) > 0)
                        continue;
                if (got == 0 || git_config_next(&c, &e) != -1)
                        fail_msg("row %zu is read: %s", i, rows[i].text);
        }
        memset(huge, '#', sizeof huge);
        git_config_open(&c, huge, GIT_CONFIG_MAX + 1);
        assert_int_equal(git_config_next(&c, &e), -1);
        git_config_open(&c, huge, GIT_CONFIG_MAX);
        assert_int_equal(git_config_next(&c, &e), 0);
        memset(huge, 'x', sizeof huge);
        memcpy(huge, "[a]\nb = ", 8);
        git_config_open(&c, huge, 8 + GIT_VALUE_ROOM);
        assert_int_equal(git_config_next(&c, &e), -1);
        memcpy(huge, "[xxxxxxx", 8);
        git_config_open(&c, huge, GIT_KEY_ROOM + 8);
        assert_int_equal(git_config_next(&c, &e), -1);
}

/* What a command may write into an empty configuration. */
static void
the_list_lets_ordinary_settings_pass(void **state)
{
        static const char *const rows[] = {
                "[user]\nname = Ann O'Hara <x>\nemail = a@b.c\n",
                "[core]\nbare = false\nFileMode = true\nautocrlf = input\nrepositoryformatversion "
                "= 0\n",
                "[remote \"origin\"]\nurl = https://github.com/a/b.git\nfetch = "
                "+refs/heads/*:refs/remotes/origin/*\n",
                "[remote \"o\"]\nurl = git@github.com:a/b.git\n",
                "[remote \"o\"]\nurl = ssh://git@h:22/a\npushurl = http://u:p@h/x\n",
                "[remote \"o\"]\nurl = git://h/x\n",
                "[branch \"main\"]\nremote = origin\nmerge = refs/heads/main\nrebase = true\n",
                "[branch \"x/-y..z\"]\nremote = .\nmerge = refs/heads/main\n",
                "[submodule \".lib/x\"]\nactive = true\nurl = https://h/x\nupdate = rebase\n",
                "[init]\ndefaultBranch = main\n",
                "[push]\nautoSetupRemote\n",
                "[extensions]\nworktreeConfig = true\n",
                "[core]\nsparseCheckout = true\nsparseCheckoutCone = true\n[index]\nsparse = "
                "false\n",
                "# nothing\n",
                "",
        };
        char key[GIT_KEY_ROOM];

        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                if (git_config_compare("", 0, rows[i], strlen(rows[i]), key) !=
                            GIT_CHANGE_HARMLESS ||
                    git_config_compare(rows[i], strlen(rows[i]), "", 0, key) != GIT_CHANGE_HARMLESS)
                        fail_msg("%s: %s", rows[i], key);
}

static void
the_rest_does_not(void **state) /* taste: its table is long */
{
        static const struct {
                const char *text, *key;
        } rows[] = {
                { "[core]\nfsmonitor = touch x\n", "core.fsmonitor" },
                { "[CORE]\nFSMonitor = x\n", "core.fsmonitor" },
                { "[core]fsmonitor", "core.fsmonitor" },
                { "[core]\nbare = false\nhooksPath = .husky\n", "core.hookspath" },
                { "[core]\nsshCommand = x\n", "core.sshcommand" },
                { "[core]\npager = x\n", "core.pager" },
                { "[core]\neditor = x\n", "core.editor" },
                { "[core]\nworktree = ..\n", "core.worktree" },
                { "[core]\naskPass = x\n", "core.askpass" },
                { "[core]\ngitProxy = x\n", "core.gitproxy" },
                { "[core]\nattributesFile = x\n", "core.attributesfile" },
                { "[core]\nnew = x\n", "core.new" },
                { "[core \"x\"]\nbare = false\n", "core.x.bare" },
                { "[alias]\nst = !x\n", "alias.st" },
                { "[filter \"x\"]\nclean = x\n", "filter.x.clean" },
                { "[diff \"x\"]\ncommand = x\n", "diff.x.command" },
                { "[diff \"x\"]\ntextconv = x\n", "diff.x.textconv" },
                { "[diff]\nexternal = x\n", "diff.external" },
                { "[merge \"x\"]\ndriver = x\n", "merge.x.driver" },
                { "[credential]\nhelper = x\n", "credential.helper" },
                { "[include]\npath = x\n", "include.path" },
                { "[includeIf \"gitdir:/\"]\npath = x\n", "includeif.gitdir:/.path" },
                { "[url \"ext::x \"]\ninsteadOf = https://\n", "url.ext::x .insteadof" },
                { "[gpg]\nprogram = x\n", "gpg.program" },
                { "[gpg \"ssh\"]\nprogram = x\n", "gpg.ssh.program" },
                { "[remote \"o\"]\nuploadpack = x\n", "remote.o.uploadpack" },
                { "[remote \"o\"]\nreceivepack = x\n", "remote.o.receivepack" },
                { "[remote \"o\"]\nvcs = x\n", "remote.o.vcs" },
                { "[remote \"o\"]\nproxy = x\n", "remote.o.proxy" },
                { "[remote \"o\"]\nurl = ext::sh -c x\n", "remote.o.url" },
                { "[remote \"o\"]\nurl = ext::sh%20x\n", "remote.o.url" },
                { "[remote \"o\"]\nurl = /tmp/x\n", "remote.o.url" },
                { "[remote \"o\"]\nurl = ../x\n", "remote.o.url" },
                { "[remote \"o\"]\nurl = file:///x\n", "remote.o.url" },
                { "[remote \"o\"]\nurl = ssh://-oProxyCommand=x/\n", "remote.o.url" },
                { "[remote \"o\"]\nurl = ssh://u@-oProxyCommand=x/\n", "remote.o.url" },
                { "[remote \"o\"]\nurl = git@-oProxyCommand=x:y\n", "remote.o.url" },
                { "[remote \"o\"]\nurl = -oProxyCommand@h:y\n", "remote.o.url" },
                { "[remote \"o\"]\nurl = a@b::c\n", "remote.o.url" },
                { "[remote \"o\"]\nurl = https:///x\n", "remote.o.url" },
                { "[remote \"o\"]\nurl = https://h/%0ax\n", "remote.o.url" },
                { "[remote \"o\"]\nurl = \"https://h/\\nx\"\n", "remote.o.url" },
                { "[remote \"o\"]\nurl = HTTPS://h/x\n", "remote.o.url" },
                { "[remote \"o\"]\nurl = git@h:`x`\n", "remote.o.url" },
                { "[remote \"--upload-pack=x\"]\nurl = https://h/x\n",
                  "remote.--upload-pack=x.url" },
                { "[remote \"-x\"]\nurl = https://h/x\n", "remote.-x.url" },
                { "[remote \"o\"]\ntagopt = --upload-pack=x\n", "remote.o.tagopt" },
                { "[remote]\nurl = https://h/x\n", "remote.url" },
                { "[branch \"m\"]\nremote = ext::x\n", "branch.m.remote" },
                { "[branch \"m\"]\nremote = /x\n", "branch.m.remote" },
                { "[branch \"m\"]\nremote = ../x\n", "branch.m.remote" },
                { "[branch \"m\"]\nremote = --x\n", "branch.m.remote" },
                { "[branch \"m\"]\nmerge = x\n", "branch.m.merge" },
                { "[branch \"m\"]\nmergeOptions = x\n", "branch.m.mergeoptions" },
                { "[submodule \"x\"]\nupdate = !x\n", "submodule.x.update" },
                { "[submodule \"../x\"]\nurl = https://h/x\n", "submodule.../x.url" },
                { "[submodule]\nrecurse = true\n", "submodule.recurse" },
                { "[protocol]\nallow = always\n", "protocol.allow" },
                { "[protocol \"ext\"]\nallow = always\n", "protocol.ext.allow" },
                { "[http]\nproxy = x\n", "http.proxy" },
                { "[sequence]\neditor = x\n", "sequence.editor" },
                { "[pager]\nlog = x\n", "pager.log" },
                { "[init]\ntemplateDir = x\n", "init.templatedir" },
                { "[trailer \"x\"]\ncommand = x\n", "trailer.x.command" },
                { "[extensions]\npartialClone = o\n", "extensions.partialclone" },
                { "[commit]\ntemplate = x\n", "commit.template" },
                { "[a]\nb = \\\n[core]\n", "a.b" },
                { "[user]\nname = x\\\n[core]\nfsmonitor = y\n", "user.fsmonitor" },
        };
        char key[GIT_KEY_ROOM];

        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                if (git_config_compare("", 0, rows[i].text, strlen(rows[i].text), key) !=
                            GIT_CHANGE_ENTRY ||
                    strcmp(key, rows[i].key) != 0)
                        fail_msg("passes: %s (%s)", rows[i].text, key);
                assert_int_equal(git_config_compare(rows[i].text, strlen(rows[i].text), "", 0, key),
                                 GIT_CHANGE_ENTRY);
                assert_string_equal(key, rows[i].key);
                assert_int_equal(git_config_compare(rows[i].text, strlen(rows[i].text),
                                                    rows[i].text, strlen(rows[i].text), key),
                                 GIT_CHANGE_HARMLESS);
        }
}

/*
 * The project's own settings keep their text and order. Harmless ones may be added and removed
 * around them.
 */
static void
what_was_there_must_stay(void **state)
{
        static const char was[] =
                "[core]\nhooksPath = .husky\n[user]\nname = a\n[alias]\nst = status\n";
        static const struct {
                const char *is;
                enum git_change change;
                const char *key;
        } rows[] = {
                { "[user]\nemail = b\n[core]\nhookspath=.husky\n[alias]\n  st = \"status\"\n",
                  GIT_CHANGE_HARMLESS, "" },
                { "[alias]\nst = status\n[core]\nhooksPath = .husky\n", GIT_CHANGE_ENTRY,
                  "alias.st" },
                { "[core]\nhooksPath = .husky\n", GIT_CHANGE_ENTRY, "alias.st" },
                { "[core]\nhooksPath = .husky2\n[alias]\nst = status\n", GIT_CHANGE_ENTRY,
                  "core.hookspath" },
                { "[core]\nhooksPath = .husky\n[alias]\nst = status\nst = !x\n", GIT_CHANGE_ENTRY,
                  "alias.st" },
                { "[core]\nhooksPath = .husky\n[alias]\nst = status\n[user\n",
                  GIT_CHANGE_UNREADABLE, "" },
        };
        char key[GIT_KEY_ROOM];

        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                assert_int_equal(git_config_compare(was, sizeof was - 1, rows[i].is,
                                                    strlen(rows[i].is), key),
                                 rows[i].change);
                if (rows[i].change == GIT_CHANGE_ENTRY)
                        assert_string_equal(key, rows[i].key);
        }
        assert_int_equal(git_config_compare("[x\n", 3, "[user]\nname = a\n", 16, key),
                         GIT_CHANGE_UNREADABLE);
}

static void
a_key_decides_what_a_change_does(void **state)
{
        (void)state;
        assert_string_equal(git_config_effect("core.fsmonitor"), "git status runs it");
        assert_string_equal(git_config_effect("remote.o.uploadpack"), "git fetch runs it");
        assert_string_equal(git_config_effect("includeif.gitdir:/x.y/.path"),
                            "git reads another file");
        assert_string_equal(git_config_effect("core.new"), "it is not known to run nothing");
        assert_string_equal(git_config_effect(""), "it is not known to run nothing");
        assert_string_equal(git_config_effect("hooks/pre-commit"), "git runs it");
        assert_string_equal(git_config_effect("config"), "it cannot be read to its end");
}

static void
what_runs_is_listed_once(void **state)
{
        static const struct {
                const char *text, *list;
                int is_submodule;
        } rows[] = {
                { "[user]\nname = x\n", "", 0 },
                { "[core]\nfsmonitor = x\nfsmonitor = y\n[alias]\na = !b\n",
                  "core.fsmonitor\nalias.a", 0 },
                { "[core]\nworktree = ../../../lib\n", "core.worktree", 0 },
                { "[core]\nworktree = ../../../lib\n", "", 1 },
                { "[core]\nworktree = /lib\n", "core.worktree", 1 },
                { "[core]\nfsmonitor = x\n[evil\n", "core.fsmonitor\nconfig", 0 },
        };
        char ret[GIT_KEY_ROOM], many[8192] = "[alias]\n";

        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                assert_int_equal(git_config_runs(rows[i].text, strlen(rows[i].text),
                                                 rows[i].is_submodule, ret, sizeof ret),
                                 strlen(rows[i].list));
                assert_string_equal(ret, rows[i].list);
        }
        for (int i = 0; i < 300; i++)
                (void)snprintf(many + strlen(many), sizeof many - strlen(many), "a%d = x\n", i);
        assert_true(git_config_runs(many, strlen(many), 0, ret, sizeof ret) < sizeof ret);
        assert_string_equal(ret + strlen(ret) - 4, "\n...");
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(each_form_is_read),
                cmocka_unit_test(what_git_refuses_and_more_is_not_read),
                cmocka_unit_test(the_list_lets_ordinary_settings_pass),
                cmocka_unit_test(the_rest_does_not),
                cmocka_unit_test(what_was_there_must_stay),
                cmocka_unit_test(a_key_decides_what_a_change_does),
                cmocka_unit_test(what_runs_is_listed_once),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
