/*
 * filter/assemble.c - translates decisions into the kernel's filter language.
 *
 * Room: filter (words), at build time only. Touches: mem.
 * Theory: the kernel only jumps forward. So the program is written from its last step to its first,
 * and every target is known when a jump to it is written.
 *
 *      load the architecture; another one: end the process
 *      load the number
 *      a balanced tree of "number >= n" over ranges of numbers with the same answer
 *      at its leaves: an answer, or the rules of a judged call
 *
 * Ranges keep it small: 370 calls are in about a hundred of them. To install it, the kernel runs it
 * once for every number it knows. So a short path through the tree matters more than a short
 * program. A conditional jump reaches 255 steps; beyond that, an answer is written again, and a
 * rule is reached by an unconditional jump.
 */
#include "filter/assemble.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <string.h>

enum { REACH = 250, ANSWERS_MAX = 16, BLOCKS_MAX = 64 };

#define ARGUMENT_LOW(n) ((uint32_t)(offsetof(struct seccomp_data, args) + 8u * (n)))

/* The target of a jump: any step with this answer, or the step at this index. */
struct target {
        bool is_verdict;
        int verdict;
        size_t index;
};

struct range {
        uint32_t start;
        const struct decision *decision;
};

struct writer {
        struct assembly *out;
        bool is_full;
        struct {
                int verdict;
                size_t index;
        } answers[ANSWERS_MAX];
        size_t answer_count;
        struct {
                const struct decision *decision;
                size_t index;
        } blocks[BLOCKS_MAX];
        size_t block_count;
        struct range ranges[NUMBERS_MAX + 1];
        size_t range_count;
};

static const struct decision unknown = { .name = "unknown", .otherwise = ENOSYS };

static size_t
put(struct writer *w, unsigned int code, uint32_t k, size_t jump_true, size_t jump_false)
{
        if (w->out->first == 0) {
                w->is_full = true;
                return 0;
        }
        w->out->steps[--w->out->first] = (struct sock_filter){
                .code = (uint16_t)code,
                .jt = (uint8_t)jump_true,
                .jf = (uint8_t)jump_false,
                .k = k,
        };
        return w->out->first;
}

static uint32_t
answer_value(int verdict)
{
        if (verdict == ALLOW)
                return SECCOMP_RET_ALLOW;
        if (verdict == VERDICT_KILL)
                return SECCOMP_RET_KILL_PROCESS;
        if (verdict == ASK)
                return SECCOMP_RET_USER_NOTIF;
        return SECCOMP_RET_ERRNO | ((uint32_t)verdict & SECCOMP_RET_DATA);
}

/* The nearest step that answers `verdict`; written here if none is in reach. */
static size_t
answer(struct writer *w, int verdict)
{
        size_t i;

        for (i = 0; i < w->answer_count && w->answers[i].verdict != verdict; i++)
                ;
        if (i < w->answer_count && w->answers[i].index - w->out->first < REACH)
                return w->answers[i].index;
        if (i == ANSWERS_MAX) {
                w->is_full = true;
                return 0;
        }
        w->answers[i].verdict = verdict;
        w->answers[i].index = put(w, BPF_RET | BPF_K, answer_value(verdict), 0, 0);
        if (i == w->answer_count)
                w->answer_count++;
        return w->answers[i].index;
}

/* An index that a conditional jump can reach from the next few steps. */
static size_t
near(struct writer *w, struct target to)
{
        if (to.is_verdict)
                return answer(w, to.verdict);
        if (to.index - w->out->first < REACH)
                return to.index;
        return put(w, BPF_JMP | BPF_JA, (uint32_t)(to.index - w->out->first), 0, 0);
}

static struct target
jump(struct writer *w, unsigned int kind, uint32_t k, struct target yes, struct target no)
{
        size_t to_yes = near(w, yes), to_no = near(w, no), here = w->out->first;

        return (struct target){ .index = put(w, BPF_JMP | kind | BPF_K, k, to_yes - here,
                                             to_no - here) };
}

static struct target
test_write(struct writer *w, const struct test *t, struct target yes, struct target no)
{
        struct target at = no;

        if (t->relation == TEST_ANY_BIT)
                at = jump(w, BPF_JSET, t->mask, yes, no);
        for (uint32_t i = t->count; i-- > 0;)
                at = jump(w, BPF_JEQ, t->values[i], yes, at);
        if (t->relation == TEST_ONE_OF && t->mask != UINT32_MAX)
                put(w, BPF_ALU | BPF_AND | BPF_K, t->mask, 0, 0);
        return (struct target){ .index = put(w, BPF_LD | BPF_W | BPF_ABS, ARGUMENT_LOW(t->argument),
                                             0, 0) };
}

static struct target
rules_write(struct writer *w, const struct decision *d)
{
        struct target next = { .is_verdict = true, .verdict = d->otherwise };

        for (unsigned int i = d->rule_count; i-- > 0;) {
                struct target yes = { .is_verdict = true, .verdict = d->rules[i].verdict };

                for (size_t k = TESTS_MAX; k-- > 0;)
                        if (d->rules[i].tests[k].relation != TEST_NONE)
                                yes = test_write(w, &d->rules[i].tests[k], yes, next);
                next = yes;
        }
        return next;
}

static bool
is_alike(const struct decision *a, const struct decision *b)
{
        return a->otherwise == b->otherwise && a->rule_count == b->rule_count &&
               memcmp(a->rules, b->rules, a->rule_count * sizeof a->rules[0]) == 0;
}

/* The rules of a judged call, written once for all calls with the same rules. */
static struct target
decision_write(struct writer *w, const struct decision *d)
{
        struct target at = { .is_verdict = true, .verdict = d->otherwise };

        if (d->rule_count == 0)
                return at;
        for (size_t i = 0; i < w->block_count; i++)
                if (is_alike(w->blocks[i].decision, d))
                        return (struct target){ .index = w->blocks[i].index };
        at = rules_write(w, d);
        if (at.is_verdict)
                return at; /* a rule without a test decides */
        if (w->block_count == BLOCKS_MAX)
                w->is_full = true;
        else
                w->blocks[w->block_count].decision = d,
                w->blocks[w->block_count++].index = at.index;
        return at;
}

static struct target
tree_write(struct writer *w, size_t low, size_t high)
{
        size_t middle = low + (high - low) / 2;
        struct target below, above;

        if (high - low == 1)
                return decision_write(w, w->ranges[low].decision);
        above = tree_write(w, middle, high);
        below = tree_write(w, low, middle);
        return jump(w, BPF_JGE, w->ranges[middle].start, above, below);
}

static void
ranges_find(struct writer *w, const struct table *t)
{
        for (uint32_t number = 0; number <= NUMBERS_MAX; number++) {
                const struct decision *d = number < NUMBERS_MAX ? &t->decisions[number] : &unknown;

                if (!d->name)
                        d = &unknown;
                if (w->range_count > 0 && is_alike(w->ranges[w->range_count - 1].decision, d))
                        continue;
                w->ranges[w->range_count++] = (struct range){ .start = number, .decision = d };
        }
}

int
assemble(struct assembly *a, const struct table *t)
{
        static struct writer w;
        struct target kill = { .is_verdict = true, .verdict = VERDICT_KILL }, body;

        memset(&w, 0, sizeof w);
        memset(a, 0, sizeof *a);
        a->first = STEPS_MAX;
        w.out = a;
        ranges_find(&w, t);
        body = tree_write(&w, 0, w.range_count);
        if (body.is_verdict)
                body.index = answer(&w, body.verdict);
        if (body.index != a->first)
                put(&w, BPF_JMP | BPF_JA, (uint32_t)(body.index - a->first), 0, 0);
        body = (struct target){ .index = put(&w, BPF_LD | BPF_W | BPF_ABS,
                                             offsetof(struct seccomp_data, nr), 0, 0) };
        jump(&w, BPF_JEQ, t->audit_arch, body, kill);
        put(&w, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch), 0, 0);
        return w.is_full ? -1 : 0;
}
