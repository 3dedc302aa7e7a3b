/*
 * door/mcp_stdio.c - the Model Context Protocol over two pipes.
 *
 * Room: door (joining). Touches: mem fd clock this process.
 * Theory: it serves one agent and ends with it. At the end of input (or SIGTERM), its channels
 * close. That kills every running command and every background process that is not kept. The
 * sandbox that was created for this agent is stopped. If the keeper ends, the program that started
 * it restarts it. Commands keep running meanwhile, because the boxes own their channels, and so
 * does this program.
 */
#include "door/mcp_stdio.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "door/mcp_out.h"
#include "door/mcp_stdio_options.h"
#include "loop/deferred.h"
#include "mcp/bytes.h"
#include "mcp/mcp.h"
#include "mcp/server.h"
#include "seal/seal.h"
#include "text/tree_pack.h"
#include "text/visible.h"
#include "wire/trust.h"

enum {
        READ_ROOM = 64 * 1024,
        STOP_MS = 10000,
        RETURN_MS = 30000 /* time for a daemon to restart */,
        RETRY_MS = 50
};

struct stdio {
        struct loop *loop;
        struct link link;
        struct mcp_server *server;
        struct mcp_ask ask;
        const struct stdio_options *options;
        struct mcp_out out;
        struct loop_watch in, signals;
        struct loop_timer again; /* for input that cannot be polled: it is always ready */
        struct mcp_bytes line;
        bool is_too_long; /* the line is too long: only its id is searched */
        struct mcp_id_scan id;
        bool is_ending;
        struct link_call call; /* the program's own calls: create and stop its sandbox */
        struct loop_timer patience, back;
        uint64_t gone_ms;       /* when the keeper closed the link */
        uid_t keeper_uid;       /* the user that ran it */
        char made[65];          /* the sandbox that was created for this agent */
        struct mcp_bytes names; /* sandboxes that must still be stopped, each with its NUL */
        size_t names_at;
        int status;
};

/* A message in progress: its sink, and the state it writes to. */
struct entry {
        struct mcp_sink sink;
        struct stdio *s;
};

static struct stdio it; /* one per program */

/* -- out --------------------------------------------------------------------------------------- */

static void
put_line(struct stdio *s, const char *json, size_t len)
{
        if (mcp_out_line(&s->out, json, len) == 0)
                return;
        s->status = 125;
        loop_stop(s->loop);
}

static void
on_answer(struct mcp_sink *sink, int status, const char *json, size_t len)
{
        struct entry *e = (struct entry *)(void *)sink;

        (void)status;
        if (len > 0)
                put_line(e->s, json, len);
        deferred_free(e);
}

static void
on_notify(struct mcp_sink *sink, const char *json, size_t len)
{
        put_line(((struct entry *)(void *)sink)->s, json, len);
}

static bool
is_full(struct mcp_sink *sink)
{
        return mcp_out_is_full(&((struct entry *)(void *)sink)->s->out);
}

/* -- the end: stops what was created for this agent -------------------------------------------- */

static void
stop(struct stdio *s)
{
        mcp_client_end(s->server, &s->ask.peer, NULL);
        loop_stop(s->loop);
}

static void stop_next(struct stdio *s);

static void
on_stopped(struct link_call *c, const struct record *fields, bool is_last)
{
        (void)c;
        (void)fields;
        if (is_last)
                stop_next(&it);
}

static void
on_not_stopped(struct link_call *c, const struct error *e)
{
        (void)c;
        (void)e;
        stop_next(&it);
}

static const struct link_call_ops stop_ops = { .reply = on_stopped, .refused = on_not_stopped };

static int
own_call(struct stdio *s, enum operation_code op, struct record_writer *w,
         const struct link_call_ops *ops, struct error *e)
{
        s->call.ops = ops;
        return link_call_begin(&s->link, &s->call, &s->ask.peer, op, w, e);
}

static void
stop_next(struct stdio *s)
{
        unsigned char bytes[256] __attribute__((aligned(8)));
        struct record_writer w;
        struct error e;

        if (s->names_at >= s->names.len) {
                stop(s);
                return;
        }
        record_init(&w, bytes, sizeof bytes);
        record_text(&w, FIELD_ID, s->names.text + s->names_at);
        s->names_at += strlen(s->names.text + s->names_at) + 1;
        if (own_call(s, OP_STOP, &w, &stop_ops, &e) < 0)
                stop(s);
}

static void
on_listed(struct link_call *c, const struct record *fields, bool is_last)
{
        struct record_entry entry;
        size_t at = 0;

        (void)c;
        while (record_next(fields, &at, &entry) == 1) {
                struct record item = { entry.value, entry.len };
                const char *id = entry.tag == FIELD_ITEMS && entry.type == RECORD_NESTED
                                         ? record_get_text(&item, FIELD_ID, NULL)
                                         : NULL;

                if (id)
                        mcp_bytes_put(&it.names, id, strlen(id) + 1);
        }
        if (is_last)
                stop_next(&it);
}

static const struct link_call_ops list_ops = { .reply = on_listed, .refused = on_not_stopped };

static void
no_patience(struct loop_timer *t)
{
        (void)t;
        stop(&it);
}

/* A private daemon ends with this program, and so does everything in it. */
static void
end(struct stdio *s)
{
        unsigned char bytes[256] __attribute__((aligned(8)));
        struct record_writer w;
        struct error e;

        if (s->is_ending)
                return;
        s->is_ending = true;
        loop_watch_remove(&s->in);
        loop_timer_remove(&s->again);
        loop_timer_remove(&s->back);
        mcp_client_end(s->server, &s->ask.peer, NULL);
        link_call_end(&s->call);
        if (*s->made)
                mcp_bytes_put(&s->names, s->made, strlen(s->made) + 1);
        if (loop_timer_set(s->loop, &s->patience, loop_now_ms() + STOP_MS, no_patience) < 0) {
                stop(s);
        } else if (s->options->is_private) {
                record_init(&w, bytes, sizeof bytes);
                if (own_call(s, OP_LIST, &w, &list_ops, &e) < 0)
                        stop(s);
        } else {
                stop_next(s);
        }
}

/* -- in ---------------------------------------------------------------------------------------- */

static void
take_message(struct stdio *s, const char *text, size_t len)
{
        struct entry *e = deferred_make(s->loop, struct entry);
        size_t blank = 0;

        while (blank < len && (text[blank] == ' ' || text[blank] == '\t' || text[blank] == '\r'))
                blank++;
        if (!e || blank == len) {
                deferred_free(e);
                return;
        }
        *e = (struct entry){ { on_answer, on_notify, is_full }, s };
        (void)mcp_receive(s->server, &s->ask, text, len, &e->sink);
}

static void
take_part(struct stdio *s, const char *bytes, size_t len)
{
        if (!s->is_too_long && s->line.len + len > MCP_MESSAGE_MAX) {
                s->is_too_long = true;
                s->id = (struct mcp_id_scan){ 0 };
                mcp_id_scan_put(&s->id, s->line.text, s->line.len);
                mcp_bytes_fini(&s->line);
        }
        if (s->is_too_long)
                mcp_id_scan_put(&s->id, bytes, len);
        else
                mcp_bytes_put(&s->line, bytes, len);
}

static void
take_line(struct stdio *s)
{
        struct entry *e = s->is_too_long ? deferred_make(s->loop, struct entry) : NULL;

        if (!s->is_too_long) {
                take_message(s, s->line.text ? s->line.text : "", s->line.len);
        } else if (e) {
                *e = (struct entry){ { on_answer, on_notify, is_full }, s };
                mcp_receive_too_long(&s->id, &e->sink);
        }
        s->is_too_long = false;
        if (s->line.room > 4 * (size_t)READ_ROOM || s->line.is_broken)
                mcp_bytes_fini(&s->line);
        s->line.len = 0;
}

static void
take_bytes(struct stdio *s, const char *bytes, size_t len)
{
        while (len > 0) {
                const char *newline = memchr(bytes, '\n', len);
                size_t part = newline ? (size_t)(newline - bytes) : len;

                take_part(s, bytes, part);
                bytes += part + (newline != NULL);
                len -= part + (newline != NULL);
                if (newline)
                        take_line(s);
        }
}

static void
read_once(struct stdio *s)
{
        static char room[READ_ROOM];
        ssize_t len = read(0, room, sizeof room);

        if (len > 0)
                take_bytes(s, room, (size_t)len);
        else if (len == 0 || (errno != EINTR && errno != EAGAIN))
                end(s);
}

static void
in_ready(struct loop_watch *w, uint32_t events)
{
        (void)w;
        (void)events;
        read_once(&it);
}

static void
in_again(struct loop_timer *t)
{
        read_once(&it);
        if (!it.is_ending)
                (void)loop_timer_set(it.loop, t, loop_now_ms(), in_again);
}

static int
listen_to_input(struct stdio *s, struct error *e)
{
        int result = loop_watch_add(s->loop, &s->in, 0, EPOLLIN, in_ready);

        if (result == -EPERM)
                result = loop_timer_set(s->loop, &s->again, loop_now_ms(), in_again);
        return result < 0
                       ? fail_sys(e, ERROR_INTERNAL, -result, "standard input cannot be waited for")
                       : 0;
}

/* -- the start: the sandbox of this agent ------------------------------------------------------ */

/* Text from a manifest may contain terminal control codes: they are shown, never executed. */
static void
say_visibly(const char *text)
{
        char shown[VISIBLE_MAX * (sizeof((struct error *)NULL)->message + VISIBLE_HELD_MAX)];
        size_t len = strnlen(text, sizeof((struct error *)NULL)->message);
        struct visible v = { .held_len = 0 };

        len = visible_write(&v, text, len, true, shown);
        (void)fwrite(shown, 1, len, stderr);
}

/* "carrel mcp: FILE:LINE:COLUMN: message", then code and place, then the hint. */
static void
say(const char *file, const struct error *e)
{
        (void)fputs("carrel mcp: ", stderr);
        if (file && e->line > 0) {
                say_visibly(file);
                (void)fprintf(stderr, ":%u:%u: ", e->line, e->column);
        }
        say_visibly(e->message);
        (void)fprintf(stderr, "\n    %s%s", error_wire_name(e->code),
                      e->path[0] != '\0' ? ", at " : "");
        say_visibly(e->path);
        (void)fputs("\n    Next: ", stderr);
        say_visibly(error_hint_text(e));
        (void)fputc('\n', stderr);
}

static void
give_up(const struct error *e)
{
        say(it.options ? it.options->manifest_name : NULL, e);
        it.status = error_exit_status(e->code);
        loop_stop(it.loop);
}

static void
on_made(struct link_call *c, const struct record *fields, bool is_last)
{
        const char *id = record_get_text(fields, FIELD_ID, "");
        struct error e;

        (void)c;
        (void)is_last;
        (void)stpncpy(it.made, id, sizeof it.made - 1);
        it.ask.sandbox = it.made;
        if (listen_to_input(&it, &e) < 0)
                give_up(&e);
}

static void
on_not_made(struct link_call *c, const struct error *e)
{
        (void)c;
        give_up(e);
}

static const struct link_call_ops make_ops = { .reply = on_made, .refused = on_not_made };

static int
make_sandbox(struct stdio *s, struct error *e)
{
        static unsigned char bytes[CALL_RECORD_MAX] __attribute__((aligned(8)));
        struct record_writer w;
        void *packed = malloc(tree_pack_len(s->ask.manifest));
        int result;

        if (!packed)
                return fail(e, ERROR_NO_MEMORY, "there is no memory left for the manifest");
        record_init(&w, bytes, sizeof bytes);
        tree_pack(s->ask.manifest, packed);
        record_bytes(&w, FIELD_MANIFEST, RECORD_TREE, packed, tree_pack_len(s->ask.manifest));
        free(packed);
        record_text(&w, FIELD_MANIFEST_NAME, s->options->manifest_name);
        record_text(&w, FIELD_WORKSPACE, s->options->workspace);
        for (size_t i = 0; i < s->options->read_count; i++)
                record_text(&w, FIELD_READS, s->options->reads[i]);
        record_text(&w, FIELD_RUNTIME, s->options->runtime);
        record_text(&w, FIELD_RISK, s->options->risk);
        result = own_call(s, OP_CREATE, &w, &make_ops, e);
        return result;
}

static int
check_dynamic(const struct stdio *s, struct error *e)
{
        const struct node *mounts = node_find(s->ask.manifest, "mounts");

        if (!s->options->is_dynamic || !mounts || mounts->len == 0 ||
            (mounts->kind != NODE_LIST && mounts->kind != NODE_MAP))
                return 0;
        return fail_at(e, ERROR_CONFIG_INVALID, "mounts", "INVALID_CONFIG",
                       "INVALID_CONFIG: mounts belong to one sandbox, and with --context or "
                       "--cache-key a context chooses it");
}

static int
begin(struct stdio *s, struct error *e)
{
        if (check_dynamic(s, e) < 0)
                return -1;
        if (s->ask.manifest && !s->ask.sandbox && !s->options->is_dynamic)
                return make_sandbox(s, e);
        return listen_to_input(s, e);
}

/* -- the program ------------------------------------------------------------------------------- */

static int
read_manifest(int fd, struct arena *arena, const struct node **ret, struct error *e)
{
        struct stat about;
        void *bytes;

        if (fstat(fd, &about) < 0 || about.st_size <= 0 || about.st_size > 1 << 20 ||
            !(bytes = arena_alloc(arena, (size_t)about.st_size)) ||
            pread(fd, bytes, (size_t)about.st_size, 0) != about.st_size)
                return fail(e, ERROR_INTERNAL, "the manifest did not arrive");
        (void)close(fd);
        return tree_unpack(arena, bytes, (size_t)about.st_size, &text_limits_manifest, ret, e);
}

static void keeper_gone(void *data);

/* A restarted daemon runs as the same user. Any other user's socket on that path is refused. */
static int
connect_again(const char *path, uid_t owner)
{
        struct sockaddr_un to = { .sun_family = AF_UNIX };
        int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        uid_t peer;

        if (fd < 0)
                return -1;
        if (snprintf(to.sun_path, sizeof to.sun_path, "%s", path) < (int)sizeof to.sun_path &&
            connect(fd, (struct sockaddr *)&to, sizeof to) == 0 && trust_peer_uid(fd, &peer) == 0 &&
            peer == owner)
                return fd;
        (void)close(fd);
        return -1;
}

static void
come_back(struct loop_timer *t)
{
        struct stdio *s = &it;
        struct error e;
        int fd;

        link_close(&s->link);
        fd = s->options->keeper_path ? connect_again(s->options->keeper_path, s->keeper_uid) : -1;
        if (fd >= 0 && link_connect(&s->link, fd, &e) == 0)
                return;
        if (s->options->keeper_path && loop_now_ms() - s->gone_ms < RETURN_MS &&
            loop_timer_set(s->loop, t, loop_now_ms() + RETRY_MS, come_back) == 0)
                return;
        (void)fprintf(stderr, "carrel mcp: the daemon has ended\n");
        s->status = 125;
        loop_stop(s->loop);
}

/* The link calls this itself, so it is closed one turn later. */
static void
keeper_gone(void *data)
{
        struct stdio *s = data;

        s->gone_ms = loop_now_ms();
        if (s->is_ending || loop_timer_set(s->loop, &s->back, s->gone_ms, come_back) < 0)
                loop_stop(s->loop);
}

static void
signalled(struct loop_watch *w, uint32_t events)
{
        struct signalfd_siginfo info;

        (void)events;
        (void)!read(w->fd, &info, sizeof info);
        end(&it);
}

static int
hear_signals(struct stdio *s, struct error *e)
{
        sigset_t set;
        int fd;

        (void)sigemptyset(&set);
        (void)sigaddset(&set, SIGTERM);
        (void)sigaddset(&set, SIGINT);
        (void)sigaddset(&set, SIGHUP);
        (void)sigprocmask(SIG_BLOCK, &set, NULL);
        fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
        if (fd < 0 || loop_watch_add(s->loop, &s->signals, fd, EPOLLIN, signalled) < 0)
                return fail_sys(e, ERROR_INTERNAL, errno, "signals cannot be waited for");
        return 0;
}

static int
serve(struct stdio *s, const struct stdio_options *o, struct arena *arena, struct error *e)
{
        s->options = o;
        s->in.fd = s->signals.fd = -1;
        s->again.due_ms = s->patience.due_ms = s->back.due_ms = LOOP_NEVER;
        stdio_options_ask(o, &s->ask);
        if (loop_new(&s->loop) < 0)
                return fail(e, ERROR_INTERNAL, "cannot create an epoll instance");
        mcp_out_init(&s->out, s->loop);
        if (o->manifest >= 0 && read_manifest(o->manifest, arena, &s->ask.manifest, e) < 0)
                return -1;
        if (trust_peer_uid(o->keeper, &s->keeper_uid) < 0)
                return fail(e, ERROR_PROTOCOL, "the keeper's connection is no unix socket");
        link_init(&s->link, s->loop, LINK_RETURNS, keeper_gone, s);
        if (hear_signals(s, e) < 0 || link_connect(&s->link, o->keeper, e) < 0)
                return -1;
        s->server = mcp_server_new(s->loop, &s->link, CARREL_VERSION);
        if (!s->server)
                return fail(e, ERROR_NO_MEMORY, "there is no memory left to begin");
        if (seal_enter(SEAL_MCP, NULL, 0, e) < 0 || begin(s, e) < 0)
                return -1;
        loop_run(s->loop);
        return 0;
}

int
mcp_stdio_main(int argc, char **argv)
{
        struct stdio_options o;
        struct sigaction ignore = { .sa_handler = SIG_IGN };
        struct arena arena;
        struct error e;

        if (stdio_options_read(argc, argv, &o, &e) < 0) {
                (void)fprintf(stderr, "carrel-door mcp: %s\n", e.message);
                return 125;
        }
        (void)sigaction(SIGPIPE, &ignore, NULL);
        arena_init(&arena, 4u << 20);
        if (serve(&it, &o, &arena, &e) < 0) {
                say(o.manifest_name, &e);
                return error_exit_status(e.code);
        }
        mcp_out_flush(&it.out);
        mcp_server_free(it.server);
        link_close(&it.link);
        arena_fini(&arena);
        return it.status;
}
