/*
 * maker/config.c - git configuration of a host repository, which a command may change as long as no
 * change runs a program.
 *
 * Room: maker (program). Touches: fd, one file of a repository.
 * Theory: the payload wrote the bytes. Here they are only compared; a child that can only answer
 * parses them (confined.h).
 */
#include "maker/config.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "maker/confined.h"

struct answer {
        unsigned change;
        char key[GIT_KEY_ROOM];
};

int
guarded_config_read(int dir, const char *name, struct config *ret)
{
        struct stat st;
        ssize_t got = 0;
        int fd = dir < 0 ? -1
                         : openat(dir, name,
                                  O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC),
            result = 0;

        ret->len = 0;
        ret->mode = 0644;
        ret->is_there = false;
        if (fd < 0)
                return dir < 0 || errno == ENOENT ? 0 : -errno;
        if (fstat(fd, &st) < 0)
                result = -errno;
        else if (!S_ISREG(st.st_mode) || st.st_size > GIT_CONFIG_MAX)
                result = S_ISREG(st.st_mode) ? -EFBIG : -EINVAL;
        while (result == 0 && ret->len < sizeof ret->bytes &&
               (got = read(fd, ret->bytes + ret->len, sizeof ret->bytes - ret->len)) > 0)
                ret->len += (size_t)got;
        if (result == 0 && got < 0)
                result = -errno;
        ret->mode = st.st_mode & 0777;
        ret->is_there = result == 0;
        (void)close(fd);
        return result;
}

bool
config_is_same(const struct config *left, const struct config *right)
{
        return left->is_there == right->is_there && left->len == right->len &&
               memcmp(left->bytes, right->bytes, left->len) == 0;
}

struct change {
        const struct config *was, *is;
};

static size_t
judge(const void *about, void *ret)
{
        const struct change *c = about;
        struct answer *answer = ret;

        answer->change = git_config_compare(c->was->bytes, c->was->len, c->is->bytes, c->is->len,
                                            answer->key);
        return sizeof *answer;
}

bool
config_may_become(const struct config *was, const struct config *is, char *ret_key)
{
        struct change change = { was, is };
        struct answer answer = { GIT_CHANGE_UNREADABLE, "" };

        if (confined_ask(judge, &change, &answer, sizeof answer) != (ssize_t)sizeof answer)
                answer = (struct answer){ GIT_CHANGE_UNREADABLE, "" };
        answer.key[sizeof answer.key - 1] = '\0';
        memcpy(ret_key, answer.key, sizeof answer.key);
        return answer.change == GIT_CHANGE_HARMLESS;
}

int
config_write(int dir, const char *name, const struct config *c)
{
        int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600),
            result = 0;

        if (fd < 0)
                return -errno;
        if (write(fd, c->bytes, c->len) != (ssize_t)c->len)
                result = -EIO;
        if (fchmod(fd, c->mode) < 0 && result == 0)
                result = -errno;
        (void)close(fd);
        return result;
}
