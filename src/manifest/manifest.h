/*
 * manifest/manifest.h - the syntax level: from bytes to the sandbox block and its position, before
 * its meaning is checked.
 *
 * Three kinds of input carry a sandbox block. A standalone SANDBOX.md has front matter and a body
 * for people. A parent manifest such as WORKSPACE.md has a `sandbox:` key with inline, ref, file or
 * a bare block. The third kind is the block alone (JSON from a program, or a test). Nothing is
 * opened here: a ref stays text. Source: AIP-36 "Standalone SANDBOX.md frontmatter", "Embedding",
 * rules 1 and 5.
 */
#ifndef CARREL_MANIFEST_MANIFEST_H
#define CARREL_MANIFEST_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/findings.h"
#include "text/tree.h"

enum manifest_kind { MANIFEST_STANDALONE, MANIFEST_PARENT, MANIFEST_BLOCK };
enum manifest_syntax { MANIFEST_YAML, MANIFEST_JSON };

enum manifest_form {
        MANIFEST_NONE,   /* the parent declares no sandbox: valid, and commands are refused later */
        MANIFEST_INLINE, /* block is set */
        MANIFEST_BARE,   /* block is set; the parent has it directly under `sandbox:` */
        MANIFEST_REF,    /* ref is set */
        MANIFEST_FILE,   /* ref is set; spelled `file:` */
};

struct manifest {
        enum manifest_kind kind;
        enum manifest_syntax syntax;
        enum manifest_form form;
        const struct node *root;  /* the whole front matter or document */
        const struct node *block; /* the sandbox block; NULL for MANIFEST_REF, _FILE and _NONE */
        const char *block_path;   /* path of the block: "", "sandbox/inline", "sandbox" (bare) */
        const char *ref;          /* the reference as written, or NULL */
        unsigned ref_line, ref_column;
        const struct node *runner; /* AIP-17 runner block in the parent, or NULL */
};

/*
 * Reads `len` bytes of a manifest. Standalone YAML has front matter; a parent has front matter or
 * is plain YAML; a block is plain YAML; JSON is the whole text. Borrows bytes. Everything given
 * lives in `arena`, and *ret is written only on success. Warnings (bare_block) and the error go to
 * `findings` as well.
 *
 * Errors: ERROR_MANIFEST_SYNTAX with "no_frontmatter", "unterminated_frontmatter" and those of
 * yaml_read() and json_read(); ERROR_FORM_CONFLICT, ERROR_FORM_MISSING; ERROR_SCHEMA_INVALID with
 * "type" (document, sandbox, inline, ref, file or runner of the wrong kind) and "unknown_field" (a
 * key beside inline, ref or file).
 */
int manifest_read(struct arena *arena, const char *bytes, size_t len, enum manifest_kind kind,
                  enum manifest_syntax syntax, struct manifest *ret, struct findings *findings,
                  struct error *e);

/*
 * The same from a tree that was already read, by this or another process. Borrows `root`; `syntax`
 * becomes MANIFEST_YAML. Errors: those above that are not about text.
 */
int manifest_from_tree(struct arena *arena, const struct node *root, enum manifest_kind kind,
                       struct manifest *ret, struct findings *findings, struct error *e);

#endif
