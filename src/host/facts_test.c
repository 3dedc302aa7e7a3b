/*
 * host/facts_test.c - what host/facts.h promises: facts are collected quickly, change nothing, and
 * agree with the machine.
 */
#include "base/unit.h"
#include "host/facts.h"
#include "host/places.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

static double
now_us(void)
{
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void
agrees_with_the_system(void **state)
{
        struct host_facts facts;
        struct utsname names;
        cpu_set_t ours;
        struct error e;

        (void)state;
        assert_int_equal(host_facts_read(&facts, &e), 0);
        uname(&names);
        assert_string_equal(facts.kernel, names.release);
        assert_string_equal(facts.machine, names.machine);
        assert_int_equal(facts.uid, geteuid());
        assert_int_equal(sched_getaffinity(0, sizeof ours, &ours), 0);
        /* the processors that this process may use: fewer under taskset */
        assert_int_equal(facts.cpu_count, CPU_COUNT(&ours));
        assert_true(facts.cpus.possible[strspn(facts.cpus.possible, "0123456789,-")] == '\0');
        if (access("/sys/devices/system/cpu/online", R_OK) == 0)
                assert_true(facts.cpus.possible[0] == '0' && facts.cpus.present[0] == '0' &&
                            facts.cpus.online[0] != '\0');
        assert_true(facts.memory_mb > 16);
        assert_true(facts.uid == 0 || !facts.is_privileged);
        assert_int_equal(facts.runtime_dir[0], '/');
}

static void
shows_links_as_links(void **state)
{
        struct host_facts facts;
        struct error e;
        struct stat st;

        (void)state;
        assert_int_equal(host_facts_read(&facts, &e), 0);
        assert_true(facts.dir_count > 0);
        assert_string_equal(facts.dirs[0].path, "/usr");
        for (size_t i = 0; i < facts.dir_count; i++) {
                assert_int_equal(lstat(facts.dirs[i].path, &st), 0);
                assert_int_equal(S_ISLNK(st.st_mode) != 0, facts.dirs[i].is_link);
                assert_int_equal(facts.dirs[i].is_link, facts.dirs[i].target[0] != '\0');
        }
}

/*
 * Files that name this machine, its users or its network are never shown. The sandbox gets its own
 * versions.
 */
static void
never_shows_what_is_private(void **state)
{
        static const char *const never[] = { "passwd",
                                             "group",
                                             "shadow",
                                             "gshadow",
                                             "hosts",
                                             "resolv.conf",
                                             "sudoers",
                                             "hostname",
                                             "machine-id",
                                             "ssh",
                                             "krb5.keytab",
                                             "ssl",
                                             "pki",
                                             "ssl/private",
                                             "pki/tls",
                                             "pki/tls/private",
                                             "gitconfig",
                                             "environment",
                                             "npmrc",
                                             "pip.conf",
                                             "nsswitch.conf",
                                             "profile",
                                             "bash.bashrc",
                                             "maven",
                                             "maven/settings.xml",
                                             "R",
                                             "R/Renviron.site",
                                             "php",
                                             "wgetrc",
                                             "gemrc",
                                             "postgresql",
                                             "mysql",
                                             "apt",
                                             "apt/auth.conf",
                                             "ImageMagick-6",
                                             "ImageMagick-6/policy.xml" };
        size_t count;
        const struct place_row *rows = host_etc_rows(&count);

        (void)state;
        for (size_t i = 0; i < count; i++) {
                assert_true(strncmp(rows[i].path, "/etc/", 5) == 0 ||
                            strncmp(rows[i].path, "/var/lib/dpkg/", 14) == 0 ||
                            strcmp(rows[i].path, "/var/lib/texmf") == 0);
                assert_true(strlen(rows[i].why) > 8);
                for (size_t k = 0; k < sizeof never / sizeof *never; k++)
                        assert_string_not_equal(rows[i].path + 5, never[k]);
        }
}

static void
shows_only_what_the_system_alone_can_change(void **state)
{
        static const struct {
                mode_t mode;
                bool is_file_shown, is_directory_shown;
        } cases[] = {
                { 0644, true, false },  { 0755, true, true },   { 0444, true, false },
                { 0640, false, false }, { 0600, false, false }, { 0666, false, false },
                { 0777, false, false }, { 0622, false, false }, { 01777, false, false },
        };
        char file[] = "/tmp/carrel-place-XXXXXX", directory[] = "/tmp/carrel-places-XXXXXX",
             lead[] = "/tmp/carrel-lead-XXXXXX";
        int fd = mkstemp(file);
        struct stat system;

        (void)state;
        assert_int_equal(stat("/etc", &system), 0);
        assert_true(fd >= 0 && mkdtemp(directory) && mkdtemp(lead) && rmdir(lead) == 0 &&
                    symlink(file, lead) == 0);
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                assert_int_equal(fchmod(fd, cases[i].mode), 0);
                assert_int_equal(chmod(directory, cases[i].mode), 0);
                assert_int_equal(place_is_settled(file, &system),
                                 cases[i].is_file_shown && getuid() == 0);
                assert_int_equal(place_is_settled(lead, &system),
                                 cases[i].is_file_shown && getuid() == 0);
                assert_int_equal(place_is_settled(directory, &system),
                                 cases[i].is_directory_shown && getuid() == 0);
        }
        if (getuid() == 0) { /* a file that a user owns, and a file that a user's group may write */
                assert_int_equal(fchmod(fd, 0644), 0);
                assert_int_equal(fchown(fd, 1000, 0), 0);
                assert_false(place_is_settled(file, &system));
                assert_int_equal(fchown(fd, 0, 1000), 0);
                assert_true(place_is_settled(file, &system));
                assert_int_equal(fchmod(fd, 0664), 0);
                assert_false(place_is_settled(file, &system));
        }
        assert_false(place_is_settled("/dev/null", &system));
        assert_false(place_is_settled("/etc/there-is-no-such-thing", &system));
        (void)close(fd);
        assert_true(unlink(file) == 0 && unlink(lead) == 0 && rmdir(directory) == 0);
}

static void
lists_only_what_exists(void **state)
{
        struct host_facts facts;
        struct error e;

        (void)state;
        assert_int_equal(host_facts_read(&facts, &e), 0);
        for (size_t i = 0; i < facts.etc_count; i++)
                assert_int_equal(access(facts.etc[i].path, F_OK), 0);
        for (unsigned i = 0; i < CGROUP_CONTROLLER_MAX; i++)
                if (facts.cgroup.place[i].version != 0)
                        assert_int_equal(access(facts.cgroup.place[i].parent, W_OK), 0);
}

/*
 * Takes the best of many runs. The aim is 100 us; a machine five times slower, or a sanitizer,
 * still passes.
 */
static void
is_quick(void **state)
{
        struct host_facts facts;
        struct error e;
        double best = 1e9, start, took;

        (void)state;
        for (unsigned i = 0; i < 200; i++) {
                start = now_us();
                assert_int_equal(host_facts_read(&facts, &e), 0);
                took = now_us() - start;
                if (took < best)
                        best = took;
        }
        print_message("# host_facts_read: %.1f us at best\n", best);
        assert_true(best < 2000);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(agrees_with_the_system),
                cmocka_unit_test(shows_links_as_links),
                cmocka_unit_test(never_shows_what_is_private),
                cmocka_unit_test(shows_only_what_the_system_alone_can_change),
                cmocka_unit_test(lists_only_what_exists),
                cmocka_unit_test(is_quick),
        };

        return cmocka_run_group_tests_name("host/facts", tests, NULL, NULL);
}
