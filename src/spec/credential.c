/*
 * spec/credential.c - has a text the signs of a plaintext credential?
 *
 * Room: spec (deciding, pure). Touches: nothing.
 * Theory: most shapes are a prefix, then enough characters of one set, so they are rows. The four
 * shapes that need context on both sides are functions. Each examines a byte a bounded number of
 * times: a hostile string of 256 KiB costs no more than a normal one. A word starts where the byte
 * before is not a letter, digit or "_".
 */
#include "spec/credential.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
        UPPER = 1u << 0,
        LOWER = 1u << 1,
        DIGIT = 1u << 2,
        UNDER = 1u << 3,
        DASH = 1u << 4,
        HEX = 1u << 5,
        DOT = 1u << 6,
        SPACE = 1u << 7,
        PLUS = 1u << 8
};
enum { ALNUM = UPPER | LOWER | DIGIT, WORD = ALNUM | UNDER, SLUG = WORD | DASH };

struct shape {
        const char *name;
        const char *heads[6];
        unsigned set;
        unsigned min;
        bool is_exact; /* exactly `min`, and the word ends there */
};

static const struct shape shapes[] = {
        { "secret key (sk-)", { "sk-" }, SLUG, 16 },
        { "payment key",
          { "sk_live_", "sk_test_", "rk_live_", "rk_test_", "pk_live_", "pk_test_" },
          ALNUM,
          8 },
        { "AWS access key id", { "AKIA", "ASIA" }, UPPER | DIGIT, 16, true },
        { "GitHub token", { "ghp_", "gho_", "ghu_", "ghs_", "ghr_" }, ALNUM, 30 },
        { "GitHub fine-grained token", { "github_pat_" }, WORD, 20 },
        { "GitLab token", { "glpat-" }, SLUG, 16 },
        { "Slack token", { "xoxa-", "xoxb-", "xoxp-", "xoxr-", "xoxs-" }, ALNUM | DASH, 10 },
        { "Google API key", { "AIza" }, SLUG, 35 },
        { "E2B key", { "e2b_" }, HEX, 32 },
        { "Hugging Face token", { "hf_" }, ALNUM, 20 },
};

static const char *const key_names[] = {
        "apikey",       "apitoken",    "accesstoken",  "authtoken",        "token",
        "secret",       "secretkey",   "clientsecret", "password",         "passwd",
        "passphrase",   "accesskey",   "accesskeyid",  "secretaccesskey",  "privatekey",
        "credential",   "credentials", "bearer",       "connectionstring", "refreshtoken",
        "sessiontoken",
};

static bool
in_set(char c, unsigned set)
{
        unsigned kind = 0;

        if (c >= 'A' && c <= 'Z')
                kind = UPPER;
        else if (c >= 'a' && c <= 'z')
                kind = LOWER | (c <= 'f' ? HEX : 0u);
        else if (c >= '0' && c <= '9')
                kind = DIGIT | HEX;
        else if (c == '_' || c == '-' || c == '.' || c == '+')
                kind = c == '_' ? UNDER : c == '-' ? DASH : c == '.' ? DOT : PLUS;
        else if (c == ' ' || (c >= '\t' && c <= '\r'))
                kind = SPACE;
        return (kind & set) != 0;
}

static size_t
run_of(const char *text, unsigned set, size_t max)
{
        size_t len = 0;

        while (len < max && in_set(text[len], set))
                len++;
        return len;
}

static bool
starts_word(const char *text, const char *at)
{
        return at == text || !in_set(at[-1], WORD);
}

static char
lower(char c)
{
        return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool
head_matches(const struct shape *shape, const char *at)
{
        for (size_t i = 0; i < 6 && shape->heads[i]; i++) {
                size_t len = strlen(shape->heads[i]);

                if (strncmp(at, shape->heads[i], len) != 0)
                        continue;
                if (run_of(at + len, shape->set, shape->min) < shape->min)
                        continue;
                if (!shape->is_exact || !in_set(at[len + shape->min], WORD))
                        return true;
        }
        return false;
}

static const char *
row_find(const char *text)
{
        for (const char *at = text; *at; at++) {
                if (!in_set(*at, ALNUM) || !starts_word(text, at))
                        continue;
                for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
                        if (head_matches(&shapes[i], at))
                                return shapes[i].name;
        }
        return NULL;
}

/* eyJ<8+>.eyJ<8+>. : the run before the dot is the same for every start in it, so a failed run is
 * skipped whole. */
static bool
has_jwt(const char *text)
{
        for (const char *at = text; (at = strstr(at, "eyJ")) != NULL;) {
                size_t head, body;

                if (!starts_word(text, at)) {
                        at++;
                        continue;
                }
                head = run_of(at + 3, SLUG, SIZE_MAX);
                if (head >= 8 && strncmp(at + 3 + head, ".eyJ", 4) == 0) {
                        body = run_of(at + 7 + head, SLUG, SIZE_MAX);
                        if (body >= 8 && at[7 + head + body] == '.')
                                return true;
                }
                at += 3 + head;
        }
        return false;
}

/* -----BEGIN [A-Z ]*PRIVATE KEY----- */
static bool
has_pem(const char *text)
{
        static const char begin[] = "-----BEGIN ", end[] = "PRIVATE KEY";

        for (const char *at = text; (at = strstr(at, begin)) != NULL;) {
                size_t len;

                at += sizeof begin - 1;
                for (len = 0; in_set(at[len], UPPER) || at[len] == ' ';)
                        len++;
                if (len >= sizeof end - 1 &&
                    strncmp(at + len - (sizeof end - 1), end, sizeof end - 1) == 0 &&
                    strncmp(at + len, "-----", 5) == 0)
                        return true;
        }
        return false;
}

/* "bearer", any case, white space, 16 or more characters of a token. */
static bool
has_bearer(const char *text)
{
        static const char word[] = "bearer";

        for (const char *at = text; *at; at++) {
                size_t len = 0, space;

                while (len < sizeof word - 1 && lower(at[len]) == word[len])
                        len++;
                if (len < sizeof word - 1 || !starts_word(text, at))
                        continue;
                space = run_of(at + len, SPACE, SIZE_MAX);
                if (space > 0 && run_of(at + len + space, SLUG | DOT, 16) == 16)
                        return true;
        }
        return false;
}

static size_t
userinfo_run(const char *at)
{
        size_t len = 0;

        while (at[len] && at[len] != '/' && at[len] != ':' && at[len] != '@' &&
               !in_set(at[len], SPACE))
                len++;
        return len;
}

/* scheme://user:password@ ; the scheme in any case, because clients accept any case. */
static bool
has_userinfo(const char *text)
{
        for (const char *at = text; (at = strstr(at, "://")) != NULL; at += 3) {
                const char *scheme = at;
                bool has_letter = false;
                size_t user, password;

                while (scheme > text && in_set(scheme[-1], ALNUM | PLUS | DOT | DASH)) {
                        scheme--;
                        has_letter = has_letter || in_set(*scheme, UPPER | LOWER);
                }
                user = userinfo_run(at + 3);
                if (!has_letter || user == 0 || at[3 + user] != ':')
                        continue;
                password = userinfo_run(at + 4 + user);
                if (password > 0 && at[4 + user + password] == '@')
                        return true;
        }
        return false;
}

const char *
credential_shape_find(const char *text)
{
        const char *name = row_find(text);

        if (name)
                return name;
        if (has_jwt(text))
                return "JSON web token";
        if (has_pem(text))
                return "private key";
        if (has_bearer(text))
                return "bearer token";
        return has_userinfo(text) ? "URL with a password" : NULL;
}

bool
credential_key_check(const char *key)
{
        char folded[24];
        size_t len = 0;

        for (; *key; key++) {
                if (*key == '_' || *key == '-' || *key == ' ')
                        continue;
                if (len == sizeof folded - 1)
                        return false;
                folded[len++] = lower(*key);
        }
        folded[len] = '\0';
        for (size_t i = 0; i < sizeof key_names / sizeof key_names[0]; i++)
                if (strcmp(folded, key_names[i]) == 0)
                        return true;
        return false;
}

bool
credential_assignment_check(const char *text)
{
        size_t len = in_set(text[0], UPPER | LOWER | UNDER) ? run_of(text, WORD, SIZE_MAX) : 0;

        return len > 0 && text[len] == '=' && text[len + 1] != '\0';
}
