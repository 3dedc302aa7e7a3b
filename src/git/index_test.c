/* git/index_test.c - what git/index.h promises. */
#include "git/index.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/unit.h"

static unsigned char bytes[4096];
static size_t len;

static void
put(uint32_t value, unsigned count)
{
        while (count-- > 0)
                bytes[len++] = (unsigned char)(value >> 8 * count);
}

static void
begin(uint32_t version, uint32_t count)
{
        len = 0;
        memset(bytes, 0, sizeof bytes);
        memcpy(bytes, "DIRC", 4);
        len = 4;
        put(version, 4);
        put(count, 4);
}

/*
 * `strip`: in version 4, the number of bytes removed from the last name; `more` < 0: no extended
 * flags.
 */
static void
entry(uint32_t version, uint32_t mode, const char *whole, unsigned strip, const char *suffix,
      int more)
{
        size_t start = len;

        len += 24;
        put(mode, 4);
        len += 32;
        put((uint32_t)strlen(whole) | (more >= 0 ? 0x4000u : 0), 2);
        if (more >= 0)
                put((uint32_t)more, 2);
        if (version == 4)
                bytes[len++] = (unsigned char)strip;
        memcpy(bytes + len, suffix, strlen(suffix) + 1);
        len += strlen(suffix) + 1;
        if (version < 4)
                len = start + (len - start + 7) / 8 * 8;
}

static void
extension(const char *name, uint32_t size)
{
        memcpy(bytes + len, name, 4);
        len += 4;
        put(size, 4);
        len += size;
}

static void
make(uint32_t version)
{
        begin(version, 3);
        entry(version, 0100644, ".envrc", 0, ".envrc", -1);
        entry(version, 0120000, ".vscode/settings.json", 5,
              version == 4 ? "vscode/settings.json" : ".vscode/settings.json",
              version > 2 ? 0x4000 : -1);
        entry(version, 0160000, "lib", 21, "lib", -1);
        extension("TREE", 8);
        len += 20;
}

static void
each_version_is_read(void **state)
{
        static const struct {
                const char *name;
                enum git_tracks wanted;
        } rows[] = {
                { ".envrc", GIT_TRACKS_YES },
                { ".vscode", GIT_TRACKS_YES },
                { ".vscode/settings.json", GIT_TRACKS_YES },
                { ".env", GIT_TRACKS_NO },
                { ".vscode/settings", GIT_TRACKS_NO },
                { ".claude", GIT_TRACKS_NO },
                { "lib", GIT_TRACKS_NO },
        };

        (void)state;
        for (uint32_t version = 2; version <= 4; version++) {
                make(version);
                for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                        if (git_index_tracks(bytes, len, rows[i].name) != rows[i].wanted)
                                fail_msg("version %u: %s", version, rows[i].name);
        }
}

static void
every_cut_is_unknown(void **state)
{
        (void)state;
        for (uint32_t version = 2; version <= 4; version++) {
                size_t whole;

                make(version);
                whole = len;
                for (size_t cut = 0; cut < whole; cut++)
                        if (git_index_tracks(bytes, cut, ".envrc") != GIT_TRACKS_UNKNOWN &&
                            cut != whole - 16)
                                fail_msg("version %u, %zu of %zu bytes", version, cut, whole);
        }
}

static void
what_is_not_understood_is_unknown(void **state)
{
        static const char *const needed[] = { "link", "sdir", "xxxx" };

        (void)state;
        for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
                begin(2, 1);
                entry(2, 0100644, ".envrc", 0, ".envrc", -1);
                extension(needed[i], 4);
                len += 20;
                assert_int_equal(git_index_tracks(bytes, len, ".envrc"), GIT_TRACKS_UNKNOWN);
        }
        make(2);
        bytes[7] = 5;
        assert_int_equal(git_index_tracks(bytes, len, ".envrc"), GIT_TRACKS_UNKNOWN);
        make(2);
        bytes[11] = 200; /* a larger number than the entries in the file */
        assert_int_equal(git_index_tracks(bytes, len, ".envrc"), GIT_TRACKS_UNKNOWN);
        make(4);
        bytes[12 + 62] = 9; /* removes more bytes than the last name has */
        assert_int_equal(git_index_tracks(bytes, len, ".envrc"), GIT_TRACKS_UNKNOWN);
        begin(3, 1);
        entry(3, 0100644, ".envrc", 0, ".envrc", 0x2000);
        len += 20;
        /* the entry is marked intent-to-add: announced, but not added */
        assert_int_equal(git_index_tracks(bytes, len, ".envrc"), GIT_TRACKS_NO);
}

static void
note_link(void *arg, const char *name)
{
        (void)snprintf(arg, 64, "%s;", name);
}

static void
links_are_reported(void **state)
{
        char found[64];

        (void)state;
        for (uint32_t version = 2; version <= 4; version++) {
                memset(found, 0, sizeof found);
                make(version);
                assert_int_equal(git_index_links(bytes, len, note_link, found), 0);
                assert_string_equal(found, "lib;");
                memset(found, 0, sizeof found);
                assert_int_equal(git_index_files(bytes, len, note_link, found), 0);
                assert_string_equal(found, ".vscode/settings.json;");
                memset(found, 0, sizeof found);
                assert_int_equal(git_index_links(bytes, 19, note_link, found), -1);
                assert_string_equal(found, "");
                assert_int_equal(git_index_links(bytes, len - 1, note_link, found), -1);
        }
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(each_version_is_read),
                cmocka_unit_test(links_are_reported),
                cmocka_unit_test(every_cut_is_unknown),
                cmocka_unit_test(what_is_not_understood_is_unknown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
