/*
 * cli/audit_print.c - entries of an audit log as lines for people.
 *
 * Room: cli (joining, program). Touches: fd (standard output), the time zone.
 */
#include "cli/audit_print.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/buffer.h"
#include "cli/finding_print.h"

enum { EVENTS_SHOWN = 20, MEMBER_WIDTH = 18 };

/* -- texts ------------------------------------------------------------------------------------- */

static const char *
text_of(const struct node *map, const char *key)
{
        const struct node *n = node_find(map, key);

        return n && n->kind != NODE_LIST && n->kind != NODE_MAP ? n->text : NULL;
}

static void
add(struct buffer *out, const char *text)
{
        (void)buffer_add(out, text, strlen(text), AUDIT_LINE_MAX);
}

/* As a shell reads it. */
static void
add_word(struct buffer *out, const char *word)
{
        static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                    "0123456789_@%+=:,./-[]";

        if (word[0] != '\0' && word[strspn(word, plain)] == '\0') {
                add(out, word);
                return;
        }
        add(out, "'");
        for (; *word != '\0'; word++)
                if (*word == '\'')
                        add(out, "'\\''");
                else
                        (void)buffer_add(out, word, 1, AUDIT_LINE_MAX);
        add(out, "'");
}

/* The words, cut after `room` bytes at the beginning of a character. */
static void
command_text(const struct node *argv, char *ret, size_t room)
{
        struct buffer all = { 0 };
        size_t len;

        if (argv && argv->kind == NODE_LIST)
                node_each(word, argv)
                {
                        if (word != argv->first)
                                add(&all, " ");
                        add_word(&all, word->text ? word->text : "");
                }
        len = all.len < room ? all.len : room - sizeof "...";
        while (len < all.len && len > 0 && ((unsigned char)all.bytes[len] & 0xc0) == 0x80)
                len--;
        (void)snprintf(ret, room, "%.*s%s", (int)len, len > 0 ? all.bytes : "",
                       len < all.len ? "..." : "");
        buffer_fini(&all);
}

/* What a start names: its command, or its call with the files that it announced. */
static void
start_text(const struct node *input, char *ret, size_t room)
{
        const char *operation = text_of(input, "operation");
        const struct node *announced = node_find(input, "announced");
        size_t len = operation ? (size_t)snprintf(ret, room, "%s ", operation) : 0;

        command_text(announced && announced->first ? announced : node_find(input, "argv"),
                     ret + len, room - len);
}

/* "2026-11-23 20:13:37" of this machine's time zone, from the form of an entry. */
static void
local_time(const char *time, char ret[32])
{
        struct tm parts = { .tm_isdst = 0 };
        time_t seconds;

        ret[0] = '\0';
        if (!strptime(time, "%Y-%m-%dT%H:%M:%S", &parts))
                return;
        seconds = timegm(&parts);
        if (localtime_r(&seconds, &parts))
                (void)strftime(ret, 32, "%Y-%m-%d %H:%M:%S", &parts);
}

/* -- commands of starts ------------------------------------------------------------------------ */

void
audit_starts_add(struct audit_starts *starts, const struct audit_entry *entry)
{
        struct audit_start *s = &starts->items[starts->count % AUDIT_STARTS];

        if (strcmp(entry->action, "exec.started") != 0 &&
            strcmp(entry->action, "call.started") != 0)
                return;
        s->seq = entry->seq;
        (void)snprintf(s->subject, sizeof s->subject, "%s", entry->subject);
        start_text(node_find(entry->root, "input"), s->command, sizeof s->command);
        starts->count++;
}

/* An end of the daemon names its start; a sandbox of `carrel run` has one command. */
static const char *
command_of_end(const struct audit_starts *starts, const struct audit_entry *entry)
{
        const struct node *start = node_find(node_find(entry->root, "input"), "start");
        uint64_t kept = starts->count < AUDIT_STARTS ? starts->count : AUDIT_STARTS;

        for (uint64_t i = 1; i <= kept; i++) {
                const struct audit_start *s = &starts->items[(starts->count - i) % AUDIT_STARTS];

                if (start && start->kind == NODE_INT ? s->seq == (uint64_t)start->integer
                                                     : strcmp(s->subject, entry->subject) == 0)
                        return s->command;
        }
        return "";
}

/* -- one line ---------------------------------------------------------------------------------- */

static void
status_text(const struct node *output, char *ret, size_t room)
{
        const char *code = text_of(node_find(output, "error"), "code");
        const char *outcome = text_of(output, "outcome"), *status = text_of(output, "exit_code");

        if (code)
                (void)snprintf(ret, room, "%s", code);
        else if (outcome && status)
                (void)snprintf(ret, room, "%s %s", outcome, status);
        else
                (void)snprintf(ret, room, "%s", outcome ? outcome : "");
}

static void
print_event(const struct node *event)
{
        const struct node *argv = node_find(event, "argv");
        const char *host = text_of(event, "host"), *port = text_of(event, "port");
        const char *path = text_of(event, "path"), *count = text_of(event, "count");
        const char *word = text_of(event, "kind") ? text_of(event, "event") : NULL;
        const char *reason = text_of(event, "reason");
        char command[AUDIT_COMMAND_ROOM];

        (void)fputs("                              ", stdout);
        if (word) /* of a file */
                (void)printf("%-9.9s", word);
        command_text(argv, command, sizeof command);
        print_escaped(stdout, argv ? command : path ? path : host ? host : "", false);
        if (port)
                (void)printf(":%s", port);
        if (!argv && !path && !host && !count) /* an execution whose words could not be read */
                (void)printf("words not read%s%s", reason ? ": " : "", reason ? reason : "");
        if (count)
                (void)printf("%s%s %s", argv || path || host ? "  " : "", count,
                             argv || path || host ? "times" : "more");
        (void)fputc('\n', stdout);
}

static void
print_events(const struct audit_entry *entry, const struct node *events)
{
        size_t shown = 0;

        node_each(event, events)
        {
                if (shown++ == EVENTS_SHOWN)
                        break;
                print_event(event);
        }
        if (events->len > EVENTS_SHOWN)
                (void)printf("                              %zu more: carrel audit show %" PRIu64
                             "\n",
                             events->len - EVENTS_SHOWN, entry->seq);
}

/* "exec.start 9d84bb7c", "exec.start 9d84bb7c: approved"; what it is about comes before. */
static void
approval_text(const struct node *output, const char *subject, char *ret, size_t room)
{
        const char *operation = text_of(output, "operation"), *id = text_of(output, "approval");
        const char *reason = text_of(output, "reason");

        (void)snprintf(ret, room, "%s  %s %s%s%s", subject, operation ? operation : "",
                       id ? id : "", reason ? ": " : "", reason ? reason : "");
}

void
audit_print_line(const struct audit_starts *starts, const struct audit_entry *entry)
{
        const struct node *argv = node_find(node_find(entry->root, "input"), "argv");
        const struct node *output = node_find(entry->root, "output");
        const struct node *events = node_find(output, "events");
        char when[32], status[96], command[AUDIT_COMMAND_ROOM];

        local_time(entry->time, when);
        status_text(output, status, sizeof status);
        start_text(node_find(entry->root, "input"), command, sizeof command);
        (void)printf("%-19s  %6" PRIu64 "  ", when, entry->seq);
        print_escaped(stdout, entry->action, false);
        if (status[0] != '\0') {
                (void)fputs("  ", stdout);
                print_escaped(stdout, status, false);
        }
        if (strcmp(entry->action, "exec.ended") == 0 || strcmp(entry->action, "call.ended") == 0)
                (void)snprintf(command, sizeof command, "%s", command_of_end(starts, entry));
        else if (strncmp(entry->action, "approval.", sizeof "approval." - 1) == 0)
                approval_text(output, entry->subject, command, sizeof command);
        else if (!argv && (!events || events->kind != NODE_LIST))
                (void)snprintf(command, sizeof command, "%s", entry->subject);
        if (command[0] != '\0') {
                (void)fputs("  ", stdout);
                print_escaped(stdout, command, false);
        }
        (void)fputc('\n', stdout);
        if (events && events->kind == NODE_LIST)
                print_events(entry, events);
}

/* -- one entry whole --------------------------------------------------------------------------- */

static void
indent(unsigned depth)
{
        for (unsigned i = 0; i < depth; i++)
                (void)fputs("  ", stdout);
}

static bool
is_scalar(const struct node *n)
{
        return n->kind != NODE_LIST && n->kind != NODE_MAP;
}

static bool
has_only_scalars(const struct node *list)
{
        node_each(item, list)
        {
                if (!is_scalar(item))
                        return false;
        }
        return true;
}

static void
print_value(const struct node *n)
{
        struct buffer words = { 0 };

        if (is_scalar(n)) {
                print_escaped(stdout, n->text ? n->text : "", false);
        } else {
                node_each(item, n)
                {
                        if (item != n->first)
                                add(&words, " ");
                        add_word(&words, item->text ? item->text : "");
                }
                print_escaped(stdout, words.len > 0 ? words.bytes : "-", false);
                buffer_fini(&words);
        }
        (void)fputc('\n', stdout);
}

static void
print_name(const char *name, unsigned depth)
{
        int width = (int)MEMBER_WIDTH - 2 * (int)depth;

        indent(depth);
        print_escaped(stdout, name, false);
        (void)printf("%*s", width > (int)strlen(name) ? width - (int)strlen(name) : 1, "");
}

/* Members in lines of their own, as deep as the reader of JSON allows. */
static void
print_members(const struct node *parent, unsigned depth)
{
        node_each(n, parent)
        {
                bool is_line = is_scalar(n) || (n->kind == NODE_LIST && has_only_scalars(n));

                if (is_line) {
                        print_name(n->key ? n->key : "-", depth);
                        print_value(n);
                } else {
                        indent(depth);
                        print_escaped(stdout, n->key ? n->key : "-", false);
                        (void)fputc('\n', stdout);
                        print_members(n, depth + 1);
                }
        }
}

void
audit_print_whole(const struct audit_entry *entry)
{
        char when[32];

        local_time(entry->time, when);
        print_name("entry", 0);
        (void)printf("audit://%s/%" PRIu64 "\n", entry->chain, entry->seq);
        print_name("local time", 0);
        (void)printf("%s\n", when);
        print_members(entry->root, 0);
}
