/*
 * cli/docs_api.h - prints the part of the manual that comes from the table of operations.
 */
#ifndef CARREL_CLI_DOCS_API_H
#define CARREL_CLI_DOCS_API_H

#include "cli/doc_table.h"

/* Prints every operation that has a route, with its fields. Returns 0. */
int docs_api_print(struct doc_table *sheet);

/* Prints the same table as an OpenAPI document. Returns 0, or 125 if out of memory. */
int docs_api_print_openapi(struct doc_table *sheet);

#endif
