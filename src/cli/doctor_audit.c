/*
 * cli/doctor_audit.c - the caller's audit log, as `carrel doctor` shows it.
 *
 * Room: cli (joining, program). Touches: fd (standard streams), the directory of the audit log.
 * Theory: when a log was verified last is recorded nowhere, so this does not say it. A checkpoint
 * is written with the entries; its time says up to when a cut would show.
 */
#include "cli/doctor_audit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "audit/log.h"
#include "cli/audit_place.h"
#include "cli/finding_print.h"
#include "prepare/host_file.h"

enum { DAY_MS = 24 * 3600 * 1000 };

static bool
is_secret(const char *name)
{
        return strncmp(name, "key-", 4) == 0 || strcmp(name, "checkpoint.seed") == 0;
}

static void
look_at_keys(int dir, struct doctor_audit *ret)
{
        int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *list = fd >= 0 ? fdopendir(fd) : NULL;
        const struct dirent *entry;
        struct stat st;

        while (list && (entry = readdir(list)))
                if (is_secret(entry->d_name) &&
                    fstatat(dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
                        ret->key_count += strncmp(entry->d_name, "key-", 4) == 0;
                        ret->key_mode |= st.st_mode & 07777;
                }
        if (list)
                (void)closedir(list);
        else if (fd >= 0)
                (void)close(fd);
}

void
doctor_audit_look(struct arena *arena, struct doctor_audit *ret)
{
        static const struct host_ability none;
        struct audit_log log = { .dir = -1 };
        struct host_file file;
        struct error ignored;

        *ret = (struct doctor_audit){ .at = NULL };
        if (host_file_load(arena, NULL, &none, 0, NULL, &file, &ret->retention) == 0) {
                ret->knows_retention = true;
                ret->keep_ms = file.rules->audit_keep_ms;
        }
        if (audit_place(arena, NULL, NULL, &ret->at, &ret->why) < 0 ||
            audit_log_open(&log, ret->at, false, &ret->why) < 0)
                return;
        ret->is_open = true;
        ret->has_checkpoint = audit_log_checkpoint(&log, &ret->checkpoint, &ignored) == 0;
        look_at_keys(log.dir, ret);
        audit_log_close(&log);
}

static bool
is_missing(const struct doctor_audit *a)
{
        return !a->is_open && strcmp(a->why.reason, "missing") == 0;
}

/* Paths may have any byte. */
static void
print_line(const char *name, const char *text)
{
        (void)printf("  %-11s ", name);
        print_escaped(stdout, text, false);
        (void)fputc('\n', stdout);
}

static void
print_retention(const struct doctor_audit *a)
{
        if (!a->knows_retention)
                print_line("retention", a->retention.message);
        else if (a->keep_ms > 0)
                (void)printf("  retention   %" PRIu64 " days (audit_retention)\n",
                             a->keep_ms / DAY_MS);
        else
                (void)puts("  retention   until `carrel audit prune` removes entries");
}

void
doctor_audit_print(const struct doctor_audit *a)
{
        (void)puts("\nAudit log of this user (docs/AUDIT.md)");
        if (is_missing(a))
                (void)puts("  log         none yet; `carrel run --audit` begins one");
        else
                print_line("log", !a->is_open ? a->why.message : a->at);
        print_retention(a);
        if (!a->is_open)
                return;
        if (a->has_checkpoint)
                (void)printf("  checkpoint  entry %" PRIu64 " of %s\n", a->checkpoint.seq,
                             a->checkpoint.time);
        else
                (void)puts("  checkpoint  none; the next entry writes one");
        (void)printf("  keys        %u, mode %04o%s\n", a->key_count, a->key_mode,
                     (a->key_mode & 077) != 0 ? ": OPEN to other users. Run: chmod 600 key-* "
                                                "checkpoint.seed in that directory"
                                              : "");
}

void
doctor_audit_write(struct json_writer *w, const struct doctor_audit *a)
{
        char mode[8];

        (void)snprintf(mode, sizeof mode, "%04o", a->key_mode);
        json_key(w, "audit");
        json_open_map(w);
        json_member_text(w, "log", a->is_open ? a->at : NULL);
        json_member_text(w, "why_none", a->is_open ? NULL : a->why.message);
        if (a->knows_retention && a->keep_ms > 0)
                json_member_int(w, "retention_days", (int64_t)(a->keep_ms / DAY_MS));
        if (a->has_checkpoint) {
                json_key(w, "checkpoint");
                json_open_map(w);
                json_member_int(w, "seq", (int64_t)a->checkpoint.seq);
                json_member_text(w, "ts", a->checkpoint.time);
                json_close_map(w);
        }
        json_member_int(w, "keys", a->key_count);
        json_member_text(w, "key_mode", a->is_open ? mode : NULL);
        json_close_map(w);
}
