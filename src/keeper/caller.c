/*
 * keeper/caller.c - identifies callers: users of this machine, and holders of a token.
 *
 * Room: keeper (joining). Touches: fd, random, the store.
 * Theory: a token is 256 random bits, and the store keeps only its hash. So the stored state does
 * not let its reader act as a caller. The time to look up a wrong token does not depend on how
 * close it is to a right one.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scoped.h"
#include "keeper/keeper.h"

enum { RANDOM_MAX = 32, NOBODY = 65534, PATH_LEN = 4096 };

bool
caller_of_uid(const struct keeper *k, uint32_t uid, struct caller *ret)
{
        bool is_own = uid == k->uid || uid == 0;

        if (!is_own && k->uid != 0)
                return false;
        *ret = (struct caller){ .uid = is_own ? PREPARE_UID_ANY : uid, .is_admin = is_own };
        (void)snprintf(ret->owner, sizeof ret->owner, "uid:%" PRIu32, is_own ? k->uid : uid);
        return true;
}

/* The user whose workspaces an owner may name: the one in the owner's name, else no user. */
static uint32_t
uid_of_owner(const struct keeper *k, const char *owner)
{
        char *end = NULL;
        unsigned long uid;

        if (strcmp(owner, k->owner) == 0)
                return PREPARE_UID_ANY;
        if (strncmp(owner, "uid:", 4) != 0 || owner[4] < '0' || owner[4] > '9')
                return NOBODY;
        errno = 0;
        uid = strtoul(owner + 4, &end, 10);
        return errno == 0 && *end == '\0' && uid < UINT32_MAX ? (uint32_t)uid : NOBODY;
}

int
caller_of_token(struct keeper *k, const char *token, struct caller *ret, struct error *e)
{
        unsigned char hash[STORE_HASH_LEN];
        char scope[16];
        int found;

        *ret = (struct caller){ 0 };
        token_hash(token, hash);
        found = store_token_find(k->store, hash, ret->owner, sizeof ret->owner, scope, sizeof scope,
                                 e);
        if (found <= 0)
                return found;
        ret->is_token = true;
        ret->is_read_only = strcmp(scope, "all") != 0;
        ret->is_approver = strcmp(scope, "approve") == 0;
        ret->uid = uid_of_owner(k, ret->owner);
        return 1;
}

int
random_hex(char *ret, size_t digits, struct error *e)
{
        static const char hex[] = "0123456789abcdef";
        unsigned char bytes[RANDOM_MAX];

        if (digits > 2 * sizeof bytes || getrandom(bytes, digits / 2, 0) != (ssize_t)(digits / 2))
                return fail_sys(e, ERROR_INTERNAL, errno, "asking for random bytes");
        for (size_t i = 0; i < digits / 2; i++) {
                ret[2 * i] = hex[bytes[i] >> 4];
                ret[2 * i + 1] = hex[bytes[i] & 15];
        }
        ret[digits] = '\0';
        return 0;
}

int
token_make(char ret[TOKEN_TEXT_LEN], struct error *e)
{
        (void)snprintf(ret, TOKEN_TEXT_LEN, "carrel_");
        return random_hex(ret + strlen(ret), 64, e);
}

void
token_hash(const char *token, unsigned char ret[STORE_HASH_LEN])
{
        _Static_assert((int)STORE_HASH_LEN == (int)crypto_hash_sha256_BYTES, "a hash is SHA-256");
        (void)crypto_hash_sha256(ret, (const unsigned char *)token, strlen(token));
}

/* Does the file exist, readable by this user only, with a known token? */
static bool
has_token(struct keeper *k, const char *path)
{
        scoped_fd int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        char text[TOKEN_TEXT_LEN + 2] = "";
        struct caller caller;
        struct stat found;
        struct error e;
        ssize_t len;

        if (fd < 0 || fstat(fd, &found) < 0 || !S_ISREG(found.st_mode) ||
            found.st_uid != geteuid() || (found.st_mode & 077) != 0)
                return false;
        len = read(fd, text, sizeof text - 1);
        if (len <= 0)
                return false;
        text[strcspn(text, "\n")] = '\0';
        return caller_of_token(k, text, &caller, &e) == 1 && strcmp(caller.owner, k->owner) == 0;
}

static int
write_token(const char *path, const char *token, struct error *e)
{
        char temporary[PATH_LEN + 8];
        scoped_fd int fd = -1;

        (void)snprintf(temporary, sizeof temporary, "%s.new", path);
        (void)unlink(temporary);
        fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0 || dprintf(fd, "%s\n", token) < 0 || fsync(fd) < 0 ||
            rename(temporary, path) < 0)
                return fail_sys(e, errno == ENOSPC ? ERROR_STORAGE_FULL : ERROR_INTERNAL, errno,
                                "writing %.200s", path);
        return 0;
}

int
token_file(struct keeper *k, struct error *e)
{
        char path[PATH_LEN], token[TOKEN_TEXT_LEN], id[17];
        unsigned char hash[STORE_HASH_LEN];
        struct store_token row = {
                .id = id, .owner = k->owner, .scope = "all", .created_ms = loop_wall_ms()
        };
        int result;

        (void)snprintf(path, sizeof path, "%s/token", k->state);
        if (has_token(k, path))
                return 0;
        if (token_make(token, e) < 0 || random_hex(id, 16, e) < 0)
                return -1;
        token_hash(token, hash);
        result = store_token_add(k->store, &row, hash, e) < 0 ? -1 : write_token(path, token, e);
        explicit_bzero(token, sizeof token);
        return result;
}
