/* maker/memory_test.c - maker/memory.c: what is saved is restored, and nothing else is touched. */
#include "maker/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "wire/saved.h"

enum { SIZE = 8 << 20, STREAM = 100, BLOCK = 512, LEAST = 16384 };

static int
new_file(uint64_t size)
{
        int fd = memfd_create("test", MFD_CLOEXEC);

        assert_true(fd >= 0);
        assert_int_equal(ftruncate(fd, (off_t)size), 0);
        return fd;
}

static void
write_at(int fd, uint64_t at, const void *bytes, size_t len)
{
        assert_int_equal(pwrite(fd, bytes, len, (off_t)at), len);
}

/* A file of a machine whose devices are STREAM bytes. */
static int
save(int memory)
{
        struct saved_head head = { .magic = SAVED_MAGIC, .memory = SAVED_AT + STREAM };
        int file = new_file(0);
        uint64_t end;

        assert_int_equal(memory_save(memory, file, head.memory, &end), 0);
        head.bytes = end - SAVED_AT;
        write_at(file, 0, &head, sizeof head);
        return file;
}

static int
restore(int file, uint64_t size)
{
        int memory = new_file(size), result = memory_restore(file, memory);

        (void)close(memory);
        return result;
}

/* A word at its begin, at its end, over two blocks; zeros that take memory; and a hole. */
static void
what_is_not_zero_comes_back_and_nothing_else_takes_memory(void **state)
{
        static const uint64_t places[] = { 0, (1 << 20) - 4, 3 << 20, SIZE - 8 };
        static char zeros[1 << 20], wanted[SIZE], got[SIZE];
        int memory = new_file(SIZE), again = new_file(SIZE), file;
        struct stat st;

        (void)state;
        write_at(memory, 5 << 20, zeros, sizeof zeros);
        for (size_t i = 0; i < sizeof places / sizeof *places; i++)
                write_at(memory, places[i], "machine!", 8);
        assert_int_equal(pread(memory, wanted, SIZE, 0), SIZE);
        file = save(memory);
        assert_int_equal(memory_restore(file, again), 0);
        assert_int_equal(pread(again, got, SIZE, 0), SIZE);
        assert_memory_equal(got, wanted, SIZE);
        assert_int_equal(fstat(again, &st), 0);
        assert_true(st.st_blocks * BLOCK <= 5 * LEAST);
        (void)close(memory);
        (void)close(again);
        (void)close(file);
}

static void
a_file_that_does_not_fit_is_refused(void **state)
{
        static const struct saved_part bad[] = {
                { SIZE - 4, 8 }, { UINT64_MAX, 8 }, { 8, UINT64_MAX }, { 0, 0 }, { 0, SIZE }
        };
        uint64_t beyond = UINT64_MAX;
        int memory = new_file(SIZE), file;

        (void)state;
        write_at(memory, 0, "machine!", 8);
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
                file = save(memory);
                assert_int_equal(restore(file, SIZE), 0);
                assert_int_equal(restore(file, LEAST - 1), -EBADMSG);
                write_at(file, SAVED_AT + STREAM, &bad[i], sizeof bad[i]);
                assert_int_equal(restore(file, SIZE), -EBADMSG);
                (void)close(file);
        }
        file = save(memory);
        write_at(file, offsetof(struct saved_head, memory), &beyond, sizeof beyond);
        assert_int_equal(restore(file, SIZE), -EBADMSG);
        (void)close(file);
        (void)close(memory);
}

static void
every_id_of_the_box_may_open_it(void **state)
{
        char place[] = "/tmp/memory_test.XXXXXX";
        struct stat st;
        int fd;

        (void)state;
        assert_non_null(mkdtemp(place));
        assert_int_equal(chdir(place), 0);
        fd = memory_open(AT_FDCWD, SIZE);
        assert_true(fd >= 0);
        assert_int_equal(fstat(fd, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0666);
        assert_int_equal(st.st_size, SIZE);
        assert_int_equal(memory_open(AT_FDCWD, SIZE), -EEXIST);
        assert_int_equal(unlink(MEMORY_NAME), 0);
        assert_int_equal(rmdir(place), 0);
        (void)close(fd);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_is_not_zero_comes_back_and_nothing_else_takes_memory),
                cmocka_unit_test(a_file_that_does_not_fit_is_refused),
                cmocka_unit_test(every_id_of_the_box_may_open_it),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
