/*
 * audit/keys.c - the keys of an audit log.
 *
 * Room: audit (acting). Touches: fd, files of one directory, random numbers.
 */
#include "audit/keys.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/files.h"

static const char seed_name[] = "checkpoint.seed";

/* 64 hex digits and a line end */
enum { HEX_LEN = 2 * AUDIT_KEY_LEN + 1 };

static int
read_secret(int dir, const char *name, unsigned char ret[AUDIT_KEY_LEN], struct error *e)
{
        char text[HEX_LEN];
        size_t len, got = 0;
        struct stat st;
        int result = audit_file_read(dir, name, text, sizeof text, &len, e);

        if (result == 0 && (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
                            (st.st_mode & 077) != 0 || st.st_uid != geteuid())) {
                result = fail(e, ERROR_AUDIT_UNAVAILABLE,
                              "%s of the audit log can be read by other users", name);
                error_hint(e, "chmod 600 it, and replace the key: carrel audit rotate");
        }
        if (result == 0 &&
            (len != HEX_LEN ||
             sodium_hex2bin(ret, AUDIT_KEY_LEN, text, HEX_LEN - 1, NULL, &got, NULL) != 0 ||
             got != AUDIT_KEY_LEN))
                result = fail(e, ERROR_AUDIT_UNAVAILABLE, "%s of the audit log is not a key", name);
        sodium_memzero(text, sizeof text);
        return result;
}

static int
write_secret(int dir, const char *name, const unsigned char bytes[AUDIT_KEY_LEN], struct error *e)
{
        char text[HEX_LEN + 1];
        int result;

        (void)sodium_bin2hex(text, sizeof text, bytes, AUDIT_KEY_LEN);
        text[HEX_LEN - 1] = '\n';
        result = audit_file_replace(dir, name, text, HEX_LEN, true, e);
        sodium_memzero(text, sizeof text);
        return result;
}

static void
name_of(const char *id, char ret[AUDIT_FILE_NAME_MAX])
{
        (void)snprintf(ret, AUDIT_FILE_NAME_MAX, "key-%.16s", id);
}

static int
take_key(int dir, const char *name, struct audit_key *ret, struct error *e)
{
        char again[AUDIT_FILE_NAME_MAX];

        if (read_secret(dir, name, ret->bytes, e) < 0)
                return -1;
        audit_key_name(ret);
        name_of(ret->id, again);
        return strcmp(again, name) == 0 ? 0
                                        : fail(e, ERROR_AUDIT_UNAVAILABLE,
                                               "%s of the audit log holds another key", name);
}

int
audit_keys_read(int dir, struct audit_key **ret, size_t *ret_count, struct error *e)
{
        struct audit_key *keys = calloc(AUDIT_KEYS_MAX, sizeof *keys);
        int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), result = 0;
        DIR *list = fd >= 0 ? fdopendir(fd) : NULL;
        const struct dirent *entry;
        size_t count = 0;

        if (!keys || !list) {
                if (list)
                        (void)closedir(list);
                else if (fd >= 0)
                        (void)close(fd);
                free(keys);
                return fail_sys(e, ERROR_AUDIT_UNAVAILABLE, errno, "reading the audit log's keys");
        }
        while (result == 0 && (entry = readdir(list))) {
                if (strncmp(entry->d_name, "key-", 4) != 0)
                        continue;
                if (count == AUDIT_KEYS_MAX)
                        result = fail(e, ERROR_AUDIT_UNAVAILABLE,
                                      "the audit log has more than %d keys", AUDIT_KEYS_MAX);
                else
                        result = take_key(dir, entry->d_name, &keys[count++], e);
        }
        (void)closedir(list);
        if (result < 0) {
                audit_keys_free(keys, count);
                return -1;
        }
        *ret = keys;
        *ret_count = count;
        return 0;
}

void
audit_keys_free(struct audit_key *keys, size_t count)
{
        if (keys)
                sodium_memzero(keys, count * sizeof *keys);
        free(keys);
}

const struct audit_key *
audit_keys_find(const struct audit_key *keys, size_t count, const char *id)
{
        for (size_t i = 0; i < count; i++)
                if (strcmp(keys[i].id, id) == 0)
                        return &keys[i];
        return NULL;
}

int
audit_keys_add(int dir, char ret_id[AUDIT_KEY_TEXT], struct error *e)
{
        char name[AUDIT_FILE_NAME_MAX];
        struct audit_key key;
        int result;

        randombytes_buf(key.bytes, sizeof key.bytes);
        audit_key_name(&key);
        name_of(key.id, name);
        result = write_secret(dir, name, key.bytes, e);
        if (result == 0 && ret_id)
                memcpy(ret_id, key.id, AUDIT_KEY_TEXT);
        sodium_memzero(&key, sizeof key);
        return result;
}

int
audit_keys_seed(int dir, bool makes, unsigned char ret[AUDIT_SEED_LEN], struct error *e)
{
        struct error missing;

        if (read_secret(dir, seed_name, ret, &missing) == 0)
                return 0;
        if (!makes || strcmp(missing.reason, "missing") != 0) {
                *e = missing;
                return -1;
        }
        randombytes_buf(ret, AUDIT_SEED_LEN);
        return write_secret(dir, seed_name, ret, e);
}
