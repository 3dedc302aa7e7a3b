/*
 * backend/ns/maker.h - the namespaces engine: boxes made by carrel-init.
 */
#ifndef CARREL_BACKEND_NS_MAKER_H
#define CARREL_BACKEND_NS_MAKER_H

#include "backend/backend.h"

extern const struct backend backend_ns;

/*
 * Starts the maker before it is needed, so that its caller can drop privileges before it reads
 * foreign text. The next start() uses it. Errors: ERROR_BACKEND_FAILED. A maker that is never used
 * ends when its caller does.
 */
int maker_prepare(struct error *e);

/*
 * Undoes what killed runtimes left, so that no plan uses what is about to be removed. `directory`
 * holds the leases. What cannot be collected stays; the LEASE step of the next plan tries again.
 */
void maker_collect(const char *directory);

#endif
