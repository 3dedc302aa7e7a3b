/*
 * cli/trial_image.c - an image of one program, to try sandboxes that need an image.
 *
 * Room: cli (joining). Touches: directories below $TMPDIR with its own prefix; processes.
 * Theory: a flock(2) lock ends with its holder. So a directory of this user without a lock is one
 * that a killed doctor left, and the next one removes it.
 */
#include "cli/trial_image.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scoped.h"
#include "cli/trial_child.h"
#include "volume/erase.h"

enum { PATH_ROOM = TRIAL_IMAGE_ROOM + 64, NOT_MADE = 125 };

#define ROOT "root"
#define PREFIX "carrel-doctor-"
#define ANY "XXXXXX"

static int
copy_itself(const char *to)
{
        scoped_fd int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
        scoped_fd int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
        struct stat st;
        off_t at = 0;

        if (from < 0 || out < 0 || fstat(from, &st) < 0)
                return -1;
        while (at < st.st_size)
                if (sendfile(out, from, &at, (size_t)(st.st_size - at)) <= 0)
                        return -1;
        return 0;
}

/* Of this user alone, and not in use: the lock is the caller's then. */
static bool
is_left(int place)
{
        struct stat st;

        return fstat(place, &st) == 0 && st.st_uid == geteuid() &&
               flock(place, LOCK_EX | LOCK_NB) == 0;
}

static void
remove_left(const char *top)
{
        DIR *list = opendir(top);
        const struct dirent *entry;

        while (list && (entry = readdir(list)) != NULL) {
                scoped_fd int place = -1;

                if (strncmp(entry->d_name, PREFIX, sizeof PREFIX - 1) != 0 ||
                    strlen(entry->d_name) != sizeof PREFIX ANY - 1)
                        continue;
                place = openat(dirfd(list), entry->d_name,
                               O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                if (place >= 0 && is_left(place))
                        (void)erase_all(dirfd(list), entry->d_name);
        }
        if (list)
                (void)closedir(list);
}

/* Its lock is this process's, and that of the children which it leaves behind. */
static bool
make_place(struct trial_image *t, const char *top)
{
        int len = snprintf(t->state, sizeof t->state, "%s/" PREFIX ANY, top);
        struct stat st;

        if (len < 0 || (size_t)len >= sizeof t->state || !mkdtemp(t->state)) {
                t->state[0] = '\0';
                return false;
        }
        t->place = open(t->state, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (t->place >= 0 && flock(t->place, LOCK_EX) == 0 && fstat(t->place, &st) == 0 &&
            st.st_nlink > 0)
                return true;
        errno = errno != 0 ? errno : ENOENT; /* another doctor took it for one that was left */
        return false;
}

static int
make_root(struct trial_image *t)
{
        const char *given = getenv("TMPDIR"), *top = given && given[0] == '/' ? given : "/tmp";
        static const char *const parts[] = { ROOT, ROOT "/bin" };
        char path[PATH_ROOM];

        remove_left(top);
        if (!make_place(t, top))
                return -1;
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
                (void)snprintf(path, sizeof path, "%s/%s", t->state, parts[i]);
                if (mkdir(path, 0755) < 0)
                        return -1;
        }
        (void)snprintf(path, sizeof path, "%s/" ROOT TRIAL_IMAGE_PROGRAM, t->state);
        return copy_itself(path);
}

static bool
call(struct trial_image *t, const char *action, const char *from, const char *name, uint64_t ms)
{
        const struct trial_child c = { .command = &command_image,
                                       .words = { "image", action, from, name },
                                       .state = t->state,
                                       .deadline_ms = ms };

        t->status = trial_child_run(&c, t->said, sizeof t->said);
        return t->status == 0;
}

bool
trial_image_make(struct trial_image *t, bool wants_disk, uint64_t deadline_ms)
{
        char root[PATH_ROOM];

        if (!t->is_tried) {
                t->is_tried = true;
                if (make_root(t) < 0) {
                        t->status = NOT_MADE;
                        (void)snprintf(t->said, sizeof t->said,
                                       ": error: no place for an image: %s", strerror(errno));
                        return false;
                }
                (void)snprintf(root, sizeof root, "%s/" ROOT, t->state);
                t->is_made = call(t, "import", root, TRIAL_IMAGE_NAME, deadline_ms);
        }
        if (t->is_made && wants_disk && !t->has_disk)
                t->has_disk = call(t, "disk", TRIAL_IMAGE_NAME, NULL, deadline_ms);
        return t->is_made && (!wants_disk || t->has_disk);
}

void
trial_image_remove(struct trial_image *t)
{
        char *name = strrchr(t->state, '/');
        scoped_fd int top = -1;

        if (!name)
                return;
        *name = '\0';
        top = open(t->state[0] ? t->state : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (top >= 0)
                (void)erase_all(top, name + 1);
        if (t->place > 0)
                (void)close(t->place);
        t->state[0] = '\0';
}
