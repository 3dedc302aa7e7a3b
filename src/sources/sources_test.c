/* sources/sources_test.c - what sources/sources.h promises. */
#include "base/unit.h"
#include "sources/sources.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scoped.h"
#include "plan/protect.h"
#include "text/json.h"

enum { MEMORY_MAX = 4 << 20, MOUNTS_MAX = SOURCES_MAX + 1, PATH_ROOM = 160 };

/* base/ws is the workspace, the host permits base/data, base/opt holds tools. */
struct bench {
        char base[40], ws[48], data[48], opt[48];
        struct arena arena;
        struct spec spec;
        struct spec_mount mounts[MOUNTS_MAX];
        struct host_rules *rules;
        struct sources sources;
        const char *manifest;
        struct error e;
};

static struct bench *b;

static void
make_directory(const char *name)
{
        char path[PATH_ROOM];

        (void)snprintf(path, sizeof path, "%s/%s", b->base, name);
        assert_int_equal(mkdir(path, 0700), 0);
}

static void
make_file(const char *name)
{
        char path[PATH_ROOM];

        (void)snprintf(path, sizeof path, "%s/%s", b->base, name);
        {
                scoped_fd int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

                assert_true(fd >= 0);
        }
}

static void
make_link(const char *target, const char *name)
{
        char path[PATH_ROOM];

        (void)snprintf(path, sizeof path, "%s/%s", b->base, name);
        assert_int_equal(symlink(target, path), 0);
}

static int
bench_open(void **state)
{
        static const struct host_ability can;

        (void)state;
        b = calloc(1, sizeof *b);
        assert_non_null(b);
        (void)snprintf(b->base, sizeof b->base, "%s", "/tmp/carrel-sources-XXXXXX");
        assert_non_null(mkdtemp(b->base));
        (void)snprintf(b->ws, sizeof b->ws, "%s/ws", b->base);
        (void)snprintf(b->data, sizeof b->data, "%s/data", b->base);
        (void)snprintf(b->opt, sizeof b->opt, "%s/opt", b->base);
        make_directory("ws");
        make_directory("data");
        make_directory("opt");
        arena_init(&b->arena, MEMORY_MAX);
        assert_int_equal(host_rules_default(&b->arena, &can, "operator://test", &b->rules, &b->e),
                         0);
        b->spec.mounts = b->mounts;
        return 0;
}

static int
remove_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
        (void)st, (void)kind, (void)where;
        return remove(path);
}

static int
bench_close(void **state)
{
        int result = nftw(b->base, remove_one, 16, FTW_DEPTH | FTW_PHYS);

        (void)state;
        sources_fini(&b->sources);
        arena_fini(&b->arena);
        free(b);
        return result;
}

/* A mount of inline storage with this path: relative to the workspace or absolute. "." is the
 * workspace itself. */
static void
add_mount(const char *path, bool is_read_only)
{
        struct spec_mount *m = &b->mounts[b->spec.mount_count];
        const char *text = arena_format(&b->arena, "{\"path\": \"%s\"}", path);

        assert_true(b->spec.mount_count < MOUNTS_MAX);
        *m = (struct spec_mount){ .kind = strcmp(path, ".") == 0 ? SPEC_SOURCE_WORKSPACE
                                                                 : SPEC_SOURCE_INLINE,
                                  .at = arena_format(&b->arena, "/mnt/%zu", b->spec.mount_count),
                                  .is_read_only = is_read_only,
                                  .place = { 7, 5 } };
        assert_int_equal(json_read(&b->arena, text, strlen(text), &text_limits_manifest,
                                   &m->storage_config, &b->e),
                         0);
        b->spec.mount_count++;
}

static const char *
in_base(const char *name)
{
        return arena_format(&b->arena, "%s/%s", b->base, name);
}

static void
permit(struct spec_names *roots, const char *root)
{
        const char **items = arena_array(&b->arena, const char *, 1);

        items[0] = root;
        *roots = (struct spec_names){ items, 1 };
}

static int
open_all(void)
{
        const struct spec_names reads = { &b->manifest, b->manifest ? 1 : 0 };

        sources_fini(&b->sources);
        return sources_open(&b->arena, &b->spec, b->rules, b->ws, &reads,
                            &(struct sources_volumes){ NULL, UINT64_MAX }, false, &b->sources,
                            &b->e);
}

static void
opens(void)
{
        if (open_all() < 0)
                fail_msg("%s: %s", b->e.path, b->e.message);
}

static void
refuses(enum error_code code, const char *reason, const char *path)
{
        if (open_all() == 0)
                fail_msg("passed: %s at %s", reason, path);
        if (b->e.code != code || strcmp(b->e.reason, reason) != 0 || strcmp(b->e.path, path) != 0)
                fail_msg("%s %s at %s: %s", error_wire_name(b->e.code), b->e.reason, b->e.path,
                         b->e.message);
}

/* Starts again with other mounts, in the same directories. */
static void
only_mount(const char *path, bool is_read_only)
{
        b->spec.mount_count = 0;
        add_mount(path, is_read_only);
}

static const struct plan_protect *
protect_of(size_t source, const char *path)
{
        const struct plan_source *s = &b->sources.items[source];

        for (size_t i = 0; i < s->protect_count; i++)
                if (strcmp(s->protect[i].path, path) == 0)
                        return &s->protect[i];
        return NULL;
}

/* Its state, or -1 if it is not protected. */
static int
state_of(size_t source, const char *path)
{
        const struct plan_protect *p = protect_of(source, path);

        return p ? (int)p->state : -1;
}

/* -- what is opened ---------------------------------------------------------------------------- */

static void
a_mount_is_opened_and_held(void **state)
{
        struct stat st, held;

        (void)state;
        make_directory("data/read");
        permit(&b->rules->mount_roots, b->data);
        add_mount(".", false);
        add_mount(in_base("data/read"), true);
        opens();
        assert_int_equal(b->sources.count, 2);
        assert_int_equal(b->sources.writable_count, 1);
        assert_int_equal(b->sources.writable[0], b->sources.fds[0]);
        assert_string_equal(b->sources.items[0].host_path, b->ws);
        assert_string_equal(b->sources.items[1].host_path, in_base("data/read"));
        for (size_t i = 0; i < 2; i++) {
                assert_int_equal(fcntl(b->sources.fds[i], F_GETFD), FD_CLOEXEC);
                assert_int_equal(fcntl(b->sources.fds[i], F_GETFL) & O_PATH, O_PATH);
                assert_int_equal(stat(b->sources.items[i].host_path, &st), 0);
                assert_int_equal(fstat(b->sources.fds[i], &held), 0);
                assert_true(held.st_ino == st.st_ino && b->sources.items[i].inode == st.st_ino &&
                            b->sources.items[i].device == st.st_dev);
                assert_true(b->sources.items[i].is_directory &&
                            b->sources.items[i].owner_uid == st.st_uid);
                assert_int_equal(b->sources.mounts[i].source, i);
                assert_string_equal(b->sources.mounts[i].at, b->mounts[i].at);
                assert_int_equal(b->sources.mounts[i].is_read_only, i == 1);
                assert_false(b->sources.mounts[i].is_tool);
        }
        /* a read-only mount needs no protection */
        assert_int_equal(b->sources.items[1].protect_count, 0);
}

static void
the_end_closes_everything(void **state)
{
        int fd;

        (void)state;
        add_mount(".", true);
        opens();
        fd = b->sources.fds[0];
        assert_true(fcntl(fd, F_GETFD) >= 0);
        sources_fini(&b->sources);
        assert_int_equal(fcntl(fd, F_GETFD), -1);
        add_mount("missing", true);
        refuses(ERROR_MOUNT_UNRESOLVABLE, "not_found", "mounts/1/source");
        /* what was opened before the failure still has to be closed */
        assert_int_equal(b->sources.count, 1);
}

static void
what_is_missing_is_reported_with_its_place(void **state)
{
        (void)state;
        add_mount(".", true);
        add_mount("missing", true);
        refuses(ERROR_MOUNT_UNRESOLVABLE, "not_found", "mounts/1/source");
        assert_int_equal(b->e.line, 7);
        assert_int_equal(b->e.column, 5);
        b->mounts[1] =
                (struct spec_mount){ .kind = SPEC_SOURCE_REF, .ref = "@nobody/knows", .at = "/x" };
        refuses(ERROR_MOUNT_UNRESOLVABLE, "not_found", "mounts/1/source");
        only_mount(".", true);
        assert_int_equal(sources_open(&b->arena, &b->spec, b->rules, NULL,
                                      &(struct spec_names){ NULL, 0 },
                                      &(struct sources_volumes){ NULL, UINT64_MAX }, false,
                                      &b->sources, &b->e),
                         -1);
        assert_int_equal(b->e.code, ERROR_MOUNT_UNRESOLVABLE);
        assert_string_equal(b->e.reason, "no_parent_workspace");
}

static void
only_directories_and_files_are_sources(void **state)
{
        (void)state;
        assert_int_equal(mkfifo(in_base("ws/fifo"), 0600), 0);
        make_file("ws/file");
        only_mount("fifo", true);
        refuses(ERROR_MOUNT_UNRESOLVABLE, "wrong_kind", "mounts/0/source");
        permit(&b->rules->mount_roots, "/dev");
        only_mount("/dev/null", true);
        refuses(ERROR_MOUNT_UNRESOLVABLE, "wrong_kind", "mounts/0/source");
        only_mount("file", false);
        opens();
        assert_false(b->sources.items[0].is_directory);
        assert_int_equal(b->sources.items[0].protect_count, 0);
}

static void
more_than_there_is_room_for_is_refused(void **state)
{
        (void)state;
        for (size_t i = 0; i < SOURCES_MAX; i++)
                add_mount(".", true);
        opens();
        add_mount(".", true);
        assert_int_equal(open_all(), -1);
        assert_int_equal(b->e.code, ERROR_QUOTA_EXCEEDED);
        assert_int_equal(b->sources.count, SOURCES_MAX);
}

/* -- links (B14) ------------------------------------------------------------------------------- */

static void
a_link_may_lead_within_and_never_out(void **state)
{
        (void)state;
        make_directory("ws/inner");
        make_directory("ws2");
        make_directory("data/read");
        make_link("inner", "ws/within");
        make_link(b->data, "ws/out");
        make_link("../ws2", "ws/beside");
        make_link("/", "ws/root");
        make_link("../ws", "data/to-ws");
        make_link("read", "data/within");
        permit(&b->rules->mount_roots, b->data);

        only_mount("inner", true), opens();
        only_mount("within", true), opens();
        assert_string_equal(b->sources.items[0].host_path, in_base("ws/inner"));
        only_mount(in_base("data/within"), true), opens();
        assert_string_equal(b->sources.items[0].host_path, in_base("data/read"));

        only_mount("out", true), refuses(ERROR_MOUNT_DENIED, "link_leads_out", "mounts/0/source");
        only_mount("beside", true),
                refuses(ERROR_MOUNT_DENIED, "link_leads_out", "mounts/0/source");
        only_mount("root/etc", true),
                refuses(ERROR_MOUNT_DENIED, "link_leads_out", "mounts/0/source");
        only_mount("..", true), refuses(ERROR_MOUNT_DENIED, "link_leads_out", "mounts/0/source");
        only_mount("../ws2", true),
                refuses(ERROR_MOUNT_DENIED, "link_leads_out", "mounts/0/source");
        only_mount(in_base("data/to-ws"), true),
                refuses(ERROR_MOUNT_DENIED, "link_leads_out", "mounts/0/source");
        only_mount(b->ws, true), refuses(ERROR_MOUNT_DENIED, "link_leads_out", "mounts/0/source");
}

static void
what_the_host_named_itself_may_be_a_link(void **state)
{
        struct host_mountable libs = { .ref = "@owner/libs", .path = in_base("libs") };

        (void)state;
        make_directory("elsewhere");
        make_link("elsewhere", "libs");
        b->rules->mountables = &libs;
        b->rules->mountable_count = 1;
        b->mounts[0] = (struct spec_mount){
                .kind = SPEC_SOURCE_REF, .ref = "@owner/libs", .at = "/libs", .is_read_only = true
        };
        b->spec.mount_count = 1;
        opens();
        assert_string_equal(b->sources.items[0].host_path, in_base("elsewhere"));
        only_mount(in_base("elsewhere"), true);
        refuses(ERROR_MOUNT_DENIED, "link_leads_out", "mounts/0/source");
}

/* -- protected names (B15) --------------------------------------------------------------------- */

static void
every_name_of_the_table_is_guarded_where_it_is_missing(void **state)
{
        size_t count, endings = 0;
        const struct protect_row *rows = protect_rows(&count);

        (void)state;
        make_directory("ws/.git");
        add_mount(".", false);
        opens();
        assert_true(count > 40);
        assert_true(b->sources.has_guards);
        for (size_t i = 0; i < count; i++) {
                const struct plan_protect *p = protect_of(0, rows[i].path);
                enum protect_state wanted =
                        (rows[i].flags & PROTECT_JUDGE) != 0 ? PROTECT_CONFIG : PROTECT_ABSENT;

                if (rows[i].path[0] == '*' || strcmp(rows[i].path, ".git") == 0)
                        endings++;
                else if (!p || p->state != wanted || strcmp(p->why, rows[i].why) != 0)
                        fail_msg("%s is not guarded", rows[i].path);
        }
        assert_int_equal(endings, 3);
        assert_int_equal(b->sources.items[0].protect_count, count - endings);
}

static void
each_state_is_seen_as_it_is(void **state)
{
        static const struct {
                const char *path;
                enum protect_state state;
        } rows[] = {
                { ".git", PROTECT_FILE }, /* of a linked worktree: the whole name is protected */
                { ".bashrc", PROTECT_FILE },      { ".claude", PROTECT_DIRECTORY },
                { ".cursor", PROTECT_FILE },      { ".profile", PROTECT_DIRECTORY },
                { ".zshrc", PROTECT_ABSENT },     { ".envrc", PROTECT_ABSENT },
                { "x.SANDBOX.md", PROTECT_FILE }, { ".config/fish", PROTECT_ABSENT },
        };

        (void)state;
        make_file("ws/.git");
        make_file("ws/.bashrc");
        make_directory("ws/.claude");
        make_file("ws/.cursor");
        make_directory("ws/.profile");
        make_file("ws/x.SANDBOX.md");
        add_mount(".", false);
        opens();
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                const struct plan_protect *p = protect_of(0, rows[i].path);

                if (!p || p->state != rows[i].state)
                        fail_msg("%s: %s", rows[i].path, p ? "another state" : "not seen");
        }
        assert_null(protect_of(0, ".git/hooks"));
        assert_null(protect_of(0, ".config"));
}

static void
a_repository_may_be_made_and_a_missing_way_is_guarded_whole(void **state)
{
        static const char *const more[] = { "deep/er/key", "deep/other" };
        const struct plan_protect *p;
        size_t git = 0;

        (void)state;
        b->spec.carrel.protect = (struct spec_names){ more, 2 };
        add_mount(".", false);
        opens();
        for (size_t i = 0; i < b->sources.items[0].protect_count; i++)
                git += strcmp(b->sources.items[0].protect[i].path, ".git") == 0 ||
                       strncmp(b->sources.items[0].protect[i].path, ".git/", 5) == 0;
        assert_int_equal(git, 1);
        p = protect_of(0, ".git");
        assert_true(p && p->state == PROTECT_MAY_BE_MADE);
        p = protect_of(0, "deep/er/key");
        assert_true(p && p->state == PROTECT_ABSENT);

        make_directory("ws/deep");
        make_file("ws/deep/other");
        opens();
        p = protect_of(0, "deep/er/key");
        assert_true(p && p->state == PROTECT_ABSENT);
        p = protect_of(0, "deep/other");
        assert_true(p && p->state == PROTECT_FILE);
}

/* An index that tracks this and nothing else (version 2); 9 bytes at most. */
static void
write_index(const char *name)
{
        unsigned char bytes[12 + 72 + 20] = "DIRC";
        scoped_fd int fd =
                open(in_base("ws/.git/index"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        bytes[7] = 2;
        bytes[11] = 1;
        bytes[12 + 26] = 0x81;
        bytes[12 + 27] = 0xa4;
        bytes[12 + 61] = (unsigned char)strlen(name);
        memcpy(bytes + 12 + 62, name, strlen(name));
        assert_int_equal(write(fd, bytes, sizeof bytes), (ssize_t)sizeof bytes);
}

static void
what_the_index_tracks_is_content(void **state)
{
        (void)state;
        make_directory("ws/.git");
        make_directory("ws/.git/hooks");
        make_file("ws/.envrc");
        make_file("ws/.bashrc");
        make_file("ws/SANDBOX.md");
        write_index(".envrc");
        add_mount(".", false);
        opens();
        assert_int_equal(state_of(0, ".envrc"), PROTECT_CONTENT);
        assert_int_equal(state_of(0, ".bashrc"), PROTECT_FILE);
        assert_int_equal(state_of(0, "SANDBOX.md"), PROTECT_FILE);
        b->spec.carrel.is_strict = true;
        opens();
        assert_int_equal(state_of(0, ".envrc"), PROTECT_FILE);
        b->spec.carrel.is_strict = false;
        assert_int_equal(truncate(in_base("ws/.git/index"), 90), 0);
        opens();
        /* an incomplete index counts as no index */
        assert_int_equal(state_of(0, ".envrc"), PROTECT_FILE);
        assert_int_equal(unlink(in_base("ws/.git/index")), 0);
        make_link("/etc/passwd", "ws/.git/index");
        opens();
        assert_int_equal(state_of(0, ".envrc"), PROTECT_FILE);
}

static bool
is_known(const char *entry)
{
        const struct plan_source *source = &b->sources.items[0];

        for (const char *at = source->leads; at && at < source->leads + source->leads_len;
             at += strlen(at) + 1)
                if (strcmp(at, entry) == 0)
                        return true;
        return false;
}

static void
tracked_names_below_the_top_are_known(void **state)
{
        size_t count;
        const struct protect_row *rows = protect_rows(&count);

        (void)state;
        make_directory("ws/.git");
        write_index("a/.vscode");
        add_mount(".", false);
        opens();
        assert_true(is_known("ta/.vscode") && is_known("k.git") && !is_known("s"));
        b->spec.carrel.is_strict = true;
        opens();
        assert_true(is_known("s"));
        assert_int_equal(truncate(in_base("ws/.git/index"), 90), 0);
        opens();
        assert_false(is_known("ta/.vscode"));
        for (size_t i = 0; i < count; i++)
                if ((protect_find_deep(rows[i].path, strlen(rows[i].path)) == &rows[i]) !=
                    ((rows[i].flags & PROTECT_DEEP) != 0))
                        fail_msg("%s", rows[i].path);
        assert_non_null(protect_find_deep("MISE.Toml", 9));
        assert_null(protect_find_deep(".envrc2", 7));
        assert_null(protect_find_deep(".envr", 5));
}

static void
a_second_name_of_a_held_file_is_refused(void **state)
{
        static const char *const open[] = { ".bashrc" };

        (void)state;
        make_file("ws/.bashrc");
        assert_int_equal(link(in_base("ws/.bashrc"), in_base("ws/other")), 0);
        only_mount(".", false),
                refuses(ERROR_MOUNT_DENIED, "protected_hard_link", "mounts/0/source");
        only_mount(".", true), opens();
        b->spec.carrel.unprotect = (struct spec_names){ open, 1 };
        only_mount(".", false), opens();
}

static void
a_protected_link_is_refused_unless_it_is_opened(void **state)
{
        static const char *const links[] = { ".bashrc", ".git", ".claude", ".git/hooks" };

        (void)state;
        for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
                const char *name = arena_format(&b->arena, "ws/%s", links[i]);

                if (strcmp(links[i], ".git/hooks") == 0)
                        make_directory("ws/.git");
                make_link("/etc", name);
                b->spec.carrel.unprotect = (struct spec_names){ NULL, 0 };
                only_mount(".", false),
                        refuses(ERROR_MOUNT_DENIED, "protected_symlink", "mounts/0/source");
                only_mount(".", true), opens();
                b->spec.carrel.unprotect = (struct spec_names){ &links[i], 1 };
                only_mount(".", false), opens();
                assert_null(protect_of(0, links[i]));
                assert_int_equal(unlink(in_base(name)), 0);
        }
}

static void
what_is_opened_up_is_open_with_all_beneath_it(void **state)
{
        static const char *const open[] = { ".git", ".bash" };
        size_t before;

        (void)state;
        make_directory("ws/.git");
        add_mount(".", false);
        opens();
        before = b->sources.items[0].protect_count;
        b->spec.mount_count = 0;
        b->spec.carrel.unprotect = (struct spec_names){ open, 2 };
        add_mount(".", false);
        opens();
        assert_null(protect_of(0, ".git/hooks"));
        assert_null(protect_of(0, ".git/config"));
        assert_non_null(protect_of(0, ".bashrc")); /* ".bash" is only a prefix of it */
        assert_int_equal(b->sources.items[0].protect_count, before - 4);
}

static void
write_text(const char *name, const char *text)
{
        FILE *f = fopen(in_base(name), "w");

        assert_non_null(f);
        assert_true(fputs(text, f) >= 0);
        assert_int_equal(fclose(f), 0);
}

static void
is_in_state(const char *path, enum protect_state state)
{
        const struct plan_protect *p = protect_of(0, path);

        if (!p || p->state != state)
                fail_msg("%s is in state %d", path, p ? (int)p->state : -1);
}

/* A readable git configuration is judged by its content. */
static void
a_configuration_may_be_changed(void **state)
{
        (void)state;
        make_directory("ws/.git");
        write_text("ws/.git/config", "[core]\n\tbare = false\n");
        add_mount(".", false);
        opens();
        is_in_state(".git/config", PROTECT_CONFIG);
        is_in_state(".git/config.worktree", PROTECT_CONFIG);
        b->spec.carrel.is_strict = true;
        only_mount(".", false), opens();
        is_in_state(".git/config", PROTECT_FILE);
        is_in_state(".git/config.worktree", PROTECT_ABSENT);
        b->spec.carrel.is_strict = false;
        write_text("ws/.git/config", "[core\n");
        only_mount(".", false), opens();
        is_in_state(".git/config", PROTECT_FILE);
}

/* H4: files that git on the host runs because files of the repository name them. */
static void
where_a_repository_leads_is_held(void **state)
{
        static const char *const directories[] = { "ws/.git",
                                                   "ws/.git/hooks",
                                                   "ws/.git/modules",
                                                   "ws/.git/modules/a",
                                                   "ws/.git/modules/a/b",
                                                   "ws/.git/modules/a/b/hooks",
                                                   "ws/tools",
                                                   "ws/tools/hooks",
                                                   "ws/scripts",
                                                   "ws/lib",
                                                   "ws/lib/.git",
                                                   "ws/lib/.git/hooks",
                                                   "ws/wt",
                                                   "ws/own",
                                                   "ws/x",
                                                   "ws/x/y",
                                                   "ws/x/y/.git" };
        static const struct {
                const char *path;
                enum protect_state state;
        } rows[] = {
                { "team.gitconfig", PROTECT_FILE },
                { "tools/hooks", PROTECT_DIRECTORY },
                { "later", PROTECT_ABSENT },
                { "scripts/run", PROTECT_FILE },
                { ".git/modules/a/b/config", PROTECT_CONFIG },
                { ".git/modules/a/b/hooks", PROTECT_DIRECTORY },
                { "lib/.git/hooks", PROTECT_DIRECTORY },
                { "lib/.git/config", PROTECT_CONFIG },
                { "lib/run", PROTECT_FILE },
                { "wt/.git", PROTECT_FILE },
                { "own/config", PROTECT_CONFIG },
                { "own/hooks", PROTECT_ABSENT },
        };
        char text[PATH_ROOM + 64];

        (void)state;
        for (size_t i = 0; i < sizeof directories / sizeof *directories; i++)
                make_directory(directories[i]);
        (void)snprintf(text, sizeof text,
                       "[include]\npath = ../team.gitconfig\npath = %s/ws/later\npath = "
                       "/etc/gitconfig\npath = ../../..\n[core]\nhooksPath = .\n",
                       b->base);
        write_text("ws/.git/config", text);
        write_text("ws/team.gitconfig", "[core]\nhooksPath = ./tools//hooks\n[includeIf "
                                        "\"gitdir:x\"]\npath = team.gitconfig\n");
        write_text("ws/scripts/run", "");
        write_text("ws/lib/run", "");
        make_link("../../scripts/run", "ws/.git/hooks/pre-commit");
        make_link("/bin/true", "ws/.git/hooks/pre-push");
        make_link("../../run", "ws/lib/.git/hooks/pre-commit");
        write_text("ws/.git/modules/a/b/HEAD", "");
        write_text("ws/.git/modules/a/b/config", "[core]\nworktree = ../../../../a/b\n");
        write_text("ws/lib/.git/config", "");
        write_text("ws/wt/.git", "gitdir: ../own\n");
        write_text("ws/own/config", "");
        add_mount(".", false);
        opens();
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                is_in_state(rows[i].path, rows[i].state);
        /* not registered, and deeper than the search goes */
        assert_null(protect_of(0, "x/y/.git/hooks"));
        assert_int_equal(unlink(in_base("ws/scripts/run")), 0);
        make_link("other", "ws/scripts/run");
        only_mount(".", false), refuses(ERROR_MOUNT_DENIED, "protected_symlink", "mounts/0/source");
}

/* The same names through a mount of a part of the workspace, or of a directory that contains it. */
static void
a_name_is_held_under_every_mount_that_shows_it(void **state)
{
        static const char *const more[] = { "sub/key" };

        (void)state;
        make_directory("ws/.git");
        make_directory("ws/.git/hooks");
        make_directory("ws/.git/hooks/inner");
        make_directory("ws/sub");
        make_file("ws/sub/key");
        make_file("ws/.bashrc");
        b->spec.carrel.protect = (struct spec_names){ more, 1 };
        permit(&b->rules->mount_roots, b->base);
        add_mount(".", false);
        add_mount("sub", false);
        add_mount(b->base, false);
        add_mount(".git", false);
        opens();
        assert_int_equal(state_of(0, "sub/key"), PROTECT_FILE);
        assert_int_equal(state_of(1, "key"), PROTECT_FILE);
        assert_int_equal(state_of(2, "ws/sub/key"), PROTECT_FILE);
        assert_int_equal(state_of(2, "ws/.bashrc"), PROTECT_FILE);
        assert_int_equal(state_of(2, "ws/.git/hooks"), PROTECT_DIRECTORY);
        assert_int_equal(state_of(2, "ws/.zshrc"), PROTECT_ABSENT);
        assert_int_equal(state_of(3, "hooks"), PROTECT_DIRECTORY);
        assert_int_equal(state_of(3, "config"), PROTECT_CONFIG);
}

static void
a_writable_mount_of_a_protected_name_is_refused(void **state)
{
        static const char *const parts[] = { ".git/hooks", ".git/hooks/inner", ".bashrc",
                                             "SANDBOX.md" };

        (void)state;
        make_directory("ws/.git");
        make_directory("ws/.git/hooks");
        make_directory("ws/.git/hooks/inner");
        make_file("ws/.bashrc");
        make_file("ws/SANDBOX.md");
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
                only_mount(parts[i], false),
                        refuses(ERROR_MOUNT_DENIED, "protected", "mounts/0/source");
                only_mount(parts[i], true), opens();
        }
        make_link(".git/hooks", "ws/innocent");
        only_mount("innocent", false), refuses(ERROR_MOUNT_DENIED, "protected", "mounts/0/source");
        b->spec.carrel.unprotect = (struct spec_names){ parts, 1 };
        only_mount(parts[0], false), opens();
}

static void
the_manifest_in_force_is_held_wherever_it_lies(void **state)
{
        (void)state;
        make_directory("data/conf");
        make_file("data/conf/box.yaml");
        permit(&b->rules->mount_roots, b->data);
        b->manifest = in_base("data/conf/box.yaml");
        only_mount(b->data, false), opens();
        assert_int_equal(state_of(0, "conf/box.yaml"), PROTECT_FILE);
        only_mount(in_base("data/conf"), false), opens();
        assert_int_equal(state_of(0, "box.yaml"), PROTECT_FILE);
        only_mount(b->manifest, false), refuses(ERROR_MOUNT_DENIED, "protected", "mounts/0/source");
        only_mount(b->manifest, true), opens();
        b->manifest = in_base("data/con");
        only_mount(in_base("data/conf"), false), opens();
        assert_null(protect_of(0, "f"));
}

/* -- tools ------------------------------------------------------------------------------------- */

static void
a_tool_is_read_only_at_its_own_path(void **state)
{
        const char *const tools[] = { in_base("opt/python") };

        (void)state;
        make_directory("opt/python");
        permit(&b->rules->tool_roots, b->opt);
        b->spec.carrel.tools = (struct spec_names){ tools, 1 };
        add_mount(".", false);
        opens();
        assert_int_equal(b->sources.count, 2);
        assert_int_equal(b->sources.writable_count, 1);
        assert_string_equal(b->sources.mounts[1].at, tools[0]);
        assert_true(b->sources.mounts[1].is_read_only && b->sources.mounts[1].is_tool);
        assert_int_equal(b->sources.items[1].protect_count, 0);
}

static void
a_tool_is_judged_by_where_it_really_is(void **state)
{
        const char *tools[1];

        (void)state;
        make_directory("opt/python");
        make_link("python", "opt/current");
        make_link(b->data, "opt/out");
        permit(&b->rules->tool_roots, b->opt);
        /* a permitted mount is not automatically a permitted tool */
        permit(&b->rules->mount_roots, b->data);
        b->spec.carrel.tools = (struct spec_names){ tools, 1 };
        tools[0] = in_base("opt/current"), opens();
        tools[0] = in_base("opt/out"),
        refuses(ERROR_MOUNT_DENIED, "link_leads_out", "metadata/carrel/tools/0");
        tools[0] = b->data,
        refuses(ERROR_MOUNT_DENIED, "link_leads_out", "metadata/carrel/tools/0");
        tools[0] = in_base("opt/missing"),
        refuses(ERROR_MOUNT_UNRESOLVABLE, "not_found", "metadata/carrel/tools/0");
}

int
main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, bench_open, bench_close)
        const struct CMUnitTest tests[] = {
                CASE(a_mount_is_opened_and_held),
                CASE(the_end_closes_everything),
                CASE(what_is_missing_is_reported_with_its_place),
                CASE(only_directories_and_files_are_sources),
                CASE(more_than_there_is_room_for_is_refused),
                CASE(a_link_may_lead_within_and_never_out),
                CASE(what_the_host_named_itself_may_be_a_link),
                CASE(every_name_of_the_table_is_guarded_where_it_is_missing),
                CASE(each_state_is_seen_as_it_is),
                CASE(a_repository_may_be_made_and_a_missing_way_is_guarded_whole),
                CASE(what_the_index_tracks_is_content),
                CASE(tracked_names_below_the_top_are_known),
                CASE(a_second_name_of_a_held_file_is_refused),
                CASE(a_protected_link_is_refused_unless_it_is_opened),
                CASE(a_configuration_may_be_changed),
                CASE(where_a_repository_leads_is_held),
                CASE(what_is_opened_up_is_open_with_all_beneath_it),
                CASE(a_name_is_held_under_every_mount_that_shows_it),
                CASE(a_writable_mount_of_a_protected_name_is_refused),
                CASE(the_manifest_in_force_is_held_wherever_it_lies),
                CASE(a_tool_is_read_only_at_its_own_path),
                CASE(a_tool_is_judged_by_where_it_really_is),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
