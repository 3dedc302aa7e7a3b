/*
 * fuzz/config.c - any bytes as git's configuration, before and after a change: what is before the
 * first 0xff byte, and what is after it.
 *
 * Beyond not crashing: a configuration that is read may become itself, one that is not may become
 * nothing, and what is new and harmless alone can be added.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "git/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void
must(int holds)
{
        if (!holds)
                abort();
}

static int
is_read(const char *bytes, size_t len)
{
        struct git_config c;
        struct git_entry e;
        int got;

        git_config_open(&c, bytes, len);
        while ((got = git_config_next(&c, &e)) > 0) {
                must(strlen(e.key) < GIT_KEY_ROOM && strlen(e.value) < GIT_VALUE_ROOM &&
                     e.section_len < strlen(e.key) && e.key[e.section_len] == '.');
                (void)git_entry_is_harmless(&e);
                must(git_config_effect(e.key)[0] != '\0');
        }
        must(git_config_next(&c, &e) == got);
        return got == 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
        const char *was = (const char *)data, *gap = memchr(data, 0xff, len),
                   *is = gap ? gap + 1 : was + len;
        size_t was_len = (size_t)((gap ? gap : was + len) - was), is_len = len - (size_t)(is - was);
        int reads_was = is_read(was, was_len), reads_is = is_read(is, is_len);
        char key[GIT_KEY_ROOM];
        enum git_change change;

        must((git_config_compare(was, was_len, was, was_len, key) == GIT_CHANGE_HARMLESS) ==
             reads_was);
        change = git_config_compare(was, was_len, is, is_len, key);
        must(memchr(key, '\0', sizeof key) != NULL &&
             (change == GIT_CHANGE_UNREADABLE) == (!reads_was || !reads_is));
        must((change == GIT_CHANGE_ENTRY) == (key[0] != '\0') || change == GIT_CHANGE_UNREADABLE);
        must(change == git_config_compare(is, is_len, was, was_len, key));
        return 0;
}
