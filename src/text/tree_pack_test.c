/*
 * text/tree_pack_test.c - a tree is packed and unpacked unchanged, and damaged bytes are refused.
 */
#include "text/tree_pack.h"

#include <stdlib.h>
#include <string.h>

#include "base/unit.h"
#include "text/json.h"

static const char source[] =
        "{\"a\": [1, -2.5, \"x\", null, true], \"b\": {\"c\": \"\", \"d\": {}}}";

static unsigned char *
packed(struct arena *arena, size_t *ret_len)
{
        const struct node *root;
        struct error e;
        unsigned char *bytes;

        assert_int_equal(json_read(arena, source, strlen(source), &text_limits_manifest, &root, &e),
                         0);
        *ret_len = tree_pack_len(root);
        bytes = malloc(*ret_len);
        assert_non_null(bytes);
        tree_pack(root, bytes);
        return bytes;
}

static void
a_tree_comes_back(void **state)
{
        struct arena arena;
        const struct node *root;
        struct error e;
        struct json_writer w;
        size_t len;
        unsigned char *bytes;

        arena_init(&arena, 1 << 20);
        bytes = packed(&arena, &len);
        assert_int_equal(tree_unpack(&arena, bytes, len, &text_limits_manifest, &root, &e), 0);
        json_init(&w, false);
        json_node(&w, root);
        assert_string_equal(w.text, "{\"a\":[1,-2.5,\"x\",null,true],\"b\":{\"c\":\"\",\"d\":{}}}");
        assert_int_equal(node_find(root, "b")->key_column, 35);
        json_fini(&w);
        free(bytes);
        arena_fini(&arena);
}

static void
no_cut_and_no_flip_crosses_a_bound(void **state)
{
        struct arena arena;
        const struct node *root;
        struct error e;
        size_t len;
        unsigned char *bytes, *copy;

        arena_init(&arena, 64 << 20);
        bytes = packed(&arena, &len);
        for (size_t cut = 0; cut < len; cut++) {
                /* a block of its own: a sanitizer reports a read of one byte too many */
                copy = malloc(cut + 1);
                assert_non_null(copy);
                memcpy(copy, bytes, cut);
                assert_int_equal(tree_unpack(&arena, copy, cut, &text_limits_manifest, &root, &e),
                                 -1);
                free(copy);
        }
        for (size_t at = 0; at < len; at++) {
                bytes[at] ^= 0xff;
                (void)tree_unpack(&arena, bytes, len, &text_limits_manifest, &root, &e);
                bytes[at] ^= 0xff;
        }
        free(bytes);
        arena_fini(&arena);
}

static void
a_member_travels_without_its_key(void **state)
{
        static const char text[] = "{\"manifest\":{\"provider\":\"local\"}}";
        struct arena arena;
        const struct node *root, *back;
        struct error e;
        size_t len;
        void *bytes;

        (void)state;
        arena_init(&arena, 1 << 20);
        assert_int_equal(json_read(&arena, text, strlen(text), &text_limits_manifest, &root, &e),
                         0);
        root = node_find(root, "manifest");
        len = tree_pack_len(root);
        /* a block of its own: a sanitizer reports a read of one byte too many */
        bytes = malloc(len);
        assert_non_null(bytes);
        tree_pack(root, bytes);
        assert_int_equal(tree_unpack(&arena, bytes, len, &text_limits_manifest, &back, &e), 0);
        assert_null(back->key);
        assert_string_equal(node_find(back, "provider")->text, "local");
        free(bytes);
        arena_fini(&arena);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_tree_comes_back),
                cmocka_unit_test(a_member_travels_without_its_key),
                cmocka_unit_test(no_cut_and_no_flip_crosses_a_bound),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
