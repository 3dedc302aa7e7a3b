/*
 * spec/credential_scan.h - looks for plaintext credentials in a whole block (spec/credential.h).
 */
#ifndef CARREL_SPEC_CREDENTIAL_SCAN_H
#define CARREL_SPEC_CREDENTIAL_SCAN_H

#include "spec/judge.h"
#include "text/tree.h"

/*
 * Scans the whole block, every key and scalar except the member `provider`. Adds
 * ERROR_PLAINTEXT_CREDENTIAL with reason "key" or "value" for each. The path names the place; no
 * text contains the value.
 */
void credential_scan(struct judge *j, const struct node *block);

#endif
