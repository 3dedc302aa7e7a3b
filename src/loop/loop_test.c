/*
 * loop/loop_test.c - what waiting promises.
 */
#include "loop/loop.h"

#include <sys/epoll.h>
#include <unistd.h>

#include "base/unit.h"

static struct loop_watch first, second;
static int fired, order[4];

static struct loop *the_loop;

static void
remove_and_count(struct loop_watch *w, uint32_t events)
{
        (void)w;
        (void)events;
        fired++;
        loop_watch_remove(&first);
        loop_watch_remove(&second);
}

static void
a_removed_watcher_is_not_called(void **state)
{
        int a[2], b[2];

        fired = 0;
        assert_int_equal(loop_new(&the_loop), 0);
        assert_int_equal(pipe(a) + pipe(b), 0);
        assert_int_equal(loop_watch_add(the_loop, &first, a[0], EPOLLIN, remove_and_count), 0);
        assert_int_equal(loop_watch_add(the_loop, &second, b[0], EPOLLIN, remove_and_count), 0);
        assert_int_equal(write(a[1], "x", 1) + write(b[1], "x", 1), 2);
        loop_turn(the_loop);
        assert_int_equal(fired, 1);
        loop_free(the_loop);
}

static void
move_and_count(struct loop_watch *w, uint32_t events)
{
        (void)events;
        fired++;
        assert_ptr_equal(w, fired == 1 ? &first : &second);
        if (w == &first)
                assert_int_equal(loop_watch_move(&first, &second, EPOLLIN, move_and_count), 0);
        else
                loop_watch_remove(w);
}

static void
a_watcher_that_moved_is_called_again(void **state)
{
        int a[2];

        (void)state;
        fired = 0;
        assert_int_equal(loop_new(&the_loop), 0);
        assert_int_equal(pipe(a), 0);
        assert_int_equal(loop_watch_add(the_loop, &first, a[0], EPOLLIN | EPOLLET, move_and_count),
                         0);
        assert_int_equal(write(a[1], "x", 1), 1);
        loop_turn(the_loop);
        assert_int_equal(first.fd, -1);
        assert_int_equal(second.fd, a[0]);
        loop_turn(the_loop);
        assert_int_equal(fired, 2);
        assert_true(loop_watch_move(&first, &second, EPOLLIN, move_and_count) < 0);
        loop_free(the_loop);
}

struct late {
        struct loop_timer timer;
        int name;
};

static void
note_name(struct loop_timer *t)
{
        order[fired++] = ((struct late *)(void *)t)->name;
        if (fired == 3)
                loop_stop(the_loop);
}

static void
overdue_timers_fire_once_and_in_order(void **state)
{
        struct late timers[4] = { { .name = 0 }, { .name = 1 }, { .name = 2 }, { .name = 3 } };

        fired = 0;
        assert_int_equal(loop_new(&the_loop), 0);
        assert_int_equal(loop_timer_set(the_loop, &timers[0].timer, 30, note_name), 0);
        assert_int_equal(loop_timer_set(the_loop, &timers[1].timer, 10, note_name), 0);
        assert_int_equal(loop_timer_set(the_loop, &timers[2].timer, 20, note_name), 0);
        assert_int_equal(loop_timer_set(the_loop, &timers[3].timer, 15, note_name), 0);
        loop_timer_remove(&timers[3].timer);
        loop_run(the_loop);
        assert_int_equal(fired, 3);
        assert_int_equal(order[0], 1);
        assert_int_equal(order[1], 2);
        assert_int_equal(order[2], 0);
        loop_free(the_loop);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_removed_watcher_is_not_called),
                cmocka_unit_test(a_watcher_that_moved_is_called_again),
                cmocka_unit_test(overdue_timers_fire_once_and_in_order),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
