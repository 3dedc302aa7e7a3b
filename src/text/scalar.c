/*
 * text/scalar.c - the type of a plain scalar, by YAML 1.2's core schema and nothing else.
 *
 * Room: text (words). Touches: nothing.
 * Theory: words first (null, booleans, infinities: a table), then the three integer notations, then
 * decimal fractions; anything else is a string. strtod() only receives a text that is already known
 * to be a decimal number, so its extensions (hexadecimal floats, "infinity") are not accepted.
 */
#include "text/scalar.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct word {
        const char *text;
        enum node_kind kind;
        bool boolean;
        double real;
} words[] = {
        { "", NODE_NULL, false, 0 },
        { "~", NODE_NULL, false, 0 },
        { "null", NODE_NULL, false, 0 },
        { "Null", NODE_NULL, false, 0 },
        { "NULL", NODE_NULL, false, 0 },
        { "true", NODE_BOOL, true, 0 },
        { "True", NODE_BOOL, true, 0 },
        { "TRUE", NODE_BOOL, true, 0 },
        { "false", NODE_BOOL, false, 0 },
        { "False", NODE_BOOL, false, 0 },
        { "FALSE", NODE_BOOL, false, 0 },
        { ".inf", NODE_FLOAT, false, INFINITY },
        { ".Inf", NODE_FLOAT, false, INFINITY },
        { ".INF", NODE_FLOAT, false, INFINITY },
        { "+.inf", NODE_FLOAT, false, INFINITY },
        { "+.Inf", NODE_FLOAT, false, INFINITY },
        { "+.INF", NODE_FLOAT, false, INFINITY },
        { "-.inf", NODE_FLOAT, false, -INFINITY },
        { "-.Inf", NODE_FLOAT, false, -INFINITY },
        { "-.INF", NODE_FLOAT, false, -INFINITY },
        { ".nan", NODE_FLOAT, false, NAN },
        { ".NaN", NODE_FLOAT, false, NAN },
        { ".NAN", NODE_FLOAT, false, NAN },
};

static bool
word_read(struct node *n)
{
        for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
                if (strcmp(n->text, words[i].text) != 0)
                        continue;
                n->kind = words[i].kind;
                n->boolean = words[i].boolean;
                n->real = words[i].real;
                return true;
        }
        return false;
}

static size_t
digits_len(const char *text)
{
        return strspn(text, "0123456789");
}

static bool
is_decimal_integer(const char *text)
{
        size_t len;

        text += *text == '+' || *text == '-';
        len = digits_len(text);
        return len > 0 && text[len] == '\0';
}

/* [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )? */
static bool
is_decimal_number(const char *text)
{
        size_t whole, part = 0;

        text += *text == '+' || *text == '-';
        whole = digits_len(text);
        text += whole;
        if (*text == '.') {
                part = digits_len(++text);
                text += part;
        }
        if (whole + part == 0)
                return false;
        if (*text == 'e' || *text == 'E') {
                text++;
                text += *text == '+' || *text == '-';
                if (digits_len(text) == 0)
                        return false;
                text += digits_len(text);
        }
        return *text == '\0';
}

static unsigned
digit_value(char c)
{
        static const char digits[] = "0123456789abcdef";
        const char *at = strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c);

        return at && c ? (unsigned)(at - digits) : 16;
}

/* Reads digits of `base` to the end of the text; false if empty or another character is among them.
 */
static bool
integer_read(struct node *n, const char *digits, unsigned base, bool is_negative)
{
        uint64_t most = is_negative ? (uint64_t)INT64_MAX + 1 : INT64_MAX, value = 0;
        double real = 0;
        bool fits = true;

        if (!*digits)
                return false;
        for (; *digits; digits++) {
                unsigned digit = digit_value(*digits);

                if (digit >= base)
                        return false;
                fits = fits && value <= (most - digit) / base;
                if (fits)
                        value = value * base + digit;
                real = real * base + digit; /* exact enough for bases 8 and 16; strtod() does 10 */
        }
        n->kind = fits ? NODE_INT : NODE_FLOAT;
        n->integer = !fits ? 0 : is_negative ? (int64_t)(0 - value) : (int64_t)value;
        n->real = fits ? (double)n->integer : is_negative ? -real : real;
        return true;
}

void
scalar_read_number(struct node *n)
{
        const char *text = n->text;

        if (is_decimal_integer(text) &&
            integer_read(n, text + (*text == '+' || *text == '-'), 10, *text == '-') &&
            n->kind == NODE_INT)
                return;
        n->kind = NODE_FLOAT;
        n->real = strtod(text, NULL);
}

void
scalar_resolve(struct node *n)
{
        const char *text = n->text;

        n->kind = NODE_STRING;
        if (word_read(n))
                return;
        if (text[0] == '0' && text[1] == 'o' && integer_read(n, text + 2, 8, false))
                return;
        if (text[0] == '0' && text[1] == 'x' && integer_read(n, text + 2, 16, false))
                return;
        if (is_decimal_number(text))
                scalar_read_number(n);
}
