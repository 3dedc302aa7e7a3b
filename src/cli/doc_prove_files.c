/*
 * cli/doc_prove_files.c - proves what a document claims of files.
 *
 * Room: cli (joining). Touches: what doc_proof.h touches.
 */
#include "cli/doc_proof.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/below.h"

enum { WORDS_MAX = 300 /* of one probe */ };

static const char path_script[] =
        "for d; do if [ -d \"$d\" ]; then f=\"$d/.carrel-doc-$$\"; if (: > \"$f\") 2>/dev/null; "
        "then rm -f \"$f\"; echo \"w $d\"; else echo \"r $d\"; fi; "
        "elif [ -c \"$d\" ]; then echo \"c $d\"; "
        "elif [ -e \"$d\" ]; then if (: >> \"$d\") 2>/dev/null; then echo \"w $d\"; "
        "else echo \"r $d\"; fi; else echo \"n $d\"; fi; done";

static const char *
try_paths(struct doc_proving *p, const char *const *paths, size_t count)
{
        const char *command[WORDS_MAX + 8] = { "/bin/sh", "-c", path_script, "sh" };
        struct doc_probed done;

        for (size_t i = 0; i < count && i < WORDS_MAX; i++)
                command[4 + i] = paths[i];
        return doc_output(p, &p->probe, command, &done);
}

void
doc_prove_root(struct doc_proving *p, const char *path, const struct node *claim)
{
        struct doc_probed done;
        const char *out = doc_shell(p, "pwd", "", &done);

        doc_say(p, doc_has_line(out, claim->text) ? DOC_PROVEN : DOC_REFUTED, path,
                "commands start in %.*s", (int)strcspn(out, "\n"), out);
}

static size_t
take_paths(const struct node *list, const char **paths, size_t count)
{
        node_each(item, list) if (count < WORDS_MAX) paths[count++] = item->text;
        return count;
}

static void
prove_each(struct doc_proving *p, const char *path, const struct node *claim, char wanted)
{
        const char *paths[WORDS_MAX];
        size_t count = take_paths(claim, paths, 0);
        const char *out = try_paths(p, paths, count);

        for (size_t i = 0; i < count; i++) {
                static const struct {
                        char letter;
                        const char *words;
                } kinds[] = { { 'w', "it can be written" },
                              { 'r', "it cannot be written" },
                              { 'c', "it is a device" },
                              { 'n', "it does not exist inside" } };
                const char *words = "it was not tried";
                bool is_good = false;

                for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
                        if (doc_has_line(out, arena_format(&p->a->arena, "%c %s", kinds[k].letter,
                                                           paths[i]))) {
                                words = kinds[k].words;
                                is_good = kinds[k].letter == wanted;
                        }
                doc_say(p, is_good ? DOC_PROVEN : DOC_REFUTED, path, "%.200s: %s", paths[i], words);
        }
        if (claim->len > WORDS_MAX)
                doc_say(p, DOC_REFUTED, path, "more than %d paths were not tried", WORDS_MAX);
}

static bool
is_covered(const struct node *list, const char *path)
{
        node_each(item, list)
        {
                if (path_below(path, item->text))
                        return true;
        }
        return false;
}

/* Directories that could be writable without being listed: well-known ones, and every mount. */
static void
prove_no_others(struct doc_proving *p, const char *path, const struct node *claim)
{
        static const char *const known[] = { "/",     "/usr",  "/usr/local", "/usr/local/bin",
                                             "/etc",  "/var",  "/var/lib",   "/opt",
                                             "/root", "/boot", "/srv",       "/mnt",
                                             "/home", "/dev",  "/proc",      "/proc/sys",
                                             "/sys",  "/run",  "/tmp",       "/dev/shm" };
        const char *paths[WORDS_MAX], *out;
        struct doc_probed done;
        size_t count = 0, open = 0;
        char *mounts = arena_text(&p->a->arena,
                                  doc_shell(p,
                                            "while read -r a b c; do echo \"$b\"; done < "
                                            "/proc/self/mounts",
                                            "", &done)),
             *rest = NULL;

        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
                if (!is_covered(claim, known[i]))
                        paths[count++] = known[i];
        for (char *m = mounts ? strtok_r(mounts, "\n", &rest) : NULL; m && count < WORDS_MAX;
             m = strtok_r(NULL, "\n", &rest))
                if (!is_covered(claim, m))
                        paths[count++] = m;
        out = try_paths(p, paths, count);
        for (size_t i = 0; i < count; i++)
                if (doc_has_line(out, arena_format(&p->a->arena, "w %s", paths[i]))) {
                        open++;
                        doc_say(p, DOC_REFUTED, path, "%.200s can be written, and is not listed",
                                paths[i]);
                }
        if ((count > 0 && out[0] == '\0') || !mounts)
                doc_say(p, DOC_REFUTED, path, "other paths could not be tried");
        else if (open == 0)
                doc_say(p, DOC_PROVEN, path, "none of %zu other directories can be written", count);
}

void
doc_prove_writable(struct doc_proving *p, const char *path, const struct node *claim)
{
        prove_each(p, path, claim, 'w');
        prove_no_others(p, path, claim);
}

void
doc_prove_fixed(struct doc_proving *p, const char *path, const struct node *claim)
{
        prove_each(p, path, claim, 'r');
}
