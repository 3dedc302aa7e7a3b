/* maker/machine_test.c - what QEMU and virtiofsd may open, with a shell in the place of each. */
#include "base/unit.h"
#include "maker/machine.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "seal/landlock.h"

enum { ROOM = 256 };

#define WRITTEN "/tmp/carrel-machine-test"

/* `fd`: where it reports. What it could open is in its report, with the last word "end". */
#define TRY(fd)                                                                                   \
        "sh\n-c\ntrue < /usr/bin/env && echo usr >&" fd "; true < /proc/version && echo proc "    \
        ">&" fd "; true < /etc/passwd && echo etc >&" fd "; true > " WRITTEN " && echo tmp >&" fd \
        "; true < / && echo root >&" fd "; echo end >&" fd

static const struct machine_given nothing = { -1, -1, -1 };

static struct step
shell(const char *text)
{
        return (struct step){ .op = STEP_MACHINE,
                              .source = STEP_NO_SOURCE,
                              .path = "/bin/sh",
                              .text = text,
                              .text_len = strlen(text) };
}

static void
read_all(int fd, char text[ROOM])
{
        size_t used = 0;
        ssize_t got;

        while (used < ROOM - 1 && (got = read(fd, text + used, ROOM - 1 - used)) > 0)
                used += (size_t)got;
        text[used] = '\0';
        (void)close(fd);
}

static void
need_root(void)
{
        char path[4096];

        if (geteuid() != 0) {
                print_message("only root can become the sandbox's own id here\n");
                skip();
        }
        if (landlock_version() == 0) {
                print_message("this kernel has no Landlock\n");
                skip();
        }
        if (!realpath("/bin/sh", path) || strncmp(path, "/usr/", 5) != 0) {
                print_message("/bin/sh is not below /usr, where QEMU is\n");
                skip();
        }
}

static void
qemu_opens_its_libraries_and_nothing_else(void **state)
{
        const struct step qemu = shell(TRY("3"));
        char text[ROOM];
        int stream;

        (void)state;
        need_root();
        stream = machine_start(&qemu, NULL, &nothing, NULL);
        assert_true(stream >= 0);
        read_all(stream, text);
        (void)unlink(WRITTEN);
        assert_string_equal(text, "usr\nend\n");
        while (wait(NULL) > 0)
                ;
}

/* Its own files in /proc too. The mounts are not there in this test. */
static void
virtiofsd_opens_the_mounts_and_nothing_else(void **state)
{
        const struct step qemu = shell("sh\n-c\ntrue"), share = shell(TRY("4"));
        int alive = -1, stream;
        char text[ROOM];

        (void)state;
        need_root();
        stream = machine_start(&qemu, &share, &nothing, &alive);
        assert_true(stream >= 0);
        read_all(alive, text);
        (void)unlink(WRITTEN);
        assert_string_equal(text, "usr\nproc\nend\n");
        (void)close(stream);
        while (wait(NULL) > 0)
                ;
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(qemu_opens_its_libraries_and_nothing_else),
                cmocka_unit_test(virtiofsd_opens_the_mounts_and_nothing_else),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
