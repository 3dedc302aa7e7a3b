/* keeper/judging_test.c - the places that keeper/judging.h gives to the calls of one owner. */
#include "keeper/judging.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/unit.h"
#include "wire/judge.h"

/* As docs/POLICY.md and the card of judging.c have it: 4 of one owner at once, 16 of all. */
enum { OWNER_ACTIVE = 4, ACTIVE = 16, OWNER_WAITING = 64, MANY = 80 };

static struct keeper keeper;
static const struct spec spec;
static const struct host_rules rules;
static const struct operation reading = { .name = "file.read" };

struct rig {
        struct prepared prepared;
        struct sandbox sandbox;
        struct call *calls[MANY * 2];
        size_t count;
        int judge; /* the end of carrel-judge */
};

static void
begin(struct rig *r)
{
        struct error e;
        int pair[2];

        memset(r, 0, sizeof *r);
        assert_int_equal(loop_new(&keeper.loop), 0);
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
        assert_int_equal(judging_open(&keeper, pair[0], &e), 0);
        r->judge = pair[1];
        r->prepared.spec = &spec;
        r->prepared.rules = &rules;
        r->sandbox.keeper = &keeper;
        r->sandbox.prepared = &r->prepared;
}

static void
finish(struct rig *r)
{
        for (size_t i = 0; i < r->count; i++) {
                judging_forget(r->calls[i]);
                free(r->calls[i]);
        }
        (void)close(r->judge);
        loop_free(keeper.loop);
}

/* One call more of this owner. */
static enum call_state
ask(struct rig *r, const char *owner, struct error *e)
{
        const struct judging_subject of = { .tool = reading.name };
        struct call *c = calloc(1, sizeof *c);

        assert_non_null(c);
        c->keeper = &keeper;
        c->op = &reading;
        (void)snprintf(c->caller.owner, sizeof c->caller.owner, "%s", owner);
        r->calls[r->count++] = c;
        return judging_begin(c, &r->sandbox, &of, e);
}

/* How many judgements carrel-judge was asked for since the last look. */
static size_t
asked(const struct rig *r)
{
        unsigned char body[8];
        struct wire_message m;
        size_t count = 0;

        while (wire_receive(r->judge, 0, &m, body, sizeof body) > 0) {
                count += m.kind == WIRE_JUDGE;
                wire_message_close(&m);
        }
        return count;
}

static void
one_owner_gets_its_places_and_no_more(void **state)
{
        static struct rig r;
        struct error e;
        size_t taken = 0;

        (void)state;
        begin(&r);
        for (size_t i = 0; i < MANY; i++)
                taken += ask(&r, "eve", &e) == CALL_WAITS;
        assert_int_equal(asked(&r), OWNER_ACTIVE);
        assert_int_equal(taken, OWNER_ACTIVE + OWNER_WAITING);
        assert_int_equal(e.code, ERROR_QUOTA_EXCEEDED);
        assert_string_equal(e.reason, "judging");
        /* another owner does not wait for any of them */
        assert_int_equal(ask(&r, "ann", &e), CALL_WAITS);
        assert_int_equal(asked(&r), 1);
        finish(&r);
}

static void
all_owners_have_so_many_together(void **state)
{
        static struct rig r;
        struct error e;
        char owner[8];

        (void)state;
        begin(&r);
        for (unsigned i = 0; i < MANY; i++) {
                (void)snprintf(owner, sizeof owner, "o%u", i);
                assert_int_equal(ask(&r, owner, &e), CALL_WAITS);
        }
        assert_int_equal(asked(&r), ACTIVE);
        finish(&r);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(one_owner_gets_its_places_and_no_more),
                cmocka_unit_test(all_owners_have_so_many_together),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
