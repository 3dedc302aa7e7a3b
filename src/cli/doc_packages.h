/*
 * cli/doc_packages.h - the packages that are installed in a sandbox.
 */
#ifndef CARREL_CLI_DOC_PACKAGES_H
#define CARREL_CLI_DOC_PACKAGES_H

#include "cli/doc_probe.h"
#include "cli/prepare.h"
#include "text/json.h"

/*
 * Adds "name:version" texts to the open list of `w`: packages of dpkg, if the sandbox shows its
 * database, of dpkg or apk in an image, and the interpreters that run in it. Errors: those of
 * doc_probe_run() and ref_file_read(), ERROR_QUOTA_EXCEEDED for too many packages.
 */
int doc_packages_write(struct arena *arena, const struct run_way *way,
                       const struct doc_probe *probe, struct json_writer *w, struct error *e);

#endif
