/*
 * cli/wall.c - a gate of its own for `carrel run`, and what it refused.
 *
 * Room: cli (joining). Touches: processes, fd.
 */
#include "cli/wall.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/switches.h"
#include "boxstate/wall_state.h"
#include "egress/admit.h"
#include "prepare/caps.h"
#include "programs/programs.h"

enum { TEXT_ROOM = 1200 };

static int
start(char *way, int *ret_control, pid_t *ret_pid, struct error *e)
{
        static char name[] = "carrel-gate", option[] = "--keeper-fd", number[] = "3";
        char *argv[] = { name, option, number, way, NULL };
#ifdef CARREL_TEST_SWITCHES
        char **envp = environ; /* tests use it to disable checks of the gate */
#else
        char *envp[] = { NULL };
#endif

        return program_start_linked(PROGRAM_GATE, argv, envp, ret_control, ret_pid, e);
}

static int
start_gate(int *ret_control, pid_t *ret_pid, struct error *e)
{
        return start(NULL, ret_control, ret_pid, e);
}

int
wall_start_stand_in(int *ret_control, pid_t *ret_pid, struct error *e)
{
        static char way[] = "--stand-in";

        return start(way, ret_control, ret_pid, e);
}

static void
rejected(int sys)
{
        (void)fprintf(stderr, "carrel gate: the gate does not take the changed policy: %s\n",
                      strerror(sys));
}

int
wall_options(struct arena *arena, const struct spec *spec, const struct host_rules *rules,
             const char *id, const struct run_wall_options **ret, struct error *e)
{
        struct run_wall_options *o;

        *ret = NULL;
        if (spec->egress_count == 0 && !spec->wall.is_given)
                return 0;
        o = arena_new(arena, struct run_wall_options);
        if (o) {
                o->allow =
                        (struct spec_names){ egress_texts(arena, spec->egress, spec->egress_count),
                                             spec->egress_count };
                o->private_names = (struct spec_names){ egress_texts(arena, rules->private_names,
                                                                     rules->private_name_count),
                                                        rules->private_name_count };
        }
        if (!o || !o->allow.items || !o->private_names.items)
                return fail(e, ERROR_NO_MEMORY, "no memory for the list of destinations");
        o->id = id;
        o->resolvers = rules->resolvers;
        o->networks = rules->networks;
        o->caps = wall_caps(&spec->egress_caps);
        o->start = start_gate;
        o->rejected = rejected;
        *ret = o;
        return 0;
}

/* -- what was refused -------------------------------------------------------------------------- */

static const char *
explain(const struct wire_wall_denied *d, char text[TEXT_ROOM])
{
        enum denial reason = d->reason < DENIAL_MAX ? (enum denial)d->reason : DENIAL_FAILED;
        char host[GATE_HOST_ROOM];

        if (d->host[0] != '\0')
                (void)snprintf(host, sizeof host, "%s", d->host);
        else
                (void)wall_state_address_text(d, host);
        (void)denial_text(reason, host, d->port, d->other, text, TEXT_ROOM);
        return denial_name(reason);
}

static void
print_one(const struct wire_wall_denied *d, uint64_t count)
{
        char text[TEXT_ROOM];

        (void)explain(d, text);
        if (count > 1)
                (void)fprintf(stderr, "carrel: refused, %" PRIu64 " times: %s\n", count, text);
        else
                (void)fprintf(stderr, "carrel: refused: %s\n", text);
}

void
wall_print_first(const struct wire_wall_denied *first)
{
        print_one(first, 1);
}

void
wall_print(const struct run_result *r)
{
        for (size_t i = 0; i < r->denial_count; i++)
                print_one(&r->denials[i].d, r->denials[i].count);
        if (r->denied_more > 0)
                (void)fprintf(stderr, "carrel: refused: %" PRIu64 " more requests\n",
                              r->denied_more);
}

void
wall_write_json(struct json_writer *w, const struct run_result *r)
{
        if (r->denial_count == 0)
                return;
        json_key(w, "denied");
        json_open_list(w);
        for (size_t i = 0; i < r->denial_count; i++) {
                const struct wire_wall_denied *d = &r->denials[i].d;
                char text[TEXT_ROOM], address[WALL_STATE_ADDRESS_ROOM];
                const char *reason = explain(d, text);

                json_open_map(w);
                json_member_text(w, "reason", reason);
                json_member_text(w, "host", d->host);
                if (d->port != 0)
                        json_member_int(w, "port", d->port);
                if (d->family != 0)
                        json_member_text(w, "address", wall_state_address_text(d, address));
                if (d->other[0] != '\0')
                        json_member_text(w, "said", d->other);
                json_key(w, "count");
                json_uint(w, r->denials[i].count);
                json_member_text(w, "message", text);
                json_close_map(w);
        }
        json_close_list(w);
        if (r->denied_more > 0) {
                json_key(w, "denied_more");
                json_uint(w, r->denied_more);
        }
}
