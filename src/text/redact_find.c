/*
 * text/redact_find.c - the rules of text/redact.def, tried at one place of a text.
 *
 * Room: text (words). Touches: mem.
 * Theory: a rule looks at one place of a text and says how much of it stays and how much goes. A
 * rule that runs over many bytes begins only where the byte before could not be in the same run, so
 * a hostile text costs no more than a normal one. Most places need one look into a table: of which
 * rules is this byte the first one?
 */
#include "text/redact_find.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum {
        UPPER = 1u << 0,
        LOWER = 1u << 1,
        DIGIT = 1u << 2,
        UNDER = 1u << 3,
        DASH = 1u << 4,
        DOT = 1u << 5,
        SPACE = 1u << 6,
        LOCAL = 1u << 7, /* what else the local part of an address may have */
        ENDING = 1u << 8 /* ends a value: quotes, & ; , */
};
enum { ALNUM = UPPER | LOWER | DIGIT, WORDS = ALNUM | UNDER, SLUG = WORDS | DASH };
enum { HEADS_MAX = 6, NAME_MAX_LEN = 64 };

struct rule;
typedef struct redact_cut find_fn(const struct rule *r, const struct redact_place *p);

struct rule {
        find_fn *find;
        const char *heads[HEADS_MAX];
        unsigned set;
        size_t least, most;
        enum redact_group group;
};

/* -- characters -------------------------------------------------------------------------------- */

static unsigned
kind_of(char c)
{
        if (c >= 'A' && c <= 'Z')
                return UPPER;
        if (c >= 'a' && c <= 'z')
                return LOWER;
        if (c >= '0' && c <= '9')
                return DIGIT;
        if (c == '_')
                return UNDER | LOCAL;
        if (c == '-')
                return DASH | LOCAL;
        if (c == '.')
                return DOT | LOCAL;
        if (c == ' ' || (c >= '\t' && c <= '\r'))
                return SPACE;
        if (c == '"' || c == '\'' || c == ';' || c == ',')
                return ENDING;
        if (c == '&')
                return ENDING | LOCAL;
        return c != '\0' && strchr("!#$%*+/=?^`{|}~", c) ? LOCAL : 0;
}

/* kind_of() of each byte, made at the first use. */
static uint16_t kinds[256];

static bool
in_set(char c, unsigned set)
{
        return (kinds[(unsigned char)c] & set) != 0;
}

static char
byte_at(const struct redact_place *p, size_t offset)
{
        if (offset < p->len - p->at)
                return p->text[p->at + offset];
        if (p->met_end)
                *p->met_end = true;
        return '\0';
}

/* Is the byte before the place none of `set`? */
static bool
begins(const struct redact_place *p, unsigned set)
{
        return p->at == 0 || !in_set(p->text[p->at - 1], set);
}

static size_t
run_of(const struct redact_place *p, size_t from, unsigned set, size_t most)
{
        size_t len = 0;

        while (len < most && in_set(byte_at(p, from + len), set))
                len++;
        return len;
}

static char
lower(char c)
{
        return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool
has_text(const struct redact_place *p, size_t from, const char *text, bool any_case)
{
        for (size_t i = 0; text[i] != '\0'; i++) {
                char c = byte_at(p, from + i);

                if ((any_case ? lower(c) : c) != text[i])
                        return false;
        }
        return true;
}

/* -- finders ----------------------------------------------------------------------------------- */

static struct redact_cut
find_WORD(const struct rule *r, const struct redact_place *p)
{
        for (size_t i = 0; i < HEADS_MAX && r->heads[i]; i++) {
                size_t head = strlen(r->heads[i]), len;

                if (!begins(p, WORDS) || !has_text(p, 0, r->heads[i], false))
                        continue;
                len = run_of(p, head, r->set, r->most);
                if (len >= r->least && !in_set(byte_at(p, head + len), r->set & WORDS))
                        return (struct redact_cut){ .len = head + len };
        }
        return (struct redact_cut){ 0 };
}

/* From the line that begins a private key to the line that ends it, or to the end of the text. */
static struct redact_cut
find_PEM(const struct rule *r, const struct redact_place *p)
{
        static const char what[] = "PRIVATE KEY";
        size_t head = strlen(r->heads[0]), name, rest = p->len - p->at;
        const char *from = p->text + p->at, *end;

        if (!has_text(p, 0, r->heads[0], false))
                return (struct redact_cut){ 0 };
        name = head;
        while (name < head + NAME_MAX_LEN && in_set(byte_at(p, name), UPPER | SPACE) &&
               !has_text(p, name, what, false))
                name++;
        if (!has_text(p, name, what, false))
                return (struct redact_cut){ 0 };
        end = memmem(from, rest, REDACT_KEY_END, strlen(REDACT_KEY_END));
        if (end) {
                const char *label = end + strlen(REDACT_KEY_END),
                           *close = memmem(label, rest - (size_t)(label - from), REDACT_KEY_CLOSE,
                                           strlen(REDACT_KEY_CLOSE));

                if (close)
                        return (struct redact_cut){ .len = (size_t)(close - from) +
                                                           strlen(REDACT_KEY_CLOSE) };
        }
        if (p->met_end)
                *p->met_end = true;
        return (struct redact_cut){ .len = rest, .is_open_key = true };
}

/* The credentials of an Authorization header; the scheme stays. */
static struct redact_cut
find_BEARER(const struct rule *r, const struct redact_place *p)
{
        for (size_t i = 0; i < HEADS_MAX && r->heads[i]; i++) {
                size_t head = strlen(r->heads[i]), space, len = 0;

                if (!begins(p, WORDS) || !has_text(p, 0, r->heads[i], true))
                        continue;
                space = run_of(p, head, SPACE, 8);
                head += space;
                while (space > 0 && len < r->most &&
                       (in_set(byte_at(p, head + len), SLUG | DOT) ||
                        (byte_at(p, head + len) != '\0' && strchr("~+/=", byte_at(p, head + len)))))
                        len++;
                /* a word of prose has no such length */
                if (len >= r->least)
                        return (struct redact_cut){ .kept = head, .len = len };
        }
        return (struct redact_cut){ 0 };
}

bool
redact_is_secret_name(const char *name, size_t len)
{
        static const char *const endings[] = {
                "password",  "passwd",     "passphrase", "secret",     "token",       "apikey",
                "secretkey", "privatekey", "accesskey",  "credential", "credentials",
        };
        char folded[NAME_MAX_LEN + 1];
        size_t count = 0;

        for (size_t i = 0; i < len && count < NAME_MAX_LEN; i++)
                if (in_set(name[i], ALNUM))
                        folded[count++] = lower(name[i]);
        folded[count] = '\0';
        for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
                size_t part = strlen(endings[i]);

                if (count >= part && strcmp(folded + count - part, endings[i]) == 0)
                        return true;
        }
        return false;
}

/* Can a value follow a name at the place, and this byte? Almost no word of a text gets further. */
static bool
may_assign(const struct redact_place *p, char c)
{
        return c == '=' || c == '"' || (c == ' ' && byte_at(p, 0) == '-');
}

/* NAME=value, --name=value, --name value, "name":"value": the name stays. */
static struct redact_cut
find_ASSIGNMENT(const struct rule *r, const struct redact_place *p)
{
        size_t name, at, len = 0;

        if (!begins(p, SLUG) || !in_set(byte_at(p, 0), SLUG))
                return (struct redact_cut){ 0 };
        name = run_of(p, 0, SLUG, NAME_MAX_LEN + 1);
        if (name > NAME_MAX_LEN || !may_assign(p, byte_at(p, name)) ||
            !redact_is_secret_name(p->text + p->at, name))
                return (struct redact_cut){ 0 };
        at = name;
        if (byte_at(p, at) == '=' || (byte_at(p, at) == ' ' && byte_at(p, 0) == '-')) {
                at++;
        } else if (has_text(p, at, "\":", false)) {
                at += 2 + run_of(p, at + 2, SPACE, 8);
                if (byte_at(p, at) != '"')
                        return (struct redact_cut){ 0 };
        } else {
                return (struct redact_cut){ 0 };
        }
        if (byte_at(p, at) == '"' || byte_at(p, at) == '\'')
                at++;
        while (len < r->most && byte_at(p, at + len) != '\0' &&
               !in_set(byte_at(p, at + len), SPACE | ENDING))
                len++;
        /* what another rule has removed already, or a name of a variable */
        if (len < r->least || has_text(p, at, "[redacted:", false) || byte_at(p, at) == '$')
                return (struct redact_cut){ 0 };
        return (struct redact_cut){ .kept = at, .len = len };
}

static size_t
userinfo_run(const struct redact_place *p, size_t from, size_t most)
{
        size_t len = 0;

        while (len < most && byte_at(p, from + len) != '\0' &&
               !strchr("/:@?#", byte_at(p, from + len)) && !in_set(byte_at(p, from + len), SPACE))
                len++;
        return len;
}

/* scheme://user:PASSWORD@host */
static struct redact_cut
find_URL(const struct rule *r, const struct redact_place *p)
{
        size_t user, password;

        if (!has_text(p, 0, r->heads[0], false) || begins(p, ALNUM))
                return (struct redact_cut){ 0 };
        user = userinfo_run(p, 3, r->most);
        if (byte_at(p, 3 + user) != ':')
                return (struct redact_cut){ 0 };
        password = userinfo_run(p, 4 + user, r->most);
        if (password < r->least || byte_at(p, 4 + user + password) != '@' ||
            has_text(p, 4 + user, "[redacted", false))
                return (struct redact_cut){ 0 };
        return (struct redact_cut){ .kept = 4 + user, .len = password };
}

static struct redact_cut
find_JWT(const struct rule *r, const struct redact_place *p)
{
        size_t head, body, len;

        if (!begins(p, SLUG) || !has_text(p, 0, r->heads[0], false))
                return (struct redact_cut){ 0 };
        head = 3 + run_of(p, 3, r->set, r->most);
        if (head < 3 + r->least || byte_at(p, head) != '.')
                return (struct redact_cut){ 0 };
        body = run_of(p, head + 1, r->set, r->most);
        if (body < r->least || byte_at(p, head + 1 + body) != '.')
                return (struct redact_cut){ 0 };
        len = head + 2 + body;
        return (struct redact_cut){ .len = len + run_of(p, len, r->set, r->most) };
}

static struct redact_cut
find_EMAIL(const struct rule *r, const struct redact_place *p)
{
        size_t local, at, last = 0, labels = 0;

        if (!begins(p, ALNUM | LOCAL) || !in_set(byte_at(p, 0), ALNUM | UNDER))
                return (struct redact_cut){ 0 };
        local = run_of(p, 0, ALNUM | LOCAL, SIZE_MAX);
        if (local > r->most || byte_at(p, local) != '@')
                return (struct redact_cut){ 0 };
        at = local + 1;
        for (;;) {
                size_t len = run_of(p, at, ALNUM | DASH, 64);

                if (len == 0 || len > 63)
                        break;
                labels++;
                last = at;
                at += len;
                if (byte_at(p, at) != '.')
                        break;
                at++;
        }
        /* the sentence may end behind it */
        if (labels > 0 && p->text[p->at + at - 1] == '.')
                at--;
        if (labels < 2 || run_of(p, last, UPPER | LOWER, 64) < 2)
                return (struct redact_cut){ 0 };
        return (struct redact_cut){ .len = at };
}

/* Takes characters of `set`, with single spaces or dashes between them. Gives how many bytes they
 * are; `out` has room for `most` and a NUL. */
static size_t
take_grouped(const struct redact_place *p, unsigned set, char *out, size_t most)
{
        size_t at = 0, count = 0;

        while (count < most) {
                size_t skip = count > 0 && (byte_at(p, at) == ' ' || byte_at(p, at) == '-') ? 1 : 0;

                if (!in_set(byte_at(p, at + skip), set))
                        break;
                out[count++] = byte_at(p, at + skip);
                at += skip + 1;
        }
        out[count] = '\0';
        return at;
}

static bool
is_luhn(const char *digits, size_t len)
{
        unsigned sum = 0;

        for (size_t i = 0; i < len; i++) {
                unsigned d = (unsigned)(digits[len - 1 - i] - '0') * (i % 2 == 0 ? 1u : 2u);

                sum += d > 9 ? d - 9 : d;
        }
        return sum % 10 == 0;
}

/* The first digit is that of a bank card: 3 to 6, or 2 of the second series. */
static struct redact_cut
find_CARD(const struct rule *r, const struct redact_place *p)
{
        char digits[24];
        size_t bytes;

        if (!begins(p, WORDS | DOT | DASH) || !in_set(byte_at(p, 0), DIGIT) ||
            byte_at(p, 0) < '2' || byte_at(p, 0) > '6')
                return (struct redact_cut){ 0 };
        bytes = take_grouped(p, DIGIT, digits, r->most);
        if (strlen(digits) < r->least || in_set(byte_at(p, bytes), WORDS) ||
            !is_luhn(digits, strlen(digits)))
                return (struct redact_cut){ 0 };
        return (struct redact_cut){ .len = bytes };
}

static unsigned
mod_97(const char *text)
{
        unsigned rest = 0;

        for (; *text != '\0'; text++) {
                unsigned value = in_set(*text, DIGIT) ? (unsigned)(*text - '0')
                                                      : (unsigned)(*text - 'A') + 10;

                rest = (rest * (value > 9 ? 100 : 10) + value) % 97;
        }
        return rest;
}

static struct redact_cut
find_IBAN(const struct rule *r, const struct redact_place *p)
{
        char text[40], turned[40];
        size_t bytes;

        if (!begins(p, WORDS) || !in_set(byte_at(p, 0), UPPER) || !in_set(byte_at(p, 1), UPPER) ||
            !in_set(byte_at(p, 2), DIGIT) || !in_set(byte_at(p, 3), DIGIT))
                return (struct redact_cut){ 0 };
        bytes = take_grouped(p, UPPER | DIGIT, text, r->most);
        if (strlen(text) < r->least || in_set(byte_at(p, bytes), WORDS))
                return (struct redact_cut){ 0 };
        (void)snprintf(turned, sizeof turned, "%s%.4s", text + 4, text);
        if (mod_97(turned) != 1)
                return (struct redact_cut){ 0 };
        return (struct redact_cut){ .len = bytes };
}

static struct redact_cut
find_PHONE(const struct rule *r, const struct redact_place *p)
{
        size_t at = 1, count = 0;

        if (byte_at(p, 0) != '+' || !begins(p, WORDS | LOCAL) || byte_at(p, 1) == '0')
                return (struct redact_cut){ 0 };
        for (;; at++) {
                char c = byte_at(p, at);

                if (in_set(c, DIGIT))
                        count++;
                else if (count == 0 || c == '\0' || !strchr(" .-()", c) || at > 24)
                        break;
        }
        while (at > 1 && !in_set(byte_at(p, at - 1), DIGIT))
                at--;
        if (count < r->least || count > r->most || in_set(byte_at(p, at), WORDS))
                return (struct redact_cut){ 0 };
        return (struct redact_cut){ .len = at };
}

/* -- the table --------------------------------------------------------------------------------- */

#define HEADS(...)          \
        {                   \
                __VA_ARGS__ \
        }
#define REDACT(name, group, finder, heads, set, least, most, authority) \
        { find_##finder, heads, set, least, most, REDACT_##group },
static const struct rule rules[] = {
#include "text/redact.def"
};
#undef REDACT
#define REDACT(name, group, finder, heads, set, least, most, authority) \
        { name, REDACT_##group, authority },
const struct redact_rule redact_rules_all[] = {
#include "text/redact.def"
};
#undef REDACT

_Static_assert(sizeof rules / sizeof *rules == REDACT_RULES, "one row each");

const struct redact_rule *
redact_rules(size_t *ret_count)
{
        *ret_count = REDACT_RULES;
        return redact_rules_all;
}

size_t
redact_mark(size_t rule, char ret[REDACT_MARK_MAX])
{
        return (size_t)snprintf(ret, REDACT_MARK_MAX, "[redacted:%s]", redact_rules_all[rule].name);
}

/* -- groups ------------------------------------------------------------------------------------ */

static unsigned groups_off;

void
redact_leave(unsigned groups)
{
        groups_off = groups & ~(1u << REDACT_credentials);
}

/* -- looking at one place ---------------------------------------------------------------------- */

/* Is `c` the first byte of one of the rule's heads, or what its finder asks for? */
static bool
may_begin(const struct rule *r, char c)
{
        for (size_t i = 0; i < HEADS_MAX && r->heads[i]; i++)
                if (r->heads[i][0] == c || r->heads[i][0] == lower(c))
                        return true;
        if (r->find == find_ASSIGNMENT)
                return in_set(c, SLUG);
        if (r->find == find_EMAIL)
                return in_set(c, ALNUM | UNDER);
        if (r->find == find_IBAN)
                return in_set(c, UPPER);
        return r->find == find_CARD && in_set(c, DIGIT);
}

/* A bit for each rule that may begin with a byte, and for each rule of a group. */
static uint32_t starts[256], members[REDACT_GROUP_MAX];
_Static_assert((int)REDACT_RULES <= 32, "a bit for each rule");

static void
make_tables(void)
{
        if (kinds['a'] != 0)
                return;
        for (unsigned c = 0; c < 256; c++)
                kinds[c] = (uint16_t)kind_of((char)c);
        for (size_t i = 0; i < REDACT_RULES; i++) {
                members[rules[i].group] |= 1u << i;
                for (unsigned c = 0; c < 256; c++)
                        if (may_begin(&rules[i], (char)c))
                                starts[c] |= 1u << i;
        }
}

static uint32_t
without_groups(uint32_t some, unsigned groups)
{
        for (size_t g = 0; groups != 0 && g < REDACT_GROUP_MAX; g++)
                if ((groups & 1u << g) != 0)
                        some &= ~members[g];
        return some;
}

bool
redact_ends_value(char c)
{
        make_tables();
        return in_set(c, SPACE | ENDING);
}

/* Each finder asks begins(), or needs a first byte that is in no word, so inside of a word there is
 * nothing to try. */
size_t
redact_find(const struct redact_place *p, struct redact_cut *ret)
{
        uint32_t some;

        make_tables();
        some = p->at < p->len ? starts[(unsigned char)p->text[p->at]] : 0;
        if (some == 0 || (!begins(p, WORDS) && in_set(p->text[p->at], WORDS)))
                return REDACT_RULES;
        some = without_groups(some, groups_off | p->leaves);
        for (; some != 0; some &= some - 1) {
                size_t i = (size_t)__builtin_ctz(some);

                *ret = rules[i].find(&rules[i], p);
                if (ret->len > 0)
                        return i;
        }
        return REDACT_RULES;
}
