/*
 * filter/generate.c - writes the filters of one architecture as a C header; runs at build time.
 *
 *      filter-generate x86_64 VARIANT|keeper|door|box|gate NAME OUTPUT
 *
 * Room: filter (words), at build time only. Touches: stdio, libseccomp (names and numbers of system
 * calls).
 * Theory: calls.def becomes decisions by number, and these become a program (assemble). The program
 * is then checked for every call that could matter (meaning). Any difference fails the build.
 *
 * libseccomp does not write the program. With an allow list, its rules cannot say "any ioctl except
 * these four, by the low half", because a call's general rule replaces its special ones. Its tree
 * has a leaf for each call: 442 steps and 109 us to install for this list without any argument
 * rule. Ranges take 190 steps and 43 us with all rules. It is used for names, numbers and
 * completeness.
 */
#include "filter/assemble.h"
#include "filter/meaning.h"

#include <asm/ioctls.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <sys/stat.h>

#ifndef RENAME_WHITEOUT
#define RENAME_WHITEOUT (1 << 2) /* musl's stdio.h does not define it */
#endif
#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

/*
 * The last number of Linux 6.18. Later numbers that a newer libseccomp knows get ENOSYS, with a
 * message at build time.
 */
enum { LAST_DECIDED = 469 };

struct group_row {
        const char *name;
        int verdict;
};
struct call_row {
        const char *name;
        int number;
        const char *group;
        int otherwise;
};
struct rule_row {
        const char *call;
        enum world world;
        struct rule rule;
};

#define COUNT_OF(...) (sizeof((uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t))
#define IS(n, ...)                                                 \
        {                                                          \
                TEST_ONE_OF, n, UINT32_MAX, COUNT_OF(__VA_ARGS__), \
                {                                                  \
                        __VA_ARGS__                                \
                }                                                  \
        }
#define MASKED(n, bits, ...)                                 \
        {                                                    \
                TEST_ONE_OF, n, bits, COUNT_OF(__VA_ARGS__), \
                {                                            \
                        __VA_ARGS__                          \
                }                                            \
        }
#define ANY_BIT(n, bits)                              \
        {                                             \
                TEST_ANY_BIT, n, (uint32_t)(bits), 0, \
                {                                     \
                        0                             \
                }                                     \
        }
#define ALL(...)            \
        {                   \
                __VA_ARGS__ \
        }

#define CALL(name, group)
#define NUMBER(number, name, group)
#define JUDGED(name, otherwise)
#define JUDGED_NUMBER(number, name, otherwise)
#define RULE(name, world, tests, verdict, why)
#define GROUP(name, verdict, why) { #name, verdict },
static const struct group_row group_rows[] = {
#include "filter/calls.def"
};
#undef GROUP
#undef CALL
#undef NUMBER
#undef JUDGED
#undef JUDGED_NUMBER
#define GROUP(name, verdict, why)
#define CALL(name, group) { #name, -1, #group, 0 },
#define NUMBER(number, name, group) { #name, number, #group, 0 },
#define JUDGED(name, otherwise) { #name, -1, NULL, otherwise },
#define JUDGED_NUMBER(number, name, otherwise) { #name, number, NULL, otherwise },
static const struct call_row call_rows[] = {
#include "filter/calls.def"
};
#undef CALL
#undef NUMBER
#undef JUDGED
#undef JUDGED_NUMBER
#undef RULE
#define CALL(name, group)
#define NUMBER(number, name, group)
#define JUDGED(name, otherwise)
#define JUDGED_NUMBER(number, name, otherwise)
#define RULE(name, world, tests, verdict, why) { #name, world, { tests, verdict } },
static const struct rule_row rule_rows[] = {
#include "filter/calls.def"
};

enum {
        KEEPER = 1 << 0,
        DOOR = 1 << 1,
        BOX = 1 << 2,
        GATE = 1 << 3,
        JUDGE = 1 << 4,
        RECORDER = 1 << 5,
        UNPACK = 1 << 6,
        RELAY = 1 << 7,
        LOOK = 1 << 8,
        BRIDGE = 1 << 9,
        DIALS = 1 << 10,
        STAND_IN = 1 << 11
};

struct own_row {
        const char *name;
        int who;
        bool is_judged;
        struct rule rule;
};

#define OWN(who, name, why) { #name, (who), false, { { { 0 } }, ALLOW } },
#define OWN_IF(who, name, tests, why) { #name, (who), true, { tests, ALLOW } },
#define DEADLY(name, why) { #name, 0, false, { { { 0 } }, VERDICT_KILL } },
static const struct own_row own_rows[] = {
#include "filter/own.def"
};

static const struct {
        const char *name;
        int who;
} processes[] = { { "keeper", KEEPER },
                  { "door", DOOR },
                  { "box", BOX },
                  { "gate", GATE | DIALS },
                  { "judge", JUDGE },
                  { "recorder", RECORDER },
                  { "unpack", UNPACK },
                  { "relay", RELAY },
                  { "look", LOOK },
                  { "bridge", BRIDGE },
                  { "stand-in", GATE | STAND_IN } };

static const struct {
        const char *name;
        uint32_t token; /* libseccomp's; equal to the kernel's AUDIT_ARCH_... */
} architectures[] = {
        { "x86_64", SCMP_ARCH_X86_64 },
        { "aarch64", SCMP_ARCH_AARCH64 },
};

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))

static void
die(const char *what, const char *which)
{
        (void)fprintf(stderr, "filter-generate: %s: %s\n", which, what);
        exit(1);
}

static int
group_verdict(const char *group)
{
        for (size_t i = 0; i < ROWS(group_rows); i++)
                if (strcmp(group_rows[i].name, group) == 0)
                        return group_rows[i].verdict;
        die("no GROUP row has this name", group);
        return ENOSYS;
}

/* -1: the architecture has no such call. */
static int
row_number(const struct call_row *row, uint32_t arch)
{
        int number = row->number;

        if (number >= 0 && number < 424 && arch != SCMP_ARCH_X86_64)
                return -1;
        if (number < 0)
                number = seccomp_syscall_resolve_name_arch(arch, row->name);
        if (number == __NR_SCMP_ERROR)
                die("libseccomp knows no such call: give it with its number", row->name);
        return number < 0 ? -1 : number;
}

static void
rules_take(struct decision *d, unsigned variant)
{
        for (size_t i = 0; i < ROWS(rule_rows); i++) {
                enum world world = rule_rows[i].world;

                if (strcmp(rule_rows[i].call, d->name) != 0 ||
                    (world != ALWAYS && (world & variant) == 0))
                        continue;
                if (d->rule_count == RULES_MAX)
                        die("more rules than RULES_MAX", d->name);
                d->rules[d->rule_count++] = rule_rows[i].rule;
        }
}

static void
table_read(struct table *t, uint32_t arch, unsigned variant)
{
        t->audit_arch = arch;
        for (size_t i = 0; i < ROWS(call_rows); i++) {
                const struct call_row *row = &call_rows[i];
                int number = row_number(row, arch);

                if (number < 0)
                        continue;
                if (number >= NUMBERS_MAX || t->decisions[number].name)
                        die("a second row for the same number, or one past NUMBERS_MAX", row->name);
                t->decisions[number].name = row->name;
                t->decisions[number].otherwise =
                        row->group ? group_verdict(row->group) : row->otherwise;
                if (!row->group)
                        rules_take(&t->decisions[number], variant);
        }
}

/* Checks that every RULE follows a JUDGED row, and that every call with a name has a row. */
static void
table_check(const struct table *t, uint32_t arch)
{
        for (size_t i = 0; i < ROWS(rule_rows); i++) {
                size_t k = 0;

                while (k < ROWS(call_rows) &&
                       (call_rows[k].group || strcmp(call_rows[k].name, rule_rows[i].call) != 0))
                        k++;
                if (k == ROWS(call_rows))
                        die("a RULE without a JUDGED row", rule_rows[i].call);
        }
        for (int number = 0; number < NUMBERS_MAX; number++) {
                char *name = seccomp_syscall_resolve_num_arch(arch, number);

                if (name && !t->decisions[number].name && number <= LAST_DECIDED)
                        die("no row in calls.def says what it is answered", name);
                if (name && !t->decisions[number].name)
                        (void)printf("filter-generate: %s (%d) is newer than calls.def: ENOSYS\n",
                                     name, number);
                free(name);
        }
}

/*
 * One of Carrel's own processes: calls listed for it are allowed, every other call with a name gets
 * EPERM.
 */
static void
own_read(struct table *t, uint32_t arch, int who)
{
        t->audit_arch = arch;
        for (int number = 0; number <= LAST_DECIDED; number++)
                if (seccomp_syscall_resolve_num_arch(arch, number))
                        t->decisions[number] =
                                (struct decision){ .name = "other", .otherwise = EPERM };
        for (size_t i = 0; i < ROWS(own_rows); i++) {
                const struct own_row *row = &own_rows[i];
                int number = seccomp_syscall_resolve_name_arch(arch, row->name);
                struct decision *d;

                if (number == __NR_SCMP_ERROR)
                        die("libseccomp knows no such call", row->name);
                if (number < 0 || number >= NUMBERS_MAX || (row->who != 0 && (row->who & who) == 0))
                        continue;
                d = &t->decisions[number];
                if (strcmp(d->name, "other") != 0 &&
                    (!row->is_judged || d->rule_count == 0 || d->rule_count == RULES_MAX))
                        die("a second row for the same call and process", row->name);
                d->name = row->name;
                if (row->is_judged)
                        d->rules[d->rule_count++] = row->rule;
                else
                        d->otherwise = row->rule.verdict;
        }
}

static int
process_find(const char *name)
{
        for (size_t i = 0; i < ROWS(processes); i++)
                if (strcmp(processes[i].name, name) == 0)
                        return processes[i].who;
        return 0;
}

static unsigned
variant_find(const char *name)
{
        static const struct {
                const char *name;
                unsigned worlds;
        } variants[] = {
                { "on", UNIX_ON },
                { "off", UNIX_OFF },
                { "root-on", ROOT | UNIX_ON },
                { "root-off", ROOT | UNIX_OFF },
                { "one-id-on", ROOT | ONE_ID | UNIX_ON },
                { "one-id-off", ROOT | ONE_ID | UNIX_OFF },
        };

        for (size_t i = 0; i < ROWS(variants); i++)
                if (strcmp(variants[i].name, name) == 0)
                        return variants[i].worlds;
        die("no such variant", name);
        return 0;
}

static void
header_write(const struct assembly *a, const char *arch, const char *name, const char *path)
{
        FILE *out = fopen(path, "w");

        if (!out)
                die("cannot be written", path);
        (void)fprintf(out,
                      "/* %s for %s: %d steps. Made from the tables of filter/ by "
                      "filter/generate.c. */\n",
                      name, arch, (int)(STEPS_MAX - a->first));
        (void)fprintf(out, "static const struct sock_filter %s_steps[] = {\n", name);
        for (size_t i = a->first; i < STEPS_MAX; i++)
                (void)fprintf(out, "        { 0x%02x, %3u, %3u, 0x%08x },\n", a->steps[i].code,
                              a->steps[i].jt, a->steps[i].jf, a->steps[i].k);
        (void)fprintf(out, "};\n");
        if (fclose(out) != 0)
                die("cannot be written", path);
        (void)printf("%s for %s: %d steps\n", name, arch, (int)(STEPS_MAX - a->first));
}

int
main(int argc, char **argv)
{
        static struct table table;
        static struct assembly program;
        struct seccomp_data call;
        uint32_t arch = 0;

        if (argc != 5)
                die("usage: filter-generate ARCHITECTURE VARIANT|keeper|door|box|gate NAME OUTPUT",
                    "arguments");
        for (size_t i = 0; i < ROWS(architectures); i++)
                if (strcmp(architectures[i].name, argv[1]) == 0)
                        arch = architectures[i].token;
        if (arch == 0)
                die("no such architecture here", argv[1]);
        if (process_find(argv[2]) != 0) {
                own_read(&table, arch, process_find(argv[2]));
        } else {
                table_read(&table, arch, variant_find(argv[2]));
                table_check(&table, arch);
        }
        if (assemble(&program, &table) < 0)
                die("longer than STEPS_MAX", argv[3]);
        if (meaning_check(&table, program.steps + program.first, STEPS_MAX - program.first, &call) <
            0) {
                (void)fprintf(stderr, "number %d, arguments %llx %llx %llx %llx\n", call.nr,
                              (unsigned long long)call.args[0], (unsigned long long)call.args[1],
                              (unsigned long long)call.args[2], (unsigned long long)call.args[3]);
                die("the program does not say what the table says", argv[3]);
        }
        header_write(&program, argv[1], argv[3], argv[4]);
        return 0;
}
