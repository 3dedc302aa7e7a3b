/*
 * text/yaml.c - reads YAML 1.2 (core schema, one document) into a tree.
 *
 * Room: text (words). Touches: mem.
 * Theory: libyaml splits the bytes into events; this file decides which are allowed. Everything
 * that could give one text two meanings is refused: aliases, tags, directives, merge keys, equal
 * keys, a second document.
 *
 *   bytes -> size -> UTF-8, controls -> first directive -> event -> event -> ... -> nothing may
 * follow (depth and count are checked on each)
 *
 * libyaml's scanner is quadratic in the depth of brackets and in the number of directives. It is
 * never asked for the event after a bracket too many, nor for anything beyond the document's end.
 */
#include "text/yaml.h"

#include <string.h>
#include <yaml.h>

#include "text/builder.h"
#include "text/scalar.h"
#include "text/source.h"

struct composer {
        yaml_parser_t parser;
        struct source source;
        struct builder builder;
};

enum { MORE = 0, DONE = 1 }; /* a handler's result, besides -1 */

static struct place
place_of(struct composer *c, yaml_mark_t mark)
{
        return source_place(&c->source, source_offset(&c->source, mark.index));
}

static char
byte_at(struct composer *c, yaml_mark_t mark)
{
        size_t offset = source_offset(&c->source, mark.index);

        return offset < c->source.len ? c->source.bytes[offset] : '\0';
}

/* -- the scanner's errors ---------------------------------------------------------------------- */

static const struct complaint {
        char byte; /* the byte that the scanner rejected */
        const char *message, *hint;
} complaints[] = {
        { '*', "a plain value cannot begin with `*`",
          "Quote it: write \"*.example.com\", with the quotes." },
        { '&', "a plain value cannot begin with `&`",
          "Quote it: write the value between double quotes." },
        { '@', "a plain value cannot begin with `@`",
          "Quote it: write \"@npm\" or \"@owner/slug\", with the quotes." },
        { '`', "a plain value cannot begin with a backtick",
          "Quote it: write the value between double quotes." },
        { '%', "a plain value cannot begin with `%`",
          "Quote it: write the value between double quotes." },
        { '\t', "a tab where only spaces are accepted", "Indent with spaces: two for each level." },
};

/*
 * The parser's problem, and a message for readers; "%u" is the line where that map, list or text
 * begins.
 */
static const struct {
        const char *problem, *message, *hint;
} problems[] = {
        { "did not find expected key", "this line does not fit the lines above it",
          "Check its indentation: the fields of one map begin in the same column. A value that "
          "begins with a quote ends with it." },
        { "did not find expected '-' indicator", "this line does not fit the list above it",
          "Begin each entry with `- ` in the same column, here as on line %u." },
        { "did not find expected ',' or '}'", "a `{` is not closed",
          "Close the `{` of line %u with a `}`, and put a comma between its members." },
        { "did not find expected ',' or ']'", "a `[` is not closed",
          "Close the `[` of line %u with a `]`, and put a comma between its entries." },
        { "mapping values are not allowed in this context", "a second `: ` on one line",
          "Put quotes around a value that holds `: `, or check the indentation of this line." },
        { "could not find expected ':'", "a key without a `:`",
          "Write NAME: VALUE, with a space after the colon." },
        { "found unexpected end of stream", "a quote is not closed",
          "Close the quote that begins on line %u." },
        { "found unknown escape character", "an unknown escape after a backslash",
          "Write the value in single quotes, where a backslash is itself." },
};

static bool
begins_with(const char *text, const char *with)
{
        return text && strncmp(text, with, strlen(with)) == 0;
}

static int
complain_about_byte(struct composer *c, yaml_mark_t mark, struct error *e)
{
        char byte = byte_at(c, mark);

        for (size_t i = 0; i < sizeof complaints / sizeof complaints[0]; i++) {
                if (complaints[i].byte != byte)
                        continue;
                (void)syntax_error(e, place_of(c, mark), "yaml", "%s", complaints[i].message);
                error_hint(e, "%s", complaints[i].hint);
                return -1;
        }
        return 0;
}

/* -1: the problem is in the table, and the error is set. */
static int
complain_in_words(struct composer *c, const char *problem, struct error *e)
{
        unsigned begun = place_of(c, c->parser.context_mark).line;

        for (size_t i = 0; i < sizeof problems / sizeof problems[0]; i++) {
                const char *line;

                if (!begins_with(problem, problems[i].problem))
                        continue;
                (void)syntax_error(e, place_of(c, c->parser.problem_mark), "yaml", "%s",
                                   problems[i].message);
                line = strstr(problems[i].hint, "%u");
                if (line)
                        error_hint(e, "%.*s%u%s", (int)(line - problems[i].hint), problems[i].hint,
                                   begun, line + 2);
                else
                        error_hint(e, "%s", problems[i].hint);
                return -1;
        }
        return 0;
}

static int
scanner_error(struct composer *c, struct error *e)
{
        const yaml_parser_t *p = &c->parser;
        const char *context = p->context ? p->context : "",
                   *problem = p->problem ? p->problem : "not YAML";

        if (p->error == YAML_MEMORY_ERROR)
                return fail(e, ERROR_NO_MEMORY, "there is no memory left for this text");
        if (strstr(context, "a tag") || strstr(problem, "tag handle"))
                return syntax_error(e, place_of(c, p->context_mark), "tag_forbidden",
                                    "this is a tag (`!`); tags are not accepted");
        if ((begins_with(context, "while scanning an a") &&
             complain_about_byte(c, p->context_mark, e) < 0) ||
            (begins_with(problem, "found character that cannot") &&
             complain_about_byte(c, p->problem_mark, e) < 0))
                return -1;
        if (complain_in_words(c, problem, e) < 0)
                return -1;
        return syntax_error(e, place_of(c, p->problem_mark), "yaml", "%s%s%s", problem,
                            *context ? ", " : "", context);
}

/* -- events ------------------------------------------------------------------------------------ */

static int
refuse_alias(struct composer *c, yaml_mark_t mark, struct error *e)
{
        (void)syntax_error(e, place_of(c, mark), "alias_forbidden",
                           "anchors (`&name`) and aliases (`*name`) are not accepted");
        error_hint(e, "Write the value out, or quote it if a text that begins with %s was meant.",
                   byte_at(c, mark) == '*' ? "*" : "&");
        return -1;
}

static int
check_properties(struct composer *c, const yaml_event_t *event, const yaml_char_t *anchor,
                 const yaml_char_t *tag, struct error *e)
{
        if (anchor)
                return refuse_alias(c, event->start_mark, e);
        if (!tag)
                return 0;
        (void)syntax_error(e, place_of(c, event->start_mark), "tag_forbidden",
                           "this is a tag (`!`); tags are not accepted");
        error_hint(e, "Remove the tag, or quote the value if a text that begins with ! was meant.");
        return -1;
}

static int
take_key(struct composer *c, const yaml_event_t *event, struct error *e)
{
        const char *text = (const char *)event->data.scalar.value;
        struct node meaning = { .text = text, .len = event->data.scalar.length };
        struct place at = place_of(c, event->start_mark);

        if (event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE) {
                if (strcmp(text, "<<") == 0)
                        return syntax_error(
                                e, at, "merge_key",
                                "merge keys (`<<`) are not accepted; write the members out");
                scalar_resolve(&meaning);
                if (meaning.kind != NODE_STRING) {
                        (void)syntax_error(e, at, "non_string_key",
                                           "a key is a string; this one is a %s",
                                           node_kind_name(meaning.kind));
                        error_hint(e, "Quote the key if these letters were meant.");
                        return -1;
                }
        }
        return builder_key(&c->builder, meaning.text, meaning.len, at, e);
}

static int
take_scalar(struct composer *c, const yaml_event_t *event, struct error *e)
{
        const char *text = (const char *)event->data.scalar.value;
        size_t len = event->data.scalar.length;
        bool is_plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
        struct place at = place_of(c, event->start_mark);
        struct node *n;

        if (check_properties(c, event, event->data.scalar.anchor, event->data.scalar.tag, e) < 0)
                return -1;
        if (memchr(text, '\0', len))
                return syntax_error(e, at, "yaml", "this text holds a NUL character");
        if (builder_wants_key(&c->builder))
                return take_key(c, event, e);
        if (!c->builder.root && is_plain && len == 0)
                return syntax_error(e, at, "empty", "there is nothing in this document");
        if (builder_scalar(&c->builder, text, len, at, &n, e) < 0)
                return -1;
        if (is_plain)
                scalar_resolve(n);
        return MORE;
}

static int
take_opening(struct composer *c, const yaml_event_t *event, enum node_kind kind, struct error *e)
{
        bool is_list = kind == NODE_LIST;
        const yaml_char_t *anchor =
                is_list ? event->data.sequence_start.anchor : event->data.mapping_start.anchor;
        const yaml_char_t *tag =
                is_list ? event->data.sequence_start.tag : event->data.mapping_start.tag;
        struct place at = place_of(c, event->start_mark);

        if (check_properties(c, event, anchor, tag, e) < 0)
                return -1;
        if (builder_wants_key(&c->builder))
                return syntax_error(e, at, "non_string_key", "a key is a string; this one is a %s",
                                    node_kind_name(kind));
        return builder_open(&c->builder, kind, at, e);
}

static int
refuse_directive(struct place at, struct error *e)
{
        (void)syntax_error(e, at, "yaml", "directives (`%%YAML`, `%%TAG`) are not accepted");
        error_hint(e, "Remove the line.");
        return -1;
}

static size_t
line_len(const char *bytes, size_t len)
{
        const char *end = memchr(bytes, '\n', len);

        return end ? (size_t)(end - bytes) : len;
}

/*
 * Blanks, line ends, comments and `...` may surround a document. Returns where other text begins.
 */
static size_t
skip_outside(const struct source *s, size_t at)
{
        while (at < s->len) {
                const char *p = s->bytes + at;
                bool begins_line = at == 0 || p[-1] == '\n';

                if (*p == '#')
                        at += line_len(p, s->len - at);
                else if (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n')
                        at++;
                else if (begins_line && s->len - at >= 3 && memcmp(p, "...", 3) == 0)
                        at += 3;
                else
                        break;
        }
        return at;
}

/* Checked on the bytes: libyaml would read every directive that follows. */
static int
check_end(struct composer *c, yaml_mark_t mark, struct error *e)
{
        size_t at = skip_outside(&c->source, source_offset(&c->source, mark.index));
        const char *rest = c->source.bytes + at;
        size_t len = c->source.len - at;

        if (len == 0)
                return DONE;
        if (*rest == '%' || (len >= 3 && memcmp(rest, "---", 3) == 0))
                return syntax_error(e, source_place(&c->source, at), "multi_document",
                                    "a second document begins here; one is accepted");
        return syntax_error(e, source_place(&c->source, at), "yaml",
                            "this stands after the end of the document");
}

static int
take_event(struct composer *c, const yaml_event_t *event, struct error *e)
{
        switch (event->type) {
        case YAML_STREAM_START_EVENT:
                return MORE;
        case YAML_STREAM_END_EVENT:
                return syntax_error(e, place_of(c, event->start_mark), "empty",
                                    "there is nothing in this document");
        case YAML_DOCUMENT_START_EVENT:
                if (event->data.document_start.version_directive ||
                    event->data.document_start.tag_directives.start !=
                            event->data.document_start.tag_directives.end)
                        return refuse_directive(place_of(c, event->start_mark), e);
                return MORE;
        case YAML_DOCUMENT_END_EVENT:
                return check_end(c, event->end_mark, e);
        case YAML_ALIAS_EVENT:
                return refuse_alias(c, event->start_mark, e);
        case YAML_SCALAR_EVENT:
                return take_scalar(c, event, e);
        case YAML_SEQUENCE_START_EVENT:
                return take_opening(c, event, NODE_LIST, e);
        case YAML_MAPPING_START_EVENT:
                return take_opening(c, event, NODE_MAP, e);
        case YAML_SEQUENCE_END_EVENT:
        case YAML_MAPPING_END_EVENT:
                return builder_close(&c->builder, e);
        case YAML_NO_EVENT:
                break;
        }
        return fail(e, ERROR_INTERNAL, "libyaml gave an event of an unknown kind");
}

static int
compose(struct composer *c, struct error *e)
{
        int answer = MORE;

        while (answer == MORE) {
                yaml_event_t event;

                if (!yaml_parser_parse(&c->parser, &event))
                        return scanner_error(c, e);
                answer = take_event(c, &event, e);
                yaml_event_delete(&event);
        }
        return answer == DONE ? 0 : -1;
}

static int
check_bytes(struct source *s, const struct text_limits *limits, struct error *e)
{
        size_t first;

        if (s->len == 0)
                return syntax_error(e, source_place(s, 0), "empty",
                                    "there is nothing in this document");
        if (s->len > limits->bytes_max)
                return syntax_error(e, source_place(s, 0), "too_large",
                                    "%zu bytes; at most %zu are accepted", s->len,
                                    limits->bytes_max);
        if (source_check_utf8(s, "yaml", e) < 0 || source_check_controls(s, "yaml", e) < 0)
                return -1;
        first = skip_outside(s, 0);
        if (first == s->len)
                return syntax_error(e, source_place(s, 0), "empty",
                                    "there is nothing in this document");
        if (s->bytes[first] == '%' && (first == 0 || s->bytes[first - 1] == '\n'))
                return refuse_directive(source_place(s, first), e);
        return 0;
}

int
yaml_read(struct arena *arena, const char *bytes, size_t len, unsigned first_line,
          const struct text_limits *limits, const struct node **ret_root, struct error *e)
{
        struct composer c = { 0 };
        int result;

        source_init(&c.source, bytes, len, first_line);
        if (check_bytes(&c.source, limits, e) < 0 || builder_init(&c.builder, arena, limits, e) < 0)
                return -1;
        if (!yaml_parser_initialize(&c.parser))
                return fail(e, ERROR_NO_MEMORY, "there is no memory left for this text");
        yaml_parser_set_encoding(&c.parser, YAML_UTF8_ENCODING);
        yaml_parser_set_input_string(&c.parser, (const unsigned char *)bytes, len);
        result = compose(&c, e);
        yaml_parser_delete(&c.parser);
        if (result == 0)
                *ret_root = c.builder.root;
        return result;
}
