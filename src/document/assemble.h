/*
 * document/assemble.h - puts a document together: what is enforced and measured, and what only the
 * operator knows.
 */
#ifndef CARREL_DOCUMENT_ASSEMBLE_H
#define CARREL_DOCUMENT_ASSEMBLE_H

#include <stdbool.h>
#include <stddef.h>

#include "document/findings.h"
#include "text/json.h"

/* A value that is known here: "resources.memory", "resources.timeouts.per_tool_call". */
struct document_part {
        const char *path;
        const char *json; /* the value as JSON; NULL: it would be known here, and is not: `why` */
        const char *why;  /* what to do about that */
};

struct document_parts {
        const struct document_part *items;
        size_t count;
};

/*
 * Writes the document as a JSON object: every field of the table, from `parts`, else from `config`
 * (the same form as a document, with only some of its fields; NULL: none). `is_linked`: with the
 * context of JSON-LD.
 *
 * Adds an error to `findings` for each field of `config` that is enforced, measured or unknown
 * (not_configurable), and a missing one (its code of fields.def) for each value that only the
 * operator knows and that is absent. The output counts only if there is no error. Pure.
 */
void document_assemble(const struct document_parts *parts, const struct node *config,
                       bool is_linked, struct json_writer *w, struct document_findings *findings);

/* An example of a value that only the operator knows, as YAML; NULL: none. */
const char *document_example(const char *path);

#endif
