/*
 * cli/doc_prove_tools.c - proves what a document claims of starts and of tools.
 *
 * Room: cli (joining). Touches: what doc_proof.h touches.
 */
#include "cli/doc_proof.h"

#include <string.h>

enum { STARTS = 20, START_FACTOR = 3 };

void
doc_prove_start(struct doc_proving *p, const char *path, const struct node *claim)
{
        const unsigned percentile = strcmp(path, "lifecycle.cold_start_p99_ms") == 0 ? 99 : 50;
        const uint64_t *times;
        struct error e;
        double measured;

        if (doc_facts_measure(&p->a->arena, &p->probe, STARTS, &times, &e) < 0) {
                doc_say(p, DOC_REFUTED, path, "it cannot be measured: %.200s", e.message);
                return;
        }
        measured = doc_facts_percentile(times, STARTS, percentile);
        doc_say(p, measured <= claim->real * START_FACTOR ? DOC_PROVEN : DOC_REMARK, path,
                "%.1f ms now, of %d starts%s", measured, STARTS,
                measured <= claim->real * START_FACTOR ? ""
                                                       : "; that is more than 3 times the claim");
}

void
doc_prove_packages(struct doc_proving *p, const char *path, const struct node *claim)
{
        const struct node *here = doc_part(p, path);
        size_t missing = 0, unlisted = 0;
        const char *first = "";

        for (const struct node *item = claim->first; item; item = item->next) {
                bool found = false;

                for (const struct node *n = here ? here->first : NULL; n && !found; n = n->next)
                        found = strcmp(n->text, item->text) == 0;
                if (!found && missing++ == 0)
                        first = item->text;
        }
        for (const struct node *n = here ? here->first : NULL; n; n = n->next) {
                bool found = false;

                for (const struct node *item = claim->first; item && !found; item = item->next)
                        found = strcmp(n->text, item->text) == 0;
                unlisted += !found;
        }
        if (missing > 0)
                doc_say(p, DOC_REFUTED, path, "%zu are not installed, the first is %.200s", missing,
                        first);
        if (unlisted > 0)
                doc_say(p, DOC_REFUTED, path, "%zu are installed and not listed", unlisted);
        if (missing + unlisted == 0)
                doc_say(p, DOC_PROVEN, path, "%zu packages", claim->len);
}
