/*
 * wasm/define.c - the check of a sandbox definition for JavaScript: the rooms base, text, manifest,
 * spec and policy of Carrel, compiled to WebAssembly.
 *
 * A tree of values (text/tree_pack.h) goes in, JSON comes out. Nothing is opened, no clock is read:
 * the module imports no function that could. Each call begins and ends with empty memory.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/findings.h"
#include "manifest/manifest.h"
#include "policy/authorise.h"
#include "policy/host_rules.h"
#include "spec/norm.h"
#include "spec/spec.h"
#include "text/json.h"
#include "text/tree_pack.h"

#define EXPORTED(name) __attribute__((export_name(name)))

enum { MEMORY_MAX = 64 << 20 };

static struct json_writer answer;

/* -- memory for the caller --------------------------------------------------------------------- */

EXPORTED("take")
void *
take(size_t len)
{
        return malloc(len > 0 ? len : 1);
}

EXPORTED("give_back")
void
give_back(void *bytes)
{
        free(bytes);
}

EXPORTED("answer_text")
const char *
answer_text(void)
{
        return answer.text;
}

EXPORTED("answer_len")
size_t
answer_len(void)
{
        return answer.len;
}

EXPORTED("answer_drop")
void
answer_drop(void)
{
        json_fini(&answer);
}

/* -- the answer -------------------------------------------------------------------------------- */

static void
write_error(const struct error *e)
{
        json_open_map(&answer);
        json_member_text(&answer, "code", error_wire_name(e->code));
        json_member_text(&answer, "path", e->path);
        json_member_text(&answer, "reason", e->reason);
        json_member_text(&answer, "message", e->message);
        json_member_text(&answer, "hint", error_hint_text(e));
        json_close_map(&answer);
}

static void
write_findings(const struct findings *f)
{
        json_key(&answer, "errors");
        json_open_list(&answer);
        for (const struct finding *one = f->errors; one; one = one->next)
                write_error(&one->error);
        json_close_list(&answer);
        json_key(&answer, "warnings");
        json_open_list(&answer);
        for (const struct warning *w = f->warnings; w; w = w->next) {
                json_open_map(&answer);
                json_member_text(&answer, "name", w->name);
                json_member_text(&answer, "path", w->path);
                json_member_text(&answer, "message", w->message);
                json_close_map(&answer);
        }
        json_close_list(&answer);
}

/* -- the check --------------------------------------------------------------------------------- */

static int
unpack(struct arena *arena, const void *bytes, size_t len, const struct node **ret, struct error *e)
{
        static const struct text_limits limits = { .bytes_max = 4 << 20,
                                                   .depth_max = 64,
                                                   .nodes_max = 100000 };

        return tree_unpack(arena, bytes, len, &limits, ret, e);
}

struct checked {
        struct manifest manifest;
        const struct spec *spec;
};

static int
check(struct arena *arena, const struct node *root, enum manifest_kind kind,
      enum manifest_syntax syntax, const struct node *host, int64_t now_s, struct checked *ret,
      struct findings *findings, struct error *e)
{
        struct host_rules *rules;
        struct spec *spec;

        if (manifest_from_tree(arena, root, kind, &ret->manifest, findings, e) < 0)
                return -1;
        ret->manifest.syntax = syntax;
        if (!ret->manifest.block)
                return 0;
        if (spec_read(arena, &ret->manifest, &spec, findings, e) < 0)
                return -1;
        ret->spec = spec;
        if (!host)
                return 0;
        if (host_rules_read(arena, host, "operator://unnamed", &rules, e) < 0)
                return error_wrap(e, "the host");
        rules->usage = (struct grant_usage){ 0, 0, 0 };
        return authorise(arena, spec, rules, now_s, &ret->spec, findings, e);
}

static void
write_norm(const struct checked *c)
{
        json_key(&answer, "norm");
        if (c->spec) {
                spec_norm_write(&answer, c->spec);
                return;
        }
        json_open_map(&answer);
        json_member_bool(&answer, "configured", c->manifest.form != MANIFEST_NONE);
        if (c->manifest.ref) {
                json_member_text(&answer, "form",
                                 c->manifest.form == MANIFEST_REF ? "ref" : "file");
                json_member_text(&answer, "ref", c->manifest.ref);
                json_member_bool(&answer, "resolved", false);
        }
        json_close_map(&answer);
}

/*
 * Judges a packed tree, and leaves {ok, errors, warnings, norm} as the answer. `host_len` 0: up to
 * validate; else up to authorise, by the packed map of a host. Returns 0, or -1 without memory.
 */
EXPORTED("judge")
int
judge(const void *tree, size_t len, int kind, int syntax, const void *host, size_t host_len,
      double now_s)
{
        struct checked c = { .spec = NULL };
        const struct node *root, *rules = NULL;
        struct findings findings;
        struct arena arena;
        struct error e;

        arena_init(&arena, MEMORY_MAX);
        findings_init(&findings, &arena);
        if ((unpack(&arena, tree, len, &root, &e) < 0 ||
             (host_len > 0 && unpack(&arena, host, host_len, &rules, &e) < 0) ||
             check(&arena, root, (enum manifest_kind)kind, (enum manifest_syntax)syntax, rules,
                   (int64_t)now_s, &c, &findings, &e) < 0) &&
            findings.error_count == 0)
                findings_add(&findings, &e);
        json_init(&answer, false);
        json_open_map(&answer);
        json_member_bool(&answer, "ok", findings.error_count == 0);
        write_findings(&findings);
        if (findings.error_count == 0)
                write_norm(&c);
        json_close_map(&answer);
        arena_fini(&arena);
        return answer.is_broken ? -1 : 0;
}
