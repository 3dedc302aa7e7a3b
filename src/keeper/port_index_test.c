/* keeper/port_index_test.c - promises of keeper/port_index.h. */
#include "keeper/port_index.h"

#include <stdio.h>
#include <string.h>

#include "base/unit.h"
#include "keeper/sandbox.h"

enum { SANDBOXES = 300, PORTS = SANDBOX_PORTS_MAX };

static struct sandbox sandboxes[SANDBOXES];
static struct store_port ports[SANDBOXES][PORTS];

static void
each_token_leads_to_its_port_alone(void **state)
{
        uint16_t port = 0;

        (void)state;
        for (unsigned i = 0; i < SANDBOXES; i++) {
                for (unsigned j = 0; j < PORTS; j++) {
                        ports[i][j].port = (uint16_t)(1000 + j);
                        (void)snprintf(ports[i][j].token, sizeof ports[i][j].token, "%016x%016x", i,
                                       j);
                }
                sandboxes[i].row.ports = (struct store_bytes){ ports[i], sizeof ports[i] };
                assert_int_equal(port_index_add(&sandboxes[i]), 0);
        }
        for (unsigned i = 0; i < SANDBOXES; i++)
                for (unsigned j = 0; j < PORTS; j++) {
                        assert_ptr_equal(port_index_find(ports[i][j].token, &port), &sandboxes[i]);
                        assert_int_equal(port, 1000 + j);
                }
        assert_null(port_index_find("", &port));
        assert_null(port_index_find("0000000000000000000000000000000", &port));
        assert_null(port_index_find("00000000000000000000000000000000x", &port));
        assert_null(port_index_find("ffffffffffffffffffffffffffffffff", &port));
        sandboxes[7].state = SANDBOX_STOPPING;
        assert_null(port_index_find(ports[7][0].token, &port));
        for (unsigned i = 0; i < SANDBOXES; i += 2)
                port_index_remove(&sandboxes[i]);
        port_index_remove(&sandboxes[0]); /* removing twice is harmless */
        for (unsigned i = 0; i < SANDBOXES; i++)
                assert_ptr_equal(port_index_find(ports[i][63].token, &port),
                                 i % 2 == 0 || i == 7 ? NULL : &sandboxes[i]);
        for (unsigned i = 1; i < SANDBOXES; i += 2)
                port_index_remove(&sandboxes[i]);
}

static void
one_without_ports_has_no_place(void **state)
{
        struct sandbox s = { .keeper = NULL };

        (void)state;
        assert_int_equal(port_index_add(&s), 0);
        assert_null(s.port_tokens);
        port_index_remove(&s);
}

int
main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(each_token_leads_to_its_port_alone),
                                            cmocka_unit_test(one_without_ports_has_no_place) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
