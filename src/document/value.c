/*
 * document/value.c - whether one value is of its kind, and what its text amounts to.
 *
 * Room: document (deciding, pure). Touches: mem.
 */
#include "document/value.h"

#include <math.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#define INTENT                                                                            \
        "best.effort|where possible|we (aim|strive|intend|take|are committed)|should\\b|" \
        "security (first|is)|defen[cs]e.in.depth$|best.practices?$|^polic(y|ies)$|"       \
        "compliance$|secure.by.default$"

bool
document_matches(const char *text, const char *pattern, bool ignores_case)
{
        regex_t compiled;
        bool result;

        if (regcomp(&compiled, pattern, REG_EXTENDED | REG_NOSUB | (ignores_case ? REG_ICASE : 0)))
                return false;
        result = regexec(&compiled, text, 0, NULL, 0) == 0;
        regfree(&compiled);
        return result;
}

/* -- names ------------------------------------------------------------------------------------- */

/* The text without blanks around it. */
static const char *
trimmed(const char *text, size_t *ret_len)
{
        text += strspn(text, " \t");
        *ret_len = strlen(text);
        while (*ret_len > 0 && (text[*ret_len - 1] == ' ' || text[*ret_len - 1] == '\t'))
                (*ret_len)--;
        return text;
}

static char
letter(char c)
{
        return (char)(c == ' ' || c == '-' ? '_' : c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

const char *
document_name(const char *text, char *ret, size_t room)
{
        size_t len;

        text = trimmed(text, &len);
        if (len > room - 1)
                len = room - 1;
        for (size_t i = 0; i < len; i++)
                ret[i] = letter(text[i]);
        ret[len] = '\0';
        return ret;
}

bool
document_is_name(const char *a, const char *b)
{
        size_t a_len, b_len;

        a = trimmed(a, &a_len);
        b = trimmed(b, &b_len);
        for (size_t i = 0; a_len == b_len && i < a_len; i++)
                if (letter(a[i]) != letter(b[i]))
                        return false;
        return a_len == b_len;
}

enum { SET_CONTROL, SET_INPUT };

static const struct {
        int set;
        const char *name, *of;
} names[] = {
#define NAME(set, name, of) { SET_##set, name, of },
#include "document/vocabulary.def"
};

static const struct {
        const char *name;
        unsigned tier;
} runtimes[] = {
#define RUNTIME(name, tier) { name, tier },
#include "document/vocabulary.def"
};

bool
document_is_control(const char *name)
{
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
                if (names[i].set == SET_CONTROL && document_is_name(names[i].name, name))
                        return true;
        return false;
}

const char *
document_input_class(const char *name)
{
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
                if (names[i].set == SET_INPUT && document_is_name(names[i].name, name))
                        return names[i].of;
        return NULL;
}

unsigned
document_runtime_tier(const char *runtime_class)
{
        for (size_t i = 0; i < sizeof runtimes / sizeof *runtimes; i++)
                if (document_is_name(runtimes[i].name, runtime_class))
                        return runtimes[i].tier;
        return 0;
}

bool
document_is_intent(const char *text)
{
        return document_matches(text, INTENT, true);
}

unsigned
document_tier(const struct node *tier)
{
        if (!tier || tier->kind != NODE_STRING || tier->len != 2 || tier->text[0] != 'T' ||
            tier->text[1] < '1' || tier->text[1] > '4')
                return 0;
        return (unsigned)(tier->text[1] - '0');
}

/* -- amounts ----------------------------------------------------------------------------------- */

struct unit {
        const char *word;
        double factor;
};

static double
unit_find(const struct unit *units, size_t count, const char *word)
{
        for (size_t i = 0; i < count; i++)
                if (strcmp(units[i].word, word) == 0)
                        return units[i].factor;
        return 0;
}

static uint64_t
saturated(double amount)
{
        /* lint: 2 to the 64th is the first double that does not fit */
        return amount >= 18446744073709549568.0 ? UINT64_MAX - 1 : (uint64_t)amount;
}

bool
document_duration(const char *text, uint64_t *ret_ms)
{
        static const struct unit units[] = { { "ms", 1 },     { "s", 1e3 },   { "m", 6e4 },
                                             { "h", 36e5 },   { "d", 864e5 }, { "w", 6048e5 },
                                             { "y", 31536e6 } };
        char *end;
        double number;

        if (!document_matches(text, document_duration_pattern, false))
                return false;
        number = strtod(text, &end);
        *ret_ms = saturated(number * unit_find(units, sizeof units / sizeof *units, end));
        return true;
}

bool
document_quantity(const char *text, uint64_t *ret_bytes)
{
        static const struct unit units[] = {
                { "", 1 },           { "k", 1e3 },           { "M", 1e6 },
                { "G", 1e9 },        { "T", 1e12 },          { "Ki", 1024.0 },
                { "Mi", 1048576.0 }, { "Gi", 1073741824.0 }, { "Ti", 1099511627776.0 }
        };
        char *end;
        double number;

        if (!document_matches(text, "^[0-9]+(\\.[0-9]+)?(k|M|G|T|Ki|Mi|Gi|Ti)?$", false))
                return false;
        number = strtod(text, &end);
        *ret_bytes = saturated(number * unit_find(units, sizeof units / sizeof *units, end));
        return number > 0;
}

bool
document_millicores(const char *text, uint64_t *ret)
{
        char *end;
        double number;

        if (!document_matches(text, "^([1-9][0-9]*m|[0-9]+(\\.[0-9]+)?)$", false))
                return false;
        number = strtod(text, &end);
        *ret = saturated(*end == 'm' ? number : number * 1000);
        return number > 0;
}

/* -- kinds ------------------------------------------------------------------------------------- */

static bool
is_text(const struct node *n)
{
        return n->kind == NODE_STRING && n->text[strspn(n->text, " \t\r\n")] != '\0';
}

bool
document_is_present(const struct node *n)
{
        if (n->kind == NODE_LIST || n->kind == NODE_MAP)
                return n->len > 0;
        return n->kind == NODE_STRING ? is_text(n) : n->kind != NODE_NULL;
}

/* Is there a digit other than 0? */
static bool
is_above_zero(const char *text)
{
        return text[strcspn(text, "123456789")] != '\0';
}

static bool
is_amount(const struct node *n, const char *pattern)
{
        if (n->kind != NODE_STRING && n->kind != NODE_INT && n->kind != NODE_FLOAT)
                return false;
        return document_matches(n->text, pattern, false) && is_above_zero(n->text);
}

static bool
is_path(const struct node *n)
{
        if (n->kind != NODE_STRING || n->text[0] != '/')
                return false;
        for (const char *at = n->text; (at = strstr(at, "/..")) != NULL; at += 3)
                if (at[3] == '\0' || at[3] == '/')
                        return false;
        return true;
}

/*
 * A name, an IPv4 or IPv6 address, or a network with its number of bits. A "*" is reported by a
 * rule of its own.
 */
static bool
is_host(const struct node *n)
{
        return n->kind == NODE_STRING &&
               document_matches(n->text, "^[][A-Za-z0-9_.:*-]+(/[0-9]{1,3})?$", false);
}

static bool
is_choice(const struct node *n, const char *const *choices)
{
        if (n->kind != NODE_STRING)
                return false;
        for (; *choices; choices++)
                if (document_is_name(n->text, *choices))
                        return true;
        return false;
}

static bool
is_word(const struct node *n, const char *const *choices)
{
        for (; *choices; choices++)
                if (node_is_text(n, *choices))
                        return true;
        return false;
}

static bool
are_choices(const struct node *n, const char *const *choices)
{
        if (n->kind != NODE_LIST)
                return is_choice(n, choices);
        node_each(item, n) if (!is_choice(item, choices)) return false;
        return n->len > 0;
}

static bool
is_term(const struct node *n, const char *pattern)
{
        const struct node *fallback = n->kind == NODE_MAP ? node_find(n, "default") : n;

        return fallback && fallback->kind == NODE_STRING &&
               (strcmp(fallback->text, "forever") == 0 ||
                document_matches(fallback->text, pattern, false));
}

static bool
is_number(const struct node *n)
{
        return (n->kind == NODE_INT || n->kind == NODE_FLOAT) && isfinite(n->real) && n->real >= 0;
}

static bool
is_list(const struct document_kind *kind, const struct node *n)
{
        if (n->kind != NODE_LIST || n->len < kind->min)
                return false;
        if (kind->item && kind->item->shape != DOCUMENT_MAP)
                node_each(item, n) if (!document_holds(kind->item, item)) return false;
        return true;
}

bool
document_holds(const struct document_kind *kind, const struct node *n)
{
        switch (kind->shape) {
        case DOCUMENT_FREE:
                return true;
        case DOCUMENT_ANY:
                return document_is_present(n) || n->kind == NODE_LIST;
        case DOCUMENT_TEXT:
                return is_text(n);
        case DOCUMENT_PATTERN:
                return n->kind == NODE_STRING && document_matches(n->text, kind->pattern, false);
        case DOCUMENT_AMOUNT:
                return is_amount(n, kind->pattern);
        case DOCUMENT_TEXT_OR_MAP:
                return is_text(n) || (n->kind == NODE_MAP && n->len > 0);
        case DOCUMENT_BOOL:
                return n->kind == NODE_BOOL;
        case DOCUMENT_NUMBER:
                return is_number(n);
        case DOCUMENT_INTEGER:
                return n->kind == NODE_INT && n->integer >= 1 && n->integer <= kind->max;
        case DOCUMENT_WORD:
                return is_word(n, kind->choices);
        case DOCUMENT_CHOICE:
                return is_choice(n, kind->choices);
        case DOCUMENT_CHOICES:
                return are_choices(n, kind->choices);
        case DOCUMENT_PATH:
                return is_path(n);
        case DOCUMENT_HOST:
                return is_host(n);
        case DOCUMENT_AUTH:
                return is_text(n) && !document_is_name(n->text, "none");
        case DOCUMENT_TERM:
                return is_term(n, kind->pattern);
        case DOCUMENT_LIST:
        case DOCUMENT_CONTROLS:
                return is_list(kind, n);
        case DOCUMENT_MAP:
                return n->kind == NODE_MAP;
        }
        return false;
}
