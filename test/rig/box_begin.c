/*
 * box_begin - gives a spawner one box to start, as a keeper would: for box_process_test.py.
 *
 *   box_begin SPAWNER KEEPER LISTENER DIRECTORY WORKSPACE DEADLINE_MS KEEP_BYTES [MEMORY_MB
 * [FLOOR_MB]]
 *
 * The first four are numbers of inherited descriptors: the spawner's socket, the box's end of its
 * keeper's socket, its listening socket, its state directory. WORKSPACE is mounted read-write at
 * /workspace. MEMORY_MB 0 is no limit. Prints the lines of the plan that create groups.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "plan/pack.h"
#include "prepare/prepare.h"
#include "text/yaml.h"
#include "wire/box.h"

enum { FIXED = 3 };

static int
complain(const struct error *e)
{
        (void)fprintf(stderr, "box_begin: %s\n", e->message);
        return 1;
}

static int
hand_over(const struct plan *plan, const struct sources *sources, const char *id, char **argv)
{
        static _Alignas(16) unsigned char body[WIRE_BODY_MAX];
        struct wire_box_begin begin = { .deadline_ms = strtoull(argv[6], NULL, 10),
                                        .keep_bytes = strtoull(argv[7], NULL, 10),
                                        .cpu_count = 2 };
        int fds[WIRE_FDS_MAX], result;
        size_t len = plan_pack_len(plan->steps, plan->step_count);

        if (argv[8] && argv[9]) { /* every writable source */
                begin.floor_mb = strtoull(argv[9], NULL, 10);
                for (size_t i = 0; i < sources->count; i++)
                        if (!sources->mounts[i].is_read_only)
                                begin.floor_mask[sources->mounts[i].source / 64] |=
                                        1ull << sources->mounts[i].source % 64;
        }
        (void)snprintf(begin.id, sizeof begin.id, "%s", id);
        memcpy(body, &begin, sizeof begin);
        plan_pack(plan->steps, plan->step_count, plan->source_count, body + sizeof begin);
        for (int i = 0; i < FIXED; i++)
                fds[i] = (int)strtol(argv[2 + i], NULL, 10);
        memcpy(fds + FIXED, sources->fds, plan->source_count * sizeof *fds);
        result = wire_send((int)strtol(argv[1], NULL, 10), WIRE_BOX_BEGIN, body, sizeof begin + len,
                           fds, FIXED + plan->source_count);
        if (result < 0)
                (void)fprintf(stderr, "box_begin: the spawner: %s\n", strerror(-result));
        return result < 0;
}

int
main(int argc, char **argv)
{
        static struct prepare_host host;
        static struct prepared prepared;
        static char text[512];
        struct prepare_request request = { .workspace = argc > 5 ? argv[5] : NULL,
                                           .caller_uid = PREPARE_UID_ANY,
                                           .now_s = (int64_t)time(NULL),
                                           .is_living = true };
        struct error e = { 0 };
        struct arena arena;
        const struct node *tree;
        bool has_memory = argc > 8 && strcmp(argv[8], "0") != 0;
        uint64_t number;
        char id[17];
        int status;

        if (argc < 8 || getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
                return 2;
        (void)snprintf(id, sizeof id, "%016llx", (unsigned long long)number);
        request.id = id;
        (void)snprintf(text, sizeof text,
                       "provider: local\nconfig: {}\nlimits: {timeout_ms: 30000%s%s}\nmounts: "
                       "[{source: workspace, at: /workspace}]\n",
                       has_memory ? ", memory_mb: " : "", has_memory ? argv[8] : "");
        arena_init(&arena, 1 << 20);
        if (yaml_read(&arena, text, strlen(text), 1, &text_limits_manifest, &tree, &e) < 0 ||
            prepare_host_init(&host, &e) < 0 || prepare_host_read(&host, NULL, 0, true, &e) < 0)
                return complain(&e);
        prepared_init(&prepared);
        if (prepare_judge(&host, &request, tree, &prepared, &e) < 0 ||
            prepare_plan(&host, &request, &prepared, &e) < 0)
                return complain(&e);
        for (size_t i = 0; i < prepared.plan->step_count; i++)
                if (prepared.plan->steps[i].op == STEP_CGROUP_MAKE)
                        (void)printf("%s\n", prepared.plan->steps[i].path);
        status = hand_over(prepared.plan, prepared.sources, id, argv);
        prepared_release(&prepared);
        prepared_fini(&prepared);
        arena_fini(&arena);
        return status;
}
