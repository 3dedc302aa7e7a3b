/*
 * filter/meaning.c - what a call is answered, computed in two ways: from the table, and by running
 * the program.
 *
 * Room: filter (words), at build time and in its test. Touches: mem.
 * Theory: the assembler is not trusted. The build fails if its program and the table differ.
 */
#include "filter/meaning.h"

#include <errno.h>
#include <string.h>

enum { PROBES_MAX = 96 };

static bool
test_fits(const struct test *t, const struct seccomp_data *call)
{
        uint32_t value = (uint32_t)call->args[t->argument] & t->mask;

        if (t->relation == TEST_ANY_BIT)
                return value != 0;
        for (uint32_t i = 0; i < t->count; i++)
                if (value == t->values[i])
                        return true;
        return false;
}

static bool
rule_fits(const struct rule *r, const struct seccomp_data *call)
{
        for (size_t i = 0; i < TESTS_MAX; i++)
                if (r->tests[i].relation != TEST_NONE && !test_fits(&r->tests[i], call))
                        return false;
        return true;
}

uint32_t
meaning_of_table(const struct table *t, const struct seccomp_data *call)
{
        const struct decision *d;
        int verdict = ENOSYS;

        if (call->arch != t->audit_arch)
                return SECCOMP_RET_KILL_PROCESS;
        if ((uint32_t)call->nr < NUMBERS_MAX && t->decisions[call->nr].name) {
                d = &t->decisions[call->nr];
                verdict = d->otherwise;
                for (unsigned int i = 0; i < d->rule_count; i++) {
                        if (rule_fits(&d->rules[i], call)) {
                                verdict = d->rules[i].verdict;
                                break;
                        }
                }
        }
        if (verdict == VERDICT_KILL)
                return SECCOMP_RET_KILL_PROCESS;
        if (verdict == ASK)
                return SECCOMP_RET_USER_NOTIF;
        return verdict == ALLOW ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | (uint32_t)verdict;
}

/* The step after this one, or `count` if it is a jump that the assembler does not write. */
static size_t
step_after(const struct sock_filter *s, size_t at, size_t count, uint32_t value)
{
        bool is_yes;

        switch (s->code) {
        case BPF_JMP | BPF_JA:
                return at + 1 + s->k;
        case BPF_JMP | BPF_JEQ | BPF_K:
                is_yes = value == s->k;
                break;
        case BPF_JMP | BPF_JGE | BPF_K:
                is_yes = value >= s->k;
                break;
        case BPF_JMP | BPF_JSET | BPF_K:
                is_yes = (value & s->k) != 0;
                break;
        default:
                return count;
        }
        return at + 1 + (is_yes ? s->jt : s->jf);
}

uint32_t
meaning_of_steps(const struct sock_filter *steps, size_t count, const struct seccomp_data *call)
{
        uint32_t value = 0;
        size_t at = 0;

        while (at < count) {
                const struct sock_filter *s = &steps[at];

                if (s->code == (BPF_RET | BPF_K))
                        return s->k;
                if (s->code == (BPF_LD | BPF_W | BPF_ABS) && s->k % 4 == 0 && s->k < sizeof *call) {
                        memcpy(&value, (const unsigned char *)call + s->k, sizeof value);
                        at++;
                } else if (s->code == (BPF_ALU | BPF_AND | BPF_K)) {
                        value &= s->k;
                        at++;
                } else {
                        at = step_after(s, at, count, value);
                }
        }
        return SECCOMP_RET_KILL_THREAD;
}

/* Values of one argument that a test of `d` could distinguish. */
static size_t
probes_find(const struct decision *d, uint32_t argument, uint32_t probes[PROBES_MAX])
{
        size_t count = 0;

        probes[count++] = 0;
        for (unsigned int i = 0; i < d->rule_count; i++) {
                for (size_t k = 0; k < TESTS_MAX; k++) {
                        const struct test *t = &d->rules[i].tests[k];

                        if (t->relation == TEST_NONE || t->argument != argument)
                                continue;
                        for (uint32_t v = 0; v < t->count && count + 4 < PROBES_MAX; v++) {
                                probes[count++] = t->values[v];
                                probes[count++] = t->values[v] + 1;
                                probes[count++] = t->values[v] | ~t->mask;
                        }
                        for (uint32_t bit = 0;
                             t->relation == TEST_ANY_BIT && bit < 32 && count < PROBES_MAX - 1;
                             bit++)
                                if ((t->mask | 0x80000001u) >> bit & 1)
                                        probes[count++] = 1u << bit;
                }
        }
        if (count > 1)
                probes[count++] = UINT32_MAX;
        return count;
}

static bool
is_agreed(const struct table *t, const struct sock_filter *steps, size_t count,
          struct seccomp_data *call)
{
        static const uint64_t highs[] = { 0, 1ull << 32, 0xffffffffull << 32 };
        struct seccomp_data with = *call;

        for (size_t i = 0; i < sizeof highs / sizeof highs[0]; i++) {
                for (size_t k = 0; k < 6; k++)
                        with.args[k] = call->args[k] | highs[i];
                if (meaning_of_table(t, &with) != meaning_of_steps(steps, count, &with)) {
                        *call = with;
                        return false;
                }
        }
        return true;
}

/* Checks every combination of the values of the arguments from `argument` on. */
static int
arguments_check(const struct table *t, const struct sock_filter *steps, size_t count,
                const struct decision *d, uint32_t argument, struct seccomp_data *call)
{
        uint32_t probes[PROBES_MAX];
        size_t probe_count;

        if (argument == 6)
                return is_agreed(t, steps, count, call) ? 0 : -1;
        probe_count = probes_find(d, argument, probes);
        for (size_t i = 0; i < probe_count; i++) {
                call->args[argument] = probes[i];
                if (arguments_check(t, steps, count, d, argument + 1, call) < 0)
                        return -1;
        }
        return 0;
}

int
meaning_check(const struct table *t, const struct sock_filter *steps, size_t count,
              struct seccomp_data *ret_call)
{
        static const uint32_t far[] = { NUMBERS_MAX, 0xffff,     0x3fffffff, 0x40000000,
                                        0x40000001,  0x40000009, 0x4000003b, 0x40000210,
                                        0x7fffffff,  0x80000000, 0xffffffff };
        static const struct decision plain = { .name = "plain" };
        struct seccomp_data call = { .arch = t->audit_arch };

        for (uint32_t i = 0; i < NUMBERS_MAX + sizeof far / sizeof far[0]; i++) {
                uint32_t number = i < NUMBERS_MAX ? i : far[i - NUMBERS_MAX];

                call.nr = (int)number;
                *ret_call = call;
                if (arguments_check(t, steps, count, i < NUMBERS_MAX ? &t->decisions[i] : &plain, 0,
                                    ret_call) < 0)
                        return -1;
                *ret_call = call;
                ret_call->arch = t->audit_arch ^ 1u;
                if (!is_agreed(t, steps, count, ret_call))
                        return -1;
        }
        return 0;
}
