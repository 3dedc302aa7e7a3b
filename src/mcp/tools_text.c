/*
 * mcp/tools_text.c - the exact texts of Mastra's three tools.
 *
 * Room: mcp (joining). Touches: mem.
 * Theory: agents were trained and tuned on these texts, so every line end must match. Output is cut
 * first by lines, then by tokens. Only the protection against endless output differs from Mastra:
 * of each stream the newest mebibyte is kept.
 */
#include "mcp/tools_text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/tokens.h"
#include "text/utf8.h"

/* -- kept output ------------------------------------------------------------------------------- */

static uint64_t
count_lines(const char *bytes, size_t len)
{
        uint64_t count = 0;

        for (const char *at = bytes, *end = bytes + len;
             at < end && (at = memchr(at, '\n', (size_t)(end - at))); at++)
                count++;
        return count;
}

/* Grows to twice the kept size before it moves bytes, so each byte is moved only once. */
void
tools_stream_put(struct tools_stream *s, const char *bytes, size_t len)
{
        struct mcp_bytes *b = &s->bytes;

        s->total += len;
        s->came += len;
        mcp_bytes_put(b, bytes, len);
        if (b->is_broken || b->len < 2 * (size_t)TOOLS_KEPT)
                return;
        s->dropped_lines += count_lines(b->text, b->len - TOOLS_KEPT);
        memmove(b->text, b->text + b->len - TOOLS_KEPT, TOOLS_KEPT);
        b->len = TOOLS_KEPT;
        b->text[b->len] = '\0';
}

void
tools_stream_fini(struct tools_stream *s)
{
        if (s)
                mcp_bytes_fini(&s->bytes);
}

/* -- the pipe into tail ------------------------------------------------------------------------ */

/* As \s and trim() in ECMAScript, for the characters that occur in command lines. */
static size_t
blank_at(const char *text)
{
        static const char *const blanks[] = {
                " ",        "\t",           "\n",           "\r",           "\v",          "\f",
                "\xc2\xa0", "\xe3\x80\x80", "\xe2\x80\xa8", "\xe2\x80\xa9", "\xef\xbb\xbf"
        };

        for (size_t i = 0; i < sizeof blanks / sizeof *blanks; i++)
                if (strncmp(text, blanks[i], strlen(blanks[i])) == 0)
                        return strlen(blanks[i]);
        return 0;
}

static const char *
skip_blanks(const char *text)
{
        for (size_t step; (step = blank_at(text)) > 0;)
                text += step;
        return text;
}

static bool
is_number(const char *text, int64_t *ret, const char **ret_end)
{
        const char *at = text + (*text == '-');
        int64_t value = 0;

        if (*at < '0' || *at > '9')
                return false;
        for (; *at >= '0' && *at <= '9'; at++)
                value = value > INT64_C(1) << 52 ? value : value * 10 + (*at - '0');
        *ret = value;
        *ret_end = at;
        return true;
}

/* `at` is after a bar. */
static bool
is_tail(const char *at, int64_t *ret_tail)
{
        const char *word;

        at = skip_blanks(at);
        if (strncmp(at, "tail", 4) != 0 || !blank_at(at + 4))
                return false;
        at = skip_blanks(at + 4);
        if (strncmp(at, "-n", 2) == 0 && blank_at(at + 2))
                at = skip_blanks(at + 2);
        return is_number(at, ret_tail, &word) && *skip_blanks(word) == '\0';
}

static size_t
trimmed_len(const char *text, size_t len)
{
        while (len > 0) {
                size_t step = 1;

                while (step < 3 && step < len && ((unsigned char)text[len - step] & 0xc0) == 0x80)
                        step++;
                if (blank_at(text + len - step) != step)
                        break;
                len -= step;
        }
        return len;
}

int
tools_tail_pipe(const char *command, const char **ret_text, size_t *ret_len, int64_t *ret_tail)
{
        *ret_text = command;
        *ret_len = strlen(command);
        for (const char *bar = strchr(command, '|'); bar; bar = strchr(bar + 1, '|')) {
                if ((bar > command && bar[-1] == '|') || !is_tail(bar + 1, ret_tail))
                        continue; /* after || it is a separate command */
                if (*ret_tail == 0)
                        return 0;
                *ret_text = skip_blanks(command);
                *ret_len = bar > *ret_text ? trimmed_len(*ret_text, (size_t)(bar - *ret_text)) : 0;
                return 1;
        }
        return 0;
}

/* -- cutting ----------------------------------------------------------------------------------- */

/*
 * Where the last `tail` lines start, and how many lines there are. A line end at the very end ends
 * the last line.
 */
static size_t
tail_at(const char *text, size_t len, uint64_t tail, uint64_t *ret_lines)
{
        size_t end = len > 0 && text[len - 1] == '\n' ? len - 1 : len;
        size_t found = 0;
        uint64_t lines = 1;

        for (size_t at = end; at > 0; at--)
                if (text[at - 1] == '\n' && lines++ == tail)
                        found = at;
        *ret_lines = lines;
        return found;
}

static void
cut_lines(struct mcp_bytes *out, const struct mcp_bytes *text, uint64_t dropped_lines, int64_t tail)
{
        uint64_t wanted = tail < 0 ? 0 - (uint64_t)tail : (uint64_t)tail, lines;
        size_t at = tail_at(text->text, text->len, wanted, &lines);

        lines += dropped_lines;
        if (wanted > 0 && lines > wanted)
                mcp_bytes_format(out, "[showing last %llu of %llu lines]\n",
                                 (unsigned long long)wanted, (unsigned long long)lines);
        else
                at = 0;
        mcp_bytes_put(out, text->text + at, text->len - at);
}

static void
cut_tokens(struct mcp_bytes *out, const struct mcp_bytes *text, int64_t limit)
{
        int64_t total = tokens_count(text->text, text->len);
        int64_t head = limit / 10, rest = limit - head;
        struct mcp_bytes first = { 0 }, last = { 0 };

        if (total <= limit) {
                mcp_bytes_put(out, text->text, text->len);
                return;
        }
        tokens_slice(&first, text->text, text->len, 0, head);
        tokens_slice(&last, text->text, text->len, total - rest, TOKENS_END);
        if (first.len > 0) {
                mcp_bytes_put(out, first.text, first.len);
                mcp_bytes_text(out, "\n");
        }
        mcp_bytes_format(out,
                         "[...output truncated \xe2\x80\x94 showing first ~%lld + last ~%lld of "
                         "~%lld tokens...]",
                         (long long)head, (long long)rest, (long long)total);
        if (last.len > 0) {
                mcp_bytes_text(out, "\n");
                mcp_bytes_put(out, last.text, last.len);
        }
        out->is_broken = out->is_broken || first.is_broken || last.is_broken;
        mcp_bytes_fini(&first);
        mcp_bytes_fini(&last);
}

/* The first byte of a kept part that starts a character, so that no character is cut. */
static size_t
first_whole(const struct tools_stream *s, size_t at)
{
        if (s->total <= TOOLS_KEPT)
                return 0;
        for (size_t i = 0;
             i < 3 && at < s->bytes.len && ((unsigned char)s->bytes.text[at] & 0xc0) == 0x80; i++)
                at++;
        return at;
}

void
tools_truncate(struct mcp_bytes *out, const struct tools_stream *s, int64_t tail, int64_t tokens)
{
        size_t at = first_whole(s, s->bytes.len > TOOLS_KEPT ? s->bytes.len - TOOLS_KEPT : 0);
        struct mcp_bytes whole = { 0 }, cut = { 0 };

        if (s->bytes.len == 0)
                return;
        mcp_bytes_utf8(&whole, s->bytes.text + at, s->bytes.len - at);
        if (!whole.is_broken && whole.len > 0)
                cut_lines(&cut, &whole, s->dropped_lines + count_lines(s->bytes.text, at), tail);
        if (!cut.is_broken && cut.len > 0)
                cut_tokens(out, &cut, tokens);
        out->is_broken = out->is_broken || whole.is_broken || cut.is_broken || s->bytes.is_broken;
        mcp_bytes_fini(&whole);
        mcp_bytes_fini(&cut);
}

/* -- the texts --------------------------------------------------------------------------------- */

static void
put_streams(struct mcp_bytes *text, const struct tools_output *o)
{
        struct mcp_bytes out = { 0 }, err = { 0 };

        tools_truncate(&out, o->out, o->tail, o->tokens);
        tools_truncate(&err, o->err, o->tail, o->tokens);
        if (out.len > 0 && err.len > 0)
                mcp_bytes_text(text, "stdout:\n");
        mcp_bytes_put(text, out.text, out.len);
        if (err.len > 0) {
                mcp_bytes_text(text, out.len > 0 ? "\n\nstderr:\n" : "stderr:\n");
                mcp_bytes_put(text, err.text, err.len);
        }
        text->is_broken = text->is_broken || out.is_broken || err.is_broken;
        mcp_bytes_fini(&out);
        mcp_bytes_fini(&err);
}

/*
 * Exactly one blank line separates the output from the text after it, with or without a final line
 * end.
 */
static void
put_blank_line(struct mcp_bytes *text)
{
        if (text->len > 0 && text->text[text->len - 1] != '\n')
                mcp_bytes_text(text, "\n");
        if (text->len > 0 && (text->len < 2 || text->text[text->len - 2] != '\n'))
                mcp_bytes_text(text, "\n");
}

void
tools_text_command(struct mcp_bytes *text, const struct tools_output *o, int exit_code,
                   const char *error)
{
        put_streams(text, o);
        if (error || exit_code != 0)
                put_blank_line(text);
        if (error) {
                mcp_bytes_text(text, "Error: ");
                mcp_bytes_text(text, error);
        } else if (exit_code != 0) {
                mcp_bytes_format(text, "Exit code: %d", exit_code);
        } else if (text->len == 0) {
                mcp_bytes_text(text, "(no output)");
        }
}

void
tools_text_process(struct mcp_bytes *text, const struct tools_output *o, const int *exit_code)
{
        put_streams(text, o);
        if (text->len == 0)
                mcp_bytes_text(text, "(no output yet)");
        else if (exit_code)
                mcp_bytes_format(text, "\n\nExit code: %d", *exit_code);
}

void
tools_text_killed(struct mcp_bytes *text, const char *pid, const struct tools_output *o)
{
        static const char *const titles[] = { "\n\n--- stdout (last output) ---\n",
                                              "\n\n--- stderr (last output) ---\n" };
        const struct tools_stream *streams[] = { o->out, o->err };

        mcp_bytes_format(text, "Process %s has been killed.", pid);
        for (size_t i = 0; i < 2; i++) {
                struct mcp_bytes cut = { 0 };

                tools_truncate(&cut, streams[i], TOOLS_TAIL_KILLED, o->tokens);
                if (cut.len > 0) {
                        mcp_bytes_text(text, titles[i]);
                        mcp_bytes_put(text, cut.text, cut.len);
                }
                text->is_broken = text->is_broken || cut.is_broken;
                mcp_bytes_fini(&cut);
        }
}
