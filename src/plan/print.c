/*
 * plan/print.c - a plan for people and for programs.
 *
 * Room: plan (deciding, pure). Touches: nothing.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "plan/plan.h"
#include "text/utf8.h"

enum { TEXT_SHOWN = 48, PATH_SHOWN = 4096 };

static void
write_step(struct json_writer *w, size_t index, const struct step *s)
{
        json_open_map(w);
        json_member_int(w, "index", (int64_t)index);
        json_member_text(w, "phase", step_phase_name(step_phase_of(s->op)));
        json_member_text(w, "step", step_name(s->op));
        if (s->path[0] != '\0')
                json_member_text(w, "path", s->path);
        if (s->source != STEP_NO_SOURCE)
                json_member_int(w, "source", s->source);
        if (s->text_len > 0) {
                json_key(w, "text");
                json_bytes(w, s->text, s->text_len);
        }
        if (s->number != 0) {
                json_key(w, "number");
                json_uint(w, s->number);
        }
        if (s->number2 != 0) {
                json_key(w, "number2");
                json_uint(w, s->number2);
        }
        if ((s->flags & STEP_READ_ONLY) != 0)
                json_member_bool(w, "read_only", true);
        if ((s->flags & STEP_RECURSIVE) != 0)
                json_member_bool(w, "recursive", true);
        if ((s->flags & STEP_SHARED) != 0)
                json_member_bool(w, "shared", true);
        json_member_text(w, "why", s->why);
        json_member_text(w, "undo", step_undo(s->op));
        json_close_map(w);
}

void
plan_write_json(struct json_writer *w, const struct plan *plan)
{
        json_open_map(w);
        json_member_text(w, "id", plan->id);
        json_member_text(w, "cwd", plan->cwd);
        json_member_text(w, "shell", plan->shell);
        json_key(w, "steps");
        json_open_list(w);
        for (size_t i = 0; i < plan->step_count; i++)
                write_step(w, i, &plan->steps[i]);
        json_close_list(w);
        json_close_map(w);
}

/*
 * A step's text on one line: truncated, with dots for bytes that could control the terminal (C0,
 * DEL, C1, invalid UTF-8). A payload that ran before may have chosen a name.
 */
static void
shorten(char *out, size_t room, size_t shown, const char *text, size_t len)
{
        size_t used = 0, at = 0, n = 1;

        for (; at < len && at < shown && used + 8 < room; at += n) {
                uint32_t point;

                n = utf8_next(text + at, len - at, &point);
                if (point == UTF8_INVALID || point < 0x20 || (point >= 0x7f && point < 0xa0)) {
                        out[used++] = '.';
                        continue;
                }
                memcpy(out + used, text + at, n);
                used += n;
        }
        (void)snprintf(out + used, room - used, "%s", at < len ? "..." : "");
}

static const char *
number_text(char *out, size_t room, const struct step *s)
{
        switch (s->op) {
        case STEP_DIR:
        case STEP_FILE:
        case STEP_PRIVATE:
                (void)snprintf(out, room, "mode %04" PRIo64, s->number);
                break;
        case STEP_ROOT:
        case STEP_SCRATCH:
        case STEP_DISK:
                (void)snprintf(out, room, "%" PRIu64 " bytes", s->number);
                break;
        case STEP_IMAGE:
        case STEP_WATCHED:
                (void)snprintf(out, room, "%" PRIu64 " MiB", s->number);
                break;
        case STEP_SPAWN:
                (void)snprintf(out, room, "flags 0x%" PRIx64, s->number);
                if (s->number2 > 0)
                        (void)snprintf(out + strlen(out), room - strlen(out),
                                       ", at most %" PRIu64 " ms", s->number2);
                break;
        default:
                if (s->number == 0 && s->number2 == 0)
                        out[0] = '\0';
                else if (s->number2 == 0)
                        (void)snprintf(out, room, "%" PRIu64, s->number);
                else
                        (void)snprintf(out, room, "%" PRIu64 " %" PRIu64, s->number, s->number2);
        }
        return out;
}

static size_t
line(char *out, size_t room, size_t index, const struct step *s)
{
        char text[TEXT_SHOWN + 16], path[PATH_SHOWN + 16], number[64];
        int len;

        shorten(text, sizeof text, TEXT_SHOWN, s->text, s->text_len);
        shorten(path, sizeof path, PATH_SHOWN, s->path, strlen(s->path));
        len = snprintf(out, room, "%4zu  %-5s  %-14s %s%s%s%s%s%s%s   # %s; undo: %s\n", index,
                       step_phase_name(step_phase_of(s->op)), step_name(s->op), path,
                       path[0] != '\0' ? " " : "", text, text[0] != '\0' ? " " : "",
                       number_text(number, sizeof number, s),
                       (s->flags & STEP_READ_ONLY) != 0 ? " read-only" : "",
                       (s->flags & STEP_SHARED) != 0 ? " shared" : "", s->why, step_undo(s->op));
        return len < 0 ? 0 : (size_t)len;
}

const char *
plan_text(struct arena *arena, const struct plan *plan)
{
        char none[1], *text; /* the first pass only measures */
        size_t len = 1, used = 0;

        for (size_t i = 0; i < plan->step_count; i++)
                len += line(none, sizeof none, i, &plan->steps[i]);
        text = arena_alloc(arena, len);
        for (size_t i = 0; text && i < plan->step_count; i++)
                used += line(text + used, len - used, i, &plan->steps[i]);
        return text;
}
