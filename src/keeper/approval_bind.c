/*
 * keeper/approval_bind.c - what an approval binds.
 *
 * Room: keeper (joining). Touches: fd (files of mounted directories and of images, read only), mem.
 * Theory: every field is hashed with its name and length, in the order of the operation's row, so
 * that two different requests never give the same bytes. Names of the environment are sorted. What
 * a person sees is made from the same values; a value that is too long to show has its own digest.
 * A command may name scripts anywhere in its words, and in values of its environment. So each word,
 * and each part of a word between the separators of a shell, is tried as a path: below the working
 * directory, below each directory that a word names (`cd`), and below those of PATH. A file too
 * many only binds more. What cannot be bound is said in a line. Files of an image that commands
 * cannot write are bound twice: by the image's digest, and each that a command names by its own.
 */
#include "keeper/approval_bind.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/below.h"
#include "base/scoped.h"
#include "keeper/approval_lines.h"
#include "prepare/image_files.h"
#include "ref/file.h"

enum {
        TRIED_MAX = 8192,
        WORDS_MAX = 4096,
        BASES_MAX = 32,
        OUTSIDE_MAX = 16,
        PATH_ROOM = 4096,
        ENV_MAX = 4096,
        IMAGE_TRIED_MAX = 512,
        IMAGE_SEEN_MAX = APPROVAL_FILES_MAX / 2,
        HEX = 64
};

/* Parts of a call that change nothing of what is done. */
static const uint16_t left_out[] = { FIELD_ID,      FIELD_KEY,           FIELD_LOSSLESS, FIELD_ROWS,
                                     FIELD_COLUMNS, FIELD_WAIT_PORTS_MS, FIELD_CLIENT };

struct binding {
        crypto_hash_sha256_state hash;
        const struct sandbox *sandbox;
        struct approval_lines lines;
        const char *words[WORDS_MAX], *bases[BASES_MAX], *outside[OUTSIDE_MAX]; /* in `names` */
        size_t word_count, base_count, outside_count;
        const char *seen[APPROVAL_FILES_MAX]; /* paths of the host, in `names` */
        size_t seen_count, file_bytes, tried;
        struct image_files *image; /* NULL: no file of an image is bound */
        size_t image_bytes, image_tried;
        struct arena names;
};

static struct binding b; /* one call is bound at a time */

/* -- the hash ---------------------------------------------------------------------------------- */

static void
add(const char *name, const void *bytes, size_t len)
{
        const uint64_t head[2] = { strlen(name), len };

        (void)crypto_hash_sha256_update(&b.hash, (const unsigned char *)head, sizeof head);
        (void)crypto_hash_sha256_update(&b.hash, (const unsigned char *)name, head[0]);
        if (len > 0)
                (void)crypto_hash_sha256_update(&b.hash, bytes, len);
}

static void
bind_value(const char *name, const void *bytes, size_t len)
{
        add(name, bytes, len);
        approval_lines_show(&b.lines, name, bytes, len);
}

/* -- files ------------------------------------------------------------------------------------- */

/* The host's directory of a mount; "" if it has none. */
static void
mount_directory(const struct spec_mount *m, char out[PATH_ROOM])
{
        const char *workspace = b.sandbox->row.workspace,
                   *path = m->kind == SPEC_SOURCE_WORKSPACE
                                   ? "."
                                   : host_mount_path(b.sandbox->prepared->rules, m);
        int len = 0;

        out[0] = '\0';
        if (!path || m->volume || (path[0] != '/' && !workspace))
                return;
        if (path[0] == '/')
                len = snprintf(out, PATH_ROOM, "%s", path);
        else
                len = snprintf(out, PATH_ROOM, "%s/%s", workspace, path);
        if (len < 0 || len >= PATH_ROOM)
                out[0] = '\0';
}

/* The mount that shows this path of the sandbox, the innermost one; NULL: none. */
static const struct spec_mount *
mount_of(const char *path, const char **ret_rest)
{
        const struct spec *spec = b.sandbox->prepared->spec;
        const struct spec_mount *found = NULL;

        for (size_t i = 0; i < spec->mount_count; i++) {
                const struct spec_mount *m = &spec->mounts[i];
                const char *rest = path_below(path, m->at);

                if (!rest || (found && strlen(m->at) <= strlen(found->at)))
                        continue;
                found = m;
                *ret_rest = *rest == '\0' ? "." : rest;
        }
        return found;
}

static int
too_much(struct error *e)
{
        (void)fail_at(e, ERROR_QUOTA_EXCEEDED, "argv", "unbound",
                      "the command names more than %d files, or more than %d MiB of files: an "
                      "approval cannot bind them",
                      APPROVAL_FILES_MAX, APPROVAL_FILE_BYTES >> 20);
        error_hint(e, "Name fewer files, or a directory: only scripts need to be bound.");
        return -1;
}

static bool
was_seen(const char *path)
{
        for (size_t i = 0; i < b.seen_count; i++)
                if (strcmp(b.seen[i], path) == 0)
                        return true;
        return false;
}

/* May this process read it for the payload? As root it could read files that the payload cannot. */
static bool
is_readable(const struct stat *st, const struct stat *directory)
{
        return st->st_uid == directory->st_uid || st->st_uid == b.sandbox->keeper->uid ||
               (st->st_mode & S_IROTH) != 0;
}

enum kind { KIND_NONE, KIND_DIRECTORY, KIND_FILE, KIND_UNREADABLE };

/* A link may lead to anything: where it leads out, reading it refuses. */
static enum kind
kind_of(int directory, const char *rest)
{
        struct stat st, top;

        if (fstat(directory, &top) < 0 || fstatat(directory, rest, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return KIND_NONE;
        if (S_ISLNK(st.st_mode) && fstatat(directory, rest, &st, 0) < 0)
                return KIND_UNREADABLE;
        if (S_ISDIR(st.st_mode))
                return KIND_DIRECTORY;
        if (!S_ISREG(st.st_mode))
                return KIND_NONE;
        return is_readable(&st, &top) ? KIND_FILE : KIND_UNREADABLE;
}

static void
bind_line(const char *path, const char *content, const char *format)
{
        char line[4 * PATH_ROOM + 256];
        size_t used = (size_t)snprintf(line, sizeof line, "file: ");

        add("file", path, strlen(path));
        add("content", content, strlen(content));
        (void)approval_lines_escape(line + used, sizeof line - 256, path, strlen(path));
        used = strlen(line);
        (void)snprintf(line + used, sizeof line - used, "%s%s", format, content);
        approval_lines_put(&b.lines, line);
        approval_lines_show_points(&b.lines, path, strlen(path));
}

static int
bind_content(int directory, const char *rest, const char *path, struct error *e)
{
        unsigned char digest[crypto_hash_sha256_BYTES];
        char hex[HEX + 1];
        struct arena memory;
        const char *bytes = NULL;
        size_t len = 0;
        int result = -1;

        arena_init(&memory, APPROVAL_FILE_BYTES + 64 * 1024);
        if (kind_of(directory, rest) == KIND_FILE)
                result = ref_file_read_beneath(&memory, directory, rest,
                                               APPROVAL_FILE_BYTES - b.file_bytes, NULL, &bytes,
                                               &len, e);
        else
                e->code = ERROR_FILE_UNREADABLE;
        if (result == 0) {
                (void)crypto_hash_sha256(digest, (const unsigned char *)bytes, len);
                (void)sodium_bin2hex(hex, sizeof hex, digest, sizeof digest);
                b.file_bytes += len;
                bind_line(path, hex, ", sha256 ");
        }
        arena_fini(&memory);
        if (result == 0 || e->code == ERROR_NO_MEMORY)
                return result;
        if (e->code == ERROR_MANIFEST_SYNTAX)
                return too_much(e);
        bind_line(path, "not bound: it leads out, or cannot be read", " ");
        return 0;
}

/*
 * Removes empty parts, "." and, with the name before it, "..". Links are not followed: where one is
 * before a "..", the path as it was given is tried too.
 */
static void
shorten(char *path)
{
        char *to = path;

        for (const char *at = path + strspn(path, "/"); *at != '\0'; at += strspn(at, "/")) {
                size_t len = strcspn(at, "/");

                if (len == 2 && at[0] == '.' && at[1] == '.') {
                        while (to > path && *--to != '/')
                                ;
                } else if (len != 1 || at[0] != '.') {
                        *to++ = '/';
                        memmove(to, at, len);
                        to += len;
                }
                at += len;
        }
        if (to == path)
                *to++ = '/';
        *to = '\0';
}

/* At most so often for one request that no other call waits long. */
static enum image_file
look_in_image(const char *path, char hex[IMAGE_FILE_HEX])
{
        return ++b.image_tried > IMAGE_TRIED_MAX
                       ? IMAGE_FILE_UNKNOWN
                       : image_files_digest(b.image, path, &b.image_bytes, hex);
}

/* An image may have links to places that commands write, and root inside may write everywhere. */
static bool
is_fixed_system(const char *path)
{
        static const char *const places[] = { "/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc" };
        char hex[IMAGE_FILE_HEX];

        for (size_t i = 0; i < sizeof places / sizeof *places; i++)
                if (path_below(path, places[i]))
                        return !b.sandbox->prepared->spec->image ||
                               look_in_image(path, hex) != IMAGE_FILE_UNKNOWN;
        return false;
}

/*
 * Nothing inside can change what is there. /proc is not in the list: /proc/self/cwd leads to the
 * workspace. Of /dev, only devices are: /dev/shm is a directory that commands write.
 */
static bool
is_fixed(const char *path)
{
        static const char *const places[] = {
                "/sys",        "/dev/null",  "/dev/zero",   "/dev/full",   "/dev/tty",
                "/dev/random", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/urandom",
        };

        for (size_t i = 0; i < sizeof places / sizeof *places; i++)
                if (path_below(path, places[i]))
                        return true;
        return is_fixed_system(path);
}

/* A line for a path whose content nothing here can read, once for each. */
static void
show_outside(const char *path)
{
        char line[64];

        if (is_fixed(path))
                return;
        for (size_t i = 0; i < b.outside_count; i++)
                if (strcmp(b.outside[i], path) == 0)
                        return;
        if (b.outside_count == OUTSIDE_MAX)
                return;
        b.outside[b.outside_count++] = arena_text(&b.names, path);
        if (b.outside_count == OUTSIDE_MAX || !b.outside[b.outside_count - 1]) {
                b.outside_count = OUTSIDE_MAX;
                (void)snprintf(line, sizeof line, "more files outside the mounted directories");
                approval_lines_show(&b.lines, "not bound", line, strlen(line));
                return;
        }
        approval_lines_show(&b.lines, "not bound, outside the mounted directories", path,
                            strlen(path));
}

/* Is a mount below it, or is it below one? Names of files can begin there. */
static bool
leads_to_mounts(const char *path)
{
        const struct spec *spec = b.sandbox->prepared->spec;
        const char *rest = NULL;

        for (size_t i = 0; i < spec->mount_count; i++)
                if (path_below(spec->mounts[i].at, path))
                        return true;
        return mount_of(path, &rest) != NULL;
}

static int
add_base(const char *path, struct error *e)
{
        for (size_t i = 0; i < b.base_count; i++)
                if (strcmp(b.bases[i], path) == 0)
                        return 0;
        if (b.base_count > 0 && !leads_to_mounts(path))
                return 0;
        if (b.base_count == BASES_MAX)
                return too_much(e);
        b.bases[b.base_count] = arena_text(&b.names, path);
        return b.bases[b.base_count++] ? 0
                                       : fail(e, ERROR_NO_MEMORY, "no memory for names of files");
}

static int
add_file(int directory, const char *rest, const char *path, struct error *e)
{
        const char *name = arena_text(&b.names, path);

        if (!name)
                return fail(e, ERROR_NO_MEMORY, "no memory for the names of files");
        if (b.seen_count == APPROVAL_FILES_MAX)
                return too_much(e);
        b.seen[b.seen_count++] = name;
        return bind_content(directory, rest, path, e);
}

/* A file of the image; a larger one, and one too many, only by the image's digest. */
static bool
bind_of_image(const char *path)
{
        char hex[IMAGE_FILE_HEX];
        const char *name;

        if (!b.image || look_in_image(path, hex) != IMAGE_FILE_FOUND)
                return false;
        name = b.seen_count < IMAGE_SEEN_MAX ? arena_text(&b.names, path) : NULL;
        if (name)
                b.seen[b.seen_count++] = name; /* its line comes once */
        if (hex[0] != '\0')
                bind_line(path, hex, ", sha256 ");
        else
                bind_line(path, "of the image", ", ");
        return true;
}

/* Tries one path of the sandbox: a file is bound, a directory is one where names can begin. */
static int
bind_path(const char *path, bool is_absolute, struct error *e)
{
        char place[PATH_ROOM] = "";
        const char *rest = NULL;
        const struct spec_mount *m = mount_of(path, &rest);
        enum kind kind = KIND_NONE;

        if (was_seen(path))
                return 0;
        if (m)
                mount_directory(m, place);
        if (!m && bind_of_image(path))
                return 0;
        if (place[0] == '\0') {
                /* `m`: a volume */
                if (is_absolute && (m || !leads_to_mounts(path)))
                        show_outside(path);
                return m ? 0 : add_base(path, e);
        }
        scoped_fd int directory = open(place, O_PATH | O_DIRECTORY | O_CLOEXEC);

        if (directory >= 0)
                kind = kind_of(directory, rest);
        if (kind == KIND_DIRECTORY)
                return add_base(path, e);
        return kind == KIND_NONE ? 0 : add_file(directory, rest, path, e);
}

/* Tries one word as a path below `base`, with the links that are before a ".." and without. */
static int
bind_word(const char *base, const char *word, struct error *e)
{
        char path[2 * PATH_ROOM], given[2 * PATH_ROOM];
        bool is_absolute = word[0] == '/';

        if (strlen(word) >= PATH_ROOM)
                return 0;
        if (++b.tried > TRIED_MAX)
                return too_much(e);
        (void)snprintf(path, sizeof path, "%s%s%s", is_absolute ? "" : base, is_absolute ? "" : "/",
                       word);
        memcpy(given, path, strlen(path) + 1);
        shorten(path);
        if (bind_path(path, is_absolute, e) < 0)
                return -1;
        /* below the first directory only: a list of ".." would never end */
        return strstr(given, "..") && base == b.bases[0] ? bind_path(given, false, e) : 0;
}

static int
keep_word(const char *text, size_t len, struct error *e)
{
        char *word;

        if (b.word_count == WORDS_MAX)
                return too_much(e);
        word = arena_alloc(&b.names, len + 1);
        if (!word)
                return fail(e, ERROR_NO_MEMORY, "no memory for the names of files");
        memcpy(word, text, len);
        word[len] = '\0';
        b.words[b.word_count++] = word;
        return 0;
}

/* Also what follows the letter of an option (-fok.sh), or a sign that names a file (%ok.sh). */
static int
add_word(const char *text, size_t len, struct error *e)
{
        size_t head = len > 2 && text[0] == '-' && text[1] != '-'    ? 2
                      : len > 1 && strchr("%+#!^[", text[0]) != NULL ? 1
                                                                     : 0;

        if (len == 0 || len >= PATH_ROOM)
                return 0;
        if (head > 0 && keep_word(text + head, len - head, e) < 0)
                return -1;
        return keep_word(text, len, e);
}

/* What is between the separators. */
static int
add_parts(const char *text, const char *separators, struct error *e)
{
        size_t whole = strlen(text), at = 0;

        while (text[at] != '\0') {
                size_t len = strcspn(text + at, separators);

                if (len < whole && add_word(text + at, len, e) < 0)
                        return -1;
                at += len;
                at += strspn(text + at, separators);
        }
        return 0;
}

/* As a shell joins it: without quotes and backslashes. */
static int
add_unquoted(const char *text, const char *separators, struct error *e)
{
        size_t len = 0;
        char *plain;

        if (strpbrk(text, "'\"\\") == NULL)
                return 0;
        plain = arena_alloc(&b.names, strlen(text) + 2);
        if (!plain)
                return fail(e, ERROR_NO_MEMORY, "no memory for the names of files");
        for (; *text != '\0'; text++)
                if (text[0] == '\\' && text[1] == '\n')
                        text++; /* the line continues */
                else if (!strchr("'\"\\", *text))
                        plain[len++] = *text;
        plain[len] = '\0';
        return add_word(plain, len, e) < 0 ? -1 : add_parts(plain, separators, e);
}

static int
add_text(const char *text, struct error *e)
{
        static const char separators[] = " \t\r\n;|&()<>{}'\"`$=,:@";

        if (add_word(text, strlen(text), e) < 0 || add_parts(text, separators, e) < 0)
                return -1;
        return add_unquoted(text, separators, e);
}

/* The value of a variable can be a script (BASH_ENV, LD_PRELOAD). Those of PATH are directories. */
static int
add_variable(const char *item, struct error *e)
{
        const char *value = strchr(item, '=');

        return value ? add_parts(value, "=: \t,", e) : 0;
}

/* A name that only a shell knows is no path here. */
static void
show_expansion(const struct call *c)
{
        struct record_entry entry;
        size_t at = 0;

        while (record_next(&c->record, &at, &entry) > 0)
                if ((entry.tag == FIELD_ARGV || entry.tag == FIELD_COMMAND) &&
                    strpbrk(entry.value, "$*?[~`")) {
                        approval_lines_put(
                                &b.lines,
                                "not bound: files whose names a shell makes ($ * ? [ ~ `)");
                        return;
                }
}

static int
add_words(const struct call *c, struct error *e)
{
        struct store_bytes env = b.sandbox->row.env;
        struct record_entry entry;
        size_t at = 0;

        while (record_next(&c->record, &at, &entry) > 0) {
                if ((entry.tag == FIELD_ARGV || entry.tag == FIELD_COMMAND) &&
                    add_text(entry.value, e) < 0)
                        return -1;
                if (entry.tag == FIELD_ENV && add_variable(entry.value, e) < 0)
                        return -1;
        }
        for (at = 0; at < env.len; at += strlen((const char *)env.bytes + at) + 1)
                if (add_variable((const char *)env.bytes + at, e) < 0)
                        return -1;
        return 0;
}

/* Directories that are found on the way are added to the list. */
static int
bind_files(const struct call *c, const char *cwd, struct error *e)
{
        char own[PATH_ROOM];

        (void)snprintf(own, sizeof own, "%s", cwd);
        shorten(own);
        if (add_base(own, e) < 0 || add_base(cwd, e) < 0 || add_words(c, e) < 0)
                return -1;
        if (!leads_to_mounts(own))
                show_outside(own);
        for (size_t i = 0; i < b.base_count; i++)
                for (size_t j = 0; j < b.word_count; j++)
                        if ((i == 0 || b.words[j][0] != '/') &&
                            bind_word(b.bases[i], b.words[j], e) < 0)
                                return -1;
        show_expansion(c);
        return 0;
}

/* It was hashed whole. */
static void
show_sandbox_environment(void)
{
        struct store_bytes env = b.sandbox->row.env;

        for (size_t at = 0; at < env.len; at += strlen((const char *)env.bytes + at) + 1)
                approval_lines_show(&b.lines, "sandbox env", (const char *)env.bytes + at,
                                    strlen((const char *)env.bytes + at));
}

/* -- parameters -------------------------------------------------------------------------------- */

static void
bind_entry(const struct api_field *f, const struct record_entry *entry)
{
        char number[32];

        switch (entry->type) {
        case RECORD_UINT:
        case RECORD_BOOL:
                (void)snprintf(number, sizeof number, "%" PRIu64, *(const uint64_t *)entry->value);
                bind_value(f->name, number, strlen(number));
                return;
        case RECORD_INT:
                (void)snprintf(number, sizeof number, "%" PRId64, *(const int64_t *)entry->value);
                bind_value(f->name, number, strlen(number));
                return;
        default: /* a text's length counts its NUL */
                bind_value(f->name, entry->value,
                           entry->type == RECORD_TEXT || entry->type == RECORD_JSON ? entry->len - 1
                                                                                    : entry->len);
                return;
        }
}

/* By name. Of a name that is given twice the last one counts, so these keep their order. */
static int
compare(const void *a, const void *other)
{
        const char *x = *(const char *const *)a, *y = *(const char *const *)other;
        size_t x_len = strcspn(x, "="), y_len = strcspn(y, "=");
        int order = memcmp(x, y, x_len < y_len ? x_len : y_len);

        if (order == 0 && x_len != y_len)
                order = x_len < y_len ? -1 : 1;
        return order != 0 ? order : x < y ? -1 : x > y;
}

static void
bind_environment(const struct record *r)
{
        static const char *items[ENV_MAX];
        struct record_entry entry;
        size_t at = 0, count = 0;

        while (record_next(r, &at, &entry) > 0 && count < ENV_MAX)
                if (entry.tag == FIELD_ENV)
                        items[count++] = entry.value;
        qsort(items, count, sizeof *items, compare);
        for (size_t i = 0; i < count; i++)
                bind_value("env", items[i], strlen(items[i]));
}

static void
bind_parameters(const struct call *c)
{
        for (size_t i = 0; i < c->op->param_count; i++) {
                const struct api_param *p = &c->op->params[i];
                struct record_entry entry;
                bool counts = p->tag != FIELD_ENV;
                size_t at = 0;

                for (size_t j = 0; j < sizeof left_out / sizeof *left_out; j++)
                        counts = counts && p->tag != left_out[j];
                if (p->tag == FIELD_ENV)
                        bind_environment(&c->record);
                while (counts && record_next(&c->record, &at, &entry) > 0)
                        if (entry.tag == p->tag)
                                bind_entry(api_field(p->tag), &entry);
        }
}

/* -- all of it --------------------------------------------------------------------------------- */

static void
policy_version(const struct sandbox *s, unsigned char ret[APPROVAL_DIGEST_LEN])
{
        crypto_hash_sha256_state hash;

        (void)crypto_hash_sha256_init(&hash);
        (void)crypto_hash_sha256_update(&hash, s->keeper->host_version,
                                        sizeof s->keeper->host_version);
        if (s->row.manifest.len > 0)
                (void)crypto_hash_sha256_update(&hash, s->row.manifest.bytes, s->row.manifest.len);
        (void)crypto_hash_sha256_final(&hash, ret);
}

/* As op_exec.c joins it: relative paths begin at the sandbox's own directory. */
static void
directory_of(const struct call *c, const struct sandbox *s, char out[PATH_ROOM])
{
        const char *own = s->prepared->cwd ? s->prepared->cwd
                          : s->row.cwd     ? s->row.cwd
                                           : "/",
                   *asked = record_get_text(&c->record, FIELD_CWD, ".");

        while (asked[0] == '.' && asked[1] == '/')
                asked += 2 + strspn(asked + 2, "/");
        if (asked[0] == '/')
                (void)snprintf(out, PATH_ROOM, "%s", asked);
        else if (asked[0] == '\0' || strcmp(asked, ".") == 0)
                (void)snprintf(out, PATH_ROOM, "%s", own);
        else
                (void)snprintf(out, PATH_ROOM, "%s/%s", own[1] == '\0' ? "" : own, asked);
}

static bool
runs_command(const struct operation *o)
{
        return o->code == OP_EXEC || o->code == OP_CODE;
}

/* What the answer cannot bind is said beside it. */
static void
show_unbound(const struct call *c)
{
        if (runs_command(c->op) && (record_get_bool(&c->record, FIELD_STDIN_OPEN, 0) ||
                                    record_get_bool(&c->record, FIELD_TTY, 0)))
                approval_lines_put(&b.lines,
                                   "not bound: what is typed or sent to its standard input later");
        if ((c->op->flags & OPERATION_FILES) != 0)
                approval_lines_put(
                        &b.lines,
                        "not bound: names and content of the files, which follow the answer");
}

/* What a person cannot see, a person cannot approve. */
static int
check_is_shown(struct error *e)
{
        if (b.lines.cut == 0 && b.lines.unshown == 0)
                return 0;
        (void)fail_at(e, ERROR_QUOTA_EXCEEDED, "argv", "not_shown",
                      "the request is longer than the %d KiB that a person is shown, so it cannot "
                      "be approved",
                      APPROVAL_LINES_ROOM >> 10);
        error_hint(e, "Write the command to a file of the workspace and run that file.");
        return -1;
}

int
approval_bind(const struct call *c, const struct sandbox *s, const char *why,
              struct approval_bound *ret, struct error *e)
{
        char cwd[PATH_ROOM];
        int result = 0;

        b.sandbox = s;
        b.lines.len = b.lines.unshown = b.lines.cut = b.seen_count = b.file_bytes = b.tried = 0;
        b.word_count = b.base_count = b.outside_count = 0;
        b.image_bytes = APPROVAL_FILE_BYTES;
        b.image_tried = 0;
        arena_init(&b.names, 4 << 20);
        b.image = runs_command(c->op) ? image_files_open(&b.names, s->prepared) : NULL;
        (void)crypto_hash_sha256_init(&b.hash);
        add("carrel approval", "1", 1);
        add("operation", c->op->name, strlen(c->op->name));
        add("sandbox", s->id, strlen(s->id));
        policy_version(s, ret->policy);
        add("policy", ret->policy, sizeof ret->policy);
        add("sandbox env", s->row.env.bytes, s->row.env.len);
        if (s->prepared->spec->image)
                bind_value("image", s->prepared->spec->image, strlen(s->prepared->spec->image));
        if (why)
                approval_lines_show(&b.lines, "why", why, strlen(why));
        bind_parameters(c);
        if (runs_command(c->op)) {
                directory_of(c, s, cwd);
                add("directory", cwd, strlen(cwd));
                if (record_get_text(&c->record, FIELD_CWD, NULL) == NULL)
                        approval_lines_show(&b.lines, "cwd", cwd, strlen(cwd));
                result = bind_files(c, cwd, e);
        }
        if (runs_command(c->op))
                show_sandbox_environment();
        show_unbound(c);
        if (result == 0)
                result = check_is_shown(e);
        image_files_close(b.image);
        arena_fini(&b.names);
        (void)crypto_hash_sha256_final(&b.hash, ret->digest);
        ret->lines = b.lines.text;
        ret->lines_len = b.lines.len;
        return result;
}
