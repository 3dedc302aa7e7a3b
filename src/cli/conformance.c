/*
 * cli/conformance.c - `carrel conformance`: runs a file of cases and prints TAP 14.
 *
 * Room: cli (joining, program). Touches: fd, clock.
 * Knows the form of a case and how results are compared. Knows no expected result.
 * Theory: each case is judged in its own arena by the same stages as `carrel check`. Its host is
 * default_host with the case's own `host` laid over it. What a case does not mention is not
 * compared: without a path, paths are not compared. `warn` is compared as a multiset, `norm` as a
 * part of the whole.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/conformance_doc.h"
#include "cli/finding_print.h"
#include "cli/options.h"
#include "clock/clock.h"
#include "prepare/verdict.h"
#include "ref/places.h"
#include "text/yaml.h"

enum {
        CASES_BYTES_MAX = 4 << 20,
        CASES_ARENA_MAX = 256 << 20,
        CASE_ARENA_MAX = 64 << 20,
        WARNINGS_MAX = 64,
        OVER_DEPTH_MAX = 32,
};

static const struct text_limits case_limits = { CASES_BYTES_MAX, 64, 400000 };

struct outcome {
        struct arena *arena;
        struct findings findings;
        struct error error;      /* code ERROR_NONE: success */
        const struct node *norm; /* NULL if missing */
        bool is_skipped;
        char why[1024]; /* the difference; "" if none */
};

/* -- the host of a case ------------------------------------------------------------------------ */

static const struct node *lay_over(struct arena *arena, const struct node *base,
                                   const struct node *over, int depth);

static struct node *
copy_member(struct arena *arena, const struct node *n, const char *key)
{
        struct node *copy = arena_new(arena, struct node);

        if (!copy)
                return NULL;
        *copy = *n;
        copy->key = key;
        copy->next = NULL;
        return copy;
}

/* A map with all members of `base`; those of `over` replace them or follow them. */
static const struct node *
merge_maps(struct arena *arena, const struct node *base, const struct node *over, int depth)
{
        struct node *merged = copy_member(arena, base, base->key);
        const struct node **end;

        if (!merged)
                return NULL;
        merged->first = NULL;
        merged->len = 0;
        end = &merged->first;
        for (int pass = 0; pass < 2; pass++)
                node_each(member, pass == 0 ? base : over)
                {
                        const struct node *other = node_find(pass == 0 ? over : base, member->key);
                        const struct node *value =
                                pass == 0 && other ? lay_over(arena, member, other, depth + 1)
                                                   : member;
                        struct node *copy;

                        if (pass == 1 && other)
                                continue;
                        copy = value ? copy_member(arena, value, member->key) : NULL;
                        if (!copy)
                                return NULL;
                        *end = copy;
                        end = &copy->next;
                        merged->len++;
                }
        return merged;
}

static const struct node *
lay_over(struct arena *arena, const struct node *base, const struct node *over, int depth)
{
        if (!base || !over || base->kind != NODE_MAP || over->kind != NODE_MAP ||
            depth > OVER_DEPTH_MAX)
                return over ? over : base;
        return merge_maps(arena, base, over, depth);
}

static int
host_of(struct arena *arena, const struct node *defaults, const struct node *own,
        struct ref_places *places, struct verdict_host *ret, struct error *e)
{
        static const struct node empty = { .kind = NODE_MAP };
        const struct node *tree = lay_over(arena, defaults ? defaults : &empty, own, 0);

        if (!tree)
                return fail(e, ERROR_NO_MEMORY, "no memory for the host of a case");
        *places = (struct ref_places){ .workspace = -1, .host = tree };
        ret->reader = ref_places_reader(places);
        ret->now_s = (int64_t)(clock_wall_ms() / 1000);
        if (host_rules_read(arena, tree, "operator://unnamed", &ret->rules, e) < 0)
                return error_wrap(e, "the host of this case");
        ret->rules->usage =
                (struct grant_usage){ 0, 0, 0 }; /* nothing has been used before a case */
        return 0;
}

/* -- comparing --------------------------------------------------------------------------------- */

static void
differ(struct outcome *o, const char *what, const char *wanted, const char *got)
{
        size_t used = strlen(o->why);

        (void)snprintf(o->why + used, sizeof o->why - used, "%s%s: wanted %.160s, got %.160s",
                       used ? "; " : "", what, *wanted ? wanted : "none", *got ? got : "none");
}

static const char *
text_of(const struct node *n)
{
        return n && n->text ? n->text : "";
}

static bool
scalars_agree(const struct node *wanted, const struct node *got)
{
        if ((wanted->kind == NODE_INT || wanted->kind == NODE_FLOAT) &&
            (got->kind == NODE_INT || got->kind == NODE_FLOAT))
                return wanted->real <= got->real && wanted->real >= got->real;
        if (wanted->kind != got->kind)
                return false;
        if (wanted->kind == NODE_BOOL)
                return wanted->boolean == got->boolean;
        return wanted->kind == NODE_NULL || strcmp(wanted->text, got->text) == 0;
}

/*
 * Is `wanted` a part of `got`? Members of maps may be missing from `wanted`; lists are compared
 * item by item. A member that is wanted as null may be absent.
 */
static bool
is_part(const struct node *wanted, const struct node *got, const char **ret_where)
{
        if (!got)
                return wanted->kind == NODE_NULL;
        if (wanted->kind == NODE_MAP) {
                if (got->kind != NODE_MAP)
                        return false;
                node_each(member,
                          wanted) if (!is_part(member, node_find(got, member->key), ret_where))
                {
                        *ret_where = **ret_where ? *ret_where : member->key;
                        return false;
                }
                return true;
        }
        if (wanted->kind == NODE_LIST) {
                if (got->kind != NODE_LIST || got->len != wanted->len)
                        return false;
                for (size_t i = 0; i < wanted->len; i++)
                        if (!is_part(node_at(wanted, i), node_at(got, i), ret_where))
                                return false;
                return true;
        }
        return scalars_agree(wanted, got);
}

static void
compare_norm(struct outcome *o, const struct node *wanted)
{
        const char *where = "";

        if (wanted && !is_part(wanted, o->norm, &where))
                differ(o, "norm", where, "something else");
}

static int
order_texts(const void *a, const void *b)
{
        return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void
join(char *text, size_t len, const char **words, size_t count)
{
        size_t used = 0;

        text[0] = '\0';
        qsort(words, count, sizeof *words, order_texts);
        for (size_t i = 0; i < count && used < len; i++)
                used += (size_t)snprintf(text + used, len - used, "%s%s", i > 0 ? " " : "",
                                         words[i]);
}

static void
compare_warnings(struct outcome *o, const struct node *wanted)
{
        const char *names[WARNINGS_MAX];
        char want[512], got[512];
        size_t count = 0;

        if (!wanted || wanted->kind != NODE_LIST)
                return;
        node_each(item, wanted) if (count < WARNINGS_MAX) names[count++] = text_of(item);
        join(want, sizeof want, names, count);
        count = 0;
        for (const struct warning *w = o->findings.warnings; w && count < WARNINGS_MAX; w = w->next)
                names[count++] = w->name;
        join(got, sizeof got, names, count);
        if (strcmp(want, got) != 0)
                differ(o, "warnings", want, got);
}

static void
compare(struct outcome *o, const struct node *expect)
{
        const struct node *code = node_find(expect, "error");
        const struct node *path = node_find(expect, "path");
        const struct node *reason = node_find(expect, "reason");
        const char *got = o->error.code == ERROR_NONE ? "" : error_wire_name(o->error.code);

        if (strcmp(text_of(code), got) != 0)
                differ(o, "error", text_of(code), got);
        if (code && path && strcmp(text_of(path), o->error.path) != 0)
                differ(o, "path", text_of(path), o->error.path);
        if (code && reason && strcmp(text_of(reason), o->error.reason) != 0)
                differ(o, "reason", text_of(reason), o->error.reason);
        compare_warnings(o, node_find(expect, "warn"));
        if (!code)
                compare_norm(o, node_find(expect, "norm"));
        if (o->why[0] != '\0' && o->error.code != ERROR_NONE) {
                size_t used = strlen(o->why);

                (void)snprintf(o->why + used, sizeof o->why - used, " [%s: %.200s]", o->error.path,
                               o->error.message);
        }
}

/* -- the kinds --------------------------------------------------------------------------------- */

struct run {
        struct outcome *o;
        const struct node *test;     /* the case */
        const struct node *defaults; /* default_host */
};

static int
read_norm(struct outcome *o, struct json_writer *w, struct error *e)
{
        int rc = -1;

        if (w->is_broken || !w->text)
                (void)fail(e, ERROR_NO_MEMORY, "no memory for a normal form");
        else
                rc = json_read(o->arena, w->text, w->len, &case_limits, &o->norm, e);
        json_fini(w);
        return rc;
}

static int
run_manifest(struct run *r, enum manifest_kind kind, struct error *e)
{
        const struct node *in = node_find(r->test, "in");
        const struct node *stage_word = node_find(r->test, "stage");
        int stage = stage_word ? verdict_stage_find(text_of(stage_word)) : VERDICT_VALIDATE;
        struct ref_manifest_file file = {
                .name = "in", .kind = kind, .bytes = text_of(in), .len = in ? in->len : 0
        };
        struct ref_places places;
        struct verdict_host host = { .rules = NULL };
        struct json_writer w;
        struct verdict v;

        if (!in || in->kind != NODE_STRING || stage < 0)
                return fail(e, ERROR_SCHEMA_INVALID, "a case has a text `in` and a known stage");
        file.syntax =
                node_is_text(node_find(r->test, "surface"), "json") ? MANIFEST_JSON : MANIFEST_YAML;
        if (host_of(r->o->arena, r->defaults, node_find(r->test, "host"), &places, &host, e) < 0 ||
            verdict_reach(r->o->arena, &file, (enum verdict_stage)stage, &host, &v, &r->o->findings,
                          e) < 0)
                return -1;
        if (stage == VERDICT_PARSE)
                return 0;
        json_init(&w, false);
        verdict_norm_write(&w, &v);
        return read_norm(r->o, &w, e);
}

static int
run_block(struct run *r, struct error *e)
{
        return run_manifest(r, MANIFEST_BLOCK, e);
}
static int
run_embed(struct run *r, struct error *e)
{
        return run_manifest(r, MANIFEST_PARENT, e);
}
static int
run_standalone(struct run *r, struct error *e)
{
        return run_manifest(r, MANIFEST_STANDALONE, e);
}

static int
run_match(struct run *r, struct error *e)
{
        const struct node *in = node_find(r->test, "in");
        const struct node *list = node_find(in, "egress"), *host = node_find(in, "host"),
                          *port = node_find(in, "port");
        struct spec_egress *entries =
                list ? arena_array(r->o->arena, struct spec_egress, list->len + 1) : NULL;
        struct json_writer w;
        size_t count = 0;

        if (!entries || !host || host->kind != NODE_STRING || list->kind != NODE_LIST)
                return fail(e, ERROR_SCHEMA_INVALID,
                            "a match case has a list `egress` and a `host`");
        node_each(item, list) if (egress_read(r->o->arena, text_of(item), &entries[count++], e) <
                                  0) return -1;
        json_init(&w, false);
        json_open_map(&w);
        json_member_bool(
                &w, "allow",
                egress_allows(entries, count, host->text,
                              port && port->kind == NODE_INT ? (uint16_t)port->integer : 0));
        json_close_map(&w);
        return read_norm(r->o, &w, e);
}

static int
run_register(struct run *r, struct error *e)
{
        const struct host_ability none = { .tier = NULL };
        const struct node *in = node_find(r->test, "in");
        struct verdict_host host = { .rules = NULL };
        struct ref_places places;

        if (host_of(r->o->arena, r->defaults, node_find(r->test, "host"), &places, &host, e) < 0)
                return -1;
        return host_provider_register(&host.rules->providers, r->o->arena, text_of(in), &none, e);
}

static int
run_later(struct run *r, struct error *e)
{
        (void)e;
        r->o->is_skipped = true;
        return 0;
}

static const struct {
        const char *kind;
        int (*run)(struct run *r, struct error *e);
} kinds[] = {
        { "block", run_block }, { "embed", run_embed },       { "standalone", run_standalone },
        { "match", run_match }, { "register", run_register }, { "runtime", run_later },
};

static void
run_case(const struct node *test, const struct node *defaults, struct outcome *o)
{
        const struct node *kind = node_find(test, "kind");
        const struct node *expect = node_find(test, "expect");
        const char *word = kind ? text_of(kind) : "block";
        struct run r = { o, test, defaults };

        for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
                if (strcmp(kinds[i].kind, word) != 0)
                        continue;
                if (kinds[i].run(&r, &o->error) == 0)
                        o->error.code = ERROR_NONE;
                if (!o->is_skipped && !expect)
                        differ(o, "case", "an `expect`", "none");
                else if (!o->is_skipped)
                        compare(o, expect);
                return;
        }
        differ(o, "kind", "one this program knows", word);
}

/* -- printing ---------------------------------------------------------------------------------- */

struct tally {
        size_t passed, failed, skipped;
};

struct printing {
        bool is_json;
        struct json_writer json;
        struct tally tally;
        size_t number;
};

static void
print_tap(const struct printing *p, const struct node *test, const struct outcome *o)
{
        (void)printf("%s %zu - ", o->why[0] != '\0' ? "not ok" : "ok", p->number);
        print_escaped(stdout, text_of(node_find(test, "id")), false);
        (void)fputs(": ", stdout);
        for (const char *c = text_of(node_find(test, "rule")); *c != '\0'; c++) {
                const char one[2] = { *c, '\0' };

                if (*c == '#' || *c == '\\')
                        (void)fputc('\\', stdout);
                if ((unsigned char)*c >= 0x80)
                        (void)fputc(*c, stdout); /* the reader has checked that the file is UTF-8 */
                else
                        print_escaped(stdout, one, false);
        }
        if (o->is_skipped) {
                (void)fputs(" # SKIP needs a real sandbox: see ", stdout);
                print_escaped(stdout, text_of(node_find(test, "kept_by")), false);
        }
        (void)fputc('\n', stdout);
        if (o->why[0] == '\0')
                return;
        (void)fputs("  ---\n  message: |\n    ", stdout);
        print_escaped(stdout, o->why, false);
        (void)fputs("\n  ...\n", stdout);
}

static void
print_json_case(struct json_writer *w, const struct node *test, const struct outcome *o)
{
        json_open_map(w);
        json_member_text(w, "id", text_of(node_find(test, "id")));
        json_member_text(w, "result",
                         o->is_skipped       ? "skipped"
                         : o->why[0] != '\0' ? "failed"
                                             : "passed");
        if (o->why[0] != '\0')
                json_member_text(w, "why", o->why);
        json_close_map(w);
}

static void
run_and_print(struct printing *p, const struct node *test, const struct node *root)
{
        struct arena arena;
        struct outcome o = { .arena = &arena };

        arena_init(&arena, CASE_ARENA_MAX);
        findings_init(&o.findings, &arena);
        if (conformance_doc_is(root))
                conformance_doc_run(&arena, root, test, o.why, sizeof o.why, &o.is_skipped);
        else
                run_case(test, node_find(root, "default_host"), &o);
        p->number++;
        if (o.is_skipped)
                p->tally.skipped++;
        else if (o.why[0] != '\0')
                p->tally.failed++;
        else
                p->tally.passed++;
        if (p->is_json)
                print_json_case(&p->json, test, &o);
        else
                print_tap(p, test, &o);
        arena_fini(&arena);
}

static int
no_cases(struct error *e)
{
        (void)fail_at(e, ERROR_SCHEMA_INVALID, "cases", "missing",
                      "a case file has a list of cases");
        error_hint(e, "test/conform/aip36.yaml shows the form: cases: [{id, rule, in, expect}].");
        return -1;
}

static int
run_all(const struct node *root, bool is_json, struct error *e)
{
        const struct node *cases = node_find(root, "cases");
        struct printing p = { .is_json = is_json };

        if (!cases || cases->kind != NODE_LIST)
                return no_cases(e);
        json_init(&p.json, true);
        json_open_map(&p.json);
        json_key(&p.json, "cases");
        json_open_list(&p.json);
        if (!is_json)
                (void)printf("TAP version 14\n1..%zu\n", cases->len);
        node_each(test, cases) run_and_print(&p, test, root);
        json_close_list(&p.json);
        json_member_int(&p.json, "passed", (int64_t)p.tally.passed);
        json_member_int(&p.json, "failed", (int64_t)p.tally.failed);
        json_member_int(&p.json, "skipped", (int64_t)p.tally.skipped);
        json_close_map(&p.json);
        if (!is_json)
                (void)printf("# %zu passed, %zu failed, %zu skipped\n", p.tally.passed,
                             p.tally.failed, p.tally.skipped);
        else if (json_print(&p.json, stdout) != 0)
                return fail(e, ERROR_INTERNAL, "the result cannot be written");
        json_fini(&p.json);
        return p.tally.failed > 0 ? 1 : 0;
}

static int
conformance(struct arena *arena, const char *name, bool is_json, struct error *e)
{
        const struct node *root;
        const char *bytes;
        size_t len;

        if (ref_file_read(arena, name, CASES_BYTES_MAX, NULL, &bytes, &len, e) < 0 ||
            yaml_read(arena, bytes, len, 1, &case_limits, &root, e) < 0)
                return -1;
        return run_all(root, is_json, e);
}

struct asked {
        bool is_json;
};

static int
cmd_conformance(int argc, char **argv)
{
        struct asked a = { .is_json = false };
        const char *name;
        struct words words;
        struct arena arena;
        struct error e;
        int status;

        if (options_read(&command_conformance, argc, argv, &a, &words, &e) < 0)
                return print_failure(NULL, &e, a.is_json);
        if (words.count == 0) {
                (void)fail(&e, ERROR_INVALID_ARGUMENT, "conformance: name a file of cases");
                error_hint(&e, "For example: carrel conformance test/conform/aip36.yaml");
                return print_failure(NULL, &e, a.is_json);
        }
        name = words.items[0];
        arena_init(&arena, CASES_ARENA_MAX);
        status = conformance(&arena, name, a.is_json, &e);
        if (status < 0)
                status = print_failure(name, &e, a.is_json);
        arena_fini(&arena);
        return status;
}

static const struct option options[] = {
        OPTION_FLAG(struct asked, is_json, "--json", "one JSON object instead of TAP"),
        OPTION_END,
};

static const struct operand operands[] = { { "CASES.yaml", VALUE_FILE }, { NULL } };

const struct command command_conformance = {
        .name = "conformance",
        .help = "Run a file of conformance cases, and print TAP 14.",
        .options = options,
        .operands = operands,
        .example = "carrel conformance test/conform/aip36.yaml",
        .run = cmd_conformance,
};
