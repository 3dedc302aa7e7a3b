/*
 * spec/credential.h - has a text the signs of a plaintext credential?
 *
 * Rule 2 of AIP-36: no inline credentials. There are three signs, without guessing by entropy: (a)
 * the name of the key, (b) the shape of the value, (c) NAME=value in a list of names. Source:
 * reference 3.2 and 3.6, cases A36-078 to 082.
 */
#ifndef CARREL_SPEC_CREDENTIAL_H
#define CARREL_SPEC_CREDENTIAL_H

#include <stdbool.h>

/* The name of the credential shape that `text` holds anywhere ("github token"), or NULL. Linear in
 * the length. */
const char *credential_shape_find(const char *text);

/* Is `key` the name of a credential, in any case, with or without "_", "-" and spaces? */
bool credential_key_check(const char *key);

/* Is it NAME=value, with a value that is not empty? */
bool credential_assignment_check(const char *text);

#endif
