/*
 * prepare/admission.c - may a sandbox be created for work of this risk?
 *
 * Room: prepare (joining). Touches: nothing.
 * Theory: the decision is that of document_admit(), over the one part of the document that it reads
 * for a risk. The tier is that of the provider table, from which the document is generated.
 */
#include "prepare/admission.h"

#include <string.h>

#include "document/admit.h"
#include "spec/provider.h"

static const char *const risks[] = {
        [DOCUMENT_LOW] = "low", [DOCUMENT_MEDIUM] = "medium", [DOCUMENT_HIGH] = "high"
};

static int
find_risk(const char *word, enum document_risk *ret, struct error *e)
{
        for (size_t i = 0; i < sizeof risks / sizeof *risks; i++)
                if (strcmp(risks[i], word) == 0) {
                        *ret = (enum document_risk)i;
                        return 0;
                }
        (void)fail_at(e, ERROR_INVALID_ARGUMENT, "risk", "enum",
                      "risk is low, medium or high, not \"%.32s\"", word);
        error_hint(e, "low: trusted code. medium: untrusted code. high: arbitrary code, secrets or "
                      "data of customers.");
        return -1;
}

static struct document_verdict
decide(const char *text, enum document_risk risk)
{
        const struct document_request request = {
                .risk = risk,
                .elapsed_ms = { DOCUMENT_NOT_ELAPSED, DOCUMENT_NOT_ELAPSED, DOCUMENT_NOT_ELAPSED },
        };
        const struct node tier = {
                .kind = NODE_STRING, .key = "tier", .text = text, .len = strlen(text)
        };
        const struct node isolation = {
                .kind = NODE_MAP, .key = "isolation", .len = 1, .first = &tier
        };
        const struct node root = { .kind = NODE_MAP, .len = 1, .first = &isolation };

        return document_admit(&root, &request);
}

int
admission_check(const struct host_rules *rules, const struct spec *spec, const char *risk,
                struct error *e)
{
        const struct provider *provider = provider_find(spec->provider);
        const char *tier = provider ? provider_tier(provider, spec->config) : NULL;
        struct document_verdict verdict;
        enum document_risk wanted = DOCUMENT_HIGH;

        if (!risk && !rules->needs_risk)
                return 0;
        if (!risk) {
                (void)fail_at(e, ERROR_DOCUMENT_DENIED, "risk", "risk_required",
                              "this host creates a sandbox only for a stated risk (risk: required "
                              "in the host file)");
                error_hint(e, "Add --risk low, medium or high (risk in a call).");
                return -1;
        }
        if (find_risk(risk, &wanted, e) < 0)
                return -1;
        verdict = decide(tier ? tier : "", wanted);
        if (verdict.decision == DOCUMENT_ALLOW)
                return 0;
        (void)fail_at(e, ERROR_DOCUMENT_DENIED, "risk", verdict.word,
                      "%s: %s (provider %.64s: %s; risk: %s)", verdict.word, verdict.why,
                      spec->provider, tier ? tier : "no known tier", risk);
        error_hint(e, "low needs T1, medium T3, high T4. `carrel providers` lists the tier of each "
                      "provider.");
        return -1;
}
