/*
 * judge/reach_test.c - which paths and hosts the words of a command name.
 */
#include "judge/reach.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char *const directories[] = { "/workspace", "/tmp" };
static const struct spec_names beneath = { directories, 2 };

static void
words_stay_beneath(void **state)
{
        static const struct {
                const char *word;
                bool stays;
        } rows[] = {
                { "a", true },
                { "", true },
                { "-l", true },
                { "a/b", true },
                { "/workspace", true },
                { "/workspace/a", true },
                { "/tmp/../tmp/x", true },
                { "/dev/null", true },
                { "../workspace/a", true },
                { "https://example.com/../x", true },
                { "--out=a/b", true },
                { "s/a/b/", true },
                { "/", false },
                { "/workspaces", false },
                { "/workspace/../etc", false },
                { "/workspace/a b/../../etc", false },
                { "//etc/passwd", false },
                { "/./etc/passwd", false },
                { "..", false },
                { "a/../..", false },
                { "../etc", false },
                { "--file=/etc/passwd", false },
                { "--file=../../etc/passwd", false },
                { "-I/etc", false },
                { "-xf/etc/x", false },
                { "-C..", false },
                { "-C../etc", false },
                { "if=/dev/sda", false },
                { "@/etc/passwd", false },
                { "a:/etc", false },
                { "/tmp:/etc", false },
                { "file:///etc/passwd", false },
                { "FILE:///etc/passwd", false },
                { "open('/etc/passwd')", false },
                { "https://a.b/ /etc/passwd", false },
                { "/workspace/x,/etc/x", false },
                { "{/etc,/tmp}", false },
        };
        struct reach_paths p = { &beneath, "/workspace", false };

        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                if (reach_word_stays(&p, rows[i].word) != rows[i].stays)
                        fail_msg("%s", rows[i].word);
        p.cwd = "/workspace/a/b";
        assert_true(reach_word_stays(&p, "../../x"));
        assert_false(reach_word_stays(&p, "../../../x"));
        p.has_moved = true;
        assert_false(reach_word_stays(&p, "../x"));
        assert_true(reach_word_stays(&p, "x"));
        assert_true(reach_path_is_normal("/"));
        assert_true(reach_path_is_normal("/a/b"));
        assert_false(reach_path_is_normal("/a/"));
        assert_false(reach_path_is_normal("/a/../b"));
        assert_false(reach_path_is_normal("a"));
}

static void
hosts_are_listed(void **state)
{
        static const struct {
                const char *program, *word;
                bool is_listed;
        } rows[] = {
                { NULL, "https://api.example.com/x?y=z", true },
                { NULL, "HTTPS://API.Example.COM./", true },
                { NULL, "https://user:pw@api.example.com:443/", true },
                { NULL, "http://a.good.org", true },
                { NULL, "main.c", true },
                { NULL, "file:///etc/passwd", true },
                { NULL, "https://evil.com", false },
                { NULL, "https://api.example.com:8443/", false },
                { NULL, "https://api.example.com@evil.com/", false },
                { NULL, "https://api.example.com.evil.com/", false },
                { NULL, "https://evil.com#@api.example.com/", false },
                { NULL, "https://api.example.com\\@evil.com/", false },
                { NULL, "https://good.org", false },
                { NULL, "https://127.0.0.1/", false },
                { NULL, "https://2130706433/", false },
                { NULL, "https://0x7f.1/", false },
                { NULL, "https://[::1]/", false },
                { NULL, "https://ex%61mple.com/", false },
                { NULL, "https:/evil.com", false },
                { NULL, "https:evil.com", false },
                { NULL, "get('https://evil.com')", false },
                { NULL, "--url=https://evil.com", false },
                { NULL, "https://api.example.com,https://evil.com", false },
                { NULL, "file://evil.com/share", false },
                { "curl", "api.example.com/x", true },
                { "curl", "-X", true },
                { "curl", "POST", true },
                { "curl", "5", true },
                { "curl", "./out.html", true },
                { "curl", "Accept: text/html", true },
                { "curl", "evil.com", false },
                { "curl", "evil.com:80/x", false },
                { "curl", "user@evil.com", false },
                { "curl", "localhost", false },
                { "curl", "127.1", false },
                { "curl", "[::1]:80", false },
                { "curl", "--proxy=evil.com:8080", false },
                { "curl", "{a,b}.evil.com", false },
                { "ssh", "api.example.com", true },
                { "ssh", "evil", false },
                { "nc", "evil.com", false },
                { "nc", "443", true },
                { "git", "git@api.example.com:x/y", true },
                { "git", "HEAD:main.c", true },
                { "git", "git@evil.com:x/y", false },
                { "git", "evil.com:x/y", false },
                { "scp", "evil:x", false },
                { "scp", "a/b:c", true },
                { "rsync", "api.example.com:x", true },
        };
        struct arena arena;
        struct spec_egress entries[2];
        struct reach_hosts h = { entries, 2 };
        struct error e;

        (void)state;
        arena_init(&arena, 1 << 20);
        assert_int_equal(egress_read(&arena, "api.example.com", &entries[0], &e), 0);
        assert_int_equal(egress_read(&arena, "*.good.org", &entries[1], &e), 0);
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                if (reach_word_hosts(&h, rows[i].program, rows[i].word) != rows[i].is_listed)
                        fail_msg("%s %s", rows[i].program ? rows[i].program : "", rows[i].word);
        assert_true(reach_host_is_listed(&h, "api.example.com"));
        assert_true(reach_host_is_listed(&h, "https://x.good.org/y"));
        assert_false(reach_host_is_listed(&h, "x"));
        assert_false(reach_host_is_listed(&h, ""));
        assert_false(reach_host_is_listed(&h, "api.example.com:22"));
        arena_fini(&arena);
}

int
main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(words_stay_beneath),
                cmocka_unit_test(hosts_are_listed),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
