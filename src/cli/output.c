/*
 * cli/output.c - `carrel output`: prints what an exec has written, from an offset on; once, or
 * until its end.
 *
 * Room: cli (joining, program). Touches: fd (standard streams), signals; libcarrel does the rest.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "cli/ask.h"
#include "cli/commands.h"
#include "cli/finding_print.h"
#include "cli/live.h"
#include "cli/value.h"
#include "client/record.h"
#include "codec/codec.h"

enum { STATUS_READER_GONE = 128 + 13 };

struct showing {
        struct ask ask;
        bool is_followed, is_raw;
        uint64_t exec, from, err_from;
};

static int
read_arguments(int argc, char **argv, struct showing *s, struct error *e)
{
        return ask_parse(&s->ask, &command_output, argc, argv, s, e) < 0
                       ? -1
                       : value_number_read(VALUE_EXEC, (struct value_place){ "output", NULL },
                                           s->ask.words[1], &s->exec, e);
}

static int
no_exec(const struct showing *s)
{
        struct error e;

        (void)fail_at(&e, ERROR_EXEC_NOT_FOUND, "exec", NULL,
                      "there is no exec %" PRIu64 " in the sandbox %.64s", s->exec,
                      s->ask.words[0]);
        return ask_wrong(&s->ask, &e);
}

static void
say_dropped(const char *stream, uint64_t from, uint64_t kept)
{
        if (kept > from)
                (void)fprintf(stderr,
                              "carrel: %" PRIu64 " bytes of %s from there on are no longer kept\n",
                              kept - from, stream);
}

static uint64_t
later(uint64_t a, uint64_t b)
{
        return a > b ? a : b;
}

/* -- live -------------------------------------------------------------------------------------- */

static int
show(const struct showing *s, const struct carrel_exec_info *info)
{
        struct live_options o = { .c = s->ask.c,
                                  .id = s->ask.words[0],
                                  .is_raw = s->is_raw,
                                  .stdout_end =
                                          s->is_followed ? CARREL_NONE : info->end.stdout_bytes,
                                  .stderr_end =
                                          s->is_followed ? CARREL_NONE : info->end.stderr_bytes };
        enum live_result result;
        struct carrel_error e;
        int status = 0;

        say_dropped("standard output", s->from, info->stdout_offset);
        say_dropped("standard error", s->err_from, info->stderr_offset);
        if (live_begin(&e) < 0 ||
            carrel_attach(s->ask.c, s->ask.words[0], (uint32_t)s->exec,
                          later(s->from, info->stdout_offset),
                          later(s->err_from, info->stderr_offset), 0, &o.x, &e) < 0)
                return ask_failed(&s->ask, NULL, &e);
        result = live_follow(&o, &e);
        if (result == LIVE_ENDED && s->is_followed) {
                live_print_end(o.x);
                status = carrel_exec_end(o.x)->exit_status;
        }
        (void)carrel_exec_detach(o.x, NULL); /* a watcher that leaves ends nothing */
        if (result == LIVE_READER_GONE)
                return STATUS_READER_GONE;
        if (result == LIVE_UNWRITTEN)
                return 125;
        return result == LIVE_FAILED ? ask_failed(&s->ask, NULL, &e) : status;
}

/* -- as one JSON object ------------------------------------------------------------------------ */

static int
gather(const struct showing *s, const struct carrel_exec_info *info, struct carrel_exec *x,
       struct buffer *out, struct carrel_error *e)
{
        struct carrel_piece p;
        int got;

        while (s->is_followed || carrel_exec_offset(x, CARREL_STDOUT) < info->end.stdout_bytes ||
               carrel_exec_offset(x, CARREL_STDERR) < info->end.stderr_bytes) {
                got = carrel_exec_read(x, -1, &p, e);
                if (got <= 0)
                        return got;
                if ((p.kind == CARREL_STDOUT || p.kind == CARREL_STDERR) &&
                    buffer_add(&out[p.kind == CARREL_STDERR], p.bytes, p.len, SIZE_MAX - 1) < 0) {
                        *e = (struct carrel_error){ .code = "no_memory",
                                                    .message = "no memory for the output",
                                                    .exit_status = 125 };
                        return -1;
                }
        }
        return 0;
}

static int
print_json(const struct carrel_exec_info *info, const struct buffer *out)
{
        static const char *const names[] = { "stdout", "stderr" };
        struct record r = client_record(info);
        struct json_writer w;

        json_init(&w, true);
        json_open_map(&w);
        json_key(&w, "exec");
        json_open_map(&w);
        codec_write(&w, operation(OP_EXEC_GET), &r, 0);
        json_close_map(&w);
        for (size_t i = 0; i < 2; i++) {
                json_key(&w, names[i]);
                json_bytes(&w, out[i].bytes ? out[i].bytes : "", out[i].len);
        }
        json_close_map(&w);
        return json_print(&w, stdout);
}

static int
show_json(const struct showing *s, const struct carrel_exec_info *info)
{
        struct buffer out[2] = { { NULL, 0 }, { NULL, 0 } };
        struct carrel_exec_info *deferred_info = NULL;
        struct carrel_exec *x;
        struct carrel_error e;
        int status;

        if (carrel_attach(s->ask.c, s->ask.words[0], (uint32_t)s->exec,
                          later(s->from, info->stdout_offset),
                          later(s->err_from, info->stderr_offset), 0, &x, &e) < 0)
                return ask_failed(&s->ask, NULL, &e);
        if (gather(s, info, x, out, &e) < 0) {
                status = ask_failed(&s->ask, NULL, &e);
        } else {
                if (s->is_followed)
                        (void)carrel_exec_get(s->ask.c, s->ask.words[0], (uint32_t)s->exec,
                                              &deferred_info, &e);
                status = print_json(deferred_info ? deferred_info : info, out);
        }
        (void)carrel_exec_detach(x, NULL);
        carrel_free(deferred_info);
        buffer_fini(&out[0]);
        buffer_fini(&out[1]);
        return status; /* lint: out[] is freed, both of it */
}

static int
cmd_output(int argc, char **argv)
{
        struct showing s = { .exec = 0 };
        struct carrel_exec_info *info;
        struct carrel_error failed;
        struct error e;
        int status;

        if (read_arguments(argc, argv, &s, &e) < 0)
                return ask_wrong(&s.ask, &e);
        status = ask_open(&s.ask);
        if (status != 0)
                return status;
        if (carrel_exec_get(s.ask.c, s.ask.words[0], (uint32_t)s.exec, &info, &failed) < 0)
                return ask_close(&s.ask, ask_failed(&s.ask, NULL, &failed));
        if (!info)
                return ask_close(&s.ask, no_exec(&s));
        status = s.ask.is_json ? show_json(&s, info) : show(&s, info);
        carrel_free(info);
        return ask_close(&s.ask, status);
}

static const struct option options[] = {
        OPTION_FLAG(struct showing, is_followed, "--follow",
                    "follow until it ends, and exit with its status"),
        OPTION_NUMBER(struct showing, from, VALUE_OFFSET, "--offset", "N",
                      "standard output from this byte on"),
        OPTION_NUMBER(struct showing, err_from, VALUE_OFFSET, "--stderr-offset", "N",
                      "standard error from this byte on"),
        OPTION_FLAG(struct showing, is_raw, "--raw", RAW_DOC),
        ASK_OPTIONS(struct showing, ask),
        OPTION_END,
};

const struct command command_output = {
        .name = "output",
        .help = "Show what an exec has written.",
        .options = options,
        .operands = ask_exec,
        .needs = ASK_NEEDS_EXEC,
        .example = "carrel output demo 1",
        .run = cmd_output,
};
