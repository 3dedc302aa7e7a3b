/* box/puts_test.c - box/puts.h: the list of files that a call writes, however its input is cut. */
#include "base/unit.h"
#include "box/puts.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROOM = 1024 };

struct seen {
        struct puts puts;
        struct witness content, list, one;
        unsigned char content_bytes[ROOM], list_bytes[ROOM];
        size_t content_len, list_len;
};

static size_t
put(unsigned char *at, const char *path, const char *bytes, uint32_t mode)
{
        struct file_put head = { .len = strlen(bytes),
                                 .path_len = (uint32_t)strlen(path),
                                 .mode = mode,
                                 .flags = mode != 0 ? FILE_PUT_MODE : 0 };

        memcpy(at, &head, sizeof head);
        memcpy(at + sizeof head, path, strlen(path));
        memcpy(at + sizeof head + strlen(path), bytes, strlen(bytes));
        return sizeof head + strlen(path) + strlen(bytes);
}

static size_t
kept(struct witness *w, unsigned char bytes[ROOM])
{
        ssize_t got;

        witness_end(w);
        got = w->fd >= 0 ? pread(w->fd, bytes, ROOM, 0) : 0;
        witness_fini(w);
        return (size_t)got;
}

/* In pieces of this length. */
static void
see(struct seen *s, const unsigned char *bytes, size_t len, size_t piece)
{
        memset(s, 0, sizeof *s);
        s->puts = (struct puts){ .content = &s->content, .list = &s->list, .one = &s->one };
        witness_init(&s->content);
        witness_init(&s->list);
        witness_init(&s->one);
        witness_begin(&s->content, 1);
        witness_begin(&s->list, 1);
        for (size_t at = 0; at < len; at += piece)
                puts_add(&s->puts, bytes + at, len - at < piece ? len - at : piece);
        s->content_len = kept(&s->content, s->content_bytes);
        s->list_len = kept(&s->list, s->list_bytes);
}

static void
assert_listed(const struct seen *s, size_t *at, const char *path, const char *bytes, uint32_t mode)
{
        unsigned char sum[crypto_hash_sha256_BYTES];
        struct wire_box_put listed;

        memcpy(&listed, s->list_bytes + *at, sizeof listed);
        assert_int_equal(listed.bytes, strlen(bytes));
        assert_int_equal(listed.path_len, strlen(path));
        assert_int_equal(listed.mode, mode);
        assert_memory_equal(s->list_bytes + *at + sizeof listed, path, strlen(path));
        (void)crypto_hash_sha256(sum, (const unsigned char *)bytes, strlen(bytes));
        assert_memory_equal(s->list_bytes + *at + sizeof listed + strlen(path), sum, sizeof sum);
        *at += sizeof listed + strlen(path) + sizeof sum;
}

static void
each_file_is_listed_however_it_is_cut(void **state)
{
        unsigned char bytes[ROOM] = { 0 };
        size_t len = put(bytes, "/tmp/a", "first", 0700);
        struct seen s;

        (void)state;
        len += put(bytes + len, "empty", "", 0);
        len += put(bytes + len, "b", "last\n", 0);
        len += put(bytes + len, "", "", 0);
        for (size_t piece = 1; piece <= len; piece++) {
                struct wire_box_put end;
                size_t at = 0;

                see(&s, bytes, len, piece);
                assert_listed(&s, &at, "/tmp/a", "first", 0700);
                assert_listed(&s, &at, "empty", "", 0);
                assert_listed(&s, &at, "b", "last\n", 0);
                memcpy(&end, s.list_bytes + at, sizeof end);
                assert_int_equal(end.path_len, 0);
                assert_int_equal(s.list_len, at + sizeof end);
                assert_int_equal(s.content_len, 12);
                assert_memory_equal(s.content_bytes, "first\n\nlast\n", 12);
        }
}

/* Nothing says that it was complete, wherever it ends. */
static void
a_part_of_an_input_has_no_end(void **state)
{
        unsigned char bytes[ROOM] = { 0 };
        size_t len = put(bytes, "a", "text", 0), first = len;
        struct seen s;

        (void)state;
        len += put(bytes + len, "", "", 0);
        for (size_t part = 0; part < len; part++) {
                see(&s, bytes, part, 7);
                assert_true(s.list_len <= sizeof(struct wire_box_put) + 1 + WITNESS_SUM_LEN);
                assert_int_equal(s.content_len, part >= first      ? 4
                                                : part > first - 4 ? part - (first - 4)
                                                                   : 0);
        }
}

static void
what_is_malformed_ends_the_list(void **state)
{
        const struct file_put heads[] = { { .len = 1, .path_len = FILE_PATH_MAX + 1 },
                                          { .flags = FILE_PUT_MODE << 1 },
                                          { .pad = 1 } };

        (void)state;
        for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
                unsigned char bytes[ROOM] = { 0 };
                size_t len = put(bytes, "a", "x", 0);
                struct seen s;

                memcpy(bytes + len, &heads[i], sizeof heads[i]);
                see(&s, bytes, ROOM, 64);
                assert_int_equal(s.list_len, sizeof(struct wire_box_put) + 1 + WITNESS_SUM_LEN);
                assert_int_equal(s.content_len, 1);
        }
}

int
main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(each_file_is_listed_however_it_is_cut),
                                            cmocka_unit_test(a_part_of_an_input_has_no_end),
                                            cmocka_unit_test(what_is_malformed_ends_the_list) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
